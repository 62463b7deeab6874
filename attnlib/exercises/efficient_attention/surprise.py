"""How surprising is each value?

write · ★★ · 10 min · 06-efficient-attention/3-what-a-state-can-keep

K (n, d_k) are keys of any length, V (n, d_v) values; a and beta are numbers. Keys are first scaled to length 1. The
state begins at zero. At each token it is multiplied by a; then the delta rule with step beta writes the token's pair.
The surprise of a token is the length of the error that this write corrects: of its value minus what the decayed state
gives for its key. Return the surprises (n,).

1. In which order do decay, read and write happen at one token?
2. Decay the state, read it with the key, subtract from the value: this is the error. Its length is the surprise.
3. Only then add beta times the outer product of the key and the error.

With a = 1 and beta = 1 a pair that is written twice in a row surprises once. Some layers write more strongly, or keep a
token, where they are surprised.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def surprises(K, V, a, beta):
    """(n,): how far each value is from what the decayed state gives for its key, before the token writes."""
    K = K / np.linalg.norm(K, axis=1, keepdims=True)
    S, lengths = np.zeros((K.shape[1], V.shape[1])), np.empty(len(K))
    for t in range(len(K)):
        S = a * S
        error = V[t] - K[t] @ S
        lengths[t] = np.linalg.norm(error)
        S = S + beta * np.outer(K[t], error)
    return lengths


def by_matrices(K, V, a, beta):
    S, found = np.zeros((V.shape[1], K.shape[1])), []
    for k, v in zip(K, V, strict=True):
        k = k / np.sqrt(k @ k)
        found.append(np.sqrt(((v - a * (S @ k)) ** 2).sum()))
        S = a * S @ (np.eye(len(k)) - beta * k[:, None] * k) + beta * v[:, None] * k
    return np.array(found)


def from_all_errors(K, V, a, beta, after=np.abs):
    K = K / np.sqrt((K**2).sum(axis=1))[:, None]
    i = np.arange(len(K))
    M = beta * np.tril(K @ K.T, -1) * a ** after(i[:, None] - i)
    return np.linalg.norm(np.linalg.solve(np.eye(len(K)) + M, V), axis=1)


def cases(rng):
    def one(n, d_k, d_v, a, beta):
        return (*drawn(rng, (n, d_k), (n, d_v)), a, beta)

    k, v = drawn(rng, (1, 3), (1, 2))
    return {
        "four tokens": one(4, 3, 2, 0.8, 0.6),
        "seven tokens": one(7, 2, 4, 0.5, 1.5),
        "no decay": one(5, 3, 2, 1.0, 0.5),
        "a step of one": one(5, 2, 3, 0.9, 1.0),
        "the same pair three times": (np.repeat(k, 3, axis=0), np.repeat(v, 3, axis=0), 0.9, 0.5),
        "one token": one(1, 2, 3, 0.7, 0.4),
    }


WRITE = "S = S + beta * np.outer(K[t], error)"
VARIANTS = (by_matrices, from_all_errors)
MISTAKES = (
    Mistake("the state is updated before it is read", "The token's own write is in the state already, so a part of the "
        "error is gone. Measure first, then write.",
        {"lengths[t] = np.linalg.norm(error)": "", WRITE: WRITE + "; lengths[t] = np.linalg.norm(V[t] - K[t] @ S)"}),
    Mistake("the keys are not normalised", "Scale each key to length 1, for the read and for the write.",
        {"K = K / np.linalg.norm(K, axis=1, keepdims=True)": ""}),
    Mistake("read before the decay", "The error is taken from the state after its decay.",
        {"V[t] - K[t] @ S": "V[t] - K[t] @ S / a"}, {"norm(error)": "norm(V[t] - K[t] @ S / a)"}),
    Mistake("the state decays twice", "At each token the state is multiplied by a once, before it is read.",
        {"V[t] - K[t] @ S": "V[t] - a * (K[t] @ S)"},
        {"V[t] - K[t] @ S": "V[t] - a * (K[t] @ S)", "S = a * S": "", "(K[t], error)": "(K[t], error); S = a * S"}),
    Mistake("the decay is not kept", "Each token multiplies the state itself by a, and not only what is read from it.",
        lambda *all: from_all_errors(*all, after=lambda tokens: np.minimum(tokens, 1))),
    Mistake("the whole state fades", "The write corrects what the state gives for this key. What it gives for other "
        "keys fades by a alone.", {WRITE: "S = (1 - beta) * S + beta * np.outer(K[t], V[t])"}),
    Mistake("values are scaled to length 1", "Only the keys are scaled.",
        lambda K, V, a, beta: surprises(K, V / np.linalg.norm(V, axis=1, keepdims=True), a, beta)),
    Mistake("sums of absolute values", "The length of an error is the root of the sum of its squares.",
        {"np.linalg.norm(error)": "abs(error).sum()"}),
    Mistake("no decay", "The state is multiplied by a at each token.",
        lambda K, V, a, beta: surprises(K, V, 1, beta)),
    Mistake("squared lengths", "The surprise is the length of the error, not its square.",
        {"np.linalg.norm(error)": "error @ error"}),
    Mistake("the sum, not the delta rule", "What is written is the error, not the whole value.",
        {"(K[t], error)": "(K[t], V[t])"}),
)  # fmt: skip

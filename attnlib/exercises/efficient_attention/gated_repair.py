"""A memory that forgets and corrects

repair · ★★ · 9 min · 06-efficient-attention/3-what-a-state-can-keep

This should be the delta rule with a decay, as in Gated DeltaNet, for Q and K (n, d_k) and V (n, d_v). Queries and
keys are scaled to length 1. At token t the state is multiplied by a[t]. Then the share beta[t] of the error is
corrected: of V[t] minus what the state now gives for the key. The query reads the state after that. There are two
faults. Repair both.

1. Try keys of length 1 already: then one fault is gone. Try a = 1: then the other is gone.
2. Which of the two, key or state, is not yet as the text says when the error is taken?
3. The state decays before the error is taken, so that the new pair does not fade; and the key needs length 1.

Both faults are quiet. The outputs stay finite, and a trained model would partly adapt to them.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def gated_delta(Q, K, V, a, beta):
    """(n, d_v): the delta rule with step beta[t] and decay a[t]; queries and keys are scaled to length 1."""
    O, S = np.empty_like(V), np.zeros((K.shape[1], V.shape[1]))
    for t in range(len(K)):
        q = Q[t] / np.linalg.norm(Q[t])
        k = K[t] / np.linalg.norm(K[t])
        S = a[t] * S
        S = S + beta[t] * np.outer(k, V[t] - k @ S)
        O[t] = q @ S
    return O


def by_matrices(Q, K, V, a, beta):
    S, rows = np.zeros((V.shape[1], K.shape[1])), []
    for q, k, v, decay, step in zip(Q, K, V, a, beta, strict=True):
        k = k / np.sqrt(k @ k)
        S = decay * S @ (np.eye(len(k)) - step * k[:, None] * k) + step * v[:, None] * k
        rows.append(S @ q / np.sqrt(q @ q))
    return np.array(rows)


def with_one_error(Q, K, V, a, beta):
    Q, K = (A / np.sqrt((A**2).sum(1))[:, None] for A in (Q, K))
    S, O = np.zeros((K.shape[1], V.shape[1])), []
    for t in range(len(K)):
        error = V[t] - a[t] * (K[t] @ S)
        S = a[t] * S + K[t][:, None] * (beta[t] * error)
        O.append(Q[t] @ S)
    return np.stack(O)


def cases(rng):
    def one(n, d_k, d_v, decay=None):
        a, beta = rng.uniform(0.5, 0.9, size=n), rng.uniform(0.3, 1.5, size=n)
        return (*drawn(rng, (n, d_k), (n, d_k), (n, d_v)), a if decay is None else np.full(n, decay), beta)

    return {
        "four tokens": one(4, 3, 2),
        "seven tokens": one(7, 2, 4),
        "no decay": one(5, 3, 2, 1.0),
        "all sizes equal": one(3, 3, 3),
        "one token": one(1, 2, 3),
    }


LENGTH = {"k = K[t] / np.linalg.norm(K[t])": "k = K[t]"}
FADES = {
    "S = a[t] * S\n        S = S + beta[t] * np.outer(k, V[t] - k @ S)": "S = S + beta[t] * np.outer(k, V[t] - k @ S)\n"
    "        S = a[t] * S"
}
UNIT = "K[t] / np.linalg.norm(K[t])"
UNREAD = {"        O[t] = q @ S\n    return": "    return"}
GIVEN = ("the keys are not normalised", "the decay is applied to the new pair")
VARIANTS = (by_matrices, with_one_error)
MISTAKES = (
    Mistake("the keys are not normalised", "With a key whose length is not 1 the step corrects too much or too little.",
        LENGTH),
    Mistake("the decay is applied to the new pair", "The new pair fades at the token that writes it. Let the state "
        "decay first.", FADES, {"beta[t] *": "a[t] * beta[t] *"}),
    Mistake("the sum, not the delta rule", "What is written is the error, not the whole value.",
        {"V[t] - k @ S": "V[t]"}),
    Mistake("the query is not normalised", "Queries are scaled to length 1, too.",
        {"q = Q[t] / np.linalg.norm(Q[t])": "q = Q[t]"}),
    Mistake("the state is read before it is written", "The query reads the state after the token's own write.",
        UNREAD | {"S = a[t] * S\n        S = S +": "O[t] = q @ S\n        S = a[t] * S\n        S = S +"},
        UNREAD | {"S = S +": "O[t] = q @ S\n        S = S +"}),
    Mistake("the error of the state before its decay", "The error is the difference to what the state gives after its "
        "decay.", {"V[t] - k @ S)": "V[t] - k @ S / a[t])"}),
    Mistake("the decay comes after the read", "The state decays first, at the token itself.",
        {"        S = a[t] * S\n": "", "O[t] = q @ S\n": "O[t] = q @ S\n        S = a[t] * S\n"}),
    Mistake("the keys have another length", "Divide each key by its own length. Then its length is 1.",
        *({UNIT: f"K[t] / {other}"} for other in
          ("np.linalg.norm(K)", "np.linalg.norm(K, axis=0)", "K[t].sum()", "np.sqrt(K.shape[1])"))),
    Mistake("the key of length 1 is used once only", "It is used twice: for what the state gives, and for the write.",
        {"np.outer(k,": "np.outer(K[t],"}, {"k @ S": "K[t] @ S"}),
    Mistake("the whole state fades by beta", "Only what the state gives for this key is replaced, not all of it.",
        {"S + beta[t] * np.outer(k, V[t] - k @ S)": "(1 - beta[t]) * S + beta[t] * np.outer(k, V[t])"}),
    Mistake("beta at one of the two terms", "The share beta[t] is one of the error, the whole difference.",
        {"beta[t] * np.outer(k, V[t] - k @ S)": "np.outer(k, beta[t] * V[t] - k @ S)"},
        {"beta[t] * np.outer(k, V[t] - k @ S)": "np.outer(k, V[t] - beta[t] * (k @ S))"}),
    Mistake("the values are normalised", "Queries and keys are scaled to length 1. Values are not.",
        {"V[t] - k": "V[t] / np.linalg.norm(V[t]) - k"}),
)  # fmt: skip

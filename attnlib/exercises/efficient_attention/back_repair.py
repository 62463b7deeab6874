"""Take back some tokens

repair · ★★ · 9 min · 06-efficient-attention/4-the-mix

A model has generated tokens and takes back the last m of them. Keys K (n, d_k) and values V (n, d_v) of all n tokens
are kept. At each token a state layer multiplies its state by the decay a, then adds the outer product of key and value.
S is the state that was saved after the first `at` tokens, at <= n - m. Return two rows for the query q, after the
tokens are taken back: what softmax attention gives (scores k q, not scaled), and what the state gives. Repair both
faults.

1. Which tokens are left? Which of them must the softmax see, and which must the state contain?
2. The first n - m tokens are left. Take m = 0: is there a fault left?
3. From the saved state on, write the tokens at, ..., n - m - 1 again; the softmax reads the first n - m rows.

A state has no rows of tokens that could be dropped. Programs that generate keep saved states for this, or write down
what each token added.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def after_going_back(q, K, V, S, at, m, a):
    """(2, d_v): what softmax attention and the state give for q after the last m tokens are taken back."""
    left = len(K) - m
    for t in range(at, left):
        S = a * S + np.outer(K[t], V[t])
    keys, values = K[:left], V[:left]
    P = np.exp(keys @ q)
    return np.stack([P @ values / P.sum(), q @ S])


def at_once(q, K, V, S, at, m, a):
    n = len(K) - m
    powers = a ** (n - 1 - np.arange(at, n))
    S = a ** (n - at) * S + (powers[:, None] * K[at:n]).T @ V[at:n]
    scores = K[:n] @ q
    P = np.exp(scores - scores.max())
    return np.array([P / P.sum() @ V[:n], q @ S])


def with_copies(q, K, V, S, at, m, a):
    keys, values = list(K)[: len(K) - m], list(V)[: len(V) - m]
    for k, v in zip(keys[at:], values[at:], strict=True):
        S = S * a + k[:, None] * v
    P = np.exp(np.array(keys) @ q)
    return np.stack([(P / P.sum()) @ np.array(values), q @ S])


def cases(rng):
    def one(n, d_k, d_v, at, m, a):
        q, K, V, S = drawn(rng, (d_k,), (n, d_k), (n, d_v), (d_k, d_v))
        return q, K, V, S, at, m, a

    return {
        "two of six": one(6, 3, 2, 2, 2, 0.8),
        "saved just there": one(5, 2, 3, 3, 2, 0.7),
        "nothing is taken back": one(4, 2, 2, 2, 0, 0.9),
        "no decay": one(7, 3, 3, 4, 1, 1.0),
        "saved at the start": one(5, 2, 4, 0, 3, 0.6),
    }


REPLAY = {"range(at, left)": "range(at, len(K))"}
OLDEST = {"K[:left], V[:left]": "K[m:], V[m:]"}
GIVEN = ("the state keeps what was taken back", "the oldest tokens are dropped")
VARIANTS = (at_once, with_copies)
MISTAKES = (
    Mistake("the state keeps what was taken back", "The state has to end with the last token that is left.", REPLAY),
    Mistake("the oldest tokens are dropped", "The last m rows are taken back, not the first ones.", OLDEST,
        OLDEST | {"range(at, left)": "range(at + m, len(K))"}, {"range(at, left)": "range(at + m, len(K))"}),
    Mistake("written twice", "The first tokens are in the saved state already: begin with token number at.",
        {"range(at, left)": "range(left)"}, {"range(at, left)": "range(len(K))"}),
    Mistake("the saved state, as it is", "Tokens after the saved state that are left have to be written again.",
        {"range(at, left)": "range(0)"}),
    Mistake("no decay", "The state is multiplied by a at each token that is written again.", {"a * S + ": "S + "}),
    Mistake("the softmax sees what was taken back", "Drop the last m rows of keys and values.",
        {"K[:left], V[:left]": "K, V"}),
    Mistake("nothing is left for m = 0", "A part that ends at -0 is empty, so nothing is left where nothing is taken "
        "back. Count from the beginning.", {"K[:left], V[:left]": "K[:-m], V[:-m]"}),
    Mistake("the softmax sees a part of the tokens", "All tokens that are left have keys and values, before and after "
        "the saved state.", {"K[:left], V[:left]": "K[at:left], V[at:left]"}, {"K[:left], V[:left]": "K[:at], V[:at]"}),
    Mistake("subtracted without the decay", "What was taken back has decayed meanwhile, and so has all that was there "
        "before it. Begin with the saved state.",
        REPLAY | {"    keys,": "    for t in range(left, len(K)):\n        S = S - np.outer(K[t], V[t])\n    keys,"}),
    Mistake("the decay meets the new pair", "The state decays first. Then the new product is added.",
        {"a * S + np.outer(K[t], V[t])": "a * (S + np.outer(K[t], V[t]))"}),
    Mistake("m tokens are written again", "m tokens are taken back. All others after the saved state are written "
        "again.", {"range(at, left)": "range(at, at + m)"}),
)  # fmt: skip

"""Scores that should be bounded

repair · ★★ · 10 min · 04-transformer/5-the-block-of-today

These are the scores of a layer with grouped heads and QK norm. Its n_heads heads of queries share n_kv_heads heads of
keys, neighbours share one, and each query and each key of a head passes an RMS norm (eps is left out) with the gain g_Q
or g_K (d_k,). X is (n, d), W_Q (d, n_heads · d_k), W_K (d, n_kv_heads · d_k). With gains of one no score may be larger
than the root of d_k. Some are, and heads use the wrong keys. Two steps are wrong; repair both. Return (n_heads, n, n).

1. Which numbers does a QK norm divide by one size: those of all heads, or those of one?
2. Split into heads first; the norm then acts on the last axis, the d_k numbers of one head.
3. Head 0 and head 1 of the queries share head 0 of the keys, if there are half as many: each head of keys is repeated
   in a row.

With one size for all heads a head can still have long queries, if others have short ones. OLMo 2 norms this way, and
its scores are bounded by n_heads times the root of d_k. Heads that use the wrong keys are the harder fault to find:
nothing breaks, but published parameters give wrong scores.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def scores(X, W_Q, W_K, g_Q, g_K, n_heads, n_kv_heads):
    """Scores of all heads; (n_heads, n, n)."""

    def rms(A):
        return A / np.sqrt((A**2).mean(axis=-1, keepdims=True))

    def split(A, heads):
        return A.reshape(len(A), heads, -1).swapaxes(0, 1)

    Q = g_Q * rms(split(X @ W_Q, n_heads))
    K = g_K * rms(split(X @ W_K, n_kv_heads))
    K = np.repeat(K, n_heads // n_kv_heads, axis=0)
    return Q @ K.swapaxes(-1, -2) / np.sqrt(Q.shape[-1])


def head_by_head(X, W_Q, W_K, g_Q, g_K, n_heads, n_kv_heads):
    def normed(A, gain):
        return gain * A / np.sqrt(np.mean(A * A, axis=1))[:, None]

    queries = np.split(X @ W_Q, n_heads, axis=1)
    keys = np.split(X @ W_K, n_kv_heads, axis=1)
    group = n_heads // n_kv_heads
    found = [normed(Q, g_Q) @ normed(keys[i // group], g_K).T for i, Q in enumerate(queries)]
    return np.stack(found) / np.sqrt(len(g_Q))


def cases(rng):
    def drawn(n, d, n_heads, n_kv_heads, d_k, ones=False):
        gains = [np.ones(d_k) if ones else rng.uniform(0.5, 2, d_k) for _ in range(2)]
        maps = [rng.normal(size=(d, heads * d_k)) for heads in (n_heads, n_kv_heads)]
        return rng.normal(size=(n, d)), *maps, *gains, n_heads, n_kv_heads

    return {
        "four heads, two of keys": drawn(2, 3, 4, 2, 2),
        "gains of one": drawn(3, 5, 4, 2, 3, ones=True),
        "six heads, three of keys": drawn(3, 7, 6, 3, 2),
        "one head of keys": drawn(4, 5, 3, 1, 2),
        "as many of keys": drawn(3, 5, 2, 2, 4),
    }


GIVEN = ("one size for all heads", "heads dealt out in turn")
VARIANTS = (
    head_by_head,
    {"np.repeat(K, n_heads // n_kv_heads, axis=0)": "K[np.arange(n_heads) // (n_heads // n_kv_heads)]"},
)  # fmt: skip
MISTAKES = (
    Mistake("one size for all heads", "Queries or keys are divided by one size for all heads together. A QK norm "
        "divides the d_k numbers of each head by their own size.",
        {"rms(split(X @ W_Q, n_heads))": "split(rms(X @ W_Q), n_heads)",
         "rms(split(X @ W_K, n_kv_heads))": "split(rms(X @ W_K), n_kv_heads)"}),
    Mistake("heads dealt out in turn", "Neighbouring heads of queries share a head of keys: heads of keys are repeated "
        "in a row, not one after the other again and again.",
        {"np.repeat(K, n_heads // n_kv_heads, axis=0)": "np.tile(K, (n_heads // n_kv_heads, 1, 1))"}),
    Mistake("gains forgotten", "After the norm comes the gain, one number for each of the d_k.",
        {"g_Q * rms": "rms", "g_K * rms": "rms"}),
    Mistake("keys as they are", "The keys pass a norm, too.", {"g_K * rms(": "g_K * ("}),
)  # fmt: skip

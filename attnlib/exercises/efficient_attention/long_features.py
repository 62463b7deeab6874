"""Features of long vectors

write · ★★ · 12 min · 06-efficient-attention/6-random-features-and-low-rank

A_Q and A_K (n, r) hold the *logarithms* of the features of queries and keys, V (n, d_v) the values. In causal attention
by features, key s has the weight sum_j e^(A_Q[t, j] + A_K[s, j]) for query t, and the weights of the keys up to t are
divided by their sum. Return the outputs (n, d_v). Logarithms may be thousands above or below zero, and a later key may
be thousands above an earlier one; numbers between -700 and 700 are safe in an exponential.

1. Which factor can all weights of a query share without changing its output?
2. Keep, for each feature, the largest logarithm of the keys up to t, and hold the sums divided by its exponential.
3. When the largest rises, the sums so far must shrink by the same factor. The query gets back what was divided away.

This is the running maximum of FlashAttention, one for each feature. Published code takes one maximum over all keys
instead: simpler, and good enough as long as no key is far above the others.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def by_features(A_Q, A_K, V):
    """(n, d_v): causal attention whose features are given by their logarithms."""
    O = np.empty_like(V)
    S, z = np.zeros((A_K.shape[1], V.shape[1])), np.zeros(A_K.shape[1])
    most = np.full(A_K.shape[1], -np.inf)
    for t in range(len(V)):
        new = np.maximum(most, A_K[t])
        kept, feature = np.exp(most - new), np.exp(A_K[t] - new)
        S = kept[:, None] * S + np.outer(feature, V[t])
        z = kept * z + feature
        most = new
        a = A_Q[t] + most
        q = np.exp(a - a.max())
        O[t] = q @ S / (q @ z)
    return O


def query_after_query(A_Q, A_K, V):
    rows = []
    for t in range(len(V)):
        L = A_Q[t] + A_K[: t + 1]
        weights = np.exp(L - L.max()).sum(axis=1)
        rows.append(weights @ V[: t + 1] / weights.sum())
    return np.array(rows)


def logarithms(A_Q, A_K):
    return np.logaddexp.reduce(A_Q[:, None, :] + A_K[None], axis=-1)


def weighted(L, V):
    L = np.where(np.tri(len(V), dtype=bool), L, -np.inf)
    P = np.exp(L - L.max(axis=1, keepdims=True))
    return P / P.sum(axis=1, keepdims=True) @ V


def by_all_pairs(A_Q, A_K, V):
    return weighted(logarithms(A_Q, A_K), V)


def plain(A_Q, A_K, V, normalised=True, mask=np.tril):
    with np.errstate(all="ignore"):
        G = mask(np.exp(A_Q) @ np.exp(A_K).T)
        return G @ V / (G.sum(axis=1, keepdims=True) if normalised else 1)


def over_all_keys(A_Q, A_K, V):
    E = np.exp(top(logarithms(A_Q, A_K), 1))
    return np.tril(E) @ V / E.sum(axis=1, keepdims=True)


def top(A, axis):
    return A - A.max(axis=axis, keepdims=True)


def cases(rng):
    def one(n, r, d_v, above=0.0, rise=0.0):
        A_Q, A_K, V = drawn(rng, (n, r), (n, r), (n, d_v))
        return A_Q - 2 * above, A_K + above + rise * np.arange(n)[:, None], V

    A_Q, A_K, V = one(4, 2, 3)
    apart = np.array([900.0, -900.0])
    return {
        "three tokens": one(3, 2, 2),
        "seven tokens": one(7, 3, 5),
        "logarithms of thousands": one(5, 4, 3, above=2000.0),
        "later keys far above": one(4, 3, 2, rise=900.0),
        "one token": one(1, 3, 2, above=-1000.0),
        "features far apart": (A_Q - apart * np.array([[0], [1], [0], [1]]), A_K + apart, V),
    }


VARIANTS = (query_after_query, by_all_pairs)
MISTAKES = (
    Mistake("no maximum", "Exponentials of numbers in the thousands are infinite or zero. Subtract a maximum first, "
        "from all weights of a query alike.", plain),
    Mistake("each key has its own maximum", "Each key was divided by a factor of its own, which changes the weights. "
        "The factor must be the same for all keys of a query.",
        lambda A_Q, A_K, V: plain(top(A_Q, 1), top(A_K, 1), V),
        lambda A_Q, A_K, V: weighted(np.log(np.exp(top(A_Q[:, None] + A_K, 2)).sum(axis=2)), V)),
    Mistake("one maximum for all features", "Where one feature is far above another, the exponentials of the lower one "
        "become zero. Keep a maximum for each feature.", {"(most, A_K[t])": "(most, A_K[t].max())"}),
    Mistake("the maximum contains later keys", "A later key may be thousands above: then the exponentials of the "
        "earlier ones are zero. Take the maximum of the keys up to t.",
        lambda A_Q, A_K, V: plain(top(A_Q + A_K.max(axis=0), 1), top(A_K, 0), V),
        lambda A_Q, A_K, V: weighted(np.log(np.exp(top(logarithms(A_Q, A_K), 1))), V)),
    Mistake("logarithms are cut at 700", "This changes the weights: keys that are thousands apart get equal ones.",
        lambda A_Q, A_K, V: plain(np.clip(A_Q, -700, 700), np.clip(A_K, -700, 700), V)),
    Mistake("products of the logarithms", "The weight is a sum of products of features. A product of two features is "
        "the exponential of a *sum* of logarithms.", lambda A_Q, A_K, V: weighted(A_Q @ A_K.T, V)),
    Mistake("divided by the sum of the query's features", "The denominator is the sum of the weights, and the features "
        "of the keys are in them as well.", {" / (q @ z)": " / q.sum()"}),
    Mistake("the old sums do not shrink", "When the maximum rises, the sums so far are still divided by the old one.",
        {"kept[:, None] * S": "S", "kept * z": "z"}, {"kept[:, None] * S": "S"}, {"kept * z": "z"}),
    Mistake("the query does not get it back", "Each feature of the keys was divided by its own maximum. The query "
        "must multiply by it again.", {"a = A_Q[t] + most": "a = A_Q[t]"}),
    Mistake("the normaliser is forgotten", "These are sums of values. Divide them by the sum of the weights.",
        {" / (q @ z)": ""}, lambda A_Q, A_K, V: plain(A_Q, A_K, V, normalised=False)),
    Mistake("the sum runs over all keys", "The denominator of token t contains later keys. It may contain those up to "
        "t only.", over_all_keys),
    Mistake("no mask", "Token t may attend to the keys up to t only.",
        lambda A_Q, A_K, V: plain(top(A_Q, 1), A_K - A_K.max(), V, mask=np.asarray)),
)  # fmt: skip

"""Sequences that read each other

repair · ★★ · 8 min · 01-foundations/3-queries-keys-values · after foundations.attention-matrices

Q is (b, m, d_k), K (b, n, d_k), V (b, n, d_v). This attention is right for a batch of one. In a larger
batch a sequence's output changes when another sequence does. Find the two lines where the batch is mixed,
and repair them.

1. A letter that stands in only one of the two inputs of `einsum` and not in the result: what happens to it?
2. Such a letter is summed over. Which letter should all three parts share, so that sequence b meets
   sequence b?
3. In both products the batch's letter of the second array must be that of the first, and of the result.

The shapes are right and nothing is raised; for a batch of one the numbers are right too. A batch of two in
a test, with one sequence changed, finds such a bug.
"""

import math

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit import laws


def batch_attention(Q, K, V):
    """Scaled dot-product attention for a batch of sequences, each of which sees only itself."""
    S = np.einsum("bid,bjd->bij", Q, K) / math.sqrt(Q.shape[-1])
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    P = E / E.sum(axis=-1, keepdims=True)
    return np.einsum("bij,bjc->bic", P, V)


def reference(Q, K, V):
    from attnlib.reference import attention

    return attention.scaled_dot_product_attention(Q, K, V)[0]


def one_by_one(Q, K, V):
    out = []
    for queries, keys, values in zip(Q, K, V, strict=True):
        E = np.exp(queries @ keys.T / math.sqrt(queries.shape[-1]))
        out.append(E / E.sum(axis=-1, keepdims=True) @ values)
    return np.stack(out)


def one_long_sequence(Q, K, V):
    """The batch laid out as one sequence: every query sees the keys of all."""
    S = Q.reshape(-1, Q.shape[-1]) @ K.reshape(-1, K.shape[-1]).T / math.sqrt(Q.shape[-1])
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    P = E / E.sum(axis=-1, keepdims=True)
    return (P @ V.reshape(-1, V.shape[-1])).reshape(*Q.shape[:-1], V.shape[-1])


def cases(rng):
    return {
        "a batch of one": tuple(rng.normal(size=size) for size in ((1, 2, 4), (1, 3, 4), (1, 3, 5))),
        "a batch of two": tuple(rng.normal(size=size) for size in ((2, 3, 7), (2, 5, 7), (2, 5, 11))),
        "all sizes equal": tuple(rng.normal(size=(3, 3, 3)) for _ in range(3)),
    }


GIVEN = ("scores with the keys of all sequences", "values of all sequences")
LAWS = (laws.separate_batches(0, 1, 2), laws.blind_to_order({1: -2, 2: -2}))
VARIANTS = (
    one_by_one,
    {'np.einsum("bid,bjd->bij", Q, K)': "Q @ K.swapaxes(-1, -2)", 'np.einsum("bij,bjc->bic", P, V)': "P @ V"},
    {'np.einsum("bij,bjc->bic", P, V)': "P @ V"},
)  # fmt: skip
MISTAKES = (
    Mistake("scores with the keys of all sequences", "Each score is the sum of a query's products with the keys at "
        "the same position in every sequence of the batch.", {"bid,bjd->bij": "bid,ajd->bij"}),
    Mistake("values of all sequences", "The weights are those of one sequence, but the values at one position were "
        "summed over the batch.", {"bij,bjc->bic": "bij,ajc->bic"}),
    Mistake("one long sequence", "The batch was laid out as one sequence, so that each query's weights spread over "
        "the keys of all.", one_long_sequence),
    Mistake("normalised over the batch", "The weights of one position sum to one over the batch; those of each query "
        "should, over its keys.", {"E.sum(axis=-1, keepdims=True)": "E.sum(axis=0, keepdims=True)"}),
    Mistake("normalised over the queries", "The weights of each key sum to one over the queries; those of each query "
        "should, over the keys.", {"E.sum(axis=-1, keepdims=True)": "E.sum(axis=-2, keepdims=True)"}),
    Mistake("queries of all sequences", "The queries at one position were summed over the batch before they met the "
        "keys.",
        {"bid,bjd->bij": "aid,bjd->bij"}),
    Mistake("weights of all sequences", "The weights at one position were summed over the batch before they met the "
        "values.", {"bij,bjc->bic": "aij,bjc->bic"}),
    Mistake("averaged over the batch", "Every sequence got the average of all outputs.",
        {'np.einsum("bij,bjc->bic", P, V)':
             'np.broadcast_to(np.einsum("bij,bjc->bic", P, V).mean(axis=0), (*Q.shape[:-1], V.shape[-1]))'}),
    Mistake("√d_k is missing", "The scores are not divided by √d_k, so the weights become too sharp.",
        {"/ math.sqrt(Q.shape[-1])": ""}),
)  # fmt: skip

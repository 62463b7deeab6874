"""A gradient that cannot change a length

write · ★★★ · 20 min · 01-foundations/10-scores-backwards · after foundations.cosine-scores

The scores are the cosines of all queries with all keys, and dS (..., m, n) is the gradient of a loss with respect to
them. Return dQ and dK. Q is (..., m, d_k), K is (..., n, d_k).

1. Making a query longer changes no cosine. What follows for the direction of its gradient?
2. First go back through the dot products of unit vectors, then through the division by the length.
3. Take the gradient with respect to the unit vector, subtract from it the part that lies along the unit vector (their
   dot product times the unit vector), and divide what is left by the length. The keys' side uses dS
   transposed.

The gradient is orthogonal to its vector, and the longer the vector, the smaller it is: a step turns the
vector, and a long one turns slowly.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit import laws


def cosine_backward(dS, Q, K):
    """dQ and dK, from the gradient dS of the cosines of all pairs."""
    length_q = np.sqrt((Q * Q).sum(axis=-1, keepdims=True))
    length_k = np.sqrt((K * K).sum(axis=-1, keepdims=True))
    unit_q, unit_k = Q / length_q, K / length_k
    dU_q = dS @ unit_k
    dU_k = dS.swapaxes(-1, -2) @ unit_q
    dQ = (dU_q - (dU_q * unit_q).sum(axis=-1, keepdims=True) * unit_q) / length_q
    dK = (dU_k - (dU_k * unit_k).sum(axis=-1, keepdims=True) * unit_k) / length_k
    return dQ, dK


def reference(dS, Q, K):
    from attnlib.reference import scores

    return scores.cosine_scores_backward(dS, scores.DotCache(Q, K))


def cases(rng):
    def case(*sizes, dtype: type = np.float64):
        return tuple(rng.normal(size=size).astype(dtype) for size in sizes)

    dS, Q, K = case((3, 4), (3, 5), (4, 5))
    return {
        "two queries, three keys": case((2, 3), (2, 4), (3, 4)),
        "a batch of two": case((2, 3, 4), (2, 3, 5), (2, 4, 5)),
        "all sizes equal": case((3, 3), (3, 3), (3, 3)),
        "long and short vectors": (dS, 100 * Q, 0.1 * K),
        "float32": case((2, 3), (2, 4), (3, 4), dtype=np.float32),
    }


def cosine_backward_by_pairs(dS, Q, K):
    dQ, dK = np.zeros_like(Q), np.zeros_like(K)
    for where in np.ndindex(dS.shape):
        *b, i, j = where
        query, key = (*b, i), (*b, j)
        q, k = Q[query], K[key]
        both = (q @ q) ** 0.5 * (k @ k) ** 0.5
        dQ[query] += dS[where] * (k - q * (q @ k) / (q @ q)) / both
        dK[key] += dS[where] * (q - k * (q @ k) / (k @ k)) / both
    return dQ, dK


RETURNS = ("dQ", "dK")
LAWS = (laws.separate_batches(0, 1, 2),)
VARIANTS = (
    cosine_backward_by_pairs,
    {"dU_q - (dU_q * unit_q).sum(axis=-1, keepdims=True) * unit_q":
         "dU_q - np.einsum('...d,...d,...e->...e', dU_q, unit_q, unit_q)"},
    {"dQ = (": "dQ = np.float64(1) * (", "dK = (": "dK = np.float64(1) * ("},
)  # fmt: skip
MISTAKES = (
    Mistake("the sum term is missing", "The gradient was divided by the length, as if the length did not depend on "
        "the vector. The part along the vector must be taken away.",
        {"- (dU_q * unit_q).sum(axis=-1, keepdims=True) * unit_q": "",
         "- (dU_k * unit_k).sum(axis=-1, keepdims=True) * unit_k": ""}),
    Mistake("added in place of subtracted", "The part along the vector was added; it is taken away, so that nothing "
        "is left of it.", {"dU_q - (": "dU_q + (", "dU_k - (": "dU_k + ("}),
    Mistake("not divided by the length", "The direction is right; by the chain rule the length of the vector divides "
        "it.", {"unit_q) / length_q": "unit_q)", "unit_k) / length_k": "unit_k)"}),
    Mistake("divided by the squared length", "The gradient shrinks like one over the length, not over its square.",
        {"unit_q) / length_q": "unit_q) / length_q**2", "unit_k) / length_k": "unit_k) / length_k**2"}),
    Mistake("multiplied by the length", "A longer vector turns more slowly, so its gradient is smaller; here it is "
        "larger.", {"unit_q) / length_q": "unit_q) * length_q", "unit_k) / length_k": "unit_k) * length_k"}),
    Mistake("the partners are not unit vectors", "The queries and keys that come in as partners were taken with their "
        "lengths; the cosine has unit vectors.",
        {"dS @ unit_k": "dS @ K", "dS.swapaxes(-1, -2) @ unit_q": "dS.swapaxes(-1, -2) @ Q"}),
    Mistake("projected on the whole vector", "The part along the vector was worked out with the vector itself, in "
        "place of the unit vector.",
        {"(dU_q * unit_q).sum(axis=-1, keepdims=True) * unit_q": "(dU_q * Q).sum(axis=-1, keepdims=True) * Q",
         "(dU_k * unit_k).sum(axis=-1, keepdims=True) * unit_k": "(dU_k * K).sum(axis=-1, keepdims=True) * K"}),
    Mistake("mean in place of the sum", "A dot product adds up its terms; here their mean was taken, so a part along "
        "the vector is left.", {"unit_q).sum(": "unit_q).mean(", "unit_k).sum(": "unit_k).mean("}),
    Mistake("dS is not transposed", "Where there are as many queries as keys it runs, but a key collects its column "
        "of dS, not a row.", {"dS.swapaxes(-1, -2)": "dS"}),
    Mistake("Q and K changed in place", "`/=` writes into the caller's arrays, whose lengths are then lost. Make new "
        "ones.",
        {"unit_q, unit_k = Q / length_q, K / length_k":
             "Q /= length_q\n    K /= length_k\n    unit_q, unit_k = Q, K"}),
)  # fmt: skip

"""A bilinear score with two bugs

repair · ★ · 6 min · 01-foundations/5-scoring-functions

The score of a query q and a key k should be the dot product of q mapped by A and k mapped by B. Q is (...,
m, d_q), K is (..., n, d_k), A is (d_q, r) and B is (d_k, r). This code runs where both widths are equal,
but its scores are wrong. Find both bugs.

1. Put the identity in place of A, and zeros in place of B. What should every score be then, and what is it?
2. Is every argument used? And compare a reshaped matrix of 2 times 3 with a transposed one, number by
   number.
3. The keys have a map of their own. Exchanging the last two axes turns rows into columns; a reshape does
   not.

With A and B called W_Q and W_K this is how attention layers score. One map for both would make the scores
of a sequence with itself symmetric: what one word scores with another, the other would score with it.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit import laws


def bilinear_scores(Q, K, A, B):
    """The score q A Bᵀ k of every query with every key, without building the matrix A Bᵀ."""
    mapped_q = Q @ A
    mapped_k = K @ B
    return mapped_q @ mapped_k.swapaxes(-1, -2)


def reference(Q, K, A, B):
    from attnlib.reference import scores

    return scores.multiplicative_scores(Q, K, A @ B.T)[0]


def cases(rng):
    def case(*sizes, dtype: type = np.float64):
        return tuple(rng.normal(size=size).astype(dtype) for size in sizes)

    return {
        "two queries, three keys": case((2, 4), (3, 4), (4, 2), (4, 2)),
        "keys of another width": case((2, 4), (3, 5), (4, 2), (5, 2)),
        "a batch of two": case((2, 3, 5), (2, 4, 5), (5, 3), (5, 3)),
        "a batch of three, all sizes equal": case((3, 3, 3), (3, 3, 3), (3, 3), (3, 3)),
        "float32": case((2, 4), (3, 4), (4, 2), (4, 2), dtype=np.float32),
    }


GIVEN = ("the keys went through A", "reshaped, not transposed")
LAWS = (laws.separate_batches(0, 1),)
VARIANTS = (
    {"return mapped_q @ mapped_k.swapaxes(-1, -2)": "return np.einsum('...ir,...jr->...ij', mapped_q, mapped_k)"},
    {"mapped_k = K @ B": "mapped_k = K @ (B @ A.T)", "mapped_q = Q @ A": "mapped_q = Q"},
    {"return mapped_q": "return np.float64(1) * mapped_q"},
)  # fmt: skip
MISTAKES = (
    Mistake("the keys went through A", "A maps the queries. The keys have their own map, B, which was left without "
        "use.", {"K @ B": "K @ A"}),
    Mistake("reshaped, not transposed", "Reshaping keeps the numbers in their order and only cuts the rows elsewhere; "
        "transposing turns columns into rows.",
        {"mapped_k.swapaxes(-1, -2)": "mapped_k.reshape(*K.shape[:-2], -1, K.shape[-2])"}),
    Mistake("not transposed", "Where the mapped keys are square it runs, but a score pairs the r numbers of a query "
        "with those of a key.", {"mapped_k.swapaxes(-1, -2)": "mapped_k"}),
    Mistake("nothing was mapped", "These are dot products of queries and keys as they came; A and B have no part in "
        "them.", {"Q @ A": "Q", "K @ B": "K"}),
    Mistake("scaled", "These are divided by the root of r; plain dot products of the mapped vectors were wanted.",
        {"mapped_k.swapaxes(-1, -2)": "mapped_k.swapaxes(-1, -2) / A.shape[-1] ** 0.5"}),
)  # fmt: skip

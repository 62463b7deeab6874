"""The bilinear score, in the cheap order

write · ★ · 8 min · 01-foundations/5-scoring-functions · after foundations.dot-by-hand

Write the multiplicative score q W k for all pairs. Q is (..., m, d_q), K is (..., n, d_k) and W is (d_q,
d_k); the scores are (..., m, n).

1. Which of the two, Q or K, can W be applied to directly from the right?
2. Map the queries to the width of the keys, and then it is a matrix of dot products.
3. Multiply Q with W; multiply the result with K whose last two axes are exchanged.

With few queries it is cheaper to map the queries than the keys: m d_q d_k against n d_q d_k.
"""

from attnlib.exercises.kit import laws


def multiplicative_scores(Q, K, W):
    """The bilinear score of every query with every key."""
    mapped = Q @ W
    return mapped @ K.swapaxes(-1, -2)


def reference(Q, K, W):
    from attnlib.reference import scores

    return scores.multiplicative_scores(Q, K, W)[0]


def cases(rng):
    return {
        "two queries, three keys": (
            rng.normal(size=(2, 4)),
            rng.normal(size=(3, 5)),
            rng.normal(size=(4, 5)),
        ),
        "a batch of two": (rng.normal(size=(2, 3, 5)), rng.normal(size=(2, 4, 7)), rng.normal(size=(5, 7))),
        "all sizes equal": tuple(rng.normal(size=(3, 3)) for _ in range(3)),
        "a batch of three, all sizes equal": (
            rng.normal(size=(3, 3, 3)),
            rng.normal(size=(3, 3, 3)),
            rng.normal(size=(3, 3)),
        ),
    }


LAWS = (laws.separate_batches(0, 1),)
VARIANTS = r"""
    mapped = Q @ W\n    return mapped @ K.swapaxes(-1, -2) => return Q @ (K @ W.T).swapaxes(-1, -2)
    mapped = Q @ W\n    return mapped @ K.swapaxes(-1, -2) => return np.einsum('...iq,qk,...jk->...ij', Q, W, K)
"""
MISTAKES = """
W is transposed | Where W is square it runs, but q and k have changed their sides of W.
    Q @ W => Q @ W.T
W is left out | These are plain dot products; W has no part in them.
    Q @ W => Q
K is not transposed | Where K is square it runs, but a score must pair a query's numbers with one key's.
    K.swapaxes(-1, -2) => K
scaled | These are divided by the root of the keys' width; the multiplicative score is not scaled.
    return mapped @ K.swapaxes(-1, -2) => return mapped @ K.swapaxes(-1, -2) / K.shape[-1] ** 0.5
W applied to the keys too | W stands between q and k once.
    K.swapaxes => (K @ W.T @ W).swapaxes
all axes turned around | `.T` turns around all axes, the batch as well. Swap the last two only.
    K.swapaxes(-1, -2) => K.T
"""

"""The best k, and no more

write · ★★ · 10 min · 01-foundations/6-hard-sparse-local

Return a boolean mask, as large as S (..., n), with exactly k True in each row, at the k largest scores. Of
equal scores the first ones count.

1. Comparing with the k-th largest score is short. How many are kept if three scores are equal to it?
2. Sort the positions of the scores, not the scores; a stable sort leaves equal ones in their order.
3. Stable argsort of the negated scores; set True at the first k positions of each row, with
   `put_along_axis`.

With real numbers ties are rare, but with masked scores (all minus infinity) or rounded ones (bfloat16) they
are not. A threshold then keeps more than k, and a buffer made for k overflows.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake, Property
from attnlib.exercises.kit import laws


def top_k_mask(S, k):
    """True at the k largest scores of each row; of equal scores the first ones count."""
    order = np.argsort(-S, axis=-1, kind="stable")
    mask = np.zeros(S.shape, dtype=bool)
    np.put_along_axis(mask, order[..., :k], True, axis=-1)
    return mask


def reference(S, k):
    from attnlib.reference import sparse

    return sparse.top_k_mask(S, k)


def cases(rng):
    ties = np.array([[2.0, 1.0, 2.0, 2.0, 0.0], [1.0, 1.0, 1.0, 1.0, 1.0], [3.0, 0.0, 1.0, 1.0, 1.0]])
    return {
        "two rows, k = 2": (rng.normal(size=(2, 5)), 2),
        "a batch, k = 3": (rng.normal(size=(2, 3, 7)), 3),
        "equal scores, k = 2": (ties, 2),
        "as many rows as columns, k = 1": (rng.normal(size=(4, 4)), 1),
        "all keys": (rng.normal(size=(3, 4)), 4),
    }


def top_k_by_rank(S, k):
    keys = np.arange(S.shape[-1])
    above = S[..., None, :] > S[..., :, None]
    tied_before = (S[..., None, :] == S[..., :, None]) & (keys < keys[:, None])
    return (above | tied_before).sum(axis=-1) < k


def top_k_one_by_one(S, k):
    mask = np.zeros(S.shape, dtype=bool)
    for where in np.ndindex(S.shape[:-1]):
        for j in sorted(range(S.shape[-1]), key=lambda j: (-S[where][j], j))[:k]:
            mask[(*where, j)] = True
    return mask


def exactly_k(f, S, k):
    counts = np.asarray(f(S, k)).sum(axis=-1)
    wrong = np.argwhere(counts != k)
    return (
        f"row {laws.index(wrong[0])} has {int(counts[tuple(wrong[0])])}, and k is {k}" if wrong.size else None
    )


LAWS = (
    Property("each row has exactly k True", exactly_k),
    laws.separate_batches(0),
    laws.unchanged_by_a_constant(0),
)
VARIANTS = (top_k_by_rank, top_k_one_by_one)
MISTAKES = (
    Mistake("all equal scores were kept", "Where several scores equal the k-th largest, a threshold keeps them all; "
        "then a row has more than k.", lambda S, k: np.sort(S, axis=-1)[..., [-k]] <= S),
    Mistake("only scores above the k-th", "The k-th largest itself belongs to the k largest.",
        lambda S, k: np.sort(S, axis=-1)[..., [-k]] < S),
    Mistake("of equal scores the last ones count", "The number is right, but of equal scores the first ones were "
        "wanted.", {'np.argsort(-S, axis=-1, kind="stable")': 'np.argsort(S, axis=-1, kind="stable")[..., ::-1]'}),
    Mistake("the smallest scores", "These are the k smallest; sorting goes upwards unless the scores are negated.",
        {"argsort(-S": "argsort(S"}),
    Mistake("positions taken for ranks", "`argsort` returns which key is first, second, and so on, not which rank each "
        "key has.",
        {"mask = np.zeros(S.shape, dtype=bool)": "mask = order < k",
         "np.put_along_axis(mask, order[..., :k], True, axis=-1)": "pass"}),
    Mistake("one too many", "A row has k + 1 True; `:k` already has k entries.", {":k]": ": k + 1]"}),
    Mistake("one too few", "A row has k - 1 True; `:k` has k entries.", {":k]": ": k - 1]"}),
    Mistake("the mask is inverted", "True should mark the keys that stay; here it marks the others.",
        {"return mask": "return ~mask"}),
    Mistake("over the queries", "Here each column has its k largest; each query should, a row.",
        {"argsort(-S, axis=-1": "argsort(-S, axis=-2",
         "order[..., :k], True, axis=-1": "order[..., :k, :], True, axis=-2"}),
)  # fmt: skip

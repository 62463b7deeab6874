"""From equivariant to invariant

write · ★★ · 10 min · 02-self-attention/2-permutation · after self-attention.put-back

X (..., n, d) are the outputs of self-attention, mask (..., n) is True for real tokens. Return the mean over the real
tokens of each sequence, (..., d); zeros for a sequence without any. The result must not change when tokens and mask
are shuffled in the same way.

1. Which axis of X counts the tokens, and how many of them are real?
2. A padded row must add nothing to the sum and nothing to the count.
3. Multiply X with the mask, given one more axis; sum over the tokens; divide by the number of True, but by
   at least 1.

Sums and means forget the order, so an equivariant layer followed by one is invariant. The count makes the
difference between a mean and a sum: two equal tokens are one vote each.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def mean_of_tokens(X, mask):
    """One vector for each sequence: the mean over its real tokens."""
    count = mask.sum(axis=-1, keepdims=True)
    return (X * mask[..., None]).sum(axis=-2) / np.maximum(count, 1)


def cases(rng):
    mask = np.array([[True, True, True, False], [True, False, False, False]])
    return {
        "one sequence with two pads": (drawn(rng, (4, 3))[0], np.array([True, True, False, False])),
        "a batch of two": (drawn(rng, (2, 4, 3))[0], mask),
        "as many tokens as numbers": (drawn(rng, (2, 4, 4))[0], mask),
        "an empty sequence": (drawn(rng, (2, 3, 2))[0], np.array([[True, True, False], [False] * 3])),
        "a pad in the middle": (
            drawn(rng, (2, 4, 2))[0],
            np.array([[True, False, True, True], [False, True] * 2]),
        ),
        "no pads": (drawn(rng, (5, 2))[0], np.ones(5, dtype=bool)),
    }


def pool_by_loop(X, mask):
    means = np.zeros(X.shape[:-2] + X.shape[-1:])
    for where in np.ndindex(X.shape[:-2]):
        if mask[where].any():
            means[where] = X[where][mask[where]].mean(axis=0)
    return means


VARIANTS = (
    pool_by_loop,
    {"(X * mask[..., None]).sum(axis=-2)": "np.einsum('...nd,...n->...d', X, mask.astype(X.dtype))"},
)  # fmt: skip
MISTAKES = (
    Mistake("divided by all tokens", "The padded rows were counted. A short sequence should not become smaller "
        "because of its neighbours.", {"np.maximum(count, 1)": "X.shape[-2]"}),
    Mistake("padding took part", "The padded rows were added to the sum.", {"X * mask[..., None]": "X"}),
    Mistake("the first tokens were taken for the real ones", "The mask was counted, and that many tokens were taken "
        "from the start. The mask is True at the real ones, wherever they are.",
        {"X * mask[..., None]": "X * (np.arange(X.shape[-2]) < count)[..., None]"}),
    Mistake("the padding was averaged", "This is the mean of the padded rows. The mask is True for the real ones.",
        {"count = mask.sum(axis=-1, keepdims=True)": "count = (~mask).sum(axis=-1, keepdims=True)",
         "X * mask[..., None]": "X * ~mask[..., None]"}),
    Mistake("a sum, not a mean", "The sum was not divided by the number of real tokens.",
        {"/ np.maximum(count, 1)": ""}),
    Mistake("nan for an empty sequence", "A sequence without real tokens was divided by its count of zero. It should "
        "give zeros.", {"np.maximum(count, 1)": "count"}),
    Mistake("divided by the root of the count", "A mean divides by the count itself.",
        {"np.maximum(count, 1)": "np.sqrt(np.maximum(count, 1))"}),
    Mistake("one more token was counted", "The count is too large by one.", {"np.maximum(count, 1)": "(count + 1)"}),
)  # fmt: skip

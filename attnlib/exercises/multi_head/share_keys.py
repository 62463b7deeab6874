"""Which keys are mine?

write · ★★ · 8 min · 03-multi-head/3-memory

K (..., n_kv, n, d) are the keys of n_kv heads. There are n_heads query heads, a multiple of n_kv; the first
n_heads / n_kv of them share the first key head, the next ones the second, and so on. Return (..., n_heads,
n, d).

1. With 6 query heads and 2 key heads: whose keys does query head 2 read?
2. Each key head is repeated for its neighbours before the next one comes.
3. Repeat along the axis of the heads, n_heads / n_kv times each.

Copying is for reading; fast code lets the query heads of a group read the same memory. The trained model decides the
order: tiling in place of repeating runs, with heads that read another group's keys.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn
from attnlib.reference import grouped


def shared(K, n_heads):
    """(..., h, n, d): keys of n_kv heads, each handed to h / n_kv query heads that are neighbours."""
    return np.repeat(K, n_heads // K.shape[-3], axis=-3)


def shared_by_index(K, n_heads):
    group = n_heads // K.shape[-3]
    return K[..., np.arange(n_heads) // group, :, :]


def cases(rng):
    return {
        "two key heads for four": (drawn(rng, (2, 3, 2))[0], 4),
        "two for six, a batch of three": (drawn(rng, (3, 2, 3, 4))[0], 6),
        "one for all": (drawn(rng, (1, 3, 2))[0], 4),
        "each its own": (drawn(rng, (3, 2, 2))[0], 3),
        "all sizes equal": (drawn(rng, (2, 2, 2, 2))[0], 4),
    }


def reference(K, n_heads):
    return grouped.repeat_heads(K, n_heads // K.shape[-3])


VARIANTS = (
    shared_by_index,
    {"np.repeat(K, n_heads // K.shape[-3], axis=-3)":
         "np.stack([K[..., k * K.shape[-3] // n_heads, :, :] for k in range(n_heads)], axis=-3)"},
)  # fmt: skip
MISTAKES = (
    Mistake("the tokens were repeated", "The axis of the heads is the third from the end.", {"axis=-3)": "axis=-2)"}),
    Mistake("each repeated n_heads times", "That many copies of each key head make too many heads. A key head is read "
        "by the n_heads / n_kv query heads of its group.", {"n_heads // K.shape[-3]": "n_heads"}),
    Mistake("every head reads the first key head", "Each group has its own key head.",
        {"np.repeat(K,": "np.repeat(K[..., :1, :, :] + 0 * K,"}),
    Mistake("divided by the size of the group", "A key is shared, not split: each query head reads it whole.",
        {"return np.repeat": "return K.shape[-3] / n_heads * np.repeat"}),
)  # fmt: skip

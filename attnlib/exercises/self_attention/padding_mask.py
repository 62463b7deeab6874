"""Some of these are not words

write · ★ · 8 min · 02-self-attention/3-masks · after self-attention.causal-mask

lengths (b) says how many real tokens each sequence has; the rest, up to n, is padding. Return a boolean
mask of shape (b, 1, n) that hides the padded keys from every query.

1. Which of the numbers 0, ..., n - 1 belong to real tokens of a sequence of length 3?
2. Each sequence has one row of n booleans. The axis of length 1 stands for all queries.
3. Compare the numbers of the keys with the lengths, given two more axes.

The axis of length 1 says that the mask is about keys: it is the same for every query. Rows of padded
queries are computed as well and thrown away; masking them would make rows with nothing to look at.
"""

import numpy as np


def padding_mask(lengths, n):
    """(b, 1, n), True for the real tokens of each sequence."""
    lengths = np.asarray(lengths)
    return np.arange(n) < lengths[:, None, None]


def reference(lengths, n):
    from attnlib.reference import masks

    return masks.padding_mask(lengths, n)


def cases(rng):
    return {
        "lengths 2 and 4": (np.array([2, 4]), 5),
        "as many sequences as tokens": (np.array([1, 3, 2]), 3),
        "one sequence": (np.array([3]), 4),
        "an empty sequence": (np.array([2, 0]), 3),
    }


VARIANTS = """
    return np.arange(n) < lengths[:, None, None] => return (np.arange(n)[None] < lengths[:, None])[:, None]
    return np.arange(n) < lengths[:, None, None]
        => return np.stack([[[j < length for j in range(n)]] for length in lengths])
"""
MISTAKES = """
padding is visible, words are hidden | True means: may look. PyTorch's `key_padding_mask` is the other way
  round.
    < lengths => >= lengths
off by one: one pad is visible | A sequence of length 2 has the tokens 0 and 1.
    np.arange(n) < => np.arange(n) <=
off by one: the last word is hidden | The last real token has the number length - 1, and it may be seen.
    np.arange(n) < => np.arange(n) + 1 <
the queries are masked, not the keys | The keys are the last axis. In this shape the mask would say which
  queries may look.
    return np.arange(n) < lengths[:, None, None] => return np.arange(n)[:, None] < lengths[:, None, None]
no axis for the queries | With the shape (b, n) the mask meets the scores (b, m, n) as if its first axis
  counted queries. Where b and m agree, that even runs.
    lengths[:, None, None] => lengths[:, None]
a row for each query | Every query may look at the same keys, so one row says it for all: the middle axis
  has length 1.
    return np.arange(n) < lengths[:, None, None]
        => return (np.arange(n) < lengths[:, None, None]) & np.ones((n, 1), dtype=bool)
an additive mask | This mask is to be added to scores. Asked for was a boolean one, True for real tokens.
    return np.arange(n) < lengths[:, None, None]
        => return np.where(np.arange(n) < lengths[:, None, None], 0.0, -np.inf)
padding on the left | Here the last tokens of each sequence are the real ones. The padding comes at the end.
    np.arange(n) < => np.arange(n)[::-1] <
numbers, not booleans | The values are right, but they are numbers. Masks are boolean here.
    return np.arange(n) < lengths[:, None, None] => return (np.arange(n) < lengths[:, None, None]) * 1.0
    return np.arange(n) < lengths[:, None, None] => return (np.arange(n) < lengths[:, None, None]) * 1
"""

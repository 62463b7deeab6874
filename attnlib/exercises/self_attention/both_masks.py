"""Past and real

write · ★★ · 8 min · 02-self-attention/3-masks

causal (n, n) is True where a key is not later than the query; real (b, n) is True for real tokens. Return
one mask (b, n, n) that lets a query look only where both allow it.

1. Two conditions have to hold at once. Which operator says that for booleans?
2. Which axis of the result counts queries, which keys, and about which of them does `real` speak?
3. Give `real` an axis for the queries, between its two, and take `and` with the causal mask.

Masks are joined by `and`, additive masks by `+`. With pads in front the first rows have nothing to look at:
who joins masks must know what the softmax does with such a row.
"""

import numpy as np


def both(causal, real):
    """One mask (b, n, n) from two: a key must be past and real."""
    return causal & real[:, None, :]


def cases(rng):
    tril = np.tril(np.ones((4, 4), dtype=bool))
    real = np.array([[True, True, True, False], [True, True, False, False]])
    return {
        "two sequences of up to four": (tril, real),
        "as many sequences as tokens": (np.tril(np.ones((3, 3), dtype=bool)), np.tri(3, 3, dtype=bool)[::-1]),
        "pads in front": (
            np.tril(np.ones((3, 3), dtype=bool)),
            np.array([[False, True, True], [True, True, True]]),
        ),
        "pads in the middle": (tril, np.array([[True, False, True, True], [True, True, False, True]])),
    }


def both_for_real_queries(causal, real):
    return np.stack([np.logical_and(causal, np.outer(one, one)) for one in real])


VARIANTS = """
    causal & real[:, None, :] => np.logical_and(real[:, None, :], causal[None])
    causal & real[:, None, :] => np.where(real[:, None, :], causal, False)
"""
MISTAKES = """
one of the two is enough | Joined with `or`, a padded key in the past is visible, and so is a real word of
  the future.
    causal & => causal |
the queries are masked, not the keys | Here a padded query may look nowhere, and real queries still read
  padding. The keys are the last axis.
    real[:, None, :] => real[:, :, None]
padded queries are hidden too | Rows of padded tokens are empty here. A mask hides keys; a softmax over an
  empty row has nothing to share out.
    both_for_real_queries
the padding was forgotten | Only the causal mask is left.
    causal & real[:, None, :] => causal & np.ones_like(real)[:, None, :]
the future is visible | Only the padding mask is left.
    causal & real[:, None, :] => np.ones_like(causal) & real[:, None, :]
the causal mask is transposed | The past is hidden and the future is visible: rows are queries, columns are
  keys.
    causal & => causal.T &
an additive mask | This mask is to be added to scores. Asked for was a boolean one, True where both allow a
  look.
    return causal & real[:, None, :] => return np.where(causal & real[:, None, :], 0.0, -np.inf)
the mask of the padding is turned | Exactly the padding is visible.
    & real => & ~real
"""

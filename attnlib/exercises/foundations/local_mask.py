"""Only the neighbours

write · ★ · 8 min · 01-foundations/6-hard-sparse-local-monotonic

Return the boolean mask (m, n) of local attention: True where query i may look at key j, which is where they
are at most `window` positions apart, on either side. A query sees up to 2 window + 1 keys.

1. How far apart are query i and key j? Which of the two counts the rows?
2. Make all differences j - i at once, from a row of key positions and a column of query positions.
3. The absolute difference may be as large as the window, and equal to it as well.

With a window of fixed size the number of scores grows like n, not like n squared. What lies further away
can be reached only through several layers.
"""

import numpy as np


def local_mask(m, n, window):
    """True for each query i at the keys that are at most `window` positions away from it, on either side."""
    distance = np.arange(n) - np.arange(m)[:, None]
    return np.abs(distance) <= window


def reference(m, n, window):
    from attnlib.reference import sparse

    return sparse.local_mask(m, n, window)


def cases(rng):
    return {
        "3 queries, 5 keys, window 1": (3, 5, 1),
        "7 queries, 7 keys, window 2": (7, 7, 2),
        "6 queries, 4 keys, window 1": (6, 4, 1),
        "a window of 0": (3, 4, 0),
        "8 queries, 12 keys, window 3": (8, 12, 3),
    }


VARIANTS = """
    = np.array([[abs(i - j) <= window for j in range(n)] for i in range(m)])
    = np.tri(m, n, window, dtype=bool) & ~np.tri(m, n, -window - 1, dtype=bool)
"""
MISTAKES = """
the edge of the window is missing | A key exactly `window` positions away still counts; with a window of 0
  each query sees itself.
    <= window => < window
one key too far on either side | The outermost keys are window + 1 positions away.
    <= window => <= window + 1
causal | Only the query's own key and those before it are seen; a local window reaches to both sides here.
    return np.abs(distance) <= window => return (distance <= 0) & (distance >= -window)
causal, without the query's own key | Only earlier keys are seen: the window reaches to both sides here, and
  each query sees its own key.
    return np.abs(distance) <= window => return (distance < 0) & (distance >= -window)
only later keys | Only the query's own key and those after it are seen; the window reaches to both sides.
    return np.abs(distance) <= window => return (distance >= 0) & (distance <= window)
no left edge | All keys up to the right edge are seen, however far back: the distance without its sign was
  meant.
    np.abs(distance) => distance
no right edge | All keys from the left edge on are seen, however far ahead: the distance without its sign
  was meant.
    np.abs(distance) => -distance
the window as a whole width | `window` is how far it reaches on each side, not how wide it is in all.
    <= window => <= window / 2
the mask is inverted | True means: may look. Here the near keys are hidden.
    <= window => > window
queries and keys are exchanged | Rows belong to queries and columns to keys, so the shape is (m, n).
    np.arange(n) - np.arange(m)[:, None] => np.arange(m) - np.arange(n)[:, None]
shifted by one | The window stands around key i + 1, or i - 1; positions count from zero on both sides.
    np.arange(n) - np.arange(m)[:, None] => np.arange(n) - 1 - np.arange(m)[:, None]
    np.arange(n) - np.arange(m)[:, None] => np.arange(n) + 1 - np.arange(m)[:, None]
"""

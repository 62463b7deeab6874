"""Only the neighbourhood

write · ★ · 8 min · 02-self-attention/3-masks · after self-attention.causal-mask

Return a boolean mask (n, n) in which each query sees the keys from `before` places earlier to `after`
places later, itself included.

1. Write the offset, key minus query, into a table. Which offsets may be seen?
2. Make the table by subtracting a column of query numbers from a row of key numbers.
3. Two comparisons have to hold at once: not too far back, not too far ahead.

`after = 0` makes it causal. With a window of w the number of True entries grows with n w, not with n²: that
is what windows are for.
"""

import numpy as np


def window_mask(n, before, after):
    """(n, n), True from `before` places earlier to `after` places later."""
    offset = np.arange(n) - np.arange(n)[:, None]
    return (offset >= -before) & (offset <= after)


def reference(n, before, after):
    from attnlib.reference import masks

    return masks.window_mask(n, before, after)


def window_to_both_sides(n, before, after):
    offset = np.arange(n) - np.arange(n)[:, None]
    return abs(offset) <= before


def window_by_slices(n, before, after):
    mask = np.zeros((n, n), dtype=bool)
    for i in range(n):
        mask[i, i - before : i + after + 1] = True
    return mask


def cases(rng):
    return {
        "two back, one ahead": (6, 2, 1),
        "causal, three back": (5, 3, 0),
        "one back, three ahead": (6, 1, 3),
        "itself only": (4, 0, 0),
        "wider than the sequence": (3, 7, 5),
    }


VARIANTS = """
    return (offset >= -before) & (offset <= after)
        => return np.tri(n, n, after, dtype=bool) & ~np.tri(n, n, -before - 1, dtype=bool)
    (offset >= -before) & (offset <= after) => ~((offset < -before) | (offset > after))
"""
MISTAKES = """
before and after are exchanged | The window opens to the wrong side: an offset below zero is in the past.
    offset = np.arange(n) - np.arange(n)[:, None] => offset = np.arange(n)[:, None] - np.arange(n)
the far end in the past is missing | A key exactly `before` places back may be seen.
    >= -before => > -before
the far end ahead is missing | A key exactly `after` places ahead may be seen.
    <= after => < after
the same reach on both sides | The window is as wide ahead as it is back. How far it goes ahead is `after`.
    window_to_both_sides
empty rows at the start | A slice that starts below zero counts from the end, so the first queries see
  nothing, or the wrong keys.
    window_by_slices
everything up to the window is visible | The window has no end in the past.
    (offset >= -before) & =>
the future is open | The window has no end ahead.
    & (offset <= after) =>
a query does not see itself | An offset of 0 is the query's own place, which belongs to the window.
    return (offset >= -before) => return (offset != 0) & (offset >= -before)
the wider reach on both sides | The window reaches equally far to both sides. Back it goes by `before`,
  ahead by `after`.
    (offset >= -before) & (offset <= after) => abs(offset) <= max(before, after)
inverted mask | True means: may look. Here the window is hidden and the rest is visible.
    return (offset >= -before) & (offset <= after) => return ~((offset >= -before) & (offset <= after))
"""

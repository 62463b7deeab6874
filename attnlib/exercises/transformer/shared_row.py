"""How many distances share a row?

predict · ★★ · 6 min · 04-transformer/10-positions-compared

T5 adds to each score a number from a table of 32 rows, by the distance between query and key. 16 rows are for keys
before the query. Of these, 8 are for the distances 0 to 7, one each. The other 8 divide the distances from 8 to 128
into steps of equal ratio (equal on a logarithmic scale), and a row holds the whole distances from its beginning to
just below the next one. How many distances share the row of the distance 20?

1. How many steps of equal ratio lead from 8 to 128?
2. 128 is 16 times 8, and 8 steps lead there, so each multiplies by the eighth root of 16, which is the root of 2.
3. The rows begin at 8, 11.3, 16, 22.6, ... Which whole numbers are in the one that holds 20?

The rows get wider as the distance grows: near positions are distinguished exactly, far ones roughly.
"""

import math

from attnlib.exercises.engine.model import Mistake


def row(distance):
    """Counted from the first that is shared; two of them double the distance."""
    return math.floor(2 * math.log2(distance / 8))


def answer():
    return sum(row(distance) == row(20) for distance in range(8, 128))


MISTAKES = (
    Mistake("its own row", "Only the distances below 8 have a row each. From 8 on several share one.", 1),
    Mistake("sixteen rows of one distance", "Half of the 16 rows are for one distance each, and 20 is beyond them.",
        5),
    Mistake("as if both directions had 32 rows", "Of the 32 rows 16 are for keys that come after the query.", 2),
    Mistake("even steps", "Rows of equal width would be 15 wide. These grow, each wider than the one before by the "
        "same factor.", 15),
    Mistake("both ends counted", "The rows begin at 16 and at 22.6. The next row begins with 23, so count from 16 to "
        "22. (128 over 16 is 8, too, but these rows are not of one width.)", 8),
    Mistake("the borders rounded down", "22 is below 22.6, so it belongs to this row, too, and so does 20 itself.", 6),
    Mistake("borders that are no distances", "Distances are whole numbers. Count those between the two borders.",
        8 * 16 ** (3 / 8) - 8 * 16 ** (2 / 8)),
    Mistake("the number of the row", "That is the number of the row. Give how many distances are in it.", 10),
    Mistake("sixteen steps", "Of the 16 rows 8 have one distance each, so 8 are left for the distances from 8 to 128.",
        3),
    Mistake("rows that double", "From 16 to 32 there are two rows: one step multiplies by the root of 2.", 16),
    Mistake("both directions", "Keys after the query have rows of their own.", 14),
)  # fmt: skip

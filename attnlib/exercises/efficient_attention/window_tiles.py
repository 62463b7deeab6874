"""How many tiles does a window need?

write · ★★ · 12 min · 06-efficient-attention/9-tiles-become-a-kernel

A causal window: query i may attend to key j if j <= i and i - j < w. There are n queries and n keys, cut into tiles of
B queries and B keys; B divides n. Return two numbers: how many tiles hold at least one allowed pair, and how many of
these are full, with all their pairs allowed. Make no array of n times n numbers: n may be a million.

1. Take the tile of block a of queries and block b of keys. Which distances i - j occur in it?
2. With g = a - b the distances lie between gB - (B - 1) and gB + (B - 1). The tiles of one g are all alike.
3. A tile holds a pair if the least of its distances that is not negative is below w. It is full if all its distances
   lie between 0 and w - 1. There are n / B - g tiles for each g.

All blocks of queries but the first ones have equally many tiles: the number grows with n, and not with its square.
"""

from attnlib.exercises.engine.model import Mistake


def tiles_of_window(n, w, B):
    """(tiles with at least one allowed pair, tiles with all pairs allowed) of a causal window of w keys."""
    computed, full = 0, 0
    for g in range(n // B):
        least, largest = g * B - (B - 1), g * B + (B - 1)
        if max(least, 0) < w:
            computed += n // B - g
        if least >= 0 and largest < w:
            full += n // B - g
    return computed, full


def block_by_block(n, w, B):
    computed = full = 0
    for a in range(n // B):
        first, _ = divmod(max(0, a * B - w + 1), B)  # the block of the earliest key
        computed += a - first + 1
        full += sum(a * B + B - 1 - b * B < w for b in range(first, a + (B == 1)))
    return computed, full


def in_closed_form(n, w, B):
    m = n // B
    last, inner = min(m - 1, (w + B - 2) // B), max(0, min(m - 1, w // B - 1))
    diagonal = m if B == 1 else 0
    return (last + 1) * m - last * (last + 1) // 2, inner * m - inner * (inner + 1) // 2 + diagonal


def computed(n, w, B):
    return tiles_of_window(n, w, B)[0]


def all_rows(n, w, B):
    m = n // B
    return m * min(m, (w + B - 2) // B + 1), m * (max(0, w // B - 1) if B > 1 else min(m, w))


def both_sides(n, w, B):
    m = n // B
    full = sum((m - g) * (2 if g else 1) for g in range(m) if g * B + B - 1 < w)
    return 2 * computed(n, w, B) - m, full


def cases(rng):
    return {
        "twelve tokens, a window of four, tiles of two": (12, 4, 2),
        "a window that ends inside a tile": (20, 7, 4),
        "one more than a tile": (24, 5, 4),
        "the token itself only": (9, 1, 3),
        "a window wider than the text": (16, 40, 4),
        "tiles of one": (6, 3, 1),
        "one tile": (8, 3, 8),
        "a long text": (4096, 256, 64),
        "a million tokens": (2**20, 5000, 1024),
    }


LAST = "max(least, 0) < w"
FULL = "least >= 0 and largest < w"
RETURNS = ("tiles with a pair", "full tiles")
VARIANTS = (block_by_block, in_closed_form)
MISTAKES = (
    Mistake("w / B tiles in a row", "A window of w keys begins inside a tile for most queries, so a row of tiles meets "
        "one tile more than w / B.", {LAST: "g < w // B"}),
    Mistake("every row has equally many tiles", "The first blocks of queries have fewer blocks of keys before them.",
        {"computed += n // B - g": "computed += n // B", "full += n // B - g": "full += n // B"}, all_rows),
    Mistake("full if one query sees all keys", "The last query of the tile must reach its first key, too.",
        {FULL: "least >= 0 and g * B < w"}),
    Mistake("the diagonal counted as full", "In a tile on the diagonal the first query may not attend to the keys "
        "after it.", {FULL: "largest < w"}),
    Mistake("the diagonal is never full", "With B = 1 a tile on the diagonal is one allowed pair.",
        {FULL: "least > 0 and largest < w"}),
    Mistake("the last tile of a row is missing", "The first query of a tile reaches further back than its last query, "
        "and the last key of a tile is nearer than its first key.", {LAST: "g * B < w"}),
    Mistake("all tiles but the diagonal are full", "At the end of the window a tile has pairs that are too far apart.",
        lambda n, w, B: (computed(n, w, B), computed(n, w, B) - n // B)),
    Mistake("partial tiles in place of full ones", "These are the tiles with an allowed pair and a hidden one.",
        lambda n, w, B: (computed(n, w, B), computed(n, w, B) - tiles_of_window(n, w, B)[1])),
    Mistake("both sides of the diagonal", "Keys after a query are hidden, however near they are.", both_sides),
)  # fmt: skip

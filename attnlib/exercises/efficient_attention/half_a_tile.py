"""Half a tile

predict · ★★ · 6 min · 06-efficient-attention/9-tiles-become-a-kernel

A causal window of 1,024 keys (the token itself is one of them) in a text of 65,536 tokens. A program takes a block of
queries, and loads the keys and the values of each tile that is not empty. Its tiles of 128 by 128 are replaced by tiles
of 64 by 64. By which factor does the number of keys that it loads in all change? (1 would mean no change. The few
blocks at the beginning of the text make no difference at two decimals.)

1. How many tiles does one block of 128 queries have? The earliest key of its first query lies 1,023 positions back.
2. Nine tiles of 128 for 128 queries; seventeen tiles of 64 for 64 queries.
3. How many keys are loaded for each query?

The number of scores falls at the same time, from 1,152 to 1,088 for each query: a sixteenth less arithmetic, and nearly
twice the bytes.
"""

from attnlib.exercises.engine.model import Mistake

W, LARGE, SMALL = 1024, 128, 64


def tiles_in_a_row(w, B):
    return -(-(w - 1) // B) + 1


def answer():
    return tiles_in_a_row(W, SMALL) / tiles_in_a_row(W, LARGE)


WITHIN = 0.01
MISTAKES = (
    Mistake("exactly twice", "Nearly. One tile of each row is there because the window begins inside a tile, and "
        "that tile is smaller now.", 2.0),
    Mistake("the keys of one block; the scores", "So the keys that one block of queries loads change, and so do the "
        "scores. But there are more blocks now.",
        tiles_in_a_row(W, SMALL) * SMALL / (tiles_in_a_row(W, LARGE) * LARGE)),
    Mistake("the inverse", "The new number divided by the old one.",
        tiles_in_a_row(W, LARGE) / tiles_in_a_row(W, SMALL)),
    Mistake("one tile alone", "So the keys, or the scores, of one tile change. How many tiles are there?", 0.5, 0.25),
    Mistake("one tile too many", "The tile on the diagonal and those before it are enough: count them for the first "
        "query of a block.", 18 / 10, 18 / 10 / 2),
    Mistake("a tile is missing in one of the counts", "With both sizes the window begins inside a tile, which is "
        "loaded, too.", 16 / 9, 17 / 8),
    Mistake("tiles are missing", "The tile on the diagonal is loaded, and the one in which the window begins.", 15 / 7),
    Mistake("tiles are counted", "There are so many times as many tiles, but each of them holds half as many keys.",
        2 * tiles_in_a_row(W, SMALL) / tiles_in_a_row(W, LARGE), 4.0),
    Mistake("no change", "A smaller block of queries shares the keys that it loads among fewer queries.", 1.0),
)  # fmt: skip

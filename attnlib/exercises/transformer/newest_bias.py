"""A bias for the newest token

repair · ★★ · 8 min · 04-transformer/10-positions-compared

The array table (h, most + 1) holds, for each head, the numbers that are added to a score at the distances 0, 1, ...,
most; keys at larger distances share the last number. When a model generates text, the tokens come one at a time, and
`held` tokens are before the new one. This function is meant to return an array (h, held + 1): what is added to the new
token's scores with all keys, in the order of the text, its own key last. It runs for every length, but a model that
uses it generates nonsense. Two things are wrong; repair both.

1. Which distance has the first key of the text, and which the last?
2. What happens to a distance beyond `most`, and what should happen?
3. The distances fall from `held` to 0; what is beyond `most` counts as `most`.

With a whole text at once, both mistakes would show in a picture of the table. In the one row that a step needs they do
not, so compare that row with the last row of the whole.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def newest_bias(table, held):
    """What is added to the scores of a token that `held` others stand before; (h, held + 1)."""
    distance = np.arange(held, -1, -1)
    row = np.minimum(distance, table.shape[1] - 1)
    return table[:, row]


def from_the_end(table, held):
    h, rows = table.shape
    near = table[:, : held + 1]
    far = np.repeat(table[:, -1:], max(held + 1 - rows, 0), axis=1)
    return np.concatenate([near, far], axis=1)[:, ::-1]


def last_row_of_all(table, held):
    n = held + 1
    whole = np.empty((len(table), n, n))
    for i in range(n):
        for j in range(n):
            whole[:, i, j] = table[:, min(max(i - j, 0), table.shape[1] - 1)]
    return whole[:, -1]


def cases(rng):
    return {
        "fewer tokens than rows": (drawn(rng, (2, 5))[0], 3),
        "more tokens than rows": (drawn(rng, (2, 3))[0], 6),
        "the first token": (drawn(rng, (3, 4))[0], 0),
        "as many tokens as rows": (drawn(rng, (2, 4))[0], 4),
        "many tokens": (drawn(rng, (4, 6))[0], 23),
    }


GIVEN = ("distances from the wrong end", "far distances begin again")
VARIANTS = (from_the_end, last_row_of_all)
MISTAKES = (
    Mistake("distances from the wrong end", "The first key of the text was given the distance 0. The nearest key is "
        "the last one.", {"distance = np.arange(held, -1, -1)": "distance = np.arange(held + 1)"}),
    Mistake("far distances begin again", "Beyond the end of the table its columns began again, so a far key counts as "
        "near.", {"np.minimum(distance, table.shape[1] - 1)": "distance % table.shape[1]"}),
    Mistake("nothing has the distance 0", "The last key is the token's own: its distance is 0, not 1.",
        {"distance = np.arange(held, -1, -1)": "distance = np.arange(held + 1, 0, -1)"}),
    Mistake("one column too few", "Distances of `most` were given the last column but one.",
        {"np.minimum(distance, table.shape[1] - 1)": "np.minimum(distance, table.shape[1] - 2)"}),
    Mistake("nothing for the far ones", "Keys beyond the table got nothing. They share its last number.",
        {"return table[:, row]": "return np.where(distance < table.shape[1], table[:, row], 0)"}),
    Mistake("two keys at the distance 0", "Only the token's own key has the distance 0; the one before it has 1.",
        {"distance = np.arange(held, -1, -1)": "distance = np.maximum(np.arange(held - 1, -2, -1), 0)"}),
    Mistake("the far ones are hidden", "Keys beyond the table were hidden. They share its last number.",
        {"return table[:, row]": "return np.where(distance < table.shape[1], table[:, row], -np.inf)"}),
    Mistake("the far ones are missing", "Keys beyond the table are left out. They share its last number.",
        {"return table[:, row]": "return table[:, row][:, max(held + 1 - table.shape[1], 0) :]"}),
    Mistake("the heads are counted", "The distances are the columns of the table. Its rows are the heads.",
        {"table.shape[1] - 1": "table.shape[0] - 1"}),
    Mistake("the table is turned round", "The first numbers of the table are at the end, and far keys still come last. "
        "Reverse the order of the keys.",
        lambda table, held: table[:, table.shape[1] - 1 - np.minimum(np.arange(held + 1), table.shape[1] - 1)]),
    Mistake("the last number for all", "All keys got the number of the far ones.",
        lambda table, held: np.repeat(table[:, -1:], held + 1, axis=1)),
    Mistake("all queries", "There is a row for each token of the text. Only the new token has a query.",
        lambda table, held: table[:, np.clip(np.arange(held + 1)[:, None] - np.arange(held + 1), 0, table.shape[1] -
            1)]),
    Mistake("indices, not the numbers", "These are indices into the table. Return the numbers at them.",
        {"return table[:, row]": "return row"}),
)  # fmt: skip

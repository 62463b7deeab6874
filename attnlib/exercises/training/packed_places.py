"""Places that begin again

write · ★★ · 10 min · 05-training/8-a-transformer-in-numpy-trained

To waste no room, several texts are packed into one row, and the place of a word is counted from the beginning of its
*own* text. So a row has places such as 0 1 2 0 1 0. place (b, n) holds them, dX (b, n, d) is the slope that arrives
where words and places were added. Return the slope of the table of places, (longest, d).

1. Which places of the batch read row 0 of the table? Each of them reports.
2. A table is shared by all that read it, so its slope is a sum over all of them.
3. `d[place] += dX` adds only one of several reports for the same row. `np.add.at` adds all, or a matrix of zeros and
   ones, transposed, times dX.

`d[place] += dX` is the quiet kind of mistake: right as long as no place comes twice. A batch of one row that is not
packed passes every test. Finite differences on a packed row find it.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def slope_of_places(dX, place, longest):
    """The slope of the table of places; dX (b, n, d), place (b, n)."""
    d_places = np.zeros((longest, dX.shape[-1]))
    np.add.at(d_places, place, dX)
    return d_places


def by_loop(dX, place, longest):
    rows = [np.zeros(dX.shape[-1]) for _ in range(longest)]
    for b in range(dX.shape[0]):
        for i in range(dX.shape[1]):
            rows[place[b, i]] = rows[place[b, i]] + dX[b, i]
    return np.array(rows)


def by_matrix(dX, place, longest):
    reads = (place[..., None] == np.arange(longest)).astype(float)
    return np.einsum("bnl,bnd->ld", reads, dX)


def last_report(dX, place, longest):
    d_places = np.zeros((longest, dX.shape[-1]))
    d_places[place] += dX
    return d_places


def each_text_once(dX, place, longest):
    d_places = np.zeros((longest, dX.shape[-1]))
    for b in range(len(dX)):
        d_places[place[b]] += dX[b]
    return d_places


def not_packed(dX, place, longest):
    d_places = np.zeros((longest, dX.shape[-1]))
    d_places[: dX.shape[1]] = dX.sum(axis=0)
    return d_places


def mean_report(dX, place, longest):
    d_places = slope_of_places(dX, place, longest)
    times = np.bincount(place.ravel(), minlength=longest)
    return d_places / np.maximum(times, 1)[:, None]


def first_report(dX, place, longest):
    d_places = np.zeros((longest, dX.shape[-1]))
    rows, first = np.unique(place, return_index=True)
    d_places[rows] = dX.reshape(-1, dX.shape[-1])[first]
    return d_places


def word_by_word(dX, place, longest):
    d_places = np.zeros((longest, dX.shape[-1]))
    for i in range(dX.shape[1]):
        d_places[place[:, i]] += dX[:, i]
    return d_places


def per_text(dX, place, longest):
    return slope_of_places(dX, place, longest) / len(dX)


def cases(rng):
    return {
        "one row, two texts": (*drawn(rng, (1, 5, 3)), np.array([[0, 1, 2, 0, 1]]), 6),
        "two rows": (*drawn(rng, (2, 5, 3)), np.array([[0, 1, 2, 3, 4], [0, 1, 0, 0, 1]]), 7),
        "texts of one word": (*drawn(rng, (2, 4, 2)), np.zeros((2, 4), dtype=int), 5),
        "as many places as words": (*drawn(rng, (3, 4, 4)), np.array([[0, 1, 2, 3]] * 3), 4),
    }


VARIANTS = (by_loop, by_matrix)
MISTAKES = (
    Mistake("one report of several", "Where a row of the table is read several times, only one report was added. With "
        "an array of numbers as index, `+=` writes each row once.",
        last_report, each_text_once, word_by_word, first_report),
    Mistake("the texts are not packed", "Row i of the table got what stands at word i. But there another text may "
        "have begun.", not_packed),
    Mistake("a mean of the reports", "A slope is a sum over all that read the row, however many they are.",
        mean_report),
    Mistake("divided by the rows", "The mean over the batch is in dX already: the loss was divided once, at the top.",
        per_text, lambda dX, place, longest: slope_of_places(dX, place, longest) / place.size),
    Mistake("as long as the row", "The table has `longest` rows, and those that nobody read have the slope zero.",
        lambda dX, place, longest: slope_of_places(dX, place, dX.shape[1]),
        lambda dX, place, longest: slope_of_places(dX, place, place.max() + 1)),
    Mistake("the sign is turned", "The slope says where the loss rises. The optimiser goes against it, later.",
        lambda dX, place, longest: -slope_of_places(dX, place, longest)),
    Mistake("the first row of the batch alone", "All rows of the batch read the table.",
        lambda dX, place, longest: slope_of_places(dX[:1], place[:1], longest)),
    Mistake("a table for each row", "There is one table for all rows of the batch, so the reports of all of them are "
        "added.",
        lambda dX, place, longest: np.array([slope_of_places(dX[b : b + 1], place[b : b + 1], longest) for b in
            range(len(dX))])),
    Mistake("the slope of the words", "That is the slope at each word. The table has a row for each place.",
        lambda dX, place, longest: dX),
    Mistake("times the place", "The place says which row hears the report. It is no factor.",
        lambda dX, place, longest: slope_of_places(dX * place[..., None], place, longest)),
)  # fmt: skip

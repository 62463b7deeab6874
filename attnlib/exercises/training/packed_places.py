"""The gradient of positions in packed rows

write · ★★ · 10 min · 05-training/9-a-transformer-in-numpy-trained

To waste no memory, several texts are packed into one row, and the position of a word is counted from the beginning of
its *own* text. So a row has positions such as 0 1 2 0 1 0. `place` (b, n) holds them. The model adds to each word the
row of a table (longest, d) that its position selects, and dX (b, n, d) is the gradient of the loss with respect to
these sums. Return the gradient with respect to the table.

1. Which words of the batch read row 0 of the table? Each of them adds to its gradient.
2. A row of the table is shared by all words that read it, so its gradient is a sum over them.
3. `d[place] += dX` adds only one of several gradients for the same row. `np.add.at` adds all, or a matrix of zeros and
   ones, transposed, times dX.

`d[place] += dX` raises no error, and is right as long as no position comes twice. So a batch of one unpacked row does
not show the mistake; finite differences on a packed row do.
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
        "as many positions as words": (*drawn(rng, (3, 4, 4)), np.array([[0, 1, 2, 3]] * 3), 4),
    }


VARIANTS = (by_loop, by_matrix)
MISTAKES = (
    Mistake("one gradient of several",
        "Where a row of the table is read several times, only one gradient was added. With an array of numbers as "
        "index, `+=` writes each row once.",
        last_report, each_text_once, word_by_word, first_report),
    Mistake("the texts are not packed", "Row i of the table got the gradient of word i of a row. But that word may be "
        "in another text, at another position.", not_packed),
    Mistake("a mean of the gradients", "The gradient is a sum over all words that read the row, however many they are.",
        mean_report),
    Mistake("divided by the rows", "The mean over the batch is in dX already: the loss was divided once, at the top.",
        per_text, lambda dX, place, longest: slope_of_places(dX, place, longest) / place.size),
    Mistake("as long as the row", "The table has `longest` rows, and a row that no word reads has the gradient zero.",
        lambda dX, place, longest: slope_of_places(dX, place, dX.shape[1]),
        lambda dX, place, longest: slope_of_places(dX, place, place.max() + 1)),
    Mistake("the sign is turned", "The gradient points where the loss rises. The optimiser takes its negative, later.",
        lambda dX, place, longest: -slope_of_places(dX, place, longest)),
    Mistake("the first row of the batch alone", "All rows of the batch read the table.",
        lambda dX, place, longest: slope_of_places(dX[:1], place[:1], longest)),
    Mistake("a table for each row", "There is one table for all rows of the batch, so the gradients of all of them are "
        "added.",
        lambda dX, place, longest: np.array([slope_of_places(dX[b : b + 1], place[b : b + 1], longest) for b in
            range(len(dX))])),
    Mistake("the gradient of the words", "That is the gradient at each word. The table has a row for each position.",
        lambda dX, place, longest: dX),
    Mistake("times the position", "The position is the index of the row. It is no factor.",
        lambda dX, place, longest: slope_of_places(dX * place[..., None], place, longest)),
)  # fmt: skip

"""How much of a batch is padding?

write · ★★ · 8 min · 04-transformer/5-beams-and-bleu

lengths (sentences,) are numbers of words. The sentences are sorted from the shortest to the longest and cut into
batches of `size`, in that order, so that the last batch may be smaller. Each batch is padded to its longest sentence.
Return the share of all positions that is padding.

1. How many positions does a batch have, and how many of them are words?
2. Sort, cut, and add up the positions of all batches; the words are the sum of all lengths.
3. One minus words over positions.

A padded position costs as much arithmetic as a word. Sorting a pool of sixteen batches and then shuffling the batches,
as the course's loader does, keeps nearly all of the gain without showing the model all short sentences first.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def padded_share(lengths, size):
    """The share of positions that is padding, in batches of sentences sorted by length; lengths (sentences,)."""
    ordered = np.sort(lengths)
    batches = [ordered[i : i + size] for i in range(0, len(ordered), size)]
    places = sum(len(batch) * batch.max() for batch in batches)
    return 1 - ordered.sum() / places


def place_by_place(lengths, size):
    padded, ordered = [], sorted(lengths)
    for i, length in enumerate(ordered):
        widest = ordered[min(i - i % size + size, len(ordered)) - 1]
        padded += [False] * length + [True] * (widest - length)
    return np.mean(padded)


def whole_batches(lengths, size):
    """Without the sentences that are left over; 0 if there is no whole batch."""
    ordered = np.sort(lengths)[: len(lengths) // size * size]
    return padded_share(ordered, size) if len(ordered) else 0.0


def so_many_batches(lengths, size):
    """`size` batches of about as many sentences."""
    batches = [batch for batch in np.array_split(np.sort(lengths), size) if len(batch)]
    return 1 - lengths.sum() / sum(len(batch) * batch.max() for batch in batches)


def cases(rng):
    return {
        "five sentences in twos": (np.array([3, 7, 4, 8, 5]), 2),
        "all in one batch": (np.array([2, 9, 4]), 5),
        "each alone": (np.array([5, 2, 7]), 1),
        "all equally long": (np.array([4, 4, 4, 4, 4]), 3),
        "already sorted": (np.array([1, 2, 5, 6, 9, 12, 13]), 3),
        "thirty sentences": (rng.integers(3, 17, size=30), 8),
    }


VARIANTS = (place_by_place, {"1 - ordered.sum() / places": "(places - ordered.sum()) / places"})
MISTAKES = (
    Mistake("not sorted", "The sentences were cut as they came. Sorted first, a batch has sentences of about one "
        "length.", {"ordered = np.sort(lengths)": "ordered = lengths"}),
    Mistake("one batch of all", "Every sentence was made as long as the longest of all. A batch is as wide as its own "
        "longest.", {"len(batch) * batch.max()": "len(batch) * ordered.max()"}),
    Mistake("the share that is no padding", "This is the share of words. Padding is the rest.",
        {"return 1 - ordered.sum() / places": "return ordered.sum() / places"}),
    Mistake("padding for each word", "Padding was divided by words. Asked for is the share of all places.",
        {"1 - ordered.sum() / places": "places / ordered.sum() - 1"}),
    Mistake("a mean over the batches", "Each batch has its own share here, and the shares are averaged. Wide batches "
        "have more places.",
        {"return 1 - ordered.sum() / places":
             "return np.mean([1 - batch.mean() / batch.max() for batch in batches])"}),
    Mistake("the last batch counted as full", "The last batch has only the sentences that are left.",
        {"len(batch) * batch.max()": "size * batch.max()"}),
    Mistake("the last batch is dropped", "The sentences that are left over are a batch, too.",
        {"ordered = np.sort(lengths)":
             "ordered = np.sort(lengths); ordered = ordered[: max(len(ordered) // size, 1) * size]"},
        whole_batches),
    Mistake("the number of padded places", "That is how many places are padding, not which share.",
        {"1 - ordered.sum() / places": "places - ordered.sum()"}),
    Mistake("longest first", "The longest were taken first, so that the smaller batch at the end is one of short "
        "sentences.", {"ordered = np.sort(lengths)": "ordered = np.sort(lengths)[::-1]"}),
    Mistake("so many batches", "`size` is how many sentences a batch has, not how many batches there are.",
        so_many_batches),
    Mistake("the first batch alone", "That is the share of one batch. All of them count.",
        {"return 1 - ordered.sum() / places": "return 1 - batches[0].mean() / batches[0].max()"}),
    Mistake("a share for each batch", "Each batch has its own share here. Asked for is one, of all places together.",
        {"return 1 - ordered.sum() / places":
             "return np.array([1 - batch.mean() / batch.max() for batch in batches])"}),
)  # fmt: skip

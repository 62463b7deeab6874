"""How much of a batch is padding?

write · ★★ · 8 min · 04-transformer/16-beams-and-bleu

lengths (sentences,) holds the number of words of each sentence. The sentences are sorted from the shortest to the
longest and cut into batches of `size` in that order. The last batch may be smaller. Each batch is padded to its
longest sentence. Return the share of padding among all positions of all batches.

1. How many positions does a batch have, and how many of them are words?
2. Sort, cut, and add up the positions of all batches. The number of words is the sum of all lengths.
3. The share is one minus words divided by positions.

A padded position costs as much arithmetic as a word. The course's loader sorts a pool of sixteen batches and then
shuffles the batches. That keeps nearly all of the gain, and the model does not see all short sentences first.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def padded_share(lengths, size):
    """The share of positions that is padding, in batches of sentences sorted by length; lengths (sentences,)."""
    ordered = np.sort(lengths)
    batches = [ordered[i : i + size] for i in range(0, len(ordered), size)]
    positions = sum(len(batch) * batch.max() for batch in batches)
    return 1 - ordered.sum() / positions


def position_by_position(lengths, size):
    padded, ordered = [], sorted(lengths)
    for i, length in enumerate(ordered):
        widest = ordered[min(i - i % size + size, len(ordered)) - 1]
        padded += [False] * length + [True] * (widest - length)
    return np.mean(padded)


def whole_batches(lengths, size):
    """Without the last batch if it is smaller; 0 if there is no whole batch."""
    ordered = np.sort(lengths)[: len(lengths) // size * size]
    return padded_share(ordered, size) if len(ordered) else 0.0


def so_many_batches(lengths, size):
    """`size` batches with about the same number of sentences each."""
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


VARIANTS = (
    position_by_position,
    {"1 - ordered.sum() / positions": "(positions - ordered.sum()) / positions"},
)
MISTAKES = (
    Mistake("not sorted", "The sentences were cut in the given order. Sort them first: then a batch has sentences of "
        "about one length.",
        {"ordered = np.sort(lengths)": "ordered = lengths"}),
    Mistake("padded to the longest of all", "Every sentence was padded to the longest of all. A batch is padded to "
        "its own longest sentence.",
        {"len(batch) * batch.max()": "len(batch) * ordered.max()"}),
    Mistake("the share of words", "This is the share of words. Padding is the rest.",
        {"return 1 - ordered.sum() / positions": "return ordered.sum() / positions"}),
    Mistake("padding divided by words", "Padding was divided by the number of words. The question is about the share "
        "of all positions.",
        {"1 - ordered.sum() / positions": "positions / ordered.sum() - 1"}),
    Mistake("a mean over the batches", "This is the mean of the shares of all batches. Batches with more positions "
        "must count more.",
        {"return 1 - ordered.sum() / positions":
             "return np.mean([1 - batch.mean() / batch.max() for batch in batches])"}),
    Mistake("the last batch counted as full", "The last batch has only the sentences that are left.",
        {"len(batch) * batch.max()": "size * batch.max()"}),
    Mistake("the last batch is dropped", "The sentences that are left over are a batch, too.",
        {"ordered = np.sort(lengths)":
             "ordered = np.sort(lengths); ordered = ordered[: max(len(ordered) // size, 1) * size]"},
        whole_batches),
    Mistake("the number of padded positions", "This is how many positions are padding, not their share.",
        {"1 - ordered.sum() / positions": "positions - ordered.sum()"}),
    Mistake("longest first", "The sentences were sorted from the longest to the shortest, so the smaller last batch "
        "has the shortest sentences.",
        {"ordered = np.sort(lengths)": "ordered = np.sort(lengths)[::-1]"}),
    Mistake("`size` batches", "`size` is the number of sentences in a batch, not the number of batches.",
        so_many_batches),
    Mistake("the first batch alone", "That is the share of one batch. All batches count.",
        {"return 1 - ordered.sum() / positions": "return 1 - batches[0].mean() / batches[0].max()"}),
    Mistake("a share for each batch", "Each batch has its own share here. The question is about one share, of all "
        "positions together.",
        {"return 1 - ordered.sum() / positions":
             "return np.array([1 - batch.mean() / batch.max() for batch in batches])"}),
)  # fmt: skip

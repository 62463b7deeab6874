"""Take a head out by its mean

write · ★★ · 8 min · 04-transformer/15-inside-a-gpt

Z (b, h, n, d) holds the outputs of h heads for b texts of n tokens, and `usual` (b', h, n', d) those for other
texts. Return Z with the output of head `head` replaced, at every position, by its mean over all texts and positions
of `usual`. Z itself must stay as it is.

1. Over which axes is the mean taken, so that one vector is left?
2. One vector of d numbers for the head, the same for every text and position.
3. Copy Z before you write into it.

With a mean over the text itself, the stand-in would still know something of the text: its length, and which tokens
are frequent in it. A mean over other texts knows nothing of this one.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def mean_of_head(Z, usual, head):
    """Z with one head's output replaced by its mean over other texts; (b, h, n, d)."""
    changed = Z.copy()
    changed[:, head] = usual[:, head].mean(axis=(0, 1))
    return changed


def by_where(Z, usual, head):
    chosen = np.arange(Z.shape[1]) == head
    return np.where(chosen[:, None, None], usual.mean(axis=(0, 2))[:, None], Z)


def joined(Z, usual, head):
    rows = usual[:, head].reshape(-1, usual.shape[-1])
    stand_in = np.broadcast_to(rows.sum(axis=0) / len(rows), Z[:, :1].shape)
    return np.concatenate([Z[:, :head], stand_in, Z[:, head + 1 :]], axis=1)


def cases(rng):
    def parts(b, h, n, d, others, longer, head):
        return (*drawn(rng, (b, h, n, d), (others, h, longer, d)), head)

    return {
        "two texts, three heads": parts(2, 3, 4, 5, 3, 6, 1),
        "one text": parts(1, 2, 3, 4, 2, 5, 0),
        "the last head": parts(2, 4, 3, 2, 5, 3, 3),
        "all sizes equal": parts(3, 3, 3, 3, 3, 3, 1),
    }


VARIANTS = (by_where, joined)
MISTAKES = (
    Mistake("zeros", "The head gives zeros, which no text makes it give. Asked for is its mean.",
        {"usual[:, head].mean(axis=(0, 1))": "0"}),
    Mistake("the mean of this text", "That is the mean over Z itself: the stand-in still knows something of these "
        "texts.", {"usual[:, head]": "Z[:, head]"}),
    Mistake("one number", "All d coordinates got the same number. Each coordinate has a mean of its own.",
        {"axis=(0, 1)": "axis=None"}),
    Mistake("the mean of all heads", "The mean was taken over all heads. Each head has its own.",
        {"usual[:, head].mean(axis=(0, 1))": "usual.mean(axis=(0, 1, 2))"}),
    Mistake("every head", "All heads were replaced. The others stay as they are.",
        lambda Z, usual, head: np.broadcast_to(usual.mean(axis=(0, 2))[:, None], Z.shape)),
)  # fmt: skip

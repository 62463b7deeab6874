"""The mask of one stack that translates

write · ★★ · 10 min · 04-transformer/6-encoder-decoder-translation · after self-attention.packed

A GPT can translate, too. Its input is the source of n positions, followed by the target of m positions. real (b, n)
is True where the source has a word and False where it has padding; the target has no padding. Return the mask
(b, n + m, n + m), where True means that a query may attend to a key. It must allow in this one stack what the masks
of an encoder and a decoder allow together. Treat queries of padding like the other queries of the source.

1. The mask has four parts: queries of the source or the target, times keys of the source or the target. Which three
   of them are masks of an encoder and a decoder?
2. What must the fourth part be, if the memory must not depend on the generated words?
3. Columns of the source: real, in every row. Columns of the target: False in the rows of the source, a causal mask in
   the rows of the target.

Such a model is called a prefix language model. With a causal mask for both texts, a word of the source would attend
only to itself and the words before it. The model has no cross-attention. The keys and values of the source can be
cached, like those of a memory.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def prefix_mask(real, m):
    """Who may look where in both texts: (b, n + m, n + m)."""
    b, n = real.shape
    mask = np.zeros((b, n + m, n + m), dtype=bool)
    mask[:, :, :n] = real[:, None]
    mask[:, n:, n:] = np.tri(m, dtype=bool)
    return mask


def from_positions(real, m):
    b, n = real.shape
    i, j = np.arange(n + m)[:, None], np.arange(n + m)
    keys = np.concatenate([real, np.ones((b, m), dtype=bool)], axis=1)
    return ((j < n) | ((i >= n) & (j <= i))) & keys[:, None]


def four_parts(real, m):
    masks = []
    for one in real:
        source = np.tile(one, (len(one) + m, 1))
        target = np.concatenate([np.zeros((len(one), m), dtype=bool), np.tril(np.ones((m, m), dtype=bool))])
        masks.append(np.hstack([source, target]))
    return np.array(masks)


def cases(rng):
    def real(*lengths):
        return np.arange(max(lengths)) < np.array(lengths)[:, None]

    return {
        "sources of three words and two, a target of two": (real(3, 2), 2),
        "all sizes equal": (real(3, 1, 2), 3),
        "no padding": (real(2, 2), 3),
        "a target longer than the source": (real(2, 1), 4),
        "a target of one word": (real(3, 4), 1),
    }


VARIANTS = (from_positions, four_parts)
MISTAKES = (
    Mistake("a causal mask in the source", "A word of the source attends only to itself and the words before it. In "
        "an encoder it attends to the whole source.",
        {"mask[:, :, :n] = real[:, None]": "mask[:, :, :n] = real[:, None] & np.tri(n + m, n, dtype=bool)"}),
    Mistake("padding of the source is read", "The columns of padding are True: a translation would depend on the "
        "other sentences of the batch.",
        {"= real[:, None]": "= True"}),
    Mistake("the source attends to the target", "The source must not attend to the target: the memory would depend "
        "on the words that are generated.",
        {"mask = np.zeros(": "mask = np.ones("}),
    Mistake("the target attends to later positions", "Each position of the target attends to the word that it must "
        "predict.",
        {"np.tri(m, dtype=bool)": "True"}),
    Mistake("a position does not attend to itself", "The triangle ends one position before the diagonal.",
        {"np.tri(m, dtype=bool)": "np.tri(m, k=-1, dtype=bool)"}),
    Mistake("the triangle is transposed", "Each position of the target attends to itself and to later positions.",
        {"np.tri(m, dtype=bool)": "np.tri(m, dtype=bool).T"}),
    Mistake("the target does not attend to the source", "The target attends only to itself: nothing of the source "
        "reaches it.",
        {"mask[:, :, :n]": "mask[:, :n, :n]"}),
    Mistake("queries of padding are masked", "A mask hides keys. Here the rows of padding are all False, so a "
        "softmax has no key there.",
        {"mask[:, n:, n:]": "mask[:, :n, :n] &= real[:, :, None]; mask[:, n:, n:]"}),
    Mistake("padding attends to itself", "Padding attends to itself. It must attend to the same keys as the other "
        "queries of the source: to real words.",
        {"return mask": "return mask | np.eye(n + m, dtype=bool)"}),
    Mistake("the target reads padding", "In the rows of the target the columns of padding are True.",
        {"mask[:, :, :n] = real[:, None]": "mask[:, :n, :n] = real[:, None]; mask[:, n:, :n] = True"}),
    Mistake("rows of padding, not columns", "Within the source the rows of padding are False. A mask hides keys, and "
        "keys are columns.",
        {"mask[:, :, :n] = real[:, None]": "mask[:, :n, :n] = real[:, :, None]; mask[:, n:, :n] = real[:, None]"}),
    Mistake("the target first", "The source comes first: its rows and columns are before those of the target.",
        {"mask[:, :, :n]": "mask[:, :, m:]", "mask[:, n:, n:]": "mask[:, :m, :m]"}),
    Mistake("numbers, not True and False", "The pattern is right, but its entries must be True and False.",
        {"return mask": "return mask * 1.0"}, {"return mask": "return np.where(mask, 0.0, -np.inf)"}),
)  # fmt: skip

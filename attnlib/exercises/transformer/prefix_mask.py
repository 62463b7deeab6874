"""One stack that reads and says

write · ★★ · 10 min · 04-transformer/6-encoder-decoder-translation · after self-attention.packed

A GPT can translate, too: the source of n places stands in front of the target of m. real (b, n) is True where the
source holds a word and not padding; the target has no padding. Return the mask (b, n + m, n + m), True = may look,
with which this one stack sees what an encoder and a decoder see together. Treat queries of padding like other
words of the source.

1. The mask has four parts: who looks, source or target, times where. Which three of them are the masks of this page?
2. What must the fourth part be, if the memory is not to depend on what is said?
3. Columns of the source: real, in every row. Columns of the target: nothing for the source, a triangle for the target.

Such a model is called a prefix language model. With a plain causal mask instead, the words of the source would hear
only those before them. It has no cross-attention, and keys and values of the source can be kept as those of a memory.
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
        seen = np.tile(one, (len(one) + m, 1))
        said = np.concatenate([np.zeros((len(one), m), dtype=bool), np.tril(np.ones((m, m), dtype=bool))])
        masks.append(np.hstack([seen, said]))
    return np.array(masks)


def cases(rng):
    def real(*lengths):
        return np.arange(max(lengths)) < np.array(lengths)[:, None]

    return {
        "three words and two, two are said": (real(3, 2), 2),
        "as many texts as words": (real(3, 1, 2), 3),
        "no padding": (real(2, 2), 3),
        "four are said of two": (real(2, 1), 4),
        "one is said": (real(3, 4), 1),
    }


VARIANTS = (from_positions, four_parts)
MISTAKES = (
    Mistake("the source is read causally", "A word of the source hears only those before it. An encoder's words hear "
        "the whole source.",
        {"mask[:, :, :n] = real[:, None]": "mask[:, :, :n] = real[:, None] & np.tri(n + m, n, dtype=bool)"}),
    Mistake("padding of the source is seen", "The columns of padding are open: a translation would depend on its "
        "neighbours in the batch.", {"= real[:, None]": "= True"}),
    Mistake("the source hears the target", "The source may not look at the target: the memory would depend on what is "
        "said, and on what is yet to be said.", {"mask = np.zeros(": "mask = np.ones("}),
    Mistake("the target sees its future", "Each word of the target sees the one that it must guess.",
        {"np.tri(m, dtype=bool)": "True"}),
    Mistake("a word does not see itself", "The triangle ends one place before the diagonal.",
        {"np.tri(m, dtype=bool)": "np.tri(m, k=-1, dtype=bool)"}),
    Mistake("the triangle is transposed", "Each word of the target sees itself and what comes after it.",
        {"np.tri(m, dtype=bool)": "np.tri(m, dtype=bool).T"}),
    Mistake("the source is not read", "The target sees itself alone: nothing leads from one text to the other.",
        {"mask[:, :, :n]": "mask[:, :n, :n]"}),
    Mistake("queries of padding are hidden", "A mask hides keys. Here padding may not look either, and a softmax has "
        "nothing to share out in its rows.",
        {"mask[:, n:, n:]": "mask[:, :n, :n] &= real[:, :, None]; mask[:, n:, n:]"}),
    Mistake("padding sees itself", "Padding looks at itself. It should look where other words of the source look: at "
        "real words.", {"return mask": "return mask | np.eye(n + m, dtype=bool)"}),
    Mistake("the target reads padding", "In the rows of the target the columns of padding are open.",
        {"mask[:, :, :n] = real[:, None]": "mask[:, :n, :n] = real[:, None]; mask[:, n:, :n] = True"}),
    Mistake("padding hidden by rows", "Within the source padding closes its rows. What is hidden are keys, and these "
        "are columns.",
        {"mask[:, :, :n] = real[:, None]": "mask[:, :n, :n] = real[:, :, None]; mask[:, n:, :n] = real[:, None]"}),
    Mistake("the target in front", "The source stands in front: its rows and columns come first.",
        {"mask[:, :, :n]": "mask[:, :, m:]", "mask[:, n:, n:]": "mask[:, :m, :m]"}),
    Mistake("numbers, not True and False", "The pattern is right, and it is asked for in True and False.",
        {"return mask": "return mask * 1.0"}, {"return mask": "return np.where(mask, 0.0, -np.inf)"}),
)  # fmt: skip

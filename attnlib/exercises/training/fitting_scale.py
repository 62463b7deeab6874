"""The largest scale that fits

write · ★★ · 10 min · 05-training/5-small-numbers

g (k,) are gradients in float64. A format of few bits holds numbers up to `largest`; a number whose absolute value is
at most half of `smallest` becomes zero in it. Find the largest power of two s for which no absolute value in s g is
above `largest`. Return s, and the share of the k numbers of g that are not zero themselves but become zero in the
format after the multiplication with s.

1. Which number of g decides how large the scale may be?
2. Take the logarithm to the base two of largest over the largest size, and round it down.
3. Among all k, count those with 0 < s |g| <= smallest / 2.

This scale can be computed only when the gradient is known, and differs for each gradient. So in practice the scale is
found by trying, and is a little below this one most of the time.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake

RETURNS = ("scale", "share that is lost")


def fitting_scale(g, largest, smallest):
    """The largest power of two, and the share of g that is lost with it; g (k,)."""
    size = np.abs(g)
    scale = 2.0 ** np.floor(np.log2(largest / size.max()))
    lost = (size > 0) & (scale * size <= smallest / 2)
    return scale, lost.mean()


def by_doubling(g, largest, smallest):
    top = max(abs(float(x)) for x in g)
    scale = 1.0
    while scale * top > largest:
        scale /= 2
    while 2 * scale * top <= largest:
        scale *= 2
    return scale, sum(0 < abs(x) * scale <= smallest / 2 for x in g) / len(g)


def by_powers(g, largest, smallest):
    fits = [k for k in range(-60, 61) if 2.0**k * np.abs(g).max() <= largest]
    scale = 2.0 ** max(fits)
    return scale, float(np.mean((g != 0) & (np.abs(scale * g) <= 0.5 * smallest)))


def cases(rng):
    def sizes(k, low, high):
        return rng.choice([-1.0, 1.0], k) * 2.0 ** rng.uniform(low, high, k)

    return {
        "small numbers": (np.array([0.3, -0.001, 9e-8, 3e-8]), 1000.0, 2.0**-12),
        "the largest is negative": (np.array([0.1, -5.0, 1e-5, 2e-6, 0.0]), 64.0, 2.0**-10),
        "too large": (np.array([900.0, -3.0, 1e-4, 0.02, 5e-5]), 100.0, 2.0**-6),
        "many": (sizes(40, -24, -2), 500.0, 2.0**-8),
        "it fits exactly": (np.array([0.5, 2.0**-15, -(2.0**-14), 0.01]), 16.0, 2.0**-8),
        "float16": (sizes(50, -44, -9), 65504.0, 2.0**-24),
    }


VARIANTS = (by_doubling, by_powers)
MISTAKES = (
    Mistake("the nearest power", "With this scale the largest number can be above `largest`. Round the power down.",
        {"np.floor(np.log2": "np.round(np.log2"}),
    Mistake("the scale the wrong way round", "That is one over the scale. Small gradients need a large one.",
        {"= 2.0 ** np.floor(np.log2(largest / size.max()))": "= 2.0 ** np.floor(np.log2(size.max() / largest))"}),
    Mistake("decided by the smallest number", "The largest number decides: it would be the first to overflow.",
        {"size.max()": "size[size > 0].min()"},
        {"np.floor(np.log2(largest / size.max()))": "np.ceil(np.log2(smallest / size[size > 0].min()))"}),
    Mistake("lost without the scale", "The share was counted without the scale. Count what is lost with it.",
        {"scale * size <=": "size <="}),
    Mistake("zeros are counted", "What is zero by itself is not lost.",
        {"(size > 0) & (scale * size <= smallest / 2)": "scale * size <= smallest / 2"}),
    Mistake("below the smallest", "What is above half of the smallest number is rounded up to it, and not lost.",
        {"smallest / 2)": "smallest)"}),
    Mistake("a count, not a share", "Return a share: divide by how many numbers there are.",
        {"lost.mean()": "lost.sum()"}),
    Mistake("a share of the nonzero numbers", "The share is that of all k numbers.",
        {"lost.mean()": "lost.sum() / (size > 0).sum()"}),
    Mistake("what is kept", "That is the share that is not lost.",
        {"lost.mean()": "1 - lost.mean()"}, {"scale * size <= smallest / 2": "scale * size > smallest / 2"}),
    Mistake("half of the smallest itself", "What is exactly half of `smallest` becomes zero, too.",
        {"scale * size <= smallest / 2": "scale * size < smallest / 2"}),
    Mistake("the largest itself", "A number may be exactly as large as `largest`.",
        {"np.floor(np.log2(largest / size.max()))": "(np.ceil(np.log2(largest / size.max())) - 1)"}),
    Mistake("bounds of its own", "The scale may be less than one, and more than 65,536.",
        {"= 2.0 ** np.floor(np.log2(largest / size.max()))":
             "= max(1.0, 2.0 ** np.floor(np.log2(largest / size.max())))"},
        {"= 2.0 ** np.floor(np.log2(largest / size.max()))":
             "= min(65536.0, 2.0 ** np.floor(np.log2(largest / size.max())))"}),
    Mistake("the exponent", "That is the exponent. Return the power of two.",
        {"return scale,": "return np.log2(scale),"}),
    Mistake("another base", "s is a power of two, so its exponent is a logarithm to the base two.",
        {"2.0 ** np.floor(np.log2(largest": "10.0 ** np.floor(np.log10(largest"},
        {"np.log2(largest": "np.log(largest"}),
)  # fmt: skip

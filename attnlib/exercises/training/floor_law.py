"""A line towards a floor

write · ★★ · 10 min · 05-training/6-train-your-own-gpt

A loss cannot fall below the entropy of the text. Suppose that this `floor` is known, and that what is *above* it
follows a power law of the size. Given the losses (k,) of models with `sizes` (k,), fit the law by least squares on
logarithmic axes, and return the loss that it predicts at `size`.

1. Which number is a line in ln N: the loss, its logarithm, or the logarithm of something else?
2. Subtract the floor first. What is left is fitted by a line of logarithms.
3. Fit a line to ln(losses - floor) over ln(sizes), read it at ln(size), take the exponential, and put the floor back.

Without the floor a law sinks below every bound in the end. With one that is only guessed, the fit has one number more
to be wrong by: losses that are far above the floor determine it badly.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def floor_law(sizes, losses, floor, size):
    """The loss at `size`; sizes and losses (k,)."""
    x, y = np.log(sizes), np.log(losses - floor)
    slope = ((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum()
    return floor + np.exp(y.mean() + slope * (np.log(size) - x.mean()))


def by_weights(sizes, losses, floor, size):
    x, y = np.log(sizes / size), np.log(losses - floor)
    from_mean = x - x.mean()
    weights = 1 / len(x) - x.mean() * from_mean / (from_mean @ from_mean)
    return floor + np.exp(weights @ y)


def cases(rng):
    def trained(k, floor, alpha):
        sizes = np.round(1000 * 3.0 ** np.arange(1, k + 1))
        above = 20 * sizes**-alpha * np.exp(0.05 * rng.normal(size=k))
        return sizes, floor + above, floor, 8 * sizes[-1]

    return {
        "three sizes": trained(3, 1.5, 0.3),
        "five sizes": trained(5, 0.9, 0.2),
        "seven sizes": trained(7, 1.2, 0.4),
        "a floor near the losses": trained(4, 2.5, 0.5),
    }


VARIANTS = (
    by_weights,
    {"x, y = np.log(sizes), np.log(losses - floor)": "x, y = np.log(np.asarray(sizes) / size), np.log(losses - floor)",
     "(np.log(size) - x.mean())": "(0.0 - x.mean())"},
)  # fmt: skip
MISTAKES = (
    Mistake("no floor", "The law was fitted to the losses themselves. What follows a power law here is what is above "
        "the floor.",
        {"np.log(losses - floor)": "np.log(losses)", "return floor + np.exp": "return np.exp"},
        {"np.log(losses - floor)": "np.log(losses / floor)", "return floor + np.exp": "return floor * np.exp"},
        {"np.log(losses - floor)": "np.log(losses)",
         "return floor + np.exp(y.mean() + slope * (np.log(size) - x.mean()))":
             "return max(floor, np.exp(y.mean() + slope * (np.log(size) - x.mean())))"}),
    Mistake("an exponential law", "The logarithm of the sizes is missing: this falls by the same share for each "
        "parameter more.", {"x, y = np.log(sizes)": "x, y = sizes", "(np.log(size) - x.mean())": "(size - x.mean())"}),
    Mistake("a logarithm of the size alone", "The losses, too, are on a logarithmic axis.",
        {"np.log(losses - floor)": "losses - floor",
         "np.exp(y.mean() + slope * (np.log(size) - x.mean()))": "(y.mean() + slope * (np.log(size) - x.mean()))"}),
    Mistake("the last two points", "The line was drawn through the last two sizes. Least squares weighs all of them.",
        {"x, y = np.log(sizes), np.log(losses - floor)": "x, y = np.log(sizes[-2:]), np.log(losses[-2:] - floor)"}),
    Mistake("the last size again", "This is the law at the largest size that was trained.",
        lambda sizes, losses, floor, size: floor_law(sizes, losses, floor, sizes[-1])),
    Mistake("the slope of the line with another sign", "A larger model has a smaller loss.",
        {"slope * (np.log(size)": "-slope * (np.log(size)"}),
    Mistake("the floor in the exponent", "The floor was added to the logarithm. It is a loss, and is added to a loss.",
        {"floor + np.exp(y.mean()": "np.exp(floor + y.mean()"}),
    Mistake("another base in the exponential", "The exponential and the logarithms have different bases.",
        {"np.exp(y.mean() + slope * (np.log(size) - x.mean()))":
             "10 ** (y.mean() + slope * (np.log(size) - x.mean()))"},
        {"np.exp(y.mean() + slope * (np.log(size) - x.mean()))":
             "2 ** (y.mean() + slope * (np.log(size) - x.mean()))"}),
    Mistake("the first and the last point", "The line was drawn through two points. Least squares weighs all of them.",
        {"x, y = np.log(sizes), np.log(losses - floor)":
             "x, y = np.log(sizes[[0, -1]]), np.log(losses[[0, -1]] - floor)"}),
    Mistake("a line through the origin", "The line was made to pass through zero. The law has a factor of its own, "
        "the height of the line.",
        {"y.mean() + slope * (np.log(size) - x.mean())": "(x * y).sum() / (x * x).sum() * np.log(size)"}),
    Mistake("a curve and no line", "A parabola was fitted. A power law is a line on logarithmic axes; a parabola keeps "
        "curving beyond the points.",
        lambda sizes, losses, floor, size: floor + np.exp(np.polyval(np.polyfit(np.log(sizes), np.log(losses -
            floor), 2), np.log(size)))),
    Mistake("axes exchanged", "The line was fitted with the axes exchanged: the squared errors of the sizes were "
        "minimised, not those of the losses.",
        {"slope = ((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum()":
             "slope = ((y - y.mean()) ** 2).sum() / ((x - x.mean()) * (y - y.mean())).sum()"}),
    Mistake("the slope of the line and its height exchanged",
        "`np.polyfit` gives the slope of the line first, and then its height at zero.",
        lambda sizes, losses, floor, size: floor + np.exp(np.polyval(np.polyfit(np.log(sizes), np.log(losses -
            floor), 1)[::-1], np.log(size)))),
    Mistake("the factor of the law is missing", "Only the power of the size is here. The height of the line is a "
        "factor of the law.", {"np.exp(y.mean() + slope * (np.log(size) - x.mean()))": "size**slope"}),
    Mistake("the last loss", "That is the loss of the largest model that was trained; `np.interp` stays level beyond "
        "it.", lambda sizes, losses, floor, size: losses[-1]),
    Mistake("the floor with another sign", "The floor was added where it comes off, or the other way round.",
        {"np.log(losses - floor)": "np.log(losses + floor)", "return floor + np": "return -floor + np"}),
)  # fmt: skip

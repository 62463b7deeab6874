"""The bottom of a valley

repair · ★★ · 10 min · 05-training/7-compute-data-size

Models of several sizes (k,) were trained at one budget, each with as much text as the budget pays for; losses (k,) are
theirs. The valley is taken for a parabola in the *logarithm* of the size, fitted by least squares, and its lowest point
is returned as a number of parameters. The code runs, and its answers are far off. Two steps are wrong; repair both.

1. Over which variable is the valley of the page a parabola?
2. Where is the derivative of c x^2 + e x + f zero?
3. Fit over the logarithms, take -e / (2 c), and then the exponential.

A bottom that lies outside of the sizes was not measured: the valley has shown one of its sides only. And where its two
sides are not equally steep, the bottom of a parabola lies aside of the true one, the more so the wider the sizes are
spread.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def bottom(sizes, losses):
    """The best size at one budget; sizes and losses (k,)."""
    x = np.log(sizes)
    terms = np.stack([x**2, x, np.ones(len(x))], axis=1)
    c, e, f = np.linalg.solve(terms.T @ terms, terms.T @ losses)
    return np.exp(-e / (2 * c))


def by_decades(sizes, losses):
    x = np.log10(np.asarray(sizes))
    middle = x.mean()
    terms = np.vander(x - middle, 3)
    c, e, _ = np.linalg.solve(np.einsum("ki,kj->ij", terms, terms), losses @ terms)
    return 10 ** (middle - e / c / 2)


def by_residuals(sizes, losses):
    x = np.log2(sizes) - np.log2(sizes).mean()
    y = losses - losses.mean()
    square = x**2 - (x**2).mean()
    square, along = square - x * (x @ square) / (x @ x), (x @ y) / (x @ x)
    bent = (square @ y) / (square @ square)
    straight = along - bent * (x @ x**2) / (x @ x)
    return 2.0 ** (np.log2(sizes).mean() - straight / (2 * bent))


def cases(rng):
    def valley(sizes, best, steep, noise=0.0):
        sizes = np.array(sizes, float)
        losses = 1.5 + steep * np.log(sizes / best) ** 2
        return sizes, losses + noise * rng.normal(size=len(sizes))

    return {
        "three sizes": valley([1000, 4000, 16000], 3000, 0.1),
        "in another order": valley([64000, 1000, 8000, 27000], 9000, 0.05),
        "measured with noise": valley([1000, 2000, 4000, 8000, 16000, 32000], 6000, 0.2, 0.02),
        "small models": valley([20, 40, 80, 160], 50, 0.1),
        "a wide valley": valley([1000, 10000, 100000, 1000000], 20000, 0.01, 0.002),
    }


GIVEN = ("no logarithm", "half is forgotten")
VARIANTS = (by_decades, by_residuals)
MISTAKES = (
    Mistake("no logarithm", "The parabola was fitted over the sizes themselves, so that the largest decides almost "
        "alone. The valley is a parabola in their logarithm.",
        {"x = np.log(sizes)": "x = sizes", "np.exp(-e / (2 * c))": "-e / (2 * c)"}),
    Mistake("half is forgotten", "The derivative of c x^2 + e x is 2 c x + e, zero at -e / (2 c).",
        {"-e / (2 * c)": "-e / c"}),
    Mistake("another sign", "The derivative 2 c x + e is zero at a negative quotient.",
        {"-e / (2 * c)": "e / (2 * c)"}),
    Mistake("the loss at the bottom", "That is the least loss. Return the size.",
        {"np.exp(-e / (2 * c))": "f - e**2 / (4 * c)"}),
    Mistake("the best of the sizes", "That is the best of the sizes that were trained. The bottom lies between them.",
        lambda sizes, losses: sizes[np.argmin(losses)]),
    Mistake("logarithm and exponential of different bases", "Take the exponential to the base of the logarithm.",
        {"np.log(sizes)": "np.log10(sizes)"}, {"np.log(sizes)": "np.log2(sizes)"}, {"np.exp(": "10.0 ** ("},
        {"np.exp(": "2.0 ** ("}),
    Mistake("logarithms of the losses", "The losses were fitted on a logarithmic axis, too. The task takes them as "
        "they are.", {"terms.T @ losses": "terms.T @ np.log(losses)"}),
)  # fmt: skip

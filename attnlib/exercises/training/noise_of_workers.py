"""The noise scale from the workers' gradients

write · ★★ · 10 min · 05-training/12-where-the-time-goes

The gradients of single rows vary around the true gradient, whose squared length is G². The mean gradient of a batch of
B rows therefore has on average the squared length G² + noise / B, where `noise` is the same for every B. The noise
scale is the number of rows noise / G². Each of p workers has taken the mean gradient of `rows` rows of its own: g (p,
n). So each row of g is a batch of B = rows, and their mean is a batch of B = p times rows. Take the average squared
length of the rows of g for the first batch size and the squared length of their mean for the second. Solve the two
equations for G² and noise, and return noise / G².

1. Which squared length belongs to batches of `rows` rows, and which to the batch of p times as many?
2. Two equations: the squared length of the true gradient, plus the noise of a row over the batch.
3. Average the squared lengths of the workers, not their lengths; and subtract the share of the noise from the squared
   length of the mean.

Data-parallel training has these two lengths anyway, so it can report the noise scale at the cost of a sum. One step
gives a poor estimate: average the two squared lengths over many steps before you solve.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def noise_of_workers(g, rows):
    """The noise scale in rows, from the gradients g (p, n) of one step."""
    p = len(g)
    small = (g**2).sum(axis=1).mean()
    large = (g.mean(axis=0) ** 2).sum()
    true = (p * large - small) / (p - 1)
    noise = rows * (small - large) * p / (p - 1)
    return noise / true


def by_the_variance(g, rows):
    noise = rows * np.var(g, axis=0, ddof=1).sum()
    middle = g.mean(axis=0)
    return noise / (middle @ middle - noise / (rows * len(g)))


def by_pairs(g, rows):
    products = g @ g.T
    p = len(g)
    true = (products.sum() - np.trace(products)) / (p * (p - 1))
    return rows * (np.trace(products) / p - true) / true


def cases(rng):
    def workers(p, n, rows, noise):
        (true,) = drawn(rng, n)
        return true + noise * rng.normal(size=(p, n)), rows

    return {
        "two workers": (np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0]]), 4),
        "four workers": workers(4, 6, 8, 0.7),
        "one row each": workers(7, 5, 1, 0.5),
        "as many numbers as workers": workers(5, 5, 3, 0.4),
        "much noise": workers(40, 6, 2, 2.0),
    }


VARIANTS = (by_the_variance, by_pairs)
MISTAKES = (
    Mistake("a mean over the numbers of a gradient", "A squared length is a sum over the numbers of a gradient, and "
        "here one of the two is a mean.", {"(g**2).sum(axis=1).mean()": "(g**2).mean()"}),
    Mistake("the mean taken for the true gradient",
        "The mean over the workers still has its share of the noise, and is "
        "longer than the true gradient.", {"true = (p * large - small) / (p - 1)": "true = large"}),
    Mistake("the workers' gradients taken for the true one", "The gradients of the workers have the most noise.",
        {"true = (p * large - small) / (p - 1)": "true = small"}),
    Mistake("counted in workers", "The unit here is a worker. Each has `rows` rows.",
        {"noise = rows * (small": "noise = (small"}),
    Mistake("counted in batches", "The noise was multiplied by the number of rows once too often.",
        {"noise = rows * (small": "noise = p * rows * (small"}),
    Mistake("the spread around their own mean", "Around their own mean the workers differ less than around the true "
        "gradient: divide by one less than there are.",
        {"(small - large) * p / (p - 1)": "(small - large)"},
        {"(small - large) * p / (p - 1)": "(small - large)",
         "(p * large - small) / (p - 1)": "large - (small - large) / p"}),
    Mistake("lengths in place of squares", "Squared lengths add up, lengths do not.",
        {"small = (g**2).sum(axis=1).mean()": "small = np.sqrt((g**2).sum(axis=1)).mean() ** 2"},
        {"small = (g**2).sum(axis=1).mean()": "small = np.sqrt((g**2).sum(axis=1)).mean()",
         "large = (g.mean(axis=0) ** 2).sum()": "large = np.sqrt((g.mean(axis=0) ** 2).sum())"}),
    Mistake("only one worker", "The squared lengths of all workers are averaged. One of them alone is a poorer "
        "estimate.",
        {"(g**2).sum(axis=1).mean()": "(g[0] ** 2).sum()"}),
    Mistake("the noise alone", "This is the noise of a row. The scale is its ratio to the true gradient.",
        {"return noise / true": "return noise"}),
)  # fmt: skip

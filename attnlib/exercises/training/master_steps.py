"""A step with a master copy

write · ★★ · 10 min · 05-training/5-small-numbers

A format of few bits holds the multiples of `grid`. The master copy W (k,) is kept in full precision; the forward pass
uses W rounded to the nearest multiple. The loss is half the squared distance of the rounded W from the target t (k,),
which is in the format. Its gradient is rounded to the format, too, and the update is made to the master copy: plain
gradient descent with the given rate. Make n steps. Return the master copy after them, and its rounded version.

1. Is the gradient taken at the master copy, or at the rounded numbers?
2. The gradient of half the squared distance is the rounded W minus t.
3. In each step: round, take the difference, round it, subtract rate times it from the master copy. At the end, round
   once more.

The master copy changes by small amounts while its rounded version stays the same, and then changes by a whole step of
the grid. So the updates that are smaller than a step of the grid are not lost: they add up in the master copy.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake

RETURNS = ("kept numbers", "used numbers")


def master_steps(W, t, rate, n, grid):
    """The master copy and its rounded version after n steps; W and t (k,)."""
    for _ in range(n):
        used = np.round(W / grid) * grid
        gradient = np.round((used - t) / grid) * grid
        W = W - rate * gradient
    return W, np.round(W / grid) * grid


def in_units(W, t, rate, n, grid):
    w, goal = W / grid, t / grid
    for _ in range(n):
        w = w - rate * np.round(np.round(w) - goal)
    return w * grid, np.round(w) * grid


def number_by_number(W, t, rate, n, grid):
    kept = []
    for w, goal in zip(W, t, strict=True):
        for _ in range(n):
            w = w + rate * (goal - grid * np.round(w / grid))
        kept.append(w)
    kept = np.array(kept)
    return kept, grid * np.round(kept / grid)


def updates_of_what_is_used(W, t, rate, n, grid):
    for _ in range(n):
        used = np.round(W / grid) * grid
        W = np.round((used - rate * (used - t)) / grid) * grid
    return W, W


def all_in_the_format(W, t, rate, n, grid):
    W = np.round(W / grid) * grid
    for _ in range(n):
        W = np.round((W - rate * (W - t)) / grid) * grid
    return W, W


def first_gradient(W, t, rate, n, grid):
    W = W - n * rate * (np.round(W / grid) * grid - t)
    return W, np.round(W / grid) * grid


def cases(rng):
    def case(k, rate, n, grid, far=3):
        W = rng.normal(size=k)
        return W, grid * rng.integers(-far, far + 1, k).astype(float), rate, n, grid

    return {
        "three steps": (np.array([0.9, -0.4, 0.3]), np.array([0.0, 0.5, 0.25]), 0.3, 3, 0.25),
        "one step": case(4, 0.2, 1, 0.25),
        "a small rate": case(5, 0.05, 9, 0.5),
        "no step": case(3, 0.1, 0, 0.25),
        "a coarse grid": (np.array([2.2, -1.7, 0.6, 3.4]), np.array([0.0, 1.0, 2.0, -1.0]), 0.15, 6, 1.0),
        "a fine grid": case(3, 0.4, 4, 0.0625, far=9),
    }


VARIANTS = (in_units, number_by_number)
MISTAKES = (
    Mistake("no master copy", "The master copy was rounded after each step. An update of less than half a step of the "
        "grid is lost then.",
        {"W = W - rate * gradient": "W = np.round((W - rate * gradient) / grid) * grid"},
        updates_of_what_is_used,
        all_in_the_format),
    Mistake("the gradient at the master copy", "The gradient is that of the forward pass, which uses the rounded "
        "numbers.", {"gradient = np.round((used - t) / grid) * grid": "gradient = W - t"}),
    Mistake("the update is rounded", "The update was rounded to the format. Only the gradient is.",
        {"W = W - rate * gradient": "W = W - np.round(rate * gradient / grid) * grid"}),
    Mistake("rounded one step early", "The rounded version is that of the master copy after the last step.",
        {"return W, np.round(W / grid) * grid": "return W, (used if n else np.round(W / grid) * grid)"}),
    Mistake("the second result is not rounded", "The second result is the master copy rounded to the format.",
        {"return W, np.round(W / grid) * grid": "return W, W"}),
    Mistake("rounded down", "Each number is rounded to the nearest multiple, not to the one below.",
        {"np.round": "np.floor"}),
    Mistake("rounded towards zero", "Each number is rounded to the nearest multiple, not to the one nearer to zero.",
        {"np.round": "np.trunc"}),
    Mistake("decimals for multiples", "Rounding to two decimals gives multiples of 0.01. Round to multiples of `grid`.",
        {"np.round(W / grid) * grid": "np.round(W, 2)"},
        {"np.round(W / grid) * grid": "np.round(W, 2)", "np.round((used - t) / grid) * grid": "used - t"}),
    Mistake("multiplied where it is divided", "Divide by `grid`, round, multiply with it again: the other order gives "
        "multiples of one over `grid`.",
        {"np.round(W / grid) * grid": "np.round(W * grid) / grid"},
        {"np.round(W / grid) * grid": "np.round(W * grid) / grid", "np.round((used - t) / grid) * grid": "used - t"}),
    Mistake("the update starts from the rounded numbers",
        "The update is added to the master copy. Added to the rounded numbers, small updates are lost.",
        {"W = W - rate": "W = used - rate"}),
    Mistake("the first gradient for all steps", "Each step has a gradient of its own, because the rounded numbers have "
        "changed.",
        first_gradient),
    Mistake("a mean", "The squared distance is a sum; this is the gradient of a mean.",
        {"W - rate * gradient": "W - rate * gradient / len(W)"}),
    Mistake("the sign of the gradient", "Of the squared distance the gradient is the difference, and not its sign "
        "alone.", {"gradient = np.round((used - t) / grid) * grid": "gradient = np.sign(used - t)"}),
    Mistake("uphill", "A step goes against the gradient.", {"W = W - rate": "W = W + rate"}),
    Mistake("twice the gradient", "Of half the squared distance the gradient is the difference, without a two.",
        {"W - rate * gradient": "W - 2 * rate * gradient"}),
    Mistake("one step too many", "One step more than n was made.", {"range(n)": "range(n + 1)"}),
    Mistake("one step too few", "One step less than n was made.", {"range(n)": "range(n - 1)"}),
)  # fmt: skip

"""A training loop that diverges

repair · ★★ · 8 min · 05-training/3-how-fast

This is meant to train a linear model: at each step a batch X[step] (b, d) with its targets y[step] (b,), half the mean
squared error as the loss, plain gradient descent, and a rate that rises linearly in the first `warmup` steps, at the
last of which it is `peak`. It runs, but its first step changes nothing, and its later steps grow longer and longer.
Two lines are wrong; repair both.

1. Let the targets be met exactly at some step. What should the next update be if the gradient there is zero?
2. Which rate has the first step, and which has the step at which the warmup is over?
3. One line adds the new gradient to those of all earlier steps; another counts t from zero.

PyTorch adds each new gradient to the stored one, because several batches in one step need the sum; so a training
loop must clear it before each step. A loop that does not clear it sums all gradients, as a momentum that never
fades would do. With a small rate this goes unnoticed for a while.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def train_linear(X, y, w, peak, warmup):
    """The weights after all steps; X (steps, b, d), y (steps, b), w (d,)."""
    gradient = np.zeros_like(w)
    for step in range(len(X)):
        error = X[step] @ w - y[step]
        gradient = X[step].T @ error / len(error)
        rate = peak * min(1, (step + 1) / warmup)
        w = w - rate * gradient
    return w


def with_a_counter(X, y, w, peak, warmup):
    for t, (batch, target) in enumerate(zip(X, y, strict=True), start=1):
        rate = peak if t >= warmup else peak * t / warmup
        slopes = [(x @ w - one) * x for x, one in zip(batch, target, strict=True)]
        w = w - rate * np.mean(slopes, axis=0)
    return w


def rates_first(X, y, w, peak, warmup):
    rates = np.minimum(np.arange(1, len(X) + 1) / warmup, 1) * peak
    for rate, batch, target in zip(rates, X, y, strict=True):
        w = w - rate / len(target) * np.einsum("b,bd->d", batch @ w - target, batch)
    return w


def averaged(X, y, w, peak, warmup):
    total = np.zeros_like(w)
    for step in range(len(X)):
        total = total + X[step].T @ (X[step] @ w - y[step]) / len(y[step])
        w = w - peak * min(1, (step + 1) / warmup) * total / (step + 1)
    return w


def cases(rng):
    return {
        "three steps": (*drawn(rng, (3, 4, 2), (3, 4), 2), 0.3, 2),
        "one step": (*drawn(rng, (1, 3, 4), (1, 3), 4), 0.5, 3),
        "a short warmup": (*drawn(rng, (5, 2, 3), (5, 2), 3), 0.1, 1),
        "all sizes equal": (*drawn(rng, (3, 3, 3), (3, 3), 3), 0.2, 3),
    }


GIVEN = ("gradients are not cleared", "the first step is lost")
VARIANTS = (with_a_counter, rates_first)
MISTAKES = (
    Mistake("gradients are not cleared", "Each gradient was added to those of all steps before. A step uses its own.",
        {"gradient = X[step].T": "gradient = gradient + X[step].T"}),
    Mistake("the first step is lost", "The first rate is zero, and the warmup ends one step late. The first step has "
        "t = 1.", {"(step + 1) / warmup": "step / warmup"}),
    Mistake("the first rate alone is repaired", "The first step has its rate, but each later one of the warmup has "
        "that of the step before it: the second has t = 2.", {"(step + 1) / warmup": "max(step, 1) / warmup"}),
    Mistake("min and max are exchanged", "The larger of one and t / warmup was taken: no warmup, and then a rate that "
        "grows.", {"min(1, (step + 1) / warmup)": "max(1, (step + 1) / warmup)"}),
    Mistake("no warmup", "The rate has its peak from the first step.", {"min(1, (step + 1) / warmup)": "1"}),
    Mistake("uphill", "A step goes against the gradient.", {"w = w - rate": "w = w + rate"}),
    Mistake("the sum and not the mean", "The loss is a mean over the batch, and so its gradient is.",
        {"@ error / len(error)": "@ error"}),
    Mistake("a factor of two in the gradient", "The loss is *half* the mean squared error: the 2 of the square and the "
        "half cancel.", {"X[step].T @ error / len(error)": "2 * X[step].T @ error / len(error)"}),
    Mistake("a line from zero", "The rate is zero at the first step, which is lost. The line reaches `peak / warmup` "
        "there.", {"(step + 1) / warmup": "step / max(warmup - 1, 1)"}),
    Mistake("the mean of all gradients so far", "The gradients of all steps were averaged. A step uses its own.",
        lambda X, y, w, peak, warmup: averaged(X, y, w, peak, warmup)),
    Mistake("the first batch each time", "Each step has a batch of its own.",
        {"X[step] @ w - y[step]": "X[0] @ w - y[0]", "X[step].T": "X[0].T"}),
    Mistake("the first step alone", "Only the first step was made.",
        lambda X, y, w, peak, warmup: train_linear(X[:1], y[:1], w, peak, warmup)),
    Mistake("divided by the width", "The mean is over the batch, so the sum is divided by its size and not by how "
        "long w is.", {"/ len(error)": "/ len(w)"}),
    Mistake("nothing moves", "w is as it was. A gradient that is cleared before it is used is zero.",
        lambda X, y, w, peak, warmup: w),
)  # fmt: skip

"""An inverse-root schedule with an end

write · ★★ · 10 min · 05-training/3-how-fast

The schedule of *Attention Is All You Need* falls with the root of the step and has no end. Here an end is added.
Return the rates of all steps, (steps,). The first step has t = 1. The rate rises on a line to `peak`, which it has at
t = warmup; then it is peak times the root of warmup / t. In the last `decay` steps it is also multiplied with a factor
that falls on a line, from 1 at the first of them to 1 / decay at the last.

1. Which of the two branches is the smaller one before t = warmup, and which after it?
2. At the last step, t = steps, the factor is 1 / decay. What is it one step before?
3. The factor is (steps + 1 - t) / decay, and 1 where that is larger.

Such a run can be branched: go on with the root from before the last `decay` steps, and end it later. A cosine,
whose every rate depends on the length, cannot.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def cooled_rates(steps, warmup, decay, peak):
    """The rate of each step, the first of which has t = 1; (steps,)."""
    t = np.arange(steps) + 1
    root = peak * np.minimum(t / warmup, np.sqrt(warmup / t))
    return root * np.minimum(1, (steps + 1 - t) / decay)


def by_loop(steps, warmup, decay, peak):
    rates = []
    for step in range(steps):
        t = step + 1
        rate = peak * t / warmup if t < warmup else peak * (warmup / t) ** 0.5
        left = steps - step
        rates.append(rate * left / decay if left < decay else rate)
    return np.array(rates)


def by_paper(steps, warmup, decay, peak):
    t = np.arange(1.0, steps + 1)
    root = np.minimum(t**-0.5, t * warmup**-1.5)
    end = np.ones(steps)
    end[steps - decay :] = np.linspace(1, 1 / decay, decay)
    return root * end * peak * warmup**0.5


def cases(rng):
    return {
        "six steps": (6, 2, 2, 1.0),
        "a long decay": (12, 3, 8, 0.5),
        "hardly any decay": (9, 4, 1, 2.0),
        "hardly any warmup": (7, 1, 3, 0.1),
        "a warmup of all steps": (5, 5, 2, 1.0),
    }


VARIANTS = (by_loop, by_paper)
MISTAKES = (
    Mistake("off by one at the first step", "The rates come one step late, and the first is zero: that step changes "
        "nothing. The first step has t = 1.",
        lambda steps, warmup, decay, peak: by_loop_from_zero(steps, warmup, decay, peak)),
    Mistake("one step too early", "The first step has t = 1; these rates begin at t = 2.",
        {"t = np.arange(steps) + 1": "t = np.arange(steps) + 2", "(steps + 1 - t)": "(steps + 2 - t)"}),
    Mistake("min and max are exchanged", "The larger of both branches was taken: it starts far too high, and then "
        "grows for ever. Take the smaller one.",
        {"np.minimum(t / warmup, np.sqrt(warmup / t))": "np.maximum(t / warmup, np.sqrt(warmup / t))"}),
    Mistake("no warmup", "The rate starts on the curve of the root. Before t = warmup it rises on a line.",
        {"np.minimum(t / warmup, np.sqrt(warmup / t))": "np.sqrt(warmup / t)"}),
    Mistake("the line never ends", "After t = warmup the rate falls with the root of t.",
        {"np.minimum(t / warmup, np.sqrt(warmup / t))": "t / warmup"}),
    Mistake("level after the warmup", "After t = warmup the rate falls with the root of t; here it stays.",
        {"np.sqrt(warmup / t)": "1"}),
    Mistake("the root is forgotten", "It falls with the root of t, and not with t.",
        {"np.sqrt(warmup / t)": "warmup / t"}),
    Mistake("no end", "The factor of the last steps is missing.",
        {"return root * np.minimum(1, (steps + 1 - t) / decay)": "return root"}),
    Mistake("zero at the last step", "The factor is 1 / decay at the last step. It would be zero one step later.",
        {"(steps + 1 - t) / decay": "(steps - t) / decay"},
        {"np.minimum(1, (steps + 1 - t) / decay)": "np.r_[np.ones(steps - decay), np.linspace(1, 0, decay)]"}),
    Mistake("the peak is missing", "The largest rate is one here, and should be `peak`.",
        {"peak * np.minimum": "np.minimum"}),
    Mistake("the peak at t = 1", "Scaled by the root of t alone, the largest rate is not `peak`.",
        {"peak * np.minimum(t / warmup, np.sqrt(warmup / t))": "peak * np.minimum(t**-0.5, t * warmup**-1.5)"}),
    Mistake("a straight end", "In the last steps the rate falls on a line from where it was. It should be the root of "
        "warmup / t, multiplied with a line.",
        lambda steps, warmup, decay, peak: straight_end(steps, warmup, decay, peak)),
    Mistake("without the root of warmup", "After t = warmup this is peak / sqrt(t), which is not `peak` at t = "
        "warmup.", {"np.sqrt(warmup / t)": "1 / np.sqrt(t)"}),
    Mistake("the root counts from the end of the warmup", "The root is of t, counted from the first step, and not "
        "from the end of the warmup.",
        {"np.minimum(t / warmup, np.sqrt(warmup / t))":
             "np.where(t <= warmup, t / warmup, 1 / np.sqrt(np.maximum(t - warmup, 1)))"}),
    Mistake("the formula of 2017 itself", "There the largest rate follows from the width and the warmup. Here it is "
        "`peak`.",
        {"peak * np.minimum(t / warmup, np.sqrt(warmup / t))": "peak**-0.5 * np.minimum(t**-0.5, t * warmup**-1.5)"}),
    Mistake("the root grows", "The root is of warmup / t, which falls. This one rises on.",
        {"np.minimum(t / warmup, np.sqrt(warmup / t))": "np.where(t <= warmup, t / warmup, np.sqrt(t / warmup))"}),
    Mistake("the end follows the warmup", "The factor began to fall after the warmup. It belongs to the last `decay` "
        "steps.", {"np.minimum(1, (steps + 1 - t) / decay)": "np.clip(1 - (t - warmup) / decay, 1 / decay, 1)"}),
)  # fmt: skip


def by_loop_from_zero(steps, warmup, decay, peak):
    rates = []
    for t in range(steps):
        rate = peak * t / warmup if t < warmup else peak * (warmup / t) ** 0.5
        rates.append(rate * min(1, (steps - t) / decay))
    return np.array(rates)


def straight_end(steps, warmup, decay, peak):
    t = np.arange(steps) + 1
    rates = peak * np.minimum(t / warmup, np.sqrt(warmup / t))
    rates[-decay:] = rates[-decay] * np.linspace(1, 1 / decay, decay)
    return rates

"""A loss scale in the wrong order

repair · ★★ · 10 min · 05-training/5-small-numbers

This is meant to be one step with a loss scale, after the backward pass: g (k,) is the gradient of `scale` times the
loss. It is divided by the scale and clipped to the length `longest`; then W (k,) loses the rate times it. If g is not
finite, W stays as it is and the scale is halved. After the `every`-th good step in a row the scale is doubled; `good`
counts these steps. Return W, the scale and the count. It runs; but it hardly learns, and after the first overflow not
at all. Two lines are wrong; repair both.

1. Which length has the step when a gradient of length 3 meets the scale 1024 and `longest` 1?
2. What happens in the step after an overflow if the scale is unchanged?
3. One line clips what is still scaled; another leaves the scale unchanged.

With Adam the first fault is harder to see: it divides the length away, so it acts as if each gradient were clipped,
however short. The second is easy to see: no parameter changes any more.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn

RETURNS = ("array of parameters", "scale", "count")


def scaled_step(W, g, scale, good, longest, rate, every):
    """W, scale and good after the step; W and g (k,)."""
    if not np.isfinite(g).all():
        return W, scale / 2, 0
    norm = np.linalg.norm(g) / scale
    g = g / scale * min(1, longest / norm)
    if good + 1 == every:
        return W - rate * g, scale * 2, 0
    return W - rate * g, scale, good + 1


def length_in_both(W, g, scale, good, longest, rate, every):
    norm = np.sqrt(np.sum(np.square(g))) / scale
    if not norm < np.inf:
        return W.copy(), 0.5 * scale, 0
    factor = rate / scale / max(1.0, norm / longest)
    grown = good == every - 1
    return W - factor * g, scale * (1 + grown), (good + 1) * (not grown)


def in_turns(W, g, scale, good, longest, rate, every):
    fine = bool(np.all(np.abs(g) < np.inf))
    if fine:
        true = g / scale
        norm = np.linalg.norm(true)
        W = W - rate * (true if norm <= longest else true * longest / norm)
    good = good + 1 if fine else 0
    scale = scale if fine else scale / 2
    return (W, 2 * scale, 0) if good == every else (W, scale, good)


def cases(rng):
    def case(k, length, scale, good, longest, every, bad=None):
        W, g = drawn(rng, k, k)
        g = g * (length * scale / np.linalg.norm(g))
        if bad is not None:
            g[1] = bad
        return W, g, scale, good, longest, 0.5, every

    return {
        "short": case(3, 0.5, 8.0, 0, 1.0, 5),
        "too long": case(4, 3.0, 16.0, 1, 1.0, 5),
        "time to grow": case(3, 0.7, 4.0, 4, 2.0, 5),
        "one before": case(3, 0.7, 4.0, 3, 2.0, 5),
        "infinite": case(3, 1.0, 1024.0, 3, 1.0, 5, np.inf),
        "no number, when it would grow": case(5, 1.0, 64.0, 4, 1.0, 5, np.nan),
        "a scale below one": case(3, 2.0, 0.25, 2, 1.5, 9),
    }


GIVEN = ("clipped before it is unscaled", "a scale that never falls")
VARIANTS = (length_in_both, in_turns)
MISTAKES = (
    Mistake("clipped before it is unscaled", "The gradient was clipped while it was still scaled, and then divided: it "
        "has a length of longest / scale. Divide by the scale first.",
        {"norm = np.linalg.norm(g) / scale": "norm = np.linalg.norm(g)"}),
    Mistake("a scale that never falls", "After an overflow the scale is as large as before, and the next gradient "
        "overflows as well. Halve it.", {"return W, scale / 2, 0": "return W, scale, 0"}),
    Mistake("the count goes on", "After an overflow the good steps are counted from zero.",
        {"return W, scale / 2, 0": "return W, scale / 2, good"}),
    Mistake("doubled after an overflow", "After an overflow the scale was doubled. It was too large already.",
        {"return W, scale / 2, 0": "return W, scale * 2, 0"}),
    Mistake("never grows", "After the last of `every` good steps the scale is doubled.",
        {"return W - rate * g, scale * 2, 0": "return W - rate * g, scale, 0"},
        {"return W - rate * g, scale * 2, 0": "return W - rate * g, scale / 2, 0"}),
    Mistake("only infinity or only nan", "Both infinity and nan are not finite.",
        {"if not np.isfinite(g).all()": "if np.isnan(g).any()"},
        {"if not np.isfinite(g).all()": "if np.isinf(g).any()"}),
    Mistake("a step with the finite numbers", "If one number is not finite, W stays as it is.",
        {"return W, scale / 2, 0": "return W - rate * np.nan_to_num(g, posinf=0, neginf=0) / scale, scale / 2, 0"}),
    Mistake("one step late", "The scale grew one step late: this step is a good one, too.",
        {"if good + 1 == every": "if good == every"}),
    Mistake("the count is not cleared", "When the scale has grown, the count begins again.",
        {"scale * 2, 0": "scale * 2, good + 1"}),
    Mistake("the count stands still", "A good step is counted.",
        {"scale, good + 1": "scale, good"}, {"scale, good + 1": "scale, good", "scale * 2, 0": "scale * 2, good"}),
    Mistake("never clipped", "The gradient may be longer than `longest`.", {"* min(1, longest / norm)": ""}),
    Mistake("always brought to the length", "A gradient that is short enough stays as it is.",
        {"g = g / scale * min(1, longest / norm)": "g = longest * g / np.linalg.norm(g)"}),
    Mistake("the larger factor", "The larger of 1 and longest / length was taken: short gradients grow, and long ones "
        "stay.", {"min(1, longest / norm)": "max(1, longest / norm)"}),
    Mistake("each number is clipped", "One factor for all numbers keeps the direction. Here each was cut by itself.",
        {"g = g / scale * min(1, longest / norm)": "g = np.clip(g / scale, -longest, longest)"}),
    Mistake("uphill", "A step goes against the gradient.",
        {"W - rate * g, scale, good + 1": "W + rate * g, scale, good + 1",
         "W - rate * g, scale * 2": "W + rate * g, scale * 2"}),
)  # fmt: skip

"""A decay that does not decay

repair · ★★ · 8 min · 05-training/2-steps

This is meant to be step t of AdamW, counted from 1, for the parameters W (r, d) with the gradient dW and the running
means m of the gradients and v of their squares. It trains, but changing the decay changes next to nothing, and the
first steps are too long. Two things are wrong; repair both. Return the new W.

1. Follow `decay` through the function. By what is it divided at the end?
2. In AdamW the decay shrinks W beside the step. It enters neither m nor v.
3. Both means begin at zero: what is v divided by, and what is m divided by?

Both faults are silent: a loss falls with either. The first is seen by training at two values of the decay that differ
by a factor of ten, and looking at how large the parameters have become.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def adamw_step(W, dW, m, v, t, rate, decay, beta_1, beta_2, eps):
    """W after step t of AdamW; m and v as they were before it."""
    m = beta_1 * m + (1 - beta_1) * dW
    v = beta_2 * v + (1 - beta_2) * dW**2
    m_hat = m / (1 - beta_1**t)
    step = m_hat / (np.sqrt(v / (1 - beta_2**t)) + eps)
    return W - rate * (step + decay * W)


def shrinks_first(W, dW, m, v, t, rate, decay, beta_1, beta_2, eps):
    W = W * (1 - rate * decay)
    mean = m + (1 - beta_1) * (dW - m)
    square = v + (1 - beta_2) * (dW * dW - v)
    root = np.sqrt(square / (1 - beta_2**t)) + eps
    return W - rate / (1 - beta_1**t) * mean / root


def one_sum(W, dW, m, v, t, rate, decay, beta_1, beta_2, eps):
    mean = (beta_1 * m + dW - beta_1 * dW) / (1 - beta_1**t)
    square = (beta_2 * v + dW**2 - beta_2 * dW**2) / (1 - beta_2**t)
    return W - rate * (mean / (square**0.5 + eps) + decay * W)


def cases(rng):
    def parts(r, d, t, decay, eps=1e-8):
        W, dW, m, v = drawn(rng, (r, d), (r, d), (r, d), (r, d))
        m, v = (0 * m, 0 * v) if t == 1 else (0.2 * m, 0.05 * v**2 + 0.01)
        return W, dW, m, v, t, 0.1, decay, 0.9, 0.98, eps

    return {
        "step 4": parts(2, 3, 4, 0.5),
        "the first step": parts(3, 2, 1, 0.5),
        "no decay": parts(2, 4, 3, 0.0),
        "a large eps": parts(3, 4, 7, 0.3, eps=0.2),
        "all sizes equal": parts(3, 3, 3, 1.0),
        "late": parts(2, 5, 500, 0.5),
    }


GIVEN = ("decay inside the adaptive step", "no bias correction of the squares")
VARIANTS = (shrinks_first, one_sum)
MISTAKES = (
    Mistake("decay inside the adaptive step", "The decay went into the gradient, so it is divided by the root with the "
        "rest. In AdamW it enters neither m nor v.",
        {"(1 - beta_1) * dW": "(1 - beta_1) * (dW + decay * W)",
         "dW**2": "(dW + decay * W) ** 2",
         "(step + decay * W)": "step"}),
    Mistake("no bias correction of the squares", "The mean of the squares is not corrected: it began at zero, too.",
        {"v / (1 - beta_2**t)": "v"}),
    Mistake("no bias correction of the mean", "The mean of the gradients is not corrected: it, too, began at zero.",
        {"m / (1 - beta_1**t)": "m"}),
    Mistake("eps inside the root", "eps stands beside the root, not under it.",
        {"np.sqrt(v / (1 - beta_2**t)) + eps": "np.sqrt(v / (1 - beta_2**t) + eps)"}),
    Mistake("no decay", "W is not decayed.", {"(step + decay * W)": "step"}),
    Mistake("decay after the step", "In AdamW the decay is a share of W as it was before the step.",
        {"return W - rate * (step + decay * W)": "return (1 - rate * decay) * (W - rate * step)"}),
    Mistake("decay with the wrong sign", "The decay makes W larger.", {"step + decay * W": "step - decay * W"}),
    Mistake("the decay is divided by the root", "The decay was divided by the root, too. In AdamW it is not.",
        {"m_hat = m / (1 - beta_1**t)": "m_hat = m / (1 - beta_1**t) + decay * W", "(step + decay * W)": "step"}),
    Mistake("counted from zero", "The bias correction uses t - 1; the first step has t = 1.",
        {"m / (1 - beta_1**t)": "m / (1 - beta_1 ** max(t - 1, 1))",
         "v / (1 - beta_2**t)": "v / (1 - beta_2 ** max(t - 1, 1))"}),
    Mistake("the decay goes into m alone", "The decay went into the mean of the gradients, and is divided by the root "
        "with it. In AdamW it enters neither m nor v.",
        {"(1 - beta_1) * dW": "(1 - beta_1) * (dW + decay * W)", "(step + decay * W)": "step"}),
    Mistake("corrected after the root", "The mean of the squares was divided by its correction after the root. It is "
        "corrected first.", {"np.sqrt(v / (1 - beta_2**t))": "np.sqrt(v) / (1 - beta_2**t)"}),
)  # fmt: skip

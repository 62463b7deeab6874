"""Rows that are not seen

write · ★★★ · 15 min · 05-training/2-steps

Most rows of an embedding W (r, d) have no token in a batch, so their gradient is zero and carries no information.
Write one step of an Adam that leaves such rows, with their m and v, as they are. seen (r,) is True where a row had a
token. dW, m and v are (r, d). times (r,) is how often each row was seen before this step: each row has a count of its
own for the bias correction. rate, beta_1, beta_2 and eps are those of Adam, with eps added to the root. Return only
the new W.

1. What do m, v and the count of a row become if the row is seen now? What happens to the other rows?
2. The count belongs to a row, so the two correction factors are columns, (r, 1).
3. Make the step for all rows with the count times + 1, and keep it with `np.where` for those that are seen.

In plain Adam the rows that are not seen still move by their m, and their v decays, so the next time they are seen
their step is too long. PyTorch's `SparseAdam` is this rule, with one count for the whole table.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def step_of_seen(W, dW, m, v, times, seen, rate, beta_1, beta_2, eps):
    """The table after a step of the rows that were seen; times and seen (r,)."""
    t = times[:, None] + 1
    m = beta_1 * m + (1 - beta_1) * dW
    v = beta_2 * v + (1 - beta_2) * dW**2
    m_hat = m / (1 - beta_1**t)
    v_hat = v / (1 - beta_2**t)
    step = rate * m_hat / (np.sqrt(v_hat) + eps)
    return np.where(seen[:, None], W - step, W)


def row_by_row(W, dW, m, v, times, seen, rate, beta_1, beta_2, eps):
    W = W.copy()
    for i in range(len(W)):
        if not seen[i]:
            continue
        t = int(times[i]) + 1
        mean = (beta_1 * m[i] + (1 - beta_1) * dW[i]) / (1 - beta_1**t)
        square = (beta_2 * v[i] + (1 - beta_2) * dW[i] ** 2) / (1 - beta_2**t)
        W[i] = W[i] - rate * mean / (square**0.5 + eps)
    return W


def indexed(W, dW, m, v, times, seen, rate, beta_1, beta_2, eps):
    new = np.array(W)
    t = (times[seen] + 1).reshape(-1, 1)
    mean = m[seen] + (1 - beta_1) * (dW[seen] - m[seen])
    square = v[seen] + (1 - beta_2) * (dW[seen] ** 2 - v[seen])
    factor = rate * np.sqrt(1 - beta_2**t) / (1 - beta_1**t)
    new[seen] -= factor * mean / (np.sqrt(square) + eps * np.sqrt(1 - beta_2**t))
    return new


def moving_on(W, dW, m, v, times, seen, rate, beta_1, beta_2, eps):
    dW = np.where(seen[:, None], dW, 0)
    t = np.maximum(times + seen, 1)[:, None]
    mean = (beta_1 * m + (1 - beta_1) * dW) / (1 - beta_1**t)
    square = (beta_2 * v + (1 - beta_2) * dW**2) / (1 - beta_2**t)
    return W - rate * mean / (np.sqrt(square) + eps)


def cases(rng):
    def parts(r, d, seen, first=False, eps=1e-8):
        W, dW, m, v = drawn(rng, (r, d), (r, d), (r, d), (r, d))
        times = np.zeros(r, dtype=int) if first else rng.integers(1, 9, size=r)
        m, v = (0 * m, 0 * v) if first else (0.1 * m, 0.02 * v**2 + 0.01)
        seen = np.array(seen)
        return W, dW * seen[:, None], m, v, times, seen, 0.1, 0.9, 0.95, eps

    def with_a_zero(W, dW, *rest):
        dW[0, 1] = 0
        return W, dW, *rest

    yes, no = True, False
    return {
        "three rows, one not seen": parts(3, 4, [yes, no, yes]),
        "the first step": parts(4, 3, [no, yes, yes, no], first=True),
        "all sizes equal": parts(3, 3, [yes, yes, no]),
        "a large eps": parts(4, 2, [yes, no, yes, yes], eps=0.1),
        "no row seen": parts(3, 2, [no, no, no]),
        "one row": parts(1, 5, [yes]),
        "a zero in the gradient of a row that was seen": with_a_zero(*parts(2, 3, [yes, no])),
    }


VARIANTS = (row_by_row, indexed)
MISTAKES = (
    Mistake("rows that were not seen move on", "Rows that were not seen moved, too, by their m. They must stay as they "
        "are.",
        {"return np.where(seen[:, None], W - step, W)": "return W - step"}, moving_on),
    Mistake("unseen rows become zero", "Rows that were not seen must stay as they are.",
        {"return np.where(seen[:, None], W - step, W)": "return np.where(seen[:, None], W - step, 0)"}),
    Mistake("no bias correction of the mean", "The mean of the gradients is not corrected: it, too, began at zero.",
        {"m_hat = m / (1 - beta_1**t)": "m_hat = m"}),
    Mistake("no bias correction of the squares", "The mean of the squares is not corrected: it, too, began at zero.",
        {"v_hat = v / (1 - beta_2**t)": "v_hat = v"}),
    Mistake("eps inside the root", "eps stands beside the root, not under it: under it, 1e-8 would count as 1e-4.",
        {"np.sqrt(v_hat) + eps": "np.sqrt(v_hat + eps)"}),
    Mistake("the count before this step", "The count is one too small: this step's gradient counts, too. (For the "
        "first one a zero would be divided by zero.)",
        {"t = times[:, None] + 1": "t = np.maximum(times[:, None], 1)"}),
    Mistake("one count for all rows", "All rows were corrected with one count. A row that is seldom seen has seen "
        "less.", {"t = times[:, None] + 1": "t = times.max() + 1"}),
    Mistake("no root", "The root of the mean square is missing.", {"np.sqrt(v_hat) + eps": "v_hat + eps"}),
    Mistake("uphill", "The step goes against the gradient.", {"W - step": "W + step"}),
    Mistake("the gradient not squared", "v is a mean of squares.",
        {"(1 - beta_2) * dW**2": "(1 - beta_2) * np.abs(dW)"}),
    Mistake("zero gradients stay", "Numbers whose gradient is zero stayed where they were. In a row that was seen they "
        "move by their m.", {"seen[:, None], W - step": "dW != 0, W - step"}),
    Mistake("the other rows move", "The rows that were not seen moved, and those that were seen stayed.",
        {"np.where(seen[:, None], W - step, W)": "np.where(seen[:, None], W, W - step)"}),
    Mistake("the shares of a mean are exchanged", "The running mean keeps the share beta; the new gradient has the "
        "rest.",
        {"beta_1 * m + (1 - beta_1) * dW": "(1 - beta_1) * m + beta_1 * dW",
         "beta_2 * v + (1 - beta_2) * dW**2": "(1 - beta_2) * v + beta_2 * dW**2"}),
    Mistake("m and v of before", "The step was made with m and v as they were before this gradient.",
        {"m = beta_1 * m + (1 - beta_1) * dW": "m = 1 * m", "v = beta_2 * v + (1 - beta_2) * dW**2": "v = 1 * v"}),
    Mistake("corrected after the root", "The mean of the squares was divided by its correction after the root. It is "
        "corrected first.", {"v_hat = v / (1 - beta_2**t)": "v_hat = v / (1 - beta_2**t) ** 2"}),
)  # fmt: skip

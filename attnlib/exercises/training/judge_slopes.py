"""Check five gradients

write · ★★ · 12 min · 05-training/9-a-transformer-in-numpy-trained

A small network reads X (n, d): it multiplies by gain (d,), maps with W (d, h) and b (h,), takes tanh, and ends with u
(h,). Its loss is half the mean square of its distance from t (n,). `claimed` is a tuple of five arrays, which are
claimed to be the gradients of the loss with respect to X, gain, W, b and u, and have their shapes. At least one is
wrong. Return five numbers: for each array, the largest absolute difference, over all entries, from the central
difference with the given step.

1. Write the loss as a function of the five arrays. Nothing else is needed of the network.
2. For one entry: the loss with the entry plus step, minus that with the entry minus step, divided by twice the step.
3. Loop over the five arrays and over `np.ndindex(*A.shape)`; change a copy, so that all other entries stay as they are.

Such a check costs two losses per entry, so for a large model only a few entries of each array are checked. An error in
an entry that is not checked stays unseen, so a sample should have entries of every kind of parameter.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def judge(X, gain, W, b, u, t, claimed, step):
    """Largest distance of each claimed slope from a central difference."""

    def loss(X, gain, W, b, u):
        return 0.5 * ((np.tanh(X * gain @ W + b) @ u - t) ** 2).mean()

    arrays = [X, gain, W, b, u]
    worst = np.zeros(5)
    for i in range(5):
        for place in np.ndindex(*arrays[i].shape):
            losses = []
            for sign in (1, -1):
                moved = [A.astype(float) for A in arrays]
                moved[i][place] += sign * step
                losses.append(loss(*moved))
            slope = (losses[0] - losses[1]) / (2 * step)
            worst[i] = max(worst[i], abs(slope - claimed[i][place]))
    return worst


def on_flat_arrays(X, gain, W, b, u, t, claimed, step):
    shapes = [A.shape for A in (X, gain, W, b, u)]
    ends = np.cumsum([0, *(int(np.prod(shape)) for shape in shapes)])
    flat = np.concatenate([A.ravel() for A in (X, gain, W, b, u)])

    def loss(flat):
        x, g, w, c, v = (flat[a:z].reshape(s) for a, z, s in zip(ends, ends[1:], shapes, strict=False))
        e = np.tanh((x * g) @ w + c) @ v - t
        return (e @ e) / (2 * len(e))

    each = step * np.eye(len(flat))
    slopes = np.array([(loss(flat + e) - loss(flat - e)) / (2 * step) for e in each])
    far = np.abs(slopes - np.concatenate([c.ravel() for c in claimed]))
    return np.array([far[a:z].max() for a, z in zip(ends, ends[1:], strict=False)])


def one_array_at_a_time(X, gain, W, b, u, t, claimed, step):
    here = [np.array(A, dtype=float) for A in (X, gain, W, b, u)]

    def loss():
        x, g, w, c, v = here
        return np.mean((np.tanh(np.einsum("nd,d,dh->nh", x, g, w) + c).dot(v) - t) ** 2) / 2

    def found(A):
        slope = np.empty_like(A)
        for k, old in enumerate(A.flatten()):
            A.flat[k] = old + step
            above = loss()
            A.flat[k] = old - step
            slope.flat[k] = (above - loss()) / step / 2
            A.flat[k] = old
        return slope

    return np.array([np.abs(found(A) - said).max() for A, said in zip(here, claimed, strict=True)])


def not_put_back(X, gain, W, b, u, t, claimed, step):
    arrays = [np.array(A, dtype=float) for A in (X, gain, W, b, u)]

    def loss():
        X, gain, W, b, u = arrays
        return 0.5 * ((np.tanh(X * gain @ W + b) @ u - t) ** 2).mean()

    worst = np.zeros(5)
    for i in range(5):
        for place in np.ndindex(*arrays[i].shape):
            arrays[i][place] += step
            above = loss()
            arrays[i][place] -= 2 * step
            worst[i] = max(worst[i], abs((above - loss()) / (2 * step) - claimed[i][place]))
    return worst


def slopes_of(X, gain, W, b, u, t):
    """The five gradients by the chain rule."""
    H = np.tanh(X * gain @ W + b)
    ds = (H @ u - t) / len(t)
    dA = ds[:, None] * u * (1 - H**2)
    dZ = dA @ W.T
    return dZ * gain, (dZ * X).sum(axis=0), (X * gain).T @ dA, dA.sum(axis=0), H.T @ ds


def cases(rng):
    def one(n, d, h, wrong, how, step):
        arrays = drawn(rng, (n, d), d, (d, h), h, h, n)
        claimed = list(slopes_of(*arrays))
        claimed[wrong] = how(claimed[wrong].copy())
        return (*arrays, tuple(claimed), step)

    def one_entry(slope):
        slope.flat[-1] += 0.5
        return slope

    return {
        "a sign": one(3, 2, 4, 1, lambda slope: -slope, 0.1),
        "one entry": one(3, 2, 4, 2, one_entry, 0.1),
        "twice too long": one(2, 3, 5, 4, lambda slope: 2 * slope, 0.2),
        "forgotten": one(4, 3, 2, 3, lambda slope: 0 * slope, 0.1),
        "all sizes equal": one(3, 3, 3, 0, lambda slope: slope[::-1], 0.2),
    }


VARIANTS = (on_flat_arrays, one_array_at_a_time)
MISTAKES = (
    Mistake("one side alone", "The loss was compared with the loss of the unchanged entry. A central difference "
        "changes the entry in both directions.",
        {"for sign in (1, -1)": "for sign in (1, 0)", "(2 * step)": "step"},
        {"for sign in (1, -1)": "for sign in (0, -1)", "(2 * step)": "step"},
        {"for sign in (1, -1)": "for sign in (1, 0)"},
        {"for sign in (1, -1)": "for sign in (0, -1)"}),
    Mistake("twice as large", "Each gradient came out twice as large: either it was divided by the step, while the "
        "entry changed by twice the step, or the loss has lost its half.",
        {"(2 * step)": "step"}, {"return 0.5 *": "return"}),
    Mistake("the other sign", "The loss with less was taken for the one with more: each gradient has the other sign.",
        {"losses[0] - losses[1]": "losses[1] - losses[0]"}),
    Mistake("multiplied by the step", "The change of the loss is divided by the change of the entry.",
        {"/ (2 * step)": "* (2 * step)"}),
    Mistake("the sum of the distances", "Return the largest distance, not a sum or a length.",
        {"worst[i] = max(worst[i], abs(slope - claimed[i][place]))":
             "worst[i] = np.hypot(worst[i], slope - claimed[i][place])"},
        {"worst[i] = max(worst[i], abs(slope - claimed[i][place]))": "worst[i] += abs(slope - claimed[i][place])"}),
    Mistake("only one entry", "Only one entry of each array was checked. Every entry counts.",
        {"worst[i] = max(worst[i], abs(slope - claimed[i][place]))":
             "worst[i] = worst[i] or abs(slope - claimed[i][place])"},
        {"worst[i] = max(worst[i], abs(slope - claimed[i][place]))": "worst[i] = abs(slope - claimed[i][place])"}),
    Mistake("with a sign", "A distance has no sign: a claimed gradient that is too large is as wrong as one that is "
        "too small.",
        {"abs(slope - claimed[i][place])": "slope - claimed[i][place]"},
        {"abs(slope - claimed[i][place])": "claimed[i][place] - slope"},
        {"np.zeros(5)": "np.full(5, -np.inf)", "abs(slope - claimed[i][place])": "slope - claimed[i][place]"},
        {"np.zeros(5)": "np.full(5, -np.inf)", "abs(slope - claimed[i][place])": "claimed[i][place] - slope"}),
    Mistake("a relative error", "The distance was divided by the gradient. Return the distance itself.",
        {"abs(slope - claimed[i][place])": "abs(slope - claimed[i][place]) / abs(slope)"}),
    Mistake("a sum for the loss", "The loss is half the *mean* square.", {"** 2).mean()": "** 2).sum()"}),
    Mistake("all entries at once", "Change one entry at a time, and leave all others as they are.",
        {"moved[i][place] +=": "moved[i] +="}),
    Mistake("not put back", "The entries that were checked before are still changed. Restore each before the next one.",
        not_put_back),
    Mistake("exact gradients",
        "Those are the distances from the exact gradients. Return the distances from the central differences, which "
        "with so long a step are a little off.",
        lambda X, gain, W, b, u, t, claimed, step: np.array([
            abs(one - said).max() for one, said in zip(slopes_of(X, gain, W, b, u, t), claimed, strict=True)])),
    Mistake("one number for all five", "Return five numbers, one for each claimed gradient.",
        {"return worst": "return worst.max()"}, {"return worst": "return worst.argmax()"}),
    Mistake("the gradients themselves", "These are the gradients. Return how far the claimed ones are from them.",
        {"abs(slope - claimed[i][place])": "abs(slope)"}),
)  # fmt: skip

"""A norm for pictures

write · ★★ · 10 min · 04-transformer/2-the-block

X (b, c, h, w) is a batch of pictures: c channels, h rows, w columns. At each pixel the c numbers of its
channels are one vector, and layer normalisation is wanted for that vector: mean zero, variance one (with
eps under the root), then gain (c,) and shift (c,). Return (b, c, h, w).

1. Which axis holds the numbers of one vector here?
2. The mean over that axis must keep the axis, so that it can be subtracted.
3. gain and shift belong to the channels: NumPy lines axes up from the right, so they need two more axes.

Layer normalisation is the same whatever the other axes mean. Where channels come first, the axis of the vector must be
given; `layer_norm` of the package expects it last.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def channel_norm(X, gain, shift, eps):
    """Layer normalisation over the channels of each pixel; X (b, c, h, w), gain and shift (c,)."""
    mean = X.mean(axis=1, keepdims=True)
    variance = X.var(axis=1, keepdims=True)
    Y = (X - mean) / np.sqrt(variance + eps)
    return gain[:, None, None] * Y + shift[:, None, None]


def moved(X, gain, shift, eps):
    rows = np.moveaxis(X, 1, -1)
    centred = rows - rows.mean(axis=-1, keepdims=True)
    size = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + eps)
    return np.moveaxis(gain * centred / size + shift, -1, 1)


def by_loop(X, gain, shift, eps):
    Y = np.empty(X.shape)
    for b, i, j in np.ndindex(X.shape[0], X.shape[2], X.shape[3]):
        x = X[b, :, i, j]
        Y[b, :, i, j] = gain * (x - x.mean()) / np.sqrt(x.var() + eps) + shift
    return Y


def from_the_second(X, gain, shift, eps):
    """Mean and variance of what is left when another channel is taken away: the same, for two channels or more."""
    D = X - X[:, [1]]
    mean = D.mean(axis=1, keepdims=True)
    size = np.sqrt((D**2).mean(axis=1, keepdims=True) - mean**2 + eps)
    return gain.reshape(-1, 1, 1) * (D - mean) / size + shift.reshape(-1, 1, 1)


def cases(rng):
    def parts(*size, eps=1e-5):
        return (*drawn(rng, size, size[1], size[1]), eps)

    X, gain, shift, eps = parts(1, 4, 2, 3)
    return {
        "four channels": (X, gain, shift, eps),
        "a batch of two": parts(2, 5, 3, 2),
        "a large eps": parts(2, 3, 2, 4, eps=0.5),
        "all sizes equal": parts(3, 3, 3, 3),
    }


VARIANTS = (moved, by_loop, from_the_second)
MISTAKES = (
    Mistake("the norm over the columns", "The mean was taken over the last axis, the columns of a picture. The vector "
        "of a pixel lies along the channels.",
        {"mean = X.mean(axis=1": "mean = X.mean(axis=-1", "X.var(axis=1": "X.var(axis=-1"}),
    Mistake("the norm over the rows", "The mean was taken over the rows of a picture. The vector of a pixel lies "
        "along the channels.", {"mean = X.mean(axis=1": "mean = X.mean(axis=2", "X.var(axis=1": "X.var(axis=2"}),
    Mistake("the norm over the batch", "Each channel of each pixel was compared with the other pictures: a norm of "
        "the batch. A picture's output must not depend on its neighbours.",
        {"mean = X.mean(axis=1": "mean = X.mean(axis=0", "X.var(axis=1": "X.var(axis=0"}),
    Mistake("the norm over the whole picture", "Channels, rows and columns share one mean and one variance. Each "
        "pixel has its own.",
        {"mean = X.mean(axis=1": "mean = X.mean(axis=(1, 2, 3)", "X.var(axis=1": "X.var(axis=(1, 2, 3)"}),
    Mistake("the norm of each channel", "Each channel was normalised over its pixels, as in instance norm. Here each "
        "pixel is normalised by itself, over its channels.",
        {"mean = X.mean(axis=1": "mean = X.mean(axis=(2, 3)", "X.var(axis=1": "X.var(axis=(2, 3)"}),
    Mistake("the norm of each channel over the batch", "Each channel was normalised over all pixels of all pictures, "
        "as in batch norm. Here each pixel is normalised by itself, over its channels.",
        {"mean = X.mean(axis=1": "mean = X.mean(axis=(0, 2, 3)", "X.var(axis=1": "X.var(axis=(0, 2, 3)"}),
    Mistake("eps is missing", "Without eps a pixel whose channels are equal is divided by zero; the large eps shows "
        "it.", {"variance + eps": "variance"}),
    Mistake("divided by the variance", "The root is missing: the result has not the variance one.",
        {"np.sqrt(variance + eps)": "(variance + eps)"}),
    Mistake("the mean stays", "The deviation is right, but it divides X itself: the mean was not subtracted.",
        {"(X - mean) /": "X /"}),
    Mistake("a root mean square", "The mean was not subtracted: this is an RMS norm.",
        {"(X - mean) /": "X /", "X.var(axis=1, keepdims=True)": "(X**2).mean(axis=1, keepdims=True)"}),
    Mistake("gain and shift along the columns", "NumPy lines axes up from the right, so gain and shift met the "
        "columns of the pictures. They belong to the channels.",
        {"gain[:, None, None]": "gain", "shift[:, None, None]": "shift"}),
    Mistake("the shift is multiplied by the gain", "First times gain, then plus shift.",
        {"* Y + shift[:, None, None]": "* (Y + shift[:, None, None])"}),
    Mistake("no gain", "The gain is missing.", {"gain[:, None, None] * Y": "Y"}),
    Mistake("no shift", "The shift is missing.", {"+ shift[:, None, None]": ""}),
)  # fmt: skip

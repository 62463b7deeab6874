"""Normalisation: each vector is scaled to the same size, then multiplied with a learned gain.

The twin, where autograd does the backward, is `attnlib.nn.norm`. The length of a vector is in `attnlib.reference.ops`.
The book derives them in eq-layer-norm (Chapter 4).
"""

from typing import NamedTuple

import numpy as np

from attnlib.shapes import Array, Float, Number, checked


class NormCache(NamedTuple):
    Y: Float[Array, "*b d"]  # before gain and shift
    size: Float[Array, "*b 1"]
    gain: Float[Array, "d"]


@checked
def layer_norm(
    X: Float[Array, "*b d"],
    gain: Float[Array, "d"],
    shift: Float[Array, "d"],
    eps: Number[float, "0<.."] = 1e-5,
) -> tuple[Float[Array, "*b d"], NormCache]:
    """Each vector minus its mean, divided by its standard deviation, then times gain plus shift.

    eps     added to the variance, so that a vector of equal entries becomes zeros

    >>> layer_norm(np.array([[1.0, 3.0]]), np.array([1.0, 1.0]), np.array([0.0, 10.0]))[0].round(3)
    array([[-1., 11.]])
    """
    centred = X - X.mean(axis=-1, keepdims=True)
    size = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + X.dtype.type(eps))
    Y = centred / size  # (*b, d)
    return gain * Y + shift, NormCache(Y, size, gain)


@checked
def layer_norm_backward(
    dO: Float[Array, "*b d"], cache: NormCache
) -> tuple[Float[Array, "*b d"], Float[Array, "d"], Float[Array, "d"]]:
    """dX, and the gradients of gain and shift; changes of only the mean or size of a vector have no effect."""
    dX, d_gain = rms_norm_backward(dO, cache)
    return dX - dX.mean(axis=-1, keepdims=True), d_gain, dO.reshape(-1, dO.shape[-1]).sum(axis=0)


@checked
def rms_norm(
    X: Float[Array, "*b d"], gain: Float[Array, "d"], eps: Number[float, "0<.."] = 1e-5
) -> tuple[Float[Array, "*b d"], NormCache]:
    """Each vector divided by the root of its mean square, then times gain; the mean is not subtracted.

    >>> rms_norm(np.array([[3.0, 3.0]]), np.array([1.0, 2.0]))[0].round(3)
    array([[1., 2.]])
    """
    size = np.sqrt((X**2).mean(axis=-1, keepdims=True) + X.dtype.type(eps))
    Y = X / size  # (*b, d)
    return gain * Y, NormCache(Y, size, gain)


@checked
def rms_norm_backward(
    dO: Float[Array, "*b d"], cache: NormCache
) -> tuple[Float[Array, "*b d"], Float[Array, "d"]]:
    """dX and the gradient of gain: the part of dO along the vector vanishes."""
    Y, size, gain = cache
    dY = dO * gain
    along = Y * (dY * Y).mean(axis=-1, keepdims=True)
    return (dY - along) / size, (dO * Y).reshape(-1, Y.shape[-1]).sum(axis=0)


class BatchNormCache(NamedTuple):
    Y: Float[Array, "*b d"]  # before gain and shift
    size: Float[Array, "d"]
    gain: Float[Array, "d"]


@checked
def batch_norm(
    X: Float[Array, "*b d"],
    gain: Float[Array, "d"],
    shift: Float[Array, "d"],
    eps: Number[float, "0<.."] = 1e-5,
) -> tuple[Float[Array, "*b d"], BatchNormCache]:
    """Each coordinate normalised by mean and standard deviation over all vectors of the batch, for comparison.

    The result for one vector depends on the others in the batch, which is why transformers use a layer norm.

    >>> batch_norm(np.array([[1.0, 5.0], [3.0, 9.0]]), np.ones(2), np.zeros(2))[0].round(3)
    array([[-1., -1.],
           [ 1.,  1.]])
    """
    rows = X.reshape(-1, X.shape[-1])
    size = np.sqrt(rows.var(axis=0) + X.dtype.type(eps))
    Y = (X - rows.mean(axis=0)) / size  # (*b, d)
    return gain * Y + shift, BatchNormCache(Y, size, gain)


@checked
def batch_norm_backward(
    dO: Float[Array, "*b d"], cache: BatchNormCache
) -> tuple[Float[Array, "*b d"], Float[Array, "d"], Float[Array, "d"]]:
    """dX, and the gradients of gain and shift: each vector's gradient depends on all vectors of the batch."""
    Y, size, gain = cache
    rows, d_rows = Y.reshape(-1, Y.shape[-1]), dO.reshape(-1, Y.shape[-1])
    d_gain, d_shift = (d_rows * rows).sum(axis=0), d_rows.sum(axis=0)
    return gain * (dO - (d_shift + Y * d_gain) / len(rows)) / size, d_gain, d_shift

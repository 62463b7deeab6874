"""Convolutions over positions with one filter for each coordinate: in a feed-forward network, and a short one.

Such a convolution is *depthwise*: it mixes positions but not coordinates, so it has `width` parameters for each
coordinate. Chapter 4 discusses the network; the short one stands before the queries, keys and values of layers with a
state (Chapter 6). The twin, where autograd does the backward, is `attnlib.nn.convolution`.
"""

from typing import NamedTuple

import numpy as np

from attnlib import rules
from attnlib.reference.activations import relu, relu_backward, swish, swish_backward
from attnlib.reference.ops import LinearCache, linear, linear_backward
from attnlib.shapes import Array, Float, Number, checked, same_size


class ConvolutionCache(NamedTuple):
    X: Float[Array, "*b n d"]
    C: Float[Array, "width d"]
    ahead: Number[int, "0.."]


def _seen(X: Array, C: Array, ahead: int) -> list[Array]:
    """For each weight of the filter the input shifted to it, with zeros outside the sequence."""
    n, width = X.shape[-2], len(C)
    rules.must(ahead < width, "depthwise_convolution", f"ahead must be below width={width}; got {ahead=}.")
    padded = np.pad(X, [(0, 0)] * (X.ndim - 2) + [(width - 1 - ahead, ahead), (0, 0)])
    return [padded[..., i : i + n, :] for i in range(width)]


@checked
def depthwise_convolution(
    X: Float[Array, "*b n d"],
    C: Float[Array, "width d"],
    b: Float[Array, "d"],
    ahead: Number[int, "0.."] = 0,
) -> tuple[Float[Array, "*b n d"], ConvolutionCache]:
    """Each coordinate is a weighted sum of its own values at `width` neighbouring positions.

    C        the weights, the earliest position first; outside the sequence the input is zero
    ahead    how many of them are later positions; 0 is causal, as a decoder needs

    >>> X = np.array([[1.0], [2.0], [4.0]])
    >>> depthwise_convolution(X, np.array([[1.0], [0.0]]), np.zeros(1))[0].T  # the entry of the position before
    array([[0., 1., 2.]])
    """
    Y = sum((seen * weight for seen, weight in zip(_seen(X, C, ahead), C, strict=True)), np.zeros_like(X))
    return Y + b, ConvolutionCache(X, C, ahead)


@checked
def depthwise_convolution_backward(
    dY: Float[Array, "*b n d"], cache: ConvolutionCache
) -> tuple[Float[Array, "*b n d"], Float[Array, "width d"], Float[Array, "d"]]:
    """dX, dC, db: each position gets a gradient from all positions whose filter covers it."""
    X, C, ahead = cache
    dC = [(seen * dY).reshape(-1, X.shape[-1]).sum(axis=0) for seen in _seen(X, C, ahead)]
    turned = zip(
        _seen(dY, C, len(C) - 1 - ahead), C[::-1], strict=True
    )  # the same convolution with the filter reversed
    dX = sum((seen * weight for seen, weight in turned), np.zeros_like(X))
    return dX, np.stack(dC), dY.reshape(-1, X.shape[-1]).sum(axis=0)


class ShortCache(NamedTuple):
    X: Float[Array, "*b n d"]
    C: Float[Array, "width d"]
    before: Float[Array, "*b rows d"] | None
    A: Float[Array, "*b n d"]  # before the activation


@checked
def short_convolution(
    X: Float[Array, "*b n d"], C: Float[Array, "width d"], before: Float[Array, "*b rows d"] | None = None
) -> tuple[Float[Array, "*b n d"], ShortCache]:
    """A causal depthwise convolution without a bias, and swish.

    before    the rows before X, of which the last width - 1 are seen; by default zeros

    >>> X, copies_the_one_before = np.array([[1.0], [2.0]]), np.array([[1.0], [0.0]])
    >>> short_convolution(X, copies_the_one_before)[0].round(2).T  # swish(0), swish(1)
    array([[0.  , 0.73]])
    """
    joined, rows = _joined(before, X)
    wide, _ = depthwise_convolution(joined, C, np.zeros_like(C[0]))
    A = wide[..., rows:, :]
    return swish(A), ShortCache(X, C, before, A)


def _joined(before: Array | None, X: Array) -> tuple[Array, int]:
    """X after the rows before it, and how many these are."""
    return (X, 0) if before is None else (np.concatenate([before, X], axis=-2), before.shape[-2])


@checked
def short_convolution_backward(
    dY: Float[Array, "*b n d"], cache: ShortCache
) -> tuple[Float[Array, "*b n d"], Float[Array, "width d"], Float[Array, "*b rows d"] | None]:
    """dX, dC, d_before: the rows before X have no output here, but are seen by the first ones of X."""
    X, C, before, A = cache
    joined, rows = _joined(before, X)
    wide = np.pad(swish_backward(dY, A), [(0, 0)] * (A.ndim - 2) + [(rows, 0), (0, 0)])
    d_joined, dC, _ = depthwise_convolution_backward(wide, ConvolutionCache(joined, C, 0))
    return d_joined[..., rows:, :], dC, None if before is None else d_joined[..., :rows, :]


class ConvolvedParameters(NamedTuple):
    W_1: Float[Array, "d_model d_hidden"]
    b_1: Float[Array, "d_hidden"]
    C: Float[Array, "width d_hidden"]
    b_C: Float[Array, "d_hidden"]
    W_2: Float[Array, "d_hidden d_model"]
    b_2: Float[Array, "d_model"]


class ConvolvedCache(NamedTuple):
    X: Float[Array, "*b n d_model"]
    convolution: ConvolutionCache
    A: Float[Array, "*b n d_hidden"]  # before the activation
    H: Float[Array, "*b n d_hidden"]  # after the activation
    parameters: ConvolvedParameters


@checked
def convolved_feed_forward(
    X: Float[Array, "*b n d_model"], parameters: ConvolvedParameters, ahead: Number[int, "0.."] = 0
) -> tuple[Float[Array, "*b n d_model"], ConvolvedCache]:
    """A linear map to a larger width, a convolution over neighbouring positions, ReLU, and a linear map back.

    >>> one, zero = np.ones((1, 1)), np.zeros(1)
    >>> two = ConvolvedParameters(one, zero, np.ones((2, 1)), zero, one, zero)
    >>> convolved_feed_forward(np.array([[1.0], [2.0], [-9.0]]), two)[0].T  # each plus the one before, if positive
    array([[1., 3., 0.]])
    """
    W_1, b_1, C, b_C, W_2, b_2 = parameters
    A, convolution = depthwise_convolution(linear(X, W_1, b_1)[0], C, b_C, ahead)  # (*b, n, d_hidden)
    H = relu(A)
    return linear(H, W_2, b_2)[0], ConvolvedCache(X, convolution, A, H, parameters)


@checked
@same_size(d="d_hidden")
def convolved_feed_forward_backward(
    dY: Float[Array, "*b n d_model"], cache: ConvolvedCache
) -> tuple[Float[Array, "*b n d_model"], ConvolvedParameters]:
    """dX and the gradients of the parameters, by the backwards in reverse order."""
    X, convolution, A, H, (W_1, _, _, _, W_2, _) = cache
    dH, dW_2, db_2 = linear_backward(dY, LinearCache(H, W_2))
    dZ, dC, db_C = depthwise_convolution_backward(relu_backward(dH, A), convolution)
    dX, dW_1, db_1 = linear_backward(dZ, LinearCache(X, W_1))
    return dX, ConvolvedParameters(dW_1, db_1, dC, db_C, dW_2, db_2)

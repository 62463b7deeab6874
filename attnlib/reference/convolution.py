"""A feed-forward network that sees its neighbours: a convolution in its wide room, one filter for each coordinate.

Such a filter is *depthwise*: it mixes positions and no coordinates, so it costs `width` numbers a coordinate. Chapter 4
places it. The twin, where autograd does the backward, is `attnlib.nn.convolution`.
"""

from typing import NamedTuple

import numpy as np

from attnlib import rules
from attnlib.reference.activations import relu, relu_backward
from attnlib.reference.ops import LinearCache, linear, linear_backward
from attnlib.shapes import Array, Float, Number, checked, same_size


class ConvolutionCache(NamedTuple):
    X: Float[Array, "*b n d"]
    C: Float[Array, "width d"]
    ahead: Number[int, "0.."]


def _seen(X: Array, C: Array, ahead: int) -> list[Array]:
    """What each of the filter's weights sees: X moved, with zeros where the sequence ends."""
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

    C        the weights, the earliest position first; outside the sequence stand zeros
    ahead    how many of the positions lie ahead; 0 sees only what came before, as a decoder must

    >>> X = np.array([[1.0], [2.0], [4.0]])
    >>> depthwise_convolution(X, np.array([[1.0], [0.0]]), np.zeros(1))[0].T  # the position before
    array([[0., 1., 2.]])
    """
    Y = sum((seen * weight for seen, weight in zip(_seen(X, C, ahead), C, strict=True)), np.zeros_like(X))
    return Y + b, ConvolutionCache(X, C, ahead)


@checked
def depthwise_convolution_backward(
    dY: Float[Array, "*b n d"], cache: ConvolutionCache
) -> tuple[Float[Array, "*b n d"], Float[Array, "width d"], Float[Array, "d"]]:
    """dX, dC, db: each position collects from all that have seen it."""
    X, C, ahead = cache
    dC = [(seen * dY).reshape(-1, X.shape[-1]).sum(axis=0) for seen in _seen(X, C, ahead)]
    turned = zip(
        _seen(dY, C, len(C) - 1 - ahead), C[::-1], strict=True
    )  # who sees me, I see from the other side
    dX = sum((seen * weight for seen, weight in turned), np.zeros_like(X))
    return dX, np.stack(dC), dY.reshape(-1, X.shape[-1]).sum(axis=0)


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
    A: Float[Array, "*b n d_hidden"]  # before the bend
    H: Float[Array, "*b n d_hidden"]  # behind it
    parameters: ConvolvedParameters


@checked
def convolved_feed_forward(
    X: Float[Array, "*b n d_model"], parameters: ConvolvedParameters, ahead: Number[int, "0.."] = 0
) -> tuple[Float[Array, "*b n d_model"], ConvolvedCache]:
    """Out into a wider room, a look at the neighbours there, a bend at zero, and back.

    >>> one, zero = np.ones((1, 1)), np.zeros(1)
    >>> two = ConvolvedParameters(one, zero, np.ones((2, 1)), zero, one, zero)
    >>> convolved_feed_forward(np.array([[1.0], [2.0], [-9.0]]), two)[0].T  # each with the one before, if positive
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
    """dX and the gradients of the parameters: the same steps back."""
    X, convolution, A, H, (W_1, _, _, _, W_2, _) = cache
    dH, dW_2, db_2 = linear_backward(dY, LinearCache(H, W_2))
    dZ, dC, db_C = depthwise_convolution_backward(relu_backward(dH, A), convolution)
    dX, dW_1, db_1 = linear_backward(dZ, LinearCache(X, W_1))
    return dX, ConvolvedParameters(dW_1, db_1, dC, db_C, dW_2, db_2)

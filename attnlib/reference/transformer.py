"""Feed-forward networks, and the residual connection of a sublayer with its norm, before it or after the sum.

The book derives it in eq-feed-forward, eq-pre-norm and eq-post-norm (Chapter 4). The twin,
where autograd does the backward, is `attnlib.nn.transformer`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from attnlib.reference.activations import relu, relu_backward
from attnlib.reference.norm import NormCache, layer_norm, layer_norm_backward
from attnlib.reference.ops import LinearCache, linear, linear_backward
from attnlib.shapes import Array, Float, checked, same_size

Sublayer = Callable[[Array], tuple[Array, Any]]  # a forward, with its cache
SublayerBackward = Callable[
    [Array, Any], tuple[Array, Any]
]  # its backward: dX, and the gradients of its parameters


class FeedForwardParameters(NamedTuple):
    W_1: Float[Array, "d_model d_hidden"]
    b_1: Float[Array, "d_hidden"]
    W_2: Float[Array, "d_hidden d_model"]
    b_2: Float[Array, "d_model"]


class FeedForwardCache(NamedTuple):
    X: Float[Array, "*b d_model"]
    A: Float[Array, "*b d_hidden"]  # before the activation function
    H: Float[Array, "*b d_hidden"]  # after it
    parameters: FeedForwardParameters


@checked
def feed_forward(
    X: Float[Array, "*b d_model"], parameters: FeedForwardParameters
) -> tuple[Float[Array, "*b d_model"], FeedForwardCache]:
    """A wider layer, ReLU, and a map back: the same for every position, and each position alone.

    >>> import numpy as np
    >>> W, zero = np.array([[1.0, -1.0]]), np.zeros
    >>> feed_forward(np.array([[-3.0], [2.0]]), FeedForwardParameters(W, zero(2), abs(W.T), zero(1)))[0]
    array([[3.],
           [2.]])
    """
    W_1, b_1, W_2, b_2 = parameters
    A = linear(X, W_1, b_1)[0]  # (*b, d_hidden)
    H = relu(A)
    return linear(H, W_2, b_2)[0], FeedForwardCache(X, A, H, parameters)


@checked
def feed_forward_backward(
    dY: Float[Array, "*b d_model"], cache: FeedForwardCache
) -> tuple[Float[Array, "*b d_model"], FeedForwardParameters]:
    """dX and the gradients of the parameters: back through the second map, the activation and the first map."""
    X, A, H, (W_1, _, W_2, _) = cache
    dH, dW_2, db_2 = linear_backward(dY, LinearCache(H, W_2))
    dX, dW_1, db_1 = linear_backward(relu_backward(dH, A), LinearCache(X, W_1))
    return dX, FeedForwardParameters(dW_1, db_1, dW_2, db_2)


class NormParameters(NamedTuple):
    gain: Float[Array, "d_model"]
    shift: Float[Array, "d_model"]


class ResidualCache(NamedTuple):
    norm: NormCache
    sublayer: Any


@checked
def pre_norm(
    X: Float[Array, "*b d_model"], norm: NormParameters, sublayer: Sublayer
) -> tuple[Float[Array, "*b d_model"], ResidualCache]:
    """X + f(norm(X)): the residual stream passes every sublayer unchanged, from the first layer to the last.

    >>> import numpy as np
    >>> pre_norm(np.array([[1.0, 3.0]]), NormParameters(np.ones(2), np.zeros(2)), lambda Z: (0 * Z, None))[0]
    array([[1., 3.]])
    """
    Z, normed = layer_norm(X, *norm)
    Y, inside = sublayer(Z)
    return X + Y, ResidualCache(normed, inside)


@checked
@same_size(d="d_model")
def pre_norm_backward(
    dY: Float[Array, "*b d_model"], cache: ResidualCache, sublayer_backward: SublayerBackward
) -> tuple[Float[Array, "*b d_model"], NormParameters, Any]:
    """dX, dnorm and the gradients of the sublayer: dY arrives twice, once untouched and once through f and the norm."""
    dZ, d_inside = sublayer_backward(dY, cache.sublayer)
    dX, *d_norm = layer_norm_backward(dZ, cache.norm)
    return dY + dX, NormParameters(*d_norm), d_inside


@checked
def post_norm(
    X: Float[Array, "*b d_model"], norm: NormParameters, sublayer: Sublayer
) -> tuple[Float[Array, "*b d_model"], ResidualCache]:
    """norm(X + f(X)): the order of 2017; the residual stream passes a norm after every sublayer.

    >>> import numpy as np
    >>> Y, _ = post_norm(np.array([[1.0, 3.0]]), NormParameters(np.ones(2), np.zeros(2)), lambda Z: (0 * Z, None))
    >>> Y.round(3)
    array([[-1.,  1.]])
    """
    Y, inside = sublayer(X)
    Z, normed = layer_norm(X + Y, *norm)
    return Z, ResidualCache(normed, inside)


@checked
@same_size(d="d_model")
def post_norm_backward(
    dZ: Float[Array, "*b d_model"], cache: ResidualCache, sublayer_backward: SublayerBackward
) -> tuple[Float[Array, "*b d_model"], NormParameters, Any]:
    """dX, dnorm and the gradients of the sublayer: what arrives passes the norm first, then splits."""
    dS, *d_norm = layer_norm_backward(dZ, cache.norm)
    dX, d_inside = sublayer_backward(dS, cache.sublayer)
    return dS + dX, NormParameters(*d_norm), d_inside

"""Gated linear units: one linear map of X, multiplied entry by entry with a gate computed from a second map of X.

The members of the family differ in the gate's activation: `glu` has the sigmoid, `reglu` the ReLU, `geglu` the GELU and
`swiglu` the swish. Chapter 4 compares them. The twin, where autograd does the backward, is `attnlib.nn.glu`.
"""

from collections.abc import Callable
from typing import NamedTuple

from attnlib.reference.activations import (
    gelu,
    gelu_backward,
    relu,
    relu_backward,
    sigmoid,
    sigmoid_backward,
    swish,
    swish_backward,
)
from attnlib.reference.ops import LinearCache, linear, linear_backward
from attnlib.shapes import Array, Float, checked

Activation = Callable[[Array], Array]
ActivationBackward = Callable[[Array, Array], Array]


def _gated_backward(
    dH: Array, A: Array, G: Array, activation: Activation, activation_backward: ActivationBackward
) -> tuple[Array, Array]:
    """dA and dG by the product rule."""
    return dH * activation(G), activation_backward(dH * A, G)


@checked
def glu(A: Float[Array, "*s"], G: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """A times the sigmoid of G, which is between zero and one.

    >>> import numpy as np
    >>> glu(np.array([6.0, 6.0]), np.array([0.0, 100.0]))
    array([3., 6.])
    """
    return A * sigmoid(G)


@checked
def glu_backward(
    dH: Float[Array, "*s"], A: Float[Array, "*s"], G: Float[Array, "*s"]
) -> tuple[Float[Array, "*s"], Float[Array, "*s"]]:
    """dA and dG."""
    return _gated_backward(dH, A, G, sigmoid, sigmoid_backward)


@checked
def reglu(A: Float[Array, "*s"], G: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """A times G where G is positive, and zero elsewhere.

    >>> import numpy as np
    >>> reglu(np.array([6.0, 6.0]), np.array([-1.0, 2.0]))
    array([ 0., 12.])
    """
    return A * relu(G)


@checked
def reglu_backward(
    dH: Float[Array, "*s"], A: Float[Array, "*s"], G: Float[Array, "*s"]
) -> tuple[Float[Array, "*s"], Float[Array, "*s"]]:
    """dA and dG."""
    return _gated_backward(dH, A, G, relu, relu_backward)


@checked
def geglu(A: Float[Array, "*s"], G: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """A times the GELU of G.

    >>> import numpy as np
    >>> geglu(np.array([2.0]), np.array([1.0])).round(4)
    array([1.6827])
    """
    return A * gelu(G)


@checked
def geglu_backward(
    dH: Float[Array, "*s"], A: Float[Array, "*s"], G: Float[Array, "*s"]
) -> tuple[Float[Array, "*s"], Float[Array, "*s"]]:
    """dA and dG."""
    return _gated_backward(dH, A, G, gelu, gelu_backward)


@checked
def swiglu(A: Float[Array, "*s"], G: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """A times the swish of G: what Llama's feed-forward network does.

    >>> import numpy as np
    >>> swiglu(np.array([2.0]), np.array([np.log(3.0)])).round(4)
    array([1.6479])
    """
    return A * swish(G)


@checked
def swiglu_backward(
    dH: Float[Array, "*s"], A: Float[Array, "*s"], G: Float[Array, "*s"]
) -> tuple[Float[Array, "*s"], Float[Array, "*s"]]:
    """dA and dG."""
    return _gated_backward(dH, A, G, swish, swish_backward)


class GatedParameters(NamedTuple):
    W_1: Float[Array, "d_model d_hidden"]
    b_1: Float[Array, "d_hidden"]
    W_G: Float[Array, "d_model d_hidden"]
    b_G: Float[Array, "d_hidden"]
    W_2: Float[Array, "d_hidden d_model"]
    b_2: Float[Array, "d_model"]


class GatedCache(NamedTuple):
    X: Float[Array, "*b d_model"]
    A: Float[Array, "*b d_hidden"]  # the linear part
    G: Float[Array, "*b d_hidden"]  # the gate before its activation
    H: Float[Array, "*b d_hidden"]  # after multiplication with the gate
    parameters: GatedParameters


@checked
def swiglu_feed_forward(
    X: Float[Array, "*b d_model"], parameters: GatedParameters
) -> tuple[Float[Array, "*b d_model"], GatedCache]:
    """A feed-forward network with a gated hidden layer: three linear maps instead of two.

    >>> import numpy as np
    >>> one, zero = np.ones((1, 1)), np.zeros(1)
    >>> swiglu_feed_forward(np.array([[2.0]]), GatedParameters(one, zero, 0 * one, zero + 100, one, zero))[0]
    array([[200.]])
    """
    W_1, b_1, W_G, b_G, W_2, b_2 = parameters
    A, G = linear(X, W_1, b_1)[0], linear(X, W_G, b_G)[0]  # (*b, d_hidden)
    H = swiglu(A, G)
    return linear(H, W_2, b_2)[0], GatedCache(X, A, G, H, parameters)


@checked
def swiglu_feed_forward_backward(
    dY: Float[Array, "*b d_model"], cache: GatedCache
) -> tuple[Float[Array, "*b d_model"], GatedParameters]:
    """dX and the gradients of the parameters; X is used twice, so its two gradients add up."""
    X, A, G, H, (W_1, _, W_G, _, W_2, _) = cache
    dH, dW_2, db_2 = linear_backward(dY, LinearCache(H, W_2))
    dA, dG = swiglu_backward(dH, A, G)
    dX_1, dW_1, db_1 = linear_backward(dA, LinearCache(X, W_1))
    dX_G, dW_G, db_G = linear_backward(dG, LinearCache(X, W_G))
    return dX_1 + dX_G, GatedParameters(dW_1, db_1, dW_G, db_G, dW_2, db_2)

"""Activation functions, which are applied to each number between the two linear maps of a feed-forward network.

Chapter 4 compares them. The twin, where autograd does the backward, is `attnlib.nn.activations`. Each function takes
the numbers A before the activation; each backward takes A too, because the derivative there is all that it needs.
"""

import math

import numpy as np

from attnlib.shapes import Array, Float, checked

ROOT_2_PI = math.sqrt(2 / math.pi)
_erf = np.vectorize(math.erf, otypes=[np.float64])


@checked
def relu(A: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """Negative numbers become zero.

    >>> relu(np.array([-1.0, 2.0]))
    array([0., 2.])
    """
    return np.maximum(A, 0)


@checked
def relu_backward(dH: Float[Array, "*s"], A: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """dA: zero where A is negative; at zero itself the derivative is taken as zero."""
    return dH * (A > 0)


@checked
def gelu(A: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """x times the probability that a standard normal number lies below x.

    >>> gelu(np.array([-1.0, 0.0, 1.0])).round(4)
    array([-0.1587,  0.    ,  0.8413])
    """
    return (A * _below(A)).astype(A.dtype)


@checked
def gelu_backward(dH: Float[Array, "*s"], A: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """dA: the probability below x, plus x times the normal density at x."""
    density = np.exp(-(A**2) / 2) / math.sqrt(2 * math.pi)
    return dH * (_below(A) + A * density).astype(A.dtype)


def _below(A: Float[Array, "*s"]) -> Float[Array, "*s"]:
    return (1 + _erf(A / math.sqrt(2))) / 2


@checked
def gelu_tanh(A: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """The form that GPT-2 uses: a tanh in place of the normal distribution, never more than 4.8e-4 away.

    >>> float(abs(gelu_tanh(np.linspace(-5, 5, 1001)) - gelu(np.linspace(-5, 5, 1001))).max().round(5))
    0.00047
    """
    return A * (1 + np.tanh(ROOT_2_PI * (A + 0.044715 * A**3))) / 2


@checked
def gelu_tanh_backward(dH: Float[Array, "*s"], A: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """dA by the product rule; the derivative of tanh is 1 - tanh^2."""
    T = np.tanh(ROOT_2_PI * (A + 0.044715 * A**3))
    inside = ROOT_2_PI * (1 + 3 * 0.044715 * A**2)
    return dH * ((1 + T) + A * (1 - T**2) * inside) / 2


@checked
def swish(A: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """x times the sigmoid of x; PyTorch calls it SiLU.

    >>> swish(np.array([0.0, math.log(3.0)])).round(4)
    array([0.   , 0.824])
    """
    return A * sigmoid(A)


@checked
def swish_backward(dH: Float[Array, "*s"], A: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """dA: the sigmoid, plus x times its derivative."""
    G = sigmoid(A)
    return dH * (G + A * G * (1 - G))


@checked
def sigmoid(A: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """Between zero and one, one half at zero; written with a tanh, which never overflows (eq-sigmoid).

    >>> sigmoid(np.array([-1000.0, 0.0]))
    array([0. , 0.5])
    """
    return (1 + np.tanh(A / 2)) / 2  # eq-sigmoid


@checked
def sigmoid_backward(dG: Float[Array, "*s"], A: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """dA: the derivative is G (1 - G)."""
    G = sigmoid(A)
    return dG * G * (1 - G)

"""Kernel regression (Nadaraya and Watson, 1964): the average that attention generalises.

The book derives it in eq-kernel and eq-gaussian-kernel (Chapter 1). The twin is `attnlib.nn.kernel`.
"""

import math
from collections.abc import Callable

import numpy as np

from attnlib import rules
from attnlib.shapes import Array, Float, Number, checked

Kernel = Callable[[Array, Array], Array]


@checked
def exponential_kernel(Q: Float[Array, "*b m d_k"], K: Float[Array, "*b n d_k"]) -> Float[Array, "*b m n"]:
    """exp(q.k / sqrt(d_k)) for every pair: the kernel of scaled dot-product attention (eq-kernel).

    It is not stabilised, because the value of the kernel itself is returned: scores above 709 overflow float64.

    >>> exponential_kernel(np.array([[1.0]]), np.array([[0.0], [math.log(2.0)]])).round(12)
    array([[1., 2.]])
    """
    return np.exp(Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1]))  # eq-kernel  (*b, m, n)


@checked
def exponential_kernel_backward(
    dG: Float[Array, "*b m n"],
    G: Float[Array, "*b m n"],
    Q: Float[Array, "*b m d_k"],
    K: Float[Array, "*b n d_k"],
) -> tuple[Float[Array, "*b m d_k"], Float[Array, "*b n d_k"]]:
    """dQ, dK from the kernel's values G: an exponential is its own derivative (eq-kernel)."""
    dS = dG * G / math.sqrt(Q.shape[-1])
    return dS @ K, dS.swapaxes(-1, -2) @ Q


@checked
def gaussian_kernel(
    Q: Float[Array, "*b m d_k"], K: Float[Array, "*b n d_k"], bandwidth: Number[float, "0<.."]
) -> Float[Array, "*b m n"]:
    """exp(-|q - k|^2 / 2h^2) for every pair: near points get weight, far ones do not (eq-gaussian-kernel).

    bandwidth    the distance h at which the kernel has fallen to exp(-1/2)

    >>> gaussian_kernel(np.array([[0.0]]), np.array([[0.0], [2.0]]), bandwidth=2.0).round(4)
    array([[1.    , 0.6065]])
    """
    distance = ((Q[..., :, None, :] - K[..., None, :, :]) ** 2).sum(axis=-1)
    return np.exp(-distance / (2 * bandwidth**2))  # eq-gaussian-kernel  (*b, m, n)


@checked
def gaussian_kernel_backward(
    dG: Float[Array, "*b m n"],
    G: Float[Array, "*b m n"],
    Q: Float[Array, "*b m d_k"],
    K: Float[Array, "*b n d_k"],
    bandwidth: Number[float, "0<.."],
) -> tuple[Float[Array, "*b m d_k"], Float[Array, "*b n d_k"]]:
    """dQ, dK from the kernel's values G: the gradient is along the line between the two points (eq-gaussian-kernel)."""
    pull = dG * G / bandwidth**2  # (*b, m, n), along k - q
    dQ = pull @ K - pull.sum(axis=-1)[..., None] * Q
    dK = pull.swapaxes(-1, -2) @ Q - pull.sum(axis=-2)[..., None] * K
    return dQ, dK


@checked
def kernel_regression(
    Q: Float[Array, "*b m d_k"], K: Float[Array, "*b n d_k"], V: Float[Array, "*b n d_v"], kernel: Kernel
) -> Float[Array, "*b m d_v"]:
    """The values averaged by how near each key lies to the query (eq-kernel).

    >>> kernel_regression(np.zeros((1, 1)), np.zeros((2, 1)), np.array([[1.0], [3.0]]), exponential_kernel)
    array([[2.]])
    """
    G = kernel(Q, K)
    rules.finite("kernel_regression", "V", V)
    rules.finite("kernel_regression", "G", G)
    total = G.sum(axis=-1, keepdims=True)
    rule = "each query needs a key with a kernel value above zero"
    rules.refuse_where(~(total > 0), "kernel_regression", rule, "queries without one", "Widen the kernel.")
    return G @ V / total  # eq-kernel  (*b, m, d_v)


@checked
def kernel_regression_backward(
    dO: Float[Array, "*b m d_v"], G: Float[Array, "*b m n"], V: Float[Array, "*b n d_v"]
) -> tuple[Float[Array, "*b m n"], Float[Array, "*b n d_v"]]:
    """dG and dV from the kernel's values G; from dG on, the kernel's own backward leads to dQ and dK (eq-kernel)."""
    total = G.sum(axis=-1, keepdims=True)
    P = G / total
    dP = dO @ V.swapaxes(-1, -2)
    dG = (dP - (P * dP).sum(axis=-1, keepdims=True)) / total
    return dG, P.swapaxes(-1, -2) @ dO

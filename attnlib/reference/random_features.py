"""Positive random features (FAVOR+): softmax attention estimated by a product of thin matrices.

The book derives it in eq-random-expectation, eq-positive-features and eq-random-law (Chapter 6), after Choromanski and
others (2020). The twin, where autograd does the backward, is `attnlib.nn.random_features`. A direction is a row of
W (r, d_k), and gives one of r features. The dot product of the features of q and of k is e^(q.k) on average.
"""

import math
from typing import NamedTuple

import numpy as np

from attnlib import rules
from attnlib.reference.linear_attention import (
    NormalisedLinearAttentionCache,
    normalised_linear_attention,
    normalised_linear_attention_backward,
)
from attnlib.shapes import Array, Float, Number, checked


@checked
def iid_directions(
    r: Number[int, "1.."], d_k: Number[int, "1.."], rng: np.random.Generator
) -> Float[Array, "r d_k"]:
    """Independent directions: every number is drawn from a standard normal distribution.

    >>> iid_directions(5, 3, np.random.default_rng(0)).shape
    (5, 3)
    """
    return rng.normal(size=(r, d_k))


@checked
def orthogonal_directions(
    r: Number[int, "1.."], d_k: Number[int, "1.."], rng: np.random.Generator
) -> Float[Array, "r d_k"]:
    """Directions in blocks of d_k, perpendicular to each other; each alone is distributed as an independent one is.

    >>> W = orthogonal_directions(3, 3, np.random.default_rng(0))
    >>> np.allclose(W @ W.T, np.diag((W**2).sum(axis=1)))
    True
    """
    blocks = -(-r // d_k)
    units, R = np.linalg.qr(rng.normal(size=(blocks, d_k, d_k)))
    units = (
        units * np.sign(np.diagonal(R, axis1=-2, axis2=-1))[:, None, :]
    )  # so that all rotations are equally likely
    lengths = np.linalg.norm(rng.normal(size=(r, d_k)), axis=1, keepdims=True)
    return units.reshape(-1, d_k)[:r] * lengths


def _exponents(X: Array, W: Array) -> Array:
    """w.x - |x|^2 / 2 for every direction w: the logarithms of the features, but for a constant."""
    return X @ W.T - (X**2).sum(axis=-1, keepdims=True) / 2


def _exponents_backward(dA: Array, X: Array, W: Array) -> tuple[Array, Array]:
    """dX and dW."""
    dX = dA @ W - dA.sum(axis=-1, keepdims=True) * X
    r, d_k = W.shape
    return dX, dA.reshape(-1, r).T @ X.reshape(-1, d_k)


class FeaturesCache(NamedTuple):
    X: Float[Array, "*b n d_k"]
    W: Float[Array, "r d_k"]
    F: Float[Array, "*b n r"]


@checked
def positive_features(
    X: Float[Array, "*b n d_k"], W: Float[Array, "r d_k"]
) -> tuple[Float[Array, "*b n r"], FeaturesCache]:
    """The features of queries or keys: e^(w.x - |x|^2 / 2) / sqrt(r) for each direction w (eq-positive-features).

    >>> X, W = np.array([[2.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 1.0], [1.5, 0.0], [0.0, 0.0]])
    >>> np.log(2 * positive_features(X, W)[0]).round(12)
    array([[ 0., -2.,  1., -2.]])
    """
    F = np.exp(_exponents(X, W)) / math.sqrt(len(W))  # eq-positive-features  (*b, n, r)
    return F, FeaturesCache(X, W, F)


@checked
def positive_features_backward(
    dF: Float[Array, "*b n r"], cache: FeaturesCache
) -> tuple[Float[Array, "*b n d_k"], Float[Array, "r d_k"]]:
    """dX and dW: an exponential is its own derivative (eq-positive-features)."""
    X, W, F = cache
    return _exponents_backward(dF * F, X, W)


@checked
def relative_variance(
    Q: Float[Array, "*b m d_k"], K: Float[Array, "*b n d_k"], r: Number[int, "1.."]
) -> Float[Array, "*b m n"]:
    """Variance over squared mean of the estimate of e^(q.k) from r independent directions (eq-random-law).

    >>> relative_variance(np.array([[1.0, 0.0]]), np.array([[-1.0, 0.0]]), r=10)  # q + k = 0: never an error
    array([[0.]])
    """
    return np.expm1(_squared_sums(Q, K)) / r  # eq-random-law  (*b, m, n)


@checked
def orthogonal_relative_variance(
    Q: Float[Array, "*b m d_k"], K: Float[Array, "*b n d_k"], r: Number[int, "1.."]
) -> Float[Array, "*b m n"]:
    """The same for `orthogonal_directions`: less, because the features of a block are negatively correlated.

    Two directions of a block contribute -(1 - e^-s M(s / 2)), where s = |q + k|^2 and M is Kummer's function with the
    parameters d_k and d_k / 2, summed here term by term.

    >>> Q, K = np.array([[1.0, 0.0]]), np.array([[0.5, 0.5]])
    >>> relative_variance(Q, K, r=2).round(3), orthogonal_relative_variance(Q, K, r=2).round(3)
    (array([[5.591]]), array([[5.414]]))
    """
    s, d_k = _squared_sums(Q, K), Q.shape[-1]
    term = np.exp(-s)
    total, j = term.copy(), 0
    while j < 2 * s.max() + 60:  # the terms are largest at j = s and then fall faster than a geometric series
        term = term * (s / 2) * (d_k + j) / ((d_k / 2 + j) * (j + 1))
        total, j = total + term, j + 1
    blocks, rest = divmod(r, d_k)
    pairs = blocks * d_k * (d_k - 1) + rest * (rest - 1)
    return np.expm1(s) / r - pairs / r**2 * (1 - total)


def _squared_sums(Q: Array, K: Array) -> Array:
    """|q + k|^2 for every pair."""
    return ((Q[..., :, None, :] + K[..., None, :, :]) ** 2).sum(axis=-1)


def _stable_features(X: Array, W: Array, axes: tuple[int, ...]) -> Array:
    """The features of X / d_k^(1/4), divided by the largest one along the axes: a factor that later cancels.

    A feature that rounds to zero counts as the smallest number of its dtype, so that no denominator is zero.
    """
    A = _exponents(X / X.shape[-1] ** 0.25, W)
    F = np.exp(A - A.max(axis=axes, keepdims=True))
    return np.maximum(F, np.finfo(F.dtype).tiny)


def _stable_features_backward(dF: Array, F: Array, X: Array, W: Array) -> tuple[Array, Array]:
    """dX and dW; the largest feature counts as a constant, because it cancels."""
    scale = X.shape[-1] ** 0.25
    dX, dW = _exponents_backward(dF * F * (np.finfo(F.dtype).tiny < F), X / scale, W)
    return dX / scale, dW


class RandomFeatureCache(NamedTuple):
    Q: Float[Array, "*b m d_k"]
    K: Float[Array, "*b n d_k"]
    V: Float[Array, "*b n d_v"]
    W: Float[Array, "r d_k"]
    F_Q: Float[Array, "*b m r"]
    F_K: Float[Array, "*b n r"]
    O: Float[Array, "*b m d_v"]


@checked
def random_feature_attention(
    Q: Float[Array, "*b m d_k"],
    K: Float[Array, "*b n d_k"],
    V: Float[Array, "*b n d_v"],
    W: Float[Array, "r d_k"],
) -> tuple[Float[Array, "*b m d_v"], RandomFeatureCache]:
    """An estimate of softmax attention without a mask, from r features and without an array of all pairs.

    W    directions, from `orthogonal_directions` or `iid_directions`

    Queries and keys are divided by d_k^(1/4), as scores are by its square. Each query's features are divided by its
    largest one, those of the keys by the largest of all keys. So they do not vanish, and nothing changes, because it
    is in the numerator and the denominator (eq-positive-features).

    >>> Q, K, V = np.zeros((1, 2)), np.zeros((2, 2)), np.array([[4.0], [8.0]])
    >>> random_feature_attention(Q, K, V, orthogonal_directions(4, 2, np.random.default_rng(0)))[0]
    array([[6.]])
    """
    rules.finite("random_feature_attention", "V", V)
    F_Q, F_K = _stable_features(Q, W, (-1,)), _stable_features(K, W, (-2, -1))
    total = F_Q @ F_K.sum(axis=-2)[..., None]
    O = F_Q @ (F_K.swapaxes(-1, -2) @ V) / total  # (*b, m, d_v)
    return O, RandomFeatureCache(Q, K, V, W, F_Q, F_K, O)


@checked
def random_feature_attention_backward(
    dO: Float[Array, "*b m d_v"], cache: RandomFeatureCache
) -> tuple[
    Float[Array, "*b m d_k"], Float[Array, "*b n d_k"], Float[Array, "*b n d_v"], Float[Array, "r d_k"]
]:
    """dQ, dK, dV and dW, again without an array of all pairs."""
    Q, K, V, W, F_Q, F_K, O = cache
    S, z = F_K.swapaxes(-1, -2) @ V, F_K.sum(axis=-2)[..., None]
    total = F_Q @ z
    dN, d_total = dO / total, -(dO * O).sum(axis=-1, keepdims=True) / total
    dF_Q = dN @ S.swapaxes(-1, -2) + d_total @ z.swapaxes(-1, -2)
    dS, dz = F_Q.swapaxes(-1, -2) @ dN, F_Q.swapaxes(-1, -2) @ d_total
    dF_K = V @ dS.swapaxes(-1, -2) + dz.swapaxes(-1, -2)
    dQ, dW_of_Q = _stable_features_backward(dF_Q, F_Q, Q, W)
    dK, dW_of_K = _stable_features_backward(dF_K, F_K, K, W)
    return dQ, dK, F_K @ dS, dW_of_Q + dW_of_K


class CausalRandomFeatureCache(NamedTuple):
    Q: Float[Array, "*b n d_k"]
    K: Float[Array, "*b n d_k"]
    V: Float[Array, "*b n d_v"]
    W: Float[Array, "r d_k"]
    F_Q: Float[Array, "*b n r"]
    F_K: Float[Array, "*b n r"]
    O: Float[Array, "*b n d_v"]
    total: Float[Array, "*b n 1"]


@checked
def causal_random_feature_attention(
    Q: Float[Array, "*b n d_k"],
    K: Float[Array, "*b n d_k"],
    V: Float[Array, "*b n d_v"],
    W: Float[Array, "r d_k"],
) -> tuple[Float[Array, "*b n d_v"], CausalRandomFeatureCache]:
    """The same for causal attention: linear attention of the features, divided by the sum of its weights.

    >>> Q, K, V = np.zeros((2, 2)), np.zeros((2, 2)), np.array([[4.0], [8.0]])
    >>> causal_random_feature_attention(Q, K, V, orthogonal_directions(4, 2, np.random.default_rng(0)))[0]
    array([[4.],
           [6.]])
    """
    F_Q, F_K = _stable_features(Q, W, (-1,)), _stable_features(K, W, (-2, -1))
    O, linear = normalised_linear_attention(F_Q, F_K, V)  # eq-linear-attention  (*b, n, d_v)
    return O, CausalRandomFeatureCache(Q, K, V, W, F_Q, F_K, O, linear.total)


@checked
def causal_random_feature_attention_backward(
    dO: Float[Array, "*b n d_v"], cache: CausalRandomFeatureCache
) -> tuple[
    Float[Array, "*b n d_k"], Float[Array, "*b n d_k"], Float[Array, "*b n d_v"], Float[Array, "r d_k"]
]:
    """dQ, dK, dV and dW, through linear attention and then through the features."""
    Q, K, V, W, F_Q, F_K, O, total = cache
    linear = NormalisedLinearAttentionCache(F_Q, F_K, V, O, total)
    dF_Q, dF_K, dV = normalised_linear_attention_backward(dO, linear)
    dQ, dW_of_Q = _stable_features_backward(dF_Q, F_Q, Q, W)
    dK, dW_of_K = _stable_features_backward(dF_K, F_K, K, W)
    return dQ, dK, dV, dW_of_Q + dW_of_K

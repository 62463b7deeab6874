"""The operations that attention is made of: linear maps, lengths, and the softmax with its relatives.

The book derives them in eq-linear-map, eq-norm, eq-softmax, eq-stable-softmax, eq-masked-softmax, eq-softmax-jacobian,
eq-temperature and eq-entropy (Chapter 1). The twin, where autograd does the backward, is `attnlib.nn.ops`.
"""

import math
from typing import NamedTuple

import numpy as np

from attnlib.reference import _check
from attnlib.shapes import Array, Bool, Float


def _wide(X: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """At least float32: sums and differences of float16 leave its range (65504)."""
    return X.astype(np.float32) if X.dtype == np.float16 else X


class LinearCache(NamedTuple):
    X: Float[Array, "*b d_in"]
    W: Float[Array, "d_in d_out"]


def linear(
    X: Float[Array, "*b d_in"], W: Float[Array, "d_in d_out"], b: Float[Array, "d_out"] | None = None
) -> tuple[Float[Array, "*b d_out"], LinearCache]:
    """A linear map of every vector in X, plus a bias if there is one (eq-linear-map).

    Vectors are rows, so the book's W acts from the right.

    >>> Y, cache = linear(np.array([[1.0, 2.0]]), np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]))
    >>> Y
    array([[1., 2., 3.]])
    """
    _check.floats("linear", X=X, W=W, b=b)
    _check.linear_map("linear", X, W, b)
    Y = X @ W  # eq-linear-map  (*b, d_out)
    return Y if b is None else Y + b, LinearCache(X, W)


def linear_backward(
    dY: Float[Array, "*b d_out"], cache: LinearCache
) -> tuple[Float[Array, "*b d_in"], Float[Array, "d_in d_out"], Float[Array, "d_out"]]:
    """dX, dW, db; db is what a bias would get, whether there was one or not (eq-linear-map-backward)."""
    X, W = cache
    rows, d_rows = X.reshape(-1, W.shape[0]), dY.reshape(-1, W.shape[1])
    return dY @ W.T, rows.T @ d_rows, d_rows.sum(axis=0)  # eq-linear-map-backward


def norm(X: Float[Array, "*b d"]) -> Float[Array, "*b"] | np.floating:
    """The Euclidean length of every vector in X (eq-norm).

    >>> norm(np.array([[3.0, 4.0], [0.0, 2.0]]))
    array([5., 2.])
    """
    _check.floats("norm", X=X)
    return np.sqrt((_wide(X) ** 2).sum(axis=-1)).astype(X.dtype)  # eq-norm  (*b)


def norm_backward(dL: Float[Array, "*b"] | np.floating, X: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
    """dX: along the unit vector; zero where X is zero, which has no direction (eq-norm-backward)."""
    lengths = np.expand_dims(norm(X), -1)
    return np.expand_dims(dL, -1) * X / np.where(lengths > 0, lengths, 1)  # eq-norm-backward


def unit(X: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
    """Every vector of X divided by its length (eq-unit).

    >>> unit(np.array([[3.0, 4.0]]))
    array([[0.6, 0.8]])
    """
    lengths = np.expand_dims(norm(X), -1)
    if not lengths.all():
        raise ValueError(f"unit: a vector of length zero has no direction; got one in X {X.shape}.")
    return X / lengths  # eq-unit


def unit_backward(dU: Float[Array, "*b d"], X: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
    """dX: the part of dU across X, divided by the length; stretching X changes nothing (eq-unit-backward)."""
    U = unit(X)
    across = dU - U * (U * dU).sum(axis=-1, keepdims=True)
    return across / np.expand_dims(norm(X), -1)  # eq-unit-backward


def softmax(S: Float[Array, "*s"], axis: int = -1) -> Float[Array, "*s"]:
    """Positive weights that sum to one along an axis (eq-softmax, in the stable form eq-stable-softmax).

    A score of -inf gets weight zero; each row needs one score above -inf.

    >>> softmax(np.array([0.0, math.log(3.0)])).round(12)
    array([0.25, 0.75])
    """
    _check.floats("softmax", S=S)
    _check.scores("softmax", S)
    largest = S.max(axis=axis, keepdims=True)
    _check.some_finite_score("softmax", largest)
    E = np.exp(_wide(S) - _wide(largest))  # eq-stable-softmax
    return (E / E.sum(axis=axis, keepdims=True)).astype(S.dtype)  # eq-softmax


def softmax_backward(dP: Float[Array, "*s"], P: Float[Array, "*s"], axis: int = -1) -> Float[Array, "*s"]:
    """dS from the weights P alone: each gradient minus the row's average gradient (eq-softmax-backward).

    >>> softmax_backward(np.array([1.0, 0.0]), np.array([0.25, 0.75]))
    array([ 0.1875, -0.1875])
    """
    _check.same_shape("softmax_backward", dP=dP, P=P)
    return P * (dP - (P * dP).sum(axis=axis, keepdims=True))  # eq-softmax-backward


def softmax_jacobian(P: Float[Array, "n"]) -> Float[Array, "n n"]:
    """The derivative of one row of weights by its scores, diag(P) - P P^T (eq-softmax-jacobian).

    >>> softmax_jacobian(np.array([0.25, 0.75]))
    array([[ 0.1875, -0.1875],
           [-0.1875,  0.1875]])
    """
    _check.floats("softmax_jacobian", P=P)
    if P.ndim != 1:
        raise ValueError(f"softmax_jacobian: P must be one row of weights (n,); got {P.shape}. Choose a row.")
    return np.diag(P) - np.outer(P, P)  # eq-softmax-jacobian  (n, n)


def masked_softmax(S: Float[Array, "*s"], mask: Bool[Array, "*#s"] | None = None) -> Float[Array, "*s"]:
    """The softmax of the last axis over the entries where mask is True; exactly zero elsewhere (eq-masked-softmax).

    A row that may look nowhere is a row of zeros. Scores behind the mask may be anything, even NaN.

    >>> S = np.array([[0.0, 9.0, 0.0], [1.0, 2.0, 3.0]])
    >>> masked_softmax(S, np.array([[True, False, True], [False, False, False]]))
    array([[0.5, 0. , 0.5],
           [0. , 0. , 0. ]])
    """
    if mask is None:
        return softmax(S)
    _check.floats("masked_softmax", S=S)
    _check.boolean_mask("masked_softmax", mask, S.shape)
    visible = np.where(mask, _wide(S), -math.inf)
    _check.scores("masked_softmax", visible)
    largest = visible.max(axis=-1, keepdims=True)
    empty = ~mask.any(axis=-1, keepdims=True)
    _check.some_finite_score("masked_softmax", np.where(empty, 0, largest))
    E = np.exp(visible - np.where(empty, 0, largest))  # eq-stable-softmax; zero where masked
    return (E / np.maximum(E.sum(axis=-1, keepdims=True), 1)).astype(S.dtype)  # eq-masked-softmax


def masked_softmax_backward(dP: Float[Array, "*s"], P: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """dS: the softmax's own formula, because a weight of zero passes nothing back (eq-softmax-backward)."""
    return softmax_backward(dP, P)


def log_sum_exp(S: Float[Array, "*s"], axis: int = -1) -> Float[Array, "..."] | np.floating:
    """The logarithm of the softmax's denominator, without overflow (eq-log-sum-exp).

    >>> float(log_sum_exp(np.array([1000.0, 1000.0]))) == 1000 + math.log(2)
    True
    """
    _check.floats("log_sum_exp", S=S)
    _check.scores("log_sum_exp", S)
    largest = S.max(axis=axis, keepdims=True)
    _check.some_finite_score("log_sum_exp", largest)
    total = np.exp(_wide(S) - _wide(largest)).sum(axis=axis)
    return (_wide(largest).squeeze(axis) + np.log(total)).astype(S.dtype)  # eq-log-sum-exp


def log_sum_exp_backward(
    dL: Float[Array, "..."] | np.floating, S: Float[Array, "*s"], axis: int = -1
) -> Float[Array, "*s"]:
    """dS: the derivative of log-sum-exp is the softmax (eq-log-sum-exp-backward)."""
    return np.expand_dims(dL, axis) * softmax(S, axis)  # eq-log-sum-exp-backward


def log_softmax(S: Float[Array, "*s"], axis: int = -1) -> Float[Array, "*s"]:
    """The logarithm of the softmax, exact where the softmax itself rounds to zero (eq-log-softmax).

    >>> log_softmax(np.array([0.0, -1000.0]))
    array([    0., -1000.])
    """
    L = log_sum_exp(S, axis)
    return S - np.expand_dims(L, axis)  # eq-log-softmax


def log_softmax_backward(dL: Float[Array, "*s"], L: Float[Array, "*s"], axis: int = -1) -> Float[Array, "*s"]:
    """dS from the output L = log P: what arrives, minus its sum spread by the weights (eq-log-softmax-backward)."""
    _check.same_shape("log_softmax_backward", dL=dL, L=L)
    return dL - np.exp(L) * dL.sum(axis=axis, keepdims=True)  # eq-log-softmax-backward


def softmax_with_temperature(S: Float[Array, "*s"], T: float) -> Float[Array, "*s"]:
    """The softmax of S / T over the last axis: sharp for small T, uniform for large T (eq-temperature).

    >>> softmax_with_temperature(np.array([0.0, 2 * math.log(3.0)]), T=2.0).round(12)
    array([0.25, 0.75])
    """
    _check.floats("softmax_with_temperature", S=S)
    _check.scores("softmax_with_temperature", S)
    _check.positive("softmax_with_temperature", "T", T, float(np.finfo(_wide(S).dtype).tiny))
    largest = S.max(axis=-1, keepdims=True)
    _check.some_finite_score("softmax_with_temperature", largest)
    with np.errstate(over="ignore"):  # a gap too large for the dtype is a weight of zero
        return softmax((_wide(S) - _wide(largest)) / T).astype(S.dtype)  # eq-temperature


def softmax_with_temperature_backward(
    dP: Float[Array, "*s"], P: Float[Array, "*s"], S: Float[Array, "*s"], T: float
) -> tuple[Float[Array, "*s"], float]:
    """dS and dT; T is one number for all rows, so dT is their sum (eq-temperature-backward)."""
    dZ = softmax_backward(dP, P)
    finite = np.where(P > 0, S, 0)  # a score of -inf has weight zero and no pull on T
    return dZ / T, -float((dZ * finite).sum()) / T**2  # eq-temperature-backward


def entropy(P: Float[Array, "*b n"]) -> Float[Array, "*b"] | np.floating:
    """How spread out each row of weights is, in nats; 0 log 0 counts as 0 (eq-entropy).

    >>> entropy(np.array([[0.5, 0.5], [0.0, 1.0]])) / math.log(2.0)
    array([1., 0.])
    """
    _check.floats("entropy", P=P)
    _check.probabilities("entropy", P)
    return 0 - (P * np.log(np.where(P > 0, P, 1))).sum(axis=-1)  # eq-entropy  (*b)


def entropy_backward(dH: Float[Array, "*b"] | np.floating, P: Float[Array, "*b n"]) -> Float[Array, "*b n"]:
    """dP = -(log P + 1) dH; where P is zero the slope is infinite and zero is returned (eq-entropy-backward)."""
    slope = np.where(P > 0, -1 - np.log(np.where(P > 0, P, 1)), 0)
    return np.expand_dims(dH, -1) * slope  # eq-entropy-backward

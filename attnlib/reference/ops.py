"""The operations that attention is made of: linear maps, lengths, and the softmax with its relatives.

The book derives them in eq-linear-map, eq-norm, eq-softmax, eq-stable-softmax, eq-masked-softmax, eq-softmax-jacobian,
eq-temperature and eq-entropy (Chapter 1). The twin, where autograd does the backward, is `attnlib.nn.ops`.
"""

import math
from typing import NamedTuple

import numpy as np

from attnlib import rules
from attnlib.shapes import Array, Bool, Float, Number, checked


def _wide(X: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """At least float32: sums and differences of float16 leave its range (65504)."""
    return X.astype(np.float32) if X.dtype == np.float16 else X


class LinearCache(NamedTuple):
    X: Float[Array, "*b d_in"]
    W: Float[Array, "d_in d_out"]


@checked
def linear(
    X: Float[Array, "*b d_in"], W: Float[Array, "d_in d_out"], b: Float[Array, "d_out"] | None = None
) -> tuple[Float[Array, "*b d_out"], LinearCache]:
    """A linear map of every vector in X, plus a bias if there is one (eq-linear-map).

    Vectors are rows, so the book's W acts from the right.

    >>> Y, cache = linear(np.array([[1.0, 2.0]]), np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]))
    >>> Y
    array([[1., 2., 3.]])
    """
    Y = X @ W  # eq-linear-map  (*b, d_out)
    return Y if b is None else Y + b, LinearCache(X, W)


@checked
def linear_backward(
    dY: Float[Array, "*b d_out"], cache: LinearCache
) -> tuple[Float[Array, "*b d_in"], Float[Array, "d_in d_out"], Float[Array, "d_out"]]:
    """dX, dW, db; db is what a bias would get, whether there was one or not (eq-linear-map-backward)."""
    X, W = cache
    rows, d_rows = X.reshape(-1, W.shape[0]), dY.reshape(-1, W.shape[1])
    return dY @ W.T, rows.T @ d_rows, d_rows.sum(axis=0)  # eq-linear-map-backward


def _scaled(X: Float[Array, "*b d"]) -> tuple[Float[Array, "*b d"], Float[Array, "*b"], np.ndarray]:
    """X divided by a power of two so that its largest entry is near 1, the lengths of that, and the power.

    Squares of 1e-200 or 1e200 leave the range of float64; division by a power of two is exact.
    """
    power = np.frexp(np.abs(_wide(X)).max(axis=-1, keepdims=True, initial=0))[1]
    scaled = np.ldexp(_wide(X), -power)
    return scaled, np.sqrt((scaled**2).sum(axis=-1)), power  # eq-norm


@checked
def length(X: Float[Array, "*b d"]) -> Float[Array, "*b"] | np.floating:
    """The Euclidean length of every vector in X (eq-norm).

    >>> length(np.array([[3.0, 4.0], [0.0, 2.0]]))
    array([5., 2.])
    """
    _, lengths, power = _scaled(X)
    return np.ldexp(lengths, power.squeeze(-1)).astype(X.dtype)  # eq-norm  (*b)


@checked
def length_backward(dL: Float[Array, "*b"] | np.floating, X: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
    """dX: along the unit vector; zero where X is zero and has no direction (eq-norm-backward)."""
    scaled, lengths, _ = _scaled(X)
    U = scaled / np.expand_dims(np.where(lengths > 0, lengths, 1), -1)
    return (np.expand_dims(dL, -1) * U).astype(X.dtype)  # eq-norm-backward


@checked
def unit(X: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
    """Every vector of X divided by its length (eq-unit).

    >>> unit(np.array([[3.0, 4.0]]))
    array([[0.6, 0.8]])
    """
    scaled, lengths, _ = _scaled(X)
    rules.refuse_where(
        lengths == 0,
        "unit",
        "each vector must be longer than zero, or it has no direction",
        f"of zeros in X {X.shape}",
    )
    return (scaled / np.expand_dims(lengths, -1)).astype(X.dtype)  # eq-unit


@checked
def unit_backward(dU: Float[Array, "*b d"], X: Float[Array, "*b d"]) -> Float[Array, "*b d"]:
    """dX: the part of dU orthogonal to X, divided by the length; scaling X does not change U (eq-unit-backward)."""
    U = unit(X)
    across = dU - U * (U * dU).sum(axis=-1, keepdims=True)
    return across / np.expand_dims(length(X), -1)  # eq-unit-backward


@checked
def softmax(S: Float[Array, "*b n"], axis: Number[int, "axis"] = -1) -> Float[Array, "*b n"]:
    """Positive weights that sum to one along an axis (eq-softmax, in the stable form eq-stable-softmax).

    A score of -inf gets weight zero; each row needs one score above -inf.

    >>> softmax(np.array([0.0, math.log(3.0)])).round(12)
    array([0.25, 0.75])
    """
    largest = S.max(axis=axis, keepdims=True)
    rules.scores("softmax", S, largest)
    E = np.exp(_wide(S) - _wide(largest))  # eq-stable-softmax
    return (E / E.sum(axis=axis, keepdims=True)).astype(S.dtype)  # eq-softmax


@checked
def softmax_backward(
    dP: Float[Array, "*b n"], P: Float[Array, "*b n"], axis: Number[int, "axis"] = -1
) -> Float[Array, "*b n"]:
    """dS from the weights P alone: each gradient minus the row's average gradient (eq-softmax-backward).

    >>> softmax_backward(np.array([1.0, 0.0]), np.array([0.25, 0.75]))
    array([ 0.1875, -0.1875])
    """
    return P * (dP - (P * dP).sum(axis=axis, keepdims=True))  # eq-softmax-backward


@checked
def softmax_jacobian(P: Float[Array, "n"]) -> Float[Array, "n n"]:
    """The derivative of one row of weights with respect to its scores, diag(P) - P P^T (eq-softmax-jacobian).

    >>> softmax_jacobian(np.array([0.25, 0.75]))
    array([[ 0.1875, -0.1875],
           [-0.1875,  0.1875]])
    """
    return np.diag(P) - np.outer(P, P)  # eq-softmax-jacobian  (n, n)


@checked
def masked_softmax(
    S: Float[Array, "*b n"], mask: Bool[Array, "*#b #n"] | None = None
) -> Float[Array, "*b n"]:
    """The softmax of the last axis over the entries where mask is True; exactly zero elsewhere (eq-masked-softmax).

    A row that may look nowhere is a row of zeros. Masked scores may have any value, even NaN.

    >>> S = np.array([[0.0, 9.0, 0.0], [1.0, 2.0, 3.0]])
    >>> masked_softmax(S, np.array([[True, False, True], [False, False, False]]))
    array([[0.5, 0. , 0.5],
           [0. , 0. , 0. ]])
    """
    if mask is None:
        return softmax(S)
    visible = np.where(mask, _wide(S), -math.inf)
    largest = visible.max(axis=-1, keepdims=True)
    empty = ~mask.any(axis=-1, keepdims=True)
    rules.scores("masked_softmax", visible, np.where(empty, 0, largest))
    E = np.exp(visible - np.where(empty, 0, largest))  # eq-stable-softmax; zero where masked
    return (E / np.maximum(E.sum(axis=-1, keepdims=True), 1)).astype(S.dtype)  # eq-masked-softmax


@checked
def masked_softmax_backward(dP: Float[Array, "*b n"], P: Float[Array, "*b n"]) -> Float[Array, "*b n"]:
    """dS: the softmax's own formula, because a weight of zero gets no gradient (eq-softmax-backward)."""
    return softmax_backward(dP, P)


@checked
def log_sum_exp(S: Float[Array, "*b n"]) -> Float[Array, "*b"] | np.floating:
    """The logarithm of the softmax's denominator, without overflow (eq-log-sum-exp).

    >>> float(log_sum_exp(np.array([1000.0, 1000.0]))) == 1000 + math.log(2)
    True
    """
    largest = S.max(axis=-1, keepdims=True)
    rules.scores("log_sum_exp", S, largest)
    total = np.exp(_wide(S) - _wide(largest)).sum(axis=-1)
    return (_wide(largest).squeeze(-1) + np.log(total)).astype(S.dtype)  # eq-log-sum-exp


@checked
def log_sum_exp_backward(
    dL: Float[Array, "*b"] | np.floating, S: Float[Array, "*b n"]
) -> Float[Array, "*b n"]:
    """dS: the derivative of log-sum-exp is the softmax (eq-log-sum-exp-backward)."""
    return np.expand_dims(dL, -1) * softmax(S)  # eq-log-sum-exp-backward


@checked
def log_softmax(S: Float[Array, "*b n"], axis: Number[int, "axis"] = -1) -> Float[Array, "*b n"]:
    """The logarithm of the softmax, exact where the softmax itself rounds to zero (eq-log-softmax).

    >>> log_softmax(np.array([0.0, -1000.0]))
    array([    0., -1000.])
    """
    largest = S.max(axis=axis, keepdims=True)
    rules.scores("log_softmax", S, largest)
    Z = _wide(S) - _wide(largest)  # first, because in float32 1e8 + log 2 is rounded to 1e8
    return (Z - np.log(np.exp(Z).sum(axis=axis, keepdims=True))).astype(S.dtype)  # eq-log-softmax


@checked
def log_softmax_backward(
    dL: Float[Array, "*b n"], L: Float[Array, "*b n"], axis: Number[int, "axis"] = -1
) -> Float[Array, "*b n"]:
    """dS from the output L = log P: dL minus its sum times the weights (eq-log-softmax-backward)."""
    return dL - np.exp(L) * dL.sum(axis=axis, keepdims=True)  # eq-log-softmax-backward


@checked
def softmax_with_temperature(S: Float[Array, "*b n"], T: Number[float, "0<.."]) -> Float[Array, "*b n"]:
    """The softmax of S / T over the last axis: sharp for small T, uniform for large T (eq-temperature).

    >>> softmax_with_temperature(np.array([0.0, 2 * math.log(3.0)]), T=2.0).round(12)
    array([0.25, 0.75])
    """
    largest = S.max(axis=-1, keepdims=True)
    rules.scores("softmax_with_temperature", S, largest)
    rules.in_dtype("softmax_with_temperature", "T", T, float(np.finfo(_wide(S).dtype).tiny))
    with np.errstate(over="ignore"):  # a gap too large for the dtype gives weight zero
        return softmax((_wide(S) - _wide(largest)) / T).astype(S.dtype)  # eq-temperature


@checked
def softmax_with_temperature_backward(
    dP: Float[Array, "*b n"], P: Float[Array, "*b n"], S: Float[Array, "*b n"], T: Number[float, "0<.."]
) -> tuple[Float[Array, "*b n"], float]:
    """dS and dT; T is one number for all rows, so dT is their sum (eq-temperature-backward).

    Each row of dZ sums to zero, so the largest score may be subtracted from S first, as in the forward.
    """
    dZ = softmax_backward(_wide(dP), _wide(P))
    gaps = _wide(S) - _wide(S.max(axis=-1, keepdims=True))
    Z = np.where(P > 0, gaps, 0) / T  # a score of -inf has weight zero and no effect on dT
    return (dZ / T).astype(P.dtype), -float((dZ * Z).sum() / T)  # eq-temperature-backward


@checked
def entropy(P: Float[Array, "*b n"]) -> Float[Array, "*b"] | np.floating:
    """How spread out each row of weights is, in nats; 0 log 0 counts as 0 (eq-entropy).

    >>> entropy(np.array([[0.5, 0.5], [0.0, 1.0]])) / math.log(2.0)
    array([1., 0.])
    """
    rules.probabilities("entropy", P)
    return 0 - (P * np.log(np.where(P > 0, P, 1))).sum(axis=-1)  # eq-entropy  (*b)


@checked
def entropy_backward(dH: Float[Array, "*b"] | np.floating, P: Float[Array, "*b n"]) -> Float[Array, "*b n"]:
    """dP = -(log P + 1) dH; where P is zero the derivative is infinite, and zero is returned (eq-entropy-backward)."""
    slope = np.where(P > 0, -1 - np.log(np.where(P > 0, P, 1)), 0)
    return np.expand_dims(dH, -1) * slope  # eq-entropy-backward

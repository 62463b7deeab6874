"""Monotonic attention: a reader moves over the keys from left to right only, and stops at one for each query.

The book derives it in eq-monotonic-scan, eq-monotonic-reach, eq-monotonic-alignment and eq-monotonic-backward
(Chapter 1), after Raffel et al. (2017). The twin is `attnlib.nn.monotonic`.
"""

import numpy as np

from attnlib import rules
from attnlib.shapes import Array, Bool, Float, checked


@checked
def monotonic_scan(Z: Bool[Array, "*b m n"]) -> Bool[Array, "*b m n"]:
    """The alignment of a reader that stops at key j of query i wherever Z[i, j] says so (eq-monotonic-scan).

    It starts at the first key; each query goes on where the one before it stopped, and may stop there again. A reader
    that passes the last key without stopping is at the end: this query and all later ones look nowhere.

    >>> monotonic_scan(np.array([[False, True, True], [True, False, True], [True, True, False]])).astype(int)
    array([[0, 1, 0],
           [0, 0, 1],
           [0, 0, 0]])
    """
    A = np.zeros_like(Z)
    n = Z.shape[-1]
    start = np.zeros((*Z.shape[:-2], 1), dtype=int)
    for i in range(Z.shape[-2]):
        stops = Z[..., i, :] & (np.arange(n) >= start)
        first = np.where(stops.any(axis=-1), stops.argmax(axis=-1), n)
        start = first[..., None]
        A[..., i, :] = np.arange(n) == start  # eq-monotonic-scan
    return A


@checked
def hard_monotonic_alignment(p: Float[Array, "*b m n"]) -> Float[Array, "*b m n"]:
    """The alignment at test time: the reader stops where stopping is likelier than not (eq-monotonic-scan).

    It needs no key to the right of the stop, so it can answer while the keys are still arriving.

    >>> hard_monotonic_alignment(np.array([[0.4, 0.9, 0.8], [0.9, 0.3, 0.6]]))
    array([[0., 1., 0.],
           [0., 0., 1.]])
    """
    rules.selections("hard_monotonic_alignment", p)
    return monotonic_scan(p > 0.5).astype(p.dtype)  # eq-monotonic-scan  (*b, m, n)


@checked
def sample_monotonic_alignment(p: Float[Array, "*b m n"], rng: np.random.Generator) -> Float[Array, "*b m n"]:
    """One random alignment: at each key that it reaches, the reader stops with probability p (eq-monotonic-scan).

    >>> sample_monotonic_alignment(np.array([[0.0, 1.0], [0.0, 1.0]]), np.random.default_rng(0))
    array([[0., 1.],
           [0., 1.]])
    """
    rules.selections("sample_monotonic_alignment", p)
    return monotonic_scan(rng.random(p.shape) < p).astype(p.dtype)  # eq-monotonic-scan  (*b, m, n)


def _reach(p_row: Float[Array, "*b n"], A_before: Float[Array, "*b n"]) -> Float[Array, "*b n"]:
    """The probability that the reader comes to each key: from the key before, or it was here already."""
    q = A_before.copy()
    for j in range(1, q.shape[-1]):
        q[..., j] += (1 - p_row[..., j - 1]) * q[..., j - 1]  # eq-monotonic-reach
    return q


def _alignment_and_reach(p: Float[Array, "*b m n"]) -> tuple[Float[Array, "*b m n"], Float[Array, "*b m n"]]:
    A, q = np.empty_like(p), np.empty_like(p)
    before = np.zeros_like(p[..., 0, :])
    before[..., 0] = 1  # the reader starts at the first key
    for i in range(p.shape[-2]):
        q[..., i, :] = _reach(p[..., i, :], before)
        A[..., i, :] = before = p[..., i, :] * q[..., i, :]  # eq-monotonic-alignment
    return A, q


@checked
def monotonic_alignment(p: Float[Array, "*b m n"]) -> Float[Array, "*b m n"]:
    """The mean of all random alignments, which is differentiable, unlike a single one (eq-monotonic-alignment).

    p[i, j]     the probability that the reader stops at key j for query i, if it comes there. Zero hides a key.

    A row sums to the probability that its query stopped somewhere: at most one, and never more than the row above.

    >>> monotonic_alignment(np.array([[0.5, 0.5], [0.5, 1.0]]))
    array([[0.5 , 0.25],
           [0.25, 0.5 ]])
    """
    rules.selections("monotonic_alignment", p)
    return _alignment_and_reach(p)[0]  # (*b, m, n)


@checked
def monotonic_alignment_backward(
    dA: Float[Array, "*b m n"], p: Float[Array, "*b m n"]
) -> Float[Array, "*b m n"]:
    """dp, by the recursion in reverse: queries from the last, keys from the right (eq-monotonic-backward)."""
    q = _alignment_and_reach(p)[1]
    dp = np.empty_like(p)
    d_next = np.zeros_like(p[..., 0, :])  # dq of the query below
    for i in reversed(range(p.shape[-2])):
        dA_i = dA[..., i, :] + d_next
        dq = np.zeros_like(d_next)
        right = np.zeros_like(dq[..., 0])  # dq of the key to the right
        for j in reversed(range(p.shape[-1])):
            dp[..., i, j] = q[..., i, j] * (dA_i[..., j] - right)  # eq-monotonic-backward
            right = p[..., i, j] * dA_i[..., j] + (1 - p[..., i, j]) * right
            dq[..., j] = right
        d_next = dq
    return dp

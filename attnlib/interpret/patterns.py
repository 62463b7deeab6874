"""Measures of attention patterns: does a head follow an offset, one common key, or the content? Is it correct?

Book: patterns-and-entropy, heads-at-work. P holds one head's weights for many inputs, (inputs, n, n). Each measure is a
share between 0 and 1; `name_pattern` turns them into a word, which depends on a threshold.
"""

import math
from typing import NamedTuple

import numpy as np

from attnlib import rules
from attnlib.interpret.distance import offset_histogram, offsets
from attnlib.reference.ops import entropy
from attnlib.shapes import Array, Bool, Float, checked


class Pattern(NamedTuple):
    """How a head spreads its weight."""

    offset: int  # the offset j - i that gets most of the weight
    at_offset: float  # the share of weight at that offset
    near: float  # the share at most 2 positions away
    broadcast: float  # the share that the most popular key of an input gets
    content: float  # the share of weight that changes from input to input
    evenness: float  # mean entropy over its maximum: 0 is one key, 1 is uniform


@checked
def measure_pattern(P: Float[Array, "*b m n"], mask: Bool[Array, "*#b #m #n"] | None = None) -> Pattern:
    """The measures of one head over many inputs; its evenness is NaN if that of no row is defined.

    >>> previous = np.tile(np.eye(4, k=-1), (3, 1, 1))  # each query attends to the position before it
    >>> pattern = measure_pattern(previous)
    >>> pattern.offset, pattern.at_offset, pattern.content
    (-1, 1.0, 0.0)
    """
    _check_head("measure_pattern", P)
    o = offsets(P.shape[-1])
    histogram = offset_histogram(P).mean(axis=0)
    popular = (P.sum(axis=1).max(axis=-1) / P.sum(axis=(1, 2))).mean()
    even = evenness(P, mask)
    return Pattern(
        int(o[histogram.argmax()]),
        float(histogram.max()),
        float(histogram[abs(o) <= 2].sum()),
        float(popular),
        content_share(P),
        float(even[~np.isnan(even)].mean()) if not np.isnan(even).all() else math.nan,
    )


def _check_head(who: str, P: Array) -> None:
    """P holds one head's weights for several inputs, and is not all zeros."""
    rules.probabilities(who, P)
    if P.ndim != 3:
        raise ValueError(
            f"{who}: P must hold one head's weights, (inputs, m, n); got {P.shape}. "
            "Take one head with `P[:, h]`; a single input becomes one of one with `P[None]`."
        )
    if not P.any():
        raise ValueError(f"{who}: some query must attend to a key; got zeros only in P {P.shape}.")


def name_pattern(pattern: Pattern) -> str:
    """One word for a head, by the first measure that exceeds one half.

    positional: one offset · broadcast: one key for all queries · content: changes with the input · local: near, several
    offsets · diffuse: none of these.

    >>> name_pattern(measure_pattern(np.tile(np.eye(4, k=-1), (3, 1, 1))))
    'positional'
    """
    shares = {
        "positional": pattern.at_offset,
        "broadcast": pattern.broadcast,
        "content": pattern.content,
        "local": pattern.near,
    }
    return next((name for name, share in shares.items() if share > 0.5), "diffuse")


@checked
def content_share(P: Float[Array, "*b m n"]) -> float:
    """The share of weight that depends on the content: 0 if all inputs have the same weights.

    It is the total-variation distance of P from its mean over the inputs, per row, averaged over rows that are not
    zeros (eq-content-share). A row of zeros has no part in the mean, or its zeros would count as a change.

    >>> same, other = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> content_share(np.stack([same, same])), content_share(np.stack([same, other]))
    (0.0, 0.5)
    >>> content_share(np.stack([same, 0 * same]))
    0.0
    """
    _check_head("content_share", P)
    looks = P.sum(axis=-1, keepdims=True) > 0
    mean = P.sum(axis=0) / np.maximum(looks.sum(axis=0), 1)
    return float(0.5 * (abs(P - mean) * looks).sum() / P.sum())


@checked
def evenness(P: Float[Array, "*b m n"], mask: Bool[Array, "*#b #m #n"] | None = None) -> Float[Array, "*b m"]:
    """Each row's entropy over its maximum, the log of its visible keys; NaN for fewer than two keys or a row of zeros.

    Without the division the early rows of causal attention would seem sharper only because they have fewer keys.

    >>> evenness(np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]), np.array([[True, True, False], [True, True, True]]))
    array([1., 0.])
    """
    visible = np.full(P.shape[:-1], P.shape[-1]) if mask is None else np.broadcast_to(mask, P.shape).sum(-1)
    defined = (visible > 1) & (P.sum(axis=-1) > 0)
    bound = np.where(defined, np.log(np.maximum(visible, 2)), math.nan)
    return entropy(P) / bound


@checked
def mass_on(P: Float[Array, "*b m n"], truth: Float[Array, "*#b #m #n"]) -> float:
    """The share of weight on the true keys, over the rows that have a true key.

    >>> mass_on(np.array([[0.9, 0.1], [0.5, 0.5]]), truth=np.array([[1.0, 0.0], [0.0, 0.0]]))  # row 1 does not count
    0.9
    """
    T = np.broadcast_to(truth, P.shape)
    if not (T > 0).any():
        raise ValueError("mass_on: some row must have a true key; got a truth of zeros.")
    counts = T.sum(axis=-1) > 0
    return float((P * (T > 0)).sum(axis=-1)[counts].mean())


@checked
def head_distances(P: Float[Array, "*b h m n"]) -> Float[Array, "h h"]:
    """The total-variation distance of each pair of heads per row, averaged over rows and inputs.

    0 means equal weights everywhere, 1 that no key gets weight from both.

    >>> head_distances(np.array([[[1.0, 0.0]], [[1.0, 0.0]], [[0.0, 1.0]]]))
    array([[0., 0., 1.],
           [0., 0., 1.],
           [1., 1., 0.]])
    """
    heads = np.moveaxis(P, -3, 0)
    return np.array([[0.5 * abs(a - b).sum(axis=-1).mean() for b in heads] for a in heads])

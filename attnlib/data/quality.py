"""A cheap filter of bad text: a logistic classifier on hashed pairs of words, between a trusted part and the rest.

Book: what-to-train-on. The rest is not labelled: it holds good text too, so what the classifier learns is how much a
text looks like the trusted ones.
"""

import zlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from attnlib.data.duplicates import words
from attnlib.shapes import Array, Bool, Float, Number, checked


class Filter(NamedTuple):
    """A weight for each bucket, and a bias."""

    weights: Float[Array, "size"]
    bias: float


def hashed_pairs(texts: Sequence[str], size: int = 2048) -> Float[Array, "texts size"]:
    """For each text, how often each bucket of word pairs occurs, as a vector of length 1.

    >>> X = hashed_pairs(["a b a b", "b a"], size=1000)
    >>> np.sort(X[0])[-2:].round(3).tolist(), float(X[1].max())
    ([0.447, 0.894], 1.0)
    """
    X = np.zeros((len(texts), size))
    for row, text in zip(X, texts, strict=True):
        found = words(text)
        for pair in zip(found, found[1:], strict=False):
            row[zlib.crc32(" ".join(pair).encode()) % size] += 1
    return X / np.maximum(np.sqrt((X**2).sum(axis=1, keepdims=True)), 1e-12)


@checked
def trusted_score(X: Float[Array, "texts size"], by: Filter) -> Float[Array, "texts"]:
    """The log odds that a text is of the trusted part."""
    return X @ by.weights + by.bias


@checked
def fit_filter(
    X: Float[Array, "texts size"],
    trusted: Bool[Array, "texts"],
    steps: Number[int, "1.."] = 200,
    rate: Number[float, "0<.."] = 30.0,
    decay: Number[float, "0.."] = 1e-4,
) -> Filter:
    """Gradient descent on the logistic loss, in which both classes count the same.

    >>> X = np.eye(2)[[0, 0, 1, 1]]
    >>> fitted = fit_filter(X, np.array([True, True, False, False]))
    >>> bool(fitted.weights[0] > 1 > -1 > fitted.weights[1])
    True
    """
    weights, bias = np.zeros(X.shape[1]), 0.0
    share = np.where(trusted, 0.5 / trusted.sum(), 0.5 / (~trusted).sum())
    for _ in range(steps):
        error = share * (1 / (1 + np.exp(-(X @ weights + bias))) - trusted)
        weights = weights - rate * (X.T @ error + decay * weights)
        bias = bias - rate * error.sum()
    return Filter(weights, float(bias))

"""From numbers of tokens to vectors, and from vectors back to a score for each token, by one table.

Chapter 4 derives it. The twin, where autograd does the backward, is `attnlib.nn.embedding`.
"""

import math
from typing import NamedTuple

import numpy as np

from attnlib.shapes import Array, Float, Int, checked


class EmbeddingCache(NamedTuple):
    tokens: Int[Array, "*b n"]
    E: Float[Array, "vocab d_model"]


@checked
def embed(
    tokens: Int[Array, "*b n"], E: Float[Array, "vocab d_model"]
) -> tuple[Float[Array, "*b n d_model"], EmbeddingCache]:
    """Each token's row of the table.

    >>> embed(np.array([2, 0]), np.array([[1.0], [2.0], [3.0]]))[0]
    array([[3.],
           [1.]])
    """
    if tokens.size and not 0 <= tokens.min() <= tokens.max() < len(E):
        raise ValueError(
            f"embed: tokens must be from 0 to vocab - 1 = {len(E) - 1}; got {tokens.min()} to {tokens.max()}."
        )
    return E[tokens], EmbeddingCache(tokens, E)


@checked
def embed_backward(dX: Float[Array, "*b n d_model"], cache: EmbeddingCache) -> Float[Array, "vocab d_model"]:
    """dE: each row collects from all positions where its token stands."""
    dE = np.zeros_like(cache.E)
    np.add.at(dE, cache.tokens, dX)
    return dE


@checked
def scaled_embed(
    tokens: Int[Array, "*b n"], E: Float[Array, "vocab d_model"]
) -> tuple[Float[Array, "*b n d_model"], EmbeddingCache]:
    """The rows times the root of d_model: a table of spread 1 / sqrt(d_model) then gives numbers of spread 1.

    So the transformer of 2017 uses one table for vectors and for scores, which ask for different sizes.

    >>> scaled_embed(np.array([1]), np.array([[0.0, 0.0, 0.0, 0.0], [1.0, 2.0, 3.0, 4.0]]))[0]
    array([[2., 4., 6., 8.]])
    """
    X, cache = embed(tokens, E)
    return X * math.sqrt(E.shape[1]), cache


@checked
def scaled_embed_backward(
    dX: Float[Array, "*b n d_model"], cache: EmbeddingCache
) -> Float[Array, "vocab d_model"]:
    """dE: as for the rows themselves, times the same root."""
    return embed_backward(dX, cache) * math.sqrt(dX.shape[-1])


class TiedCache(NamedTuple):
    X: Float[Array, "*b d_model"]
    E: Float[Array, "vocab d_model"]


@checked
def tied_scores(
    X: Float[Array, "*b d_model"], E: Float[Array, "vocab d_model"]
) -> tuple[Float[Array, "*b vocab"], TiedCache]:
    """The score of each token is the product of the vector with the token's own row.

    Its gradient of E and that of `embed` belong to one table, and add up.

    >>> tied_scores(np.array([1.0, 2.0]), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))[0]
    array([1., 2., 3.])
    """
    return X @ E.T, TiedCache(X, E)


@checked
def tied_scores_backward(
    dS: Float[Array, "*b vocab"], cache: TiedCache
) -> tuple[Float[Array, "*b d_model"], Float[Array, "vocab d_model"]]:
    """dX and dE."""
    X, E = cache
    return dS @ E, dS.reshape(-1, len(E)).T @ X.reshape(-1, E.shape[1])

"""The twin of `attnlib.reference.embedding`: one table from tokens to vectors and from vectors to scores.

Chapter 4 derives it. `torch.nn.Embedding` is a module that holds the table.
"""

import math

import torch.nn.functional as F
from torch import Tensor

from attnlib.shapes import Float, Int, checked


@checked
def embed(tokens: Int[Tensor, "*b n"], E: Float[Tensor, "vocab d_model"]) -> Float[Tensor, "*b n d_model"]:
    """Each token's row of the table."""
    return F.embedding(tokens, E)


@checked
def scaled_embed(
    tokens: Int[Tensor, "*b n"], E: Float[Tensor, "vocab d_model"]
) -> Float[Tensor, "*b n d_model"]:
    """The rows times the root of d_model: a table of spread 1 / sqrt(d_model) then gives numbers of spread 1."""
    return embed(tokens, E) * math.sqrt(E.shape[1])


@checked
def tied_scores(
    X: Float[Tensor, "*b d_model"], E: Float[Tensor, "vocab d_model"]
) -> Float[Tensor, "*b vocab"]:
    """The score of each token is the product of the vector with the token's own row."""
    return F.linear(X, E)

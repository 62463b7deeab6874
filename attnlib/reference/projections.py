"""The linear maps at both ends of a layer with several heads: into queries, keys and values, and out of the heads.

The book derives it in eq-head and eq-multi-head (Chapter 3). In PyTorch the maps are `nn.Linear`s of
`attnlib.nn.multihead.MultiHeadAttention`, named as here.
"""

from typing import NamedTuple

from attnlib.reference.heads import merge_heads, split_heads
from attnlib.reference.ops import LinearCache, linear, linear_backward
from attnlib.shapes import Array, Float, checked

Gradients = dict[str, Array]  # by the names of MultiHeadWeights


class MultiHeadWeights(NamedTuple):
    """All heads side by side: head i has columns i d_k to (i + 1) d_k of W_Q, and rows i d_v to (i + 1) d_v of W_O."""

    W_Q: Float[Array, "d_query h*d_k"]
    W_K: Float[Array, "d_source g*d_k"]
    W_V: Float[Array, "d_source g*d_v"]
    W_O: Float[Array, "h*d_v d_out"]
    b_Q: Float[Array, "h*d_k"] | None = None
    b_K: Float[Array, "g*d_k"] | None = None
    b_V: Float[Array, "g*d_v"] | None = None
    b_O: Float[Array, "d_out"] | None = None


@checked
def project(
    X_Q: Float[Array, "*b m d_query"], X: Float[Array, "*b n d_source"], weights: MultiHeadWeights
) -> tuple[Float[Array, "*b m h*d_k"], Float[Array, "*b n g*d_k"], Float[Array, "*b n g*d_v"]]:
    """Queries from X_Q, keys and values from X, for all heads at once (eq-layer)."""
    Q, _ = linear(X_Q, weights.W_Q, weights.b_Q)
    K, _ = linear(X, weights.W_K, weights.b_K)
    V, _ = linear(X, weights.W_V, weights.b_V)
    return Q, K, V


@checked
def project_backward(
    dQ: Float[Array, "*b m h*d_k"],
    dK: Float[Array, "*b n g*d_k"],
    dV: Float[Array, "*b n g*d_v"],
    X_Q: Float[Array, "*b m d_query"],
    X: Float[Array, "*b n d_source"],
    weights: MultiHeadWeights,
) -> tuple[Float[Array, "*b m d_query"], Float[Array, "*b n d_source"], Gradients]:
    """dX_Q, dX and the gradients of the weights by name; a bias that is not there has none (eq-layer-backward)."""
    dX_Q, dW_Q, db_Q = linear_backward(dQ, LinearCache(X_Q, weights.W_Q))
    dX_K, dW_K, db_K = linear_backward(dK, LinearCache(X, weights.W_K))
    dX_V, dW_V, db_V = linear_backward(dV, LinearCache(X, weights.W_V))
    biases = {"b_Q": db_Q, "b_K": db_K, "b_V": db_V}
    return dX_Q, dX_K + dX_V, {"W_Q": dW_Q, "W_K": dW_K, "W_V": dW_V} | _present(biases, weights)


@checked
def combine(Z: Float[Array, "*b h m d_v"], weights: MultiHeadWeights) -> Float[Array, "*b m d_out"]:
    """Join the heads and map them to the output (eq-multi-head)."""
    return linear(merge_heads(Z), weights.W_O, weights.b_O)[0]  # eq-multi-head  (*b, m, d_out)


@checked
def combine_backward(
    dY: Float[Array, "*b m d_out"], Z: Float[Array, "*b h m d_v"], weights: MultiHeadWeights
) -> tuple[Float[Array, "*b h m d_v"], Gradients]:
    """dZ and the gradients of W_O and b_O by name (eq-multi-head-backward)."""
    d_joined, dW_O, db_O = linear_backward(dY, LinearCache(merge_heads(Z), weights.W_O))
    return split_heads(d_joined, Z.shape[-3]), {"W_O": dW_O} | _present({"b_O": db_O}, weights)


def _present(biases: dict[str, Array], weights: MultiHeadWeights) -> Gradients:
    return {name: db for name, db in biases.items() if getattr(weights, name) is not None}

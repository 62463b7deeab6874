"""The linear maps of multi-head attention: into queries, keys and values, and from the merged heads to the output.

The book derives it in eq-head and eq-multi-head (Chapter 3). In PyTorch the maps are `nn.Linear`s of
`attnlib.nn.multihead.MultiHeadAttention`, named as here.
"""

from typing import NamedTuple

from attnlib.reference.heads import merge_heads, split_heads
from attnlib.reference.ops import LinearCache, linear, linear_backward
from attnlib.shapes import Array, Float, checked

Gradients = dict[str, Array]  # by the names of MultiHeadParameters


class MultiHeadParameters(NamedTuple):
    """All heads side by side: head i has columns i d_k to (i + 1) d_k of W_Q, and rows i d_v to (i + 1) d_v of W_O."""

    W_Q: Float[Array, "d_model h*d_k"]
    W_K: Float[Array, "d_source g*d_k"]
    W_V: Float[Array, "d_source g*d_v"]
    W_O: Float[Array, "h*d_v d_out"]
    b_Q: Float[Array, "h*d_k"] | None = None
    b_K: Float[Array, "g*d_k"] | None = None
    b_V: Float[Array, "g*d_v"] | None = None
    b_O: Float[Array, "d_out"] | None = None


@checked
def project(
    X: Float[Array, "*b m d_model"], source: Float[Array, "*b n d_source"], parameters: MultiHeadParameters
) -> tuple[Float[Array, "*b m h*d_k"], Float[Array, "*b n g*d_k"], Float[Array, "*b n g*d_v"]]:
    """Queries from X, keys and values from the source, for all heads at once (eq-layer)."""
    Q, _ = linear(X, parameters.W_Q, parameters.b_Q)
    K, _ = linear(source, parameters.W_K, parameters.b_K)
    V, _ = linear(source, parameters.W_V, parameters.b_V)
    return Q, K, V


@checked
def project_backward(
    dQ: Float[Array, "*b m h*d_k"],
    dK: Float[Array, "*b n g*d_k"],
    dV: Float[Array, "*b n g*d_v"],
    X: Float[Array, "*b m d_model"],
    source: Float[Array, "*b n d_source"],
    parameters: MultiHeadParameters,
) -> tuple[Float[Array, "*b m d_model"], Float[Array, "*b n d_source"], Gradients]:
    """dX, dsource and the gradients of the parameters by name, without biases that are None (eq-layer-backward)."""
    dX, dW_Q, db_Q = linear_backward(dQ, LinearCache(X, parameters.W_Q))
    dsource_K, dW_K, db_K = linear_backward(dK, LinearCache(source, parameters.W_K))
    dsource_V, dW_V, db_V = linear_backward(dV, LinearCache(source, parameters.W_V))
    biases = {"b_Q": db_Q, "b_K": db_K, "b_V": db_V}
    return dX, dsource_K + dsource_V, {"W_Q": dW_Q, "W_K": dW_K, "W_V": dW_V} | _present(biases, parameters)


@checked
def combine(Z: Float[Array, "*b h m d_v"], parameters: MultiHeadParameters) -> Float[Array, "*b m d_out"]:
    """Merge the heads and map them to the output (eq-multi-head)."""
    return linear(merge_heads(Z), parameters.W_O, parameters.b_O)[0]  # eq-multi-head  (*b, m, d_out)


@checked
def combine_backward(
    dY: Float[Array, "*b m d_out"], Z: Float[Array, "*b h m d_v"], parameters: MultiHeadParameters
) -> tuple[Float[Array, "*b h m d_v"], Gradients]:
    """dZ and the gradients of W_O and b_O by name (eq-multi-head-backward)."""
    d_joined, dW_O, db_O = linear_backward(dY, LinearCache(merge_heads(Z), parameters.W_O))
    return split_heads(d_joined, Z.shape[-3]), {"W_O": dW_O} | _present({"b_O": db_O}, parameters)


def _present(biases: dict[str, Array], parameters: MultiHeadParameters) -> Gradients:
    return {name: db for name, db in biases.items() if getattr(parameters, name) is not None}

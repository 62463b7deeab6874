"""A gate on each head: one leaves the head as it is, zero removes it, and the gradient says how much the head matters.

The book derives it in eq-head-gate (Chapter 3). The twin is `attnlib.nn.gates`.
"""

from typing import NamedTuple

from attnlib.reference.multihead import HeadsCache, head_outputs, head_outputs_backward
from attnlib.reference.projections import MultiHeadWeights, combine, combine_backward
from attnlib.shapes import Array, Bool, Float, checked, where


class GateCache(NamedTuple):
    Z: Float[Array, "*b h m d_v"]
    gates: Float[Array, "*#b h"]


@checked
def gate_heads(
    Z: Float[Array, "*b h m d_v"], gates: Float[Array, "*#b h"]
) -> tuple[Float[Array, "*b h m d_v"], GateCache]:
    """Multiply what each head says with its gate (eq-head-gate).

    gates    (h,), or (*b, h) with a gate of its own for each sequence

    >>> import numpy as np
    >>> gate_heads(np.array([[[1.0]], [[2.0]]]), np.array([1.0, 0.0]))[0][:, 0, 0]
    array([1., 0.])
    """
    return Z * gates[..., None, None], GateCache(Z, gates)  # eq-head-gate  (*b, h, m, d_v)


@checked
def gate_heads_backward(
    dG: Float[Array, "*b h m d_v"], cache: GateCache
) -> tuple[Float[Array, "*b h m d_v"], Float[Array, "*#b h"]]:
    """dZ and the gradient of the gates: how much the loss would change if the head spoke louder (eq-head-gate)."""
    Z, gates = cache
    d_gates = (dG * Z).sum(axis=(-1, -2))  #                                 (*b, h)
    shared = tuple(range(d_gates.ndim - gates.ndim))  # gates (h,) collect from every sequence
    return dG * gates[..., None, None], d_gates.sum(axis=shared)


class GatedCache(NamedTuple):
    heads: HeadsCache
    gate: GateCache
    G: Float[Array, "*b h m d_v"]

    @property
    def P(self) -> Float[Array, "*b h m n"]:
        """The weights: who looks where, for each head."""
        return self.heads.P


@checked
@where(g="h")
def gated_multi_head_attention(
    X_Q: Float[Array, "*b m d_query"],
    X: Float[Array, "*b n d_source"],
    weights: MultiHeadWeights,
    gates: Float[Array, "*#b h"],
    mask: Bool[Array, "*#b #m #n"] | Bool[Array, "*#b #h #m #n"] | None = None,
) -> tuple[Float[Array, "*b m d_out"], GatedCache]:
    """Multi-head attention with a gate on each head; there are as many heads as gates (eq-head-gate).

    >>> import numpy as np
    >>> eye, X = np.eye(2), np.array([[2.0, 4.0]])
    >>> gated_multi_head_attention(X, X, MultiHeadWeights(eye, eye, eye, eye), np.array([1.0, 0.0]))[0]
    array([[2., 0.]])
    """
    n_heads = gates.shape[-1]
    Z, heads = head_outputs(X_Q, X, weights, n_heads, mask)
    G, gate = gate_heads(Z, gates)  # eq-head-gate
    return combine(G, weights), GatedCache(heads, gate, G)


@checked
def gated_multi_head_attention_backward(
    dY: Float[Array, "*b m d_out"], cache: GatedCache
) -> tuple[
    Float[Array, "*b m d_query"], Float[Array, "*b n d_source"], MultiHeadWeights, Float[Array, "*#b h"]
]:
    """dX_Q, dX and the gradients of the weights and of the gates (eq-multi-head-backward)."""
    dG, d_out = combine_backward(dY, cache.G, cache.heads.weights)
    dZ, d_gates = gate_heads_backward(dG, cache.gate)
    dX_Q, dX, d_in = head_outputs_backward(dZ, cache.heads)
    return dX_Q, dX, MultiHeadWeights(**d_in, **d_out), d_gates

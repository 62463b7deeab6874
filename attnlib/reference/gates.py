"""A gate on each head: one leaves the head as it is, zero removes it; the gradient measures the head's importance.

The book derives it in eq-head-gate (Chapter 3). The twin is `attnlib.nn.gates`.
"""

from typing import NamedTuple

from attnlib.reference.multihead import MultiHeadCache, head_outputs, head_outputs_backward
from attnlib.reference.projections import MultiHeadParameters, combine, combine_backward
from attnlib.shapes import Array, Bool, Float, checked, same_size


class GateCache(NamedTuple):
    Z: Float[Array, "*b h m d_v"]
    gates: Float[Array, "*#b h"]


@checked
def gate_heads(
    Z: Float[Array, "*b h m d_v"], gates: Float[Array, "*#b h"]
) -> tuple[Float[Array, "*b h m d_v"], GateCache]:
    """Multiply each head's output with its gate (eq-head-gate).

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
    """dZ and the gradient of the gates: the change of the loss if the head's output were larger (eq-head-gate)."""
    Z, gates = cache
    d_gates = (dG * Z).sum(axis=(-1, -2))  #                                 (*b, h)
    shared = tuple(range(d_gates.ndim - gates.ndim))  # gates (h,) get the sum over all sequences
    return dG * gates[..., None, None], d_gates.sum(axis=shared)


class GatedCache(NamedTuple):
    heads: MultiHeadCache
    gate: GateCache
    G: Float[Array, "*b h m d_v"]


@checked
@same_size(g="h")
def gated_multi_head_attention(
    X: Float[Array, "*b m d_model"],
    source: Float[Array, "*b n d_source"],
    parameters: MultiHeadParameters,
    gates: Float[Array, "*#b h"],
    mask: Bool[Array, "*#b #m #n"] | Bool[Array, "*#b #h #m #n"] | None = None,
) -> tuple[Float[Array, "*b m d_out"], GatedCache]:
    """Multi-head attention with a gate on each head; there are as many heads as gates (eq-head-gate).

    >>> import numpy as np
    >>> eye, X = np.eye(2), np.array([[2.0, 4.0]])
    >>> gated_multi_head_attention(X, X, MultiHeadParameters(eye, eye, eye, eye), np.array([1.0, 0.0]))[0]
    array([[2., 0.]])
    """
    n_heads = gates.shape[-1]
    Z, heads = head_outputs(X, source, parameters, n_heads, n_heads, mask)
    G, gate = gate_heads(Z, gates)  # eq-head-gate
    return combine(G, parameters), GatedCache(heads, gate, G)


@checked
def gated_multi_head_attention_backward(
    dY: Float[Array, "*b m d_out"], cache: GatedCache
) -> tuple[
    Float[Array, "*b m d_model"], Float[Array, "*b n d_source"], MultiHeadParameters, Float[Array, "*#b h"]
]:
    """dX, dsource and the gradients of the parameters and of the gates (eq-multi-head-backward)."""
    dG, d_out = combine_backward(dY, cache.G, cache.heads.parameters)
    dZ, d_gates = gate_heads_backward(dG, cache.gate)
    dX, dsource, d_in = head_outputs_backward(dZ, cache.heads)
    return dX, dsource, MultiHeadParameters(**d_in, **d_out), d_gates

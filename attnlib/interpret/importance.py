"""Which heads a model needs: remove one at a time, or take the gradient with respect to its gate.

Book: heads-at-work (eq-head-importance). Every head's output is multiplied with a gate: 1 changes nothing, 0
removes the head. Results are tables (layers, heads), in the order of the model.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor, nn

from attnlib.nn.gates import gated_heads
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.shapes import Float


def attentions(model: nn.Module) -> list[MultiHeadAttention]:
    """The multi-head attentions of a model, which must all have the same number of heads."""
    found = [module for module in model.modules() if isinstance(module, MultiHeadAttention)]
    counts = sorted({module.n_heads for module in found})
    if len(counts) != 1:
        raise ValueError(
            "attentions: the model must have MultiHeadAttention layers with equally many heads; "
            f"got {len(found)} layers, n_heads {counts}."
        )
    return found


@contextmanager
def all_gated(model: nn.Module, gates: Sequence[Tensor] | Tensor) -> Iterator[None]:
    """Inside the block layer l's heads are multiplied with gates[l], which is (heads,) or (inputs, heads)."""
    layers = attentions(model)
    if len(gates) != len(layers):
        raise ValueError(f"all_gated: each of the {len(layers)} layers needs its gates; got {len(gates)}.")
    with ExitStack() as stack:
        for layer, gate in zip(layers, gates, strict=True):
            stack.enter_context(gated_heads(layer, gate))
        yield


def _ones(rows: int, layer: MultiHeadAttention) -> Float[Tensor, "rows heads"]:
    """Gates of value one, on the device and in the dtype of the layer."""
    return torch.ones(rows, layer.n_heads).to(next(layer.parameters()))


@torch.no_grad()
def importance_by_ablation(
    model: nn.Module, measure: Callable[[], Tensor | float]
) -> Float[Tensor, "layers heads"]:
    """How much `measure()`, for example the loss, rises when one head is removed (eq-head-importance)."""
    layers = attentions(model)
    whole = float(measure())
    I = _ones(len(layers), layers[0])
    for l, h in torch.cartesian_prod(*map(torch.arange, I.shape)).tolist():
        gates = torch.ones_like(I)
        gates[l, h] = 0
        with all_gated(model, gates):
            I[l, h] = float(measure()) - whole  # eq-head-importance
    return I


def importance_by_gradient(
    model: nn.Module, loss: Callable[[], Tensor], n_inputs: int
) -> Float[Tensor, "layers heads"]:
    """The absolute gradient of the loss with respect to each gate, averaged over the inputs (eq-head-importance).

    loss    computes the mean loss of n_inputs inputs; each input has its own gates, so that gradients of opposite sign
            do not cancel
    """
    layers = attentions(model)
    gates = [_ones(n_inputs, layer).requires_grad_() for layer in layers]
    with all_gated(model, gates):
        slopes = torch.autograd.grad(loss(), gates)
    return torch.stack(slopes).abs().sum(dim=1)  # eq-head-importance

"""Several linear maps of one input as one product: the queries, keys and values of a layer (eq-layer).

One product of a wide matrix takes less time than three of narrow ones. The maps stay modules with parameters of their
own: `_side_by_side` moves the numbers of their parameters next to each other in memory, and `OneProduct` reads all of
them as one matrix, without a copy, as long as a call of each map alone could not be noticed.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import _has_any_global_hook

Affine = tuple[Tensor, Tensor | None]  # a weight and a bias


def _side_by_side(*maps: nn.Linear) -> None:
    """Let the weights of all maps lie next to each other in memory, and their biases, too; no number changes.

    >>> one, two = nn.Linear(3, 2), nn.Linear(3, 5)
    >>> _side_by_side(one, two)
    >>> two.weight.data_ptr() - one.weight.data_ptr() == one.weight.nbytes
    True
    """
    for parts in ([one.weight for one in maps], [one.bias for one in maps]):
        if parts[0] is not None:
            together = torch.cat([part.detach() for part in parts])
            for part, own in zip(parts, together.split([len(part) for part in parts]), strict=True):
                part.data = own


def _is_plain(module: nn.Module) -> bool:
    """Whether a call of the module is its `forward`, and nothing more: nothing hooks it or has replaced its forward."""
    return not (
        module._forward_hooks
        or module._forward_pre_hooks
        or module._backward_hooks
        or module._backward_pre_hooks
        or module._compiled_call_impl is not None
        or "forward" in module.__dict__
        or _has_any_global_hook()
    )


def _does_nothing(module: Any) -> bool:
    """Whether it returns what it is given, and no hook would notice the call: then the call can be left out."""
    return type(module) is nn.Identity and _is_plain(module)


class OneProduct:
    """The parameters of maps that lie side by side, as those of one map.

    >>> Q, K = nn.Linear(3, 2), nn.Linear(3, 5)
    >>> _side_by_side(Q, K)
    >>> with torch.no_grad(): OneProduct().of((Q, K))[0].shape
    torch.Size([7, 3])
    >>> K.weight = nn.Parameter(torch.zeros(5, 3))  # it no longer lies beside the other
    >>> with torch.no_grad(): OneProduct().of((Q, K))
    """

    def __init__(self) -> None:
        self._found: Affine | None = None
        self._at: list[Any] | None = None  # where the parameters lay when they were looked at

    def __reduce__(self) -> Any:
        """A copy of a layer has parameters of its own, so it looks for itself."""
        return OneProduct, ()

    def of(self, maps: Sequence[Any]) -> Affine | None:
        """One weight and one bias for all maps, or None where each must be called by itself.

        They are called where gradients are recorded, while PyTorch compiles, and where a map is not `nn.Linear` itself
        (an adapter, a quantised map), is hooked, or has parameters that do not lie beside the others.
        """
        if torch.is_grad_enabled() or torch.compiler.is_compiling():
            return None
        parameters: list[Any] = []
        for one in maps:
            if type(one) is not nn.Linear or not _is_plain(one):
                return None
            parameters += one._parameters.values()
        if any(type(one) not in (nn.Parameter, type(None)) for one in parameters):
            return None  # one of them is replaced for this call, as `torch.func.functional_call` does
        at = [
            None if one is None else (type(one), one.data_ptr(), one.numel(), one.is_contiguous())
            for one in parameters
        ]
        if at != self._at:
            self._at, self._found = at, _as_one_map(parameters[::2], parameters[1::2])
        return self._found


def _as_one_map(weights: list[Any], biases: list[Any]) -> Affine | None:
    weight, bias = _as_one(weights), _as_one(biases)
    whole = weight is not None and (bias is not None or biases == [None] * len(biases))
    return (weight, bias) if weight is not None and whole else None


def _as_one(parts: list[Any]) -> Tensor | None:
    """The parts as one tensor in the same memory, if they lie there one after the other."""
    first, *others = parts
    if first is None or first.device.type == "meta" or any(type(one) is not nn.Parameter for one in parts):
        return None
    end, home = first.data_ptr() + first.nbytes, first.untyped_storage().data_ptr()
    for one in others:
        if one.data_ptr() != end or one.untyped_storage().data_ptr() != home:
            return None
        if not one.is_contiguous() or one.dtype != first.dtype or one.shape[1:] != first.shape[1:]:
            return None
        end += one.nbytes
    rows = sum(len(one) for one in parts)
    return (
        first.detach().as_strided((rows, *first.shape[1:]), first.stride()) if first.is_contiguous() else None
    )

"""Whether a model is still what it was: the same submodules, hooks and parameters, at the same addresses.

What has been prepared for a model, such as the functions of `attnlib.nn.direct_calls`, holds as long as this is so.
"""

from itertools import chain
from operator import is_
from typing import Any

from torch import nn
from torch.nn.modules.module import _has_any_global_hook


class _Watch:
    """Remembers how a model is put together. Its numbers may change in place: who reads them sees the new ones.

    >>> import torch
    >>> model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    >>> watch = _Watch(model)
    >>> watch.same_parts(), watch.same_parameters()
    (True, True)
    >>> model[1].weight = nn.Parameter(torch.zeros(2, 2))
    >>> watch.same_parts(), watch.same_parameters()
    (True, False)
    """

    def __init__(self, model: nn.Module) -> None:
        self._model, modules = model, list(model.modules())
        hooks = [one for module in modules for one in (module._forward_hooks, module._forward_pre_hooks)]
        self._unhooked = [one for one in hooks if not one]
        self._submodules = [one._modules for one in modules if one._modules]
        self._parameters = [one._parameters for one in modules if one._parameters]
        self._parts_before, self._parameters_before = _held(self._submodules), _held(self._parameters)
        self._before = model.training, _has_any_global_hook()
        self._tensors = [W for W in self._parameters_before if W is not None]
        self._at = self._addresses()

    def same_parts(self) -> bool:
        """Whether no part was replaced or hooked, and the model not sent to training: for every call."""
        now = self._model.training, _has_any_global_hook()
        return (
            now == self._before and not any(self._unhooked) and _held(self._submodules) == self._parts_before
        )

    def same_parameters(self) -> bool:
        """Whether all are the same tensors at the same addresses, which takes several times as long to find out."""
        now = _held(self._parameters)
        return all(map(is_, now, self._parameters_before)) and self._addresses() == self._at

    def _addresses(self) -> list[tuple[int, bool]]:
        """Where the parameters begin, and whether in the usual order: a transposed one may begin where it did."""
        return [(W.data_ptr(), W.is_contiguous()) for W in self._tensors]


def _held(by_name: list[Any]) -> list[Any]:
    return [*chain.from_iterable(map(dict.values, by_name))]

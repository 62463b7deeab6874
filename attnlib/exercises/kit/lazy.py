"""`torch`, loaded when it is first used: so the exercises in PyTorch can be listed without loading it."""

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any


class Lazy(ModuleType):
    """Stands for a module until something of it is needed."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self.__name__), name)


if TYPE_CHECKING:
    import torch as torch
else:
    torch = Lazy("torch")

"""Read what happens inside a model, without a flag in the model.

Book: patterns-and-entropy, heads-at-work. A module that can say who looks where has a method `attention_weights` that
takes what `forward` takes; while somebody captures, it is asked before each forward, which may add to a cache. The
forward itself stays the fast one that never forms the weights.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn


@contextmanager
def capture(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """What every module of `model` returned, by its name, and under `name.P` the weights of those that attend.

    The model itself is called "output". Of several calls the last one stays. Tensors are detached. After the block the
    model is as it was, also if something in it failed.

    >>> from attnlib.nn.attention import AttentionLayer
    >>> layer = AttentionLayer(d_model=3, d_k=2, d_v=2)
    >>> with capture(layer) as seen:
    ...     Y = layer(torch.ones(1, 4, 3))
    >>> sorted(seen), seen["P"][0, 0]
    (['P', 'W_K', 'W_Q', 'W_V', 'output'], tensor([0.2500, 0.2500, 0.2500, 0.2500]))
    """
    seen: dict[str, Tensor] = {}
    hooks = []
    try:
        for name, module in model.named_modules():
            if callable(getattr(type(module), "attention_weights", None)):
                hooks.append(module.register_forward_pre_hook(_asker(name, seen), with_kwargs=True))
            hooks.append(module.register_forward_hook(_recorder(name, seen)))
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


def _asker(name: str, seen: dict[str, Tensor]) -> Callable[..., None]:
    """A hook that writes the weights of the module `name`."""

    def ask(module: Any, inputs: tuple[Any, ...], options: dict[str, Any]) -> None:
        with torch.no_grad():
            seen[f"{name}.P".removeprefix(".")] = module.attention_weights(*inputs, **options).detach()

    return ask


def _recorder(name: str, seen: dict[str, Tensor]) -> Callable[..., None]:
    """A hook that writes the output of the module `name`."""

    def record(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
        if isinstance(output, Tensor):
            seen[name or "output"] = output.detach()

    return record

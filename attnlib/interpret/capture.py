"""Record outputs and attention weights inside a model with hooks, without a flag in the model.

Book: patterns-and-entropy, heads-at-work. An attention module has a method `attention_weights` with the arguments of
`forward`. During a capture a hook calls it before each forward, because the forward may add to a cache. The forward
itself stays the fast one, which never forms the weights.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn


@contextmanager
def capture(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Record the output of every module of `model` under its name, and attention weights under `name.P`.

    The model's own output is under "output". If a module is called several times, the last call is kept. Tensors are
    detached. The hooks are removed after the block, also after an error.

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
                hooks.append(module.register_forward_pre_hook(_weights_hook(name, seen), with_kwargs=True))
            hooks.append(module.register_forward_hook(_output_hook(name, seen)))
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


def _weights_hook(name: str, seen: dict[str, Tensor]) -> Callable[..., None]:
    """A hook that stores the attention weights of the module `name`."""

    def hook(module: Any, inputs: tuple[Any, ...], options: dict[str, Any]) -> None:
        with torch.no_grad():
            seen[f"{name}.P".removeprefix(".")] = module.attention_weights(*inputs, **options).detach()

    return hook


def _output_hook(name: str, seen: dict[str, Tensor]) -> Callable[..., None]:
    """A hook that stores the output of the module `name`."""

    def record(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
        if isinstance(output, Tensor):
            seen[name or "output"] = output.detach()

    return record

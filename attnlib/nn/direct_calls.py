"""Call the functions of a model without the overhead of `torch.nn.Module`, which matters for one token at a time.

Chapter 4 counts what a token costs (what-it-costs). At each call a module looks for hooks, and finds its parameters in
dictionaries. For a single token that takes as long as the computation; `with_direct_calls` does it once.
"""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.modules.module import _has_any_global_hook

from attnlib.nn.block import BlockStack
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.nn.positional import LearnedPositions, NoPositions, SinusoidalPositions
from attnlib.nn.transformer import Block, FeedForward
from attnlib.shapes import checked

HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def _same(X: Any) -> Any:
    return X


FUNCTIONS: dict[type, Callable[[Any], Callable[..., Any]]] = {
    nn.Identity: lambda layer: _same,
    nn.Linear: lambda layer: partial(F.linear, weight=layer.weight, bias=layer.bias),
    nn.LayerNorm: lambda layer: partial(
        torch.layer_norm,
        normalized_shape=layer.normalized_shape,
        weight=layer.weight,
        bias=layer.bias,
        eps=layer.eps,
    ),
    nn.RMSNorm: lambda layer: partial(
        torch.rms_norm, normalized_shape=layer.normalized_shape, weight=layer.weight, eps=layer.eps
    ),
}
# The `forward` of each of these only calls submodules, so these can be replaced.
OURS = (
    Block,
    BlockStack,
    FeedForward,
    LearnedPositions,
    MultiHeadAttention,
    NoPositions,
    SinusoidalPositions,
)


@checked
def with_direct_calls(module: nn.Module) -> Any:
    """A copy with the same parameters and results that calls plain functions in place of submodules.

    It is made from the present submodules. One of an unknown type, or with hooks, is called as a module, so adapters,
    shards and hooks work.

    >>> layer, X = FeedForward(d_model=4, d_hidden=16), torch.ones(1, 4)
    >>> torch.equal(with_direct_calls(layer).forward(X), layer(X)), with_direct_calls(layer).W_1.func.__name__
    (True, 'linear')
    """
    light = copy.copy(module)
    for name, part in module.named_children():
        light.__dict__[name] = _called(part)  # __dict__ is searched before torch's own dictionaries
    return light


def _called(part: nn.Module) -> Any:
    """The function to call in place of a submodule."""
    if _has_hooks(part):
        return part
    if isinstance(part, nn.ModuleList):
        return [_called(each) for each in part]
    if type(part) in FUNCTIONS:
        return FUNCTIONS[type(part)](part)
    return with_direct_calls(part).forward if type(part) in OURS else part


def _has_hooks(part: nn.Module) -> bool:
    """Whether a call does more than `forward`: it has hooks."""
    hooks = any(getattr(part, hooks) for hooks in HOOKS) or _has_any_global_hook()
    return bool(hooks) or part._compiled_call_impl is not None or "forward" in part.__dict__

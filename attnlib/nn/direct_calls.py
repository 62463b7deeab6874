"""A model without the calls of its modules, for one token at a time: there the way to a layer is as long as its work.

Chapter 4 counts what a token costs (what-it-costs). `torch.nn.Module` looks for hooks at each call, and for
parameters in dictionaries; `with_direct_calls` does so once.
"""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.modules.module import _has_any_global_hook

from attnlib.nn.decoder_block import DecoderBlock
from attnlib.nn.multihead import MultiHeadAttention
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
OURS = (
    Block,
    DecoderBlock,
    FeedForward,
    MultiHeadAttention,
)  # of these it is known what they ask of their parts


@checked
def with_direct_calls(module: nn.Module) -> Any:
    """A copy that computes the same with the same parameters, and calls functions where the module calls its parts.

    It holds for the parts that are there now. One of another type, or one that somebody listens to, is called as
    before: adapters, shards and hooks work.

    >>> layer, X = FeedForward(d_model=4, d_hidden=16), torch.ones(1, 4)
    >>> torch.equal(with_direct_calls(layer).forward(X), layer(X)), with_direct_calls(layer).W_1.func.__name__
    (True, 'linear')
    """
    light = copy.copy(module)
    for name, part in module.named_children():
        light.__dict__[name] = _called(part)  # found before torch looks for it
    return light


def _called(part: nn.Module) -> Any:
    """What to call in place of a part."""
    if _listened_to(part):
        return part
    if isinstance(part, nn.ModuleList):
        return [_called(each) for each in part]
    if type(part) in FUNCTIONS:
        return FUNCTIONS[type(part)](part)
    return with_direct_calls(part).forward if type(part) in OURS else part


def _listened_to(part: nn.Module) -> bool:
    """A call of it does more than its `forward`."""
    hooks = any(getattr(part, hooks) for hooks in HOOKS) or _has_any_global_hook()
    return bool(hooks) or part._compiled_call_impl is not None or "forward" in part.__dict__

"""Call the functions of a model without the overhead of `torch.nn.Module`, which matters for one token at a time.

Chapter 4 counts what a token costs (what-it-costs). At each call a module looks for hooks, and finds its parameters in
dictionaries. For a single token that takes as long as the computation; `with_direct_calls` does it once. The functions
that the copy calls may also be those of NumPy (`attnlib.nn.one_vector`), which its `forward` cannot tell apart.
"""

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from attnlib import shapes
from attnlib.nn import one_vector
from attnlib.nn.block import BlockStack
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.nn.packed import _does_nothing, _is_plain
from attnlib.nn.positional import LearnedPositions, NoPositions, SinusoidalPositions
from attnlib.nn.transformer import Block, FeedForward
from attnlib.nn.watch import _Watch
from attnlib.shapes import checked

Functions = dict[type, Callable[[Any], Callable[..., Any]]]


def _same(X: Any) -> Any:
    return X


OF_TENSORS: Functions = {
    nn.Identity: lambda layer: _same,
    nn.Embedding: lambda layer: layer if layer.max_norm else partial(torch.embedding, layer.weight),
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
OF_ARRAYS: Functions = {
    nn.Identity: lambda layer: _same,
    nn.Dropout: lambda layer: one_vector._by_tensors(layer) if layer.training else _same,
    nn.Embedding: lambda layer: layer.weight.detach().numpy().__getitem__,
    nn.Linear: lambda layer: one_vector._linear(layer.weight, layer.bias),
    nn.LayerNorm: lambda layer: one_vector._layer_norm(layer.weight, layer.bias, layer.eps),
}
# The `forward` of each of these only calls submodules, so these can be replaced; of some also by functions of arrays.
BOTH = (Block, BlockStack, FeedForward, LearnedPositions, NoPositions)
OURS = (*BOTH, MultiHeadAttention, SinusoidalPositions)


@checked
def with_direct_calls(module: nn.Module) -> Any:
    """A copy with the same parameters and results that calls plain functions in place of submodules.

    It is made from the present submodules. One of an unknown type, or with hooks, is called as a module, so adapters,
    shards and hooks work.

    >>> layer, X = FeedForward(d_model=4, d_hidden=16), torch.ones(1, 4)
    >>> torch.equal(with_direct_calls(layer).forward(X), layer(X)), isinstance(with_direct_calls(layer).W_1, nn.Module)
    (True, False)
    """
    return _light(module, arrays=False)


class DirectCalls:
    """A model with direct calls, made anew when it is no longer what it was.

    >>> layer, X = FeedForward(d_model=4, d_hidden=16), torch.ones(1, 4)
    >>> calls = DirectCalls(layer)
    >>> layer.W_2 = nn.Linear(16, 2)
    >>> calls.renew()
    >>> calls.of_tensors.forward(X).shape
    torch.Size([1, 2])
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._prepare()

    def renew(self, goes_on: bool = False) -> None:
        """Make the copies anew if a part was replaced or hooked; or, unless a text goes on, a parameter moved."""
        same = self._debugs is shapes.INTERCEPT and self._watch.same_parts()
        if not same or not (goes_on or self._watch.same_parameters()):
            self._prepare()

    def _prepare(self) -> None:
        """The copy for tensors, and that for arrays: None where NumPy cannot read the parameters, and to debug."""
        self._watch, self._debugs = _Watch(self._model), shapes.INTERCEPT
        readable = all(map(one_vector._readable, self._model.parameters()))
        self.of_tensors = _light(self._model, arrays=False)
        self.of_arrays = _light(self._model, arrays=True) if readable and not self._debugs else None


def _light(module: nn.Module, arrays: bool) -> Any:
    """The copy, with functions of tensors or of arrays for its parts and for the functions and tables that it holds."""
    light = copy.copy(module)
    own = light.__dict__  # is searched before torch's own dictionaries
    for name, part in module.named_children():
        own[name] = _called(part, arrays)
    if "residual" in own:
        own["residual"], own["no_norm"] = _unchecked(own["residual"]), _same
    if "activation" in own:
        known = one_vector._ACTIVATIONS.get(own["activation"]) if arrays else None
        function = _unchecked(own["activation"])
        own["activation"] = known or (one_vector._by_tensors(function) if arrays else function)
    if arrays and type(module) is LearnedPositions:
        own["weight"] = module.weight.detach().numpy()
    for name in ("hidden", "next_scores") if arrays else ():  # a model's own methods
        if hasattr(type(module), name):
            own[name] = partial(_unchecked(getattr(type(module), name)), light)
    return light


def _called(part: nn.Module, arrays: bool = False) -> Any:
    """The function to call in place of a submodule."""
    if arrays and type(part) is MultiHeadAttention:
        return _next_position(part)
    if arrays and not _takes_arrays(part):
        return one_vector._by_tensors(_called(part))
    if not _is_plain(part):
        return part
    if isinstance(part, nn.ModuleList):
        return [_called(each) for each in part]
    functions = OF_ARRAYS if arrays else OF_TENSORS
    if type(part) in functions:
        return functions[type(part)](part)
    if type(part) not in OURS:
        return part
    return partial(_unchecked(type(part).forward), _light(part, arrays))


def _takes_arrays(part: nn.Module) -> bool:
    """Whether its function can be one of arrays."""
    simple = {
        nn.LayerNorm: lambda layer: layer.bias is not None and len(layer.normalized_shape) == 1,
        nn.Embedding: lambda layer: not layer.max_norm,
        BlockStack: lambda stack: stack.window is None,
    }
    known = type(part) in BOTH or type(part) in OF_ARRAYS
    return known and _is_plain(part) and (type(part) not in simple or simple[type(part)](part))


def _unchecked(function: Any) -> Any:
    """The function without its checks: it is called with what the model has computed. To debug, they stay."""
    return function if shapes.INTERCEPT else getattr(function, "__wrapped__", function)


def _next_position(layer: MultiHeadAttention) -> Callable[..., Any]:
    """`MultiHeadAttention.forward` of an array. One position after those in a cache goes a shorter way."""
    forward = one_vector._by_tensors(_called(layer))
    maps = [layer._modules[name] for name in ("W_Q", "W_K", "W_V")]
    norms = layer.norm_Q, layer.norm_K
    with torch.no_grad():
        together = layer._one_product.of(maps) if layer.d_k == layer.d_v else None
    if together is None or not _is_plain(layer) or (layer.training and layer.dropout):
        return forward
    return one_vector._attention(
        layer,
        forward,
        project=one_vector._linear(*together),
        norms=None if all(map(_does_nothing, norms)) else (_of_arrays(norms[0]), _of_arrays(norms[1])),
        heads=_of_arrays(layer.heads),
        W_O=_called(layer.W_O, arrays=True),
    )


def _of_arrays(part: nn.Module) -> Callable[..., Any]:
    """A part that is called with several vectors."""
    return _same if _does_nothing(part) else one_vector._by_tensors(_called(part))

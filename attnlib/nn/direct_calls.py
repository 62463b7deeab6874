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
from torch import Tensor, nn

from attnlib import shapes
from attnlib.nn.block import BlockStack
from attnlib.nn.cache import KVCache
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.nn.packed import _is_plain
from attnlib.nn.positional import LearnedPositions, NoPositions, SinusoidalPositions
from attnlib.nn.transformer import Block, FeedForward
from attnlib.shapes import checked

PLAIN = (Tensor, nn.Parameter)


def _same(X: Any) -> Any:
    return X


def _addresses(tensors: list[Any]) -> list[tuple[int, bool]]:
    """Where they lie in memory, and whether in the usual order: what was read from them holds while this is so."""
    return [(one.data_ptr(), one.is_contiguous()) for one in tensors]


def _linear_of(weight: Tensor, bias: Tensor | None) -> Callable[[Tensor], Tensor]:
    """The linear map as a function. A single vector on a CPU is multiplied by NumPy.

    Such a product does nothing but read the matrix, and NumPy's BLAS reads it up to twice as fast as PyTorch's. Both
    read the same memory; sums may differ in their last bits.

    >>> double = _linear_of(2 * torch.eye(3), None)
    >>> with torch.no_grad(): double(torch.ones(1, 3))
    tensor([[2., 2., 2.]])
    """
    if weight.device.type != "cpu" or weight.dtype != torch.float32 or type(weight) not in PLAIN:
        return partial(F.linear, weight=weight, bias=bias)
    W, b = weight.detach().numpy(), None if bias is None else bias.detach().numpy()
    parameters, d = [weight] if bias is None else [weight, bias], weight.shape[1]
    at = _addresses(parameters)

    def product(X: Tensor) -> Tensor:
        alone = X.numel() == d and X.dtype is torch.float32 and _addresses(parameters) == at
        if not alone or torch.is_grad_enabled() or torch.compiler.is_compiling():
            return F.linear(X, weight, bias)
        y = W.dot(X.numpy().reshape(-1))
        if b is not None:
            y += b
        return torch.from_numpy(y).view(*X.shape[:-1], -1)

    return product


FUNCTIONS: dict[type, Callable[[Any], Callable[..., Any]]] = {
    nn.Identity: lambda layer: _same,
    nn.Linear: lambda layer: _linear_of(layer.weight, layer.bias),
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
    >>> torch.equal(with_direct_calls(layer).forward(X), layer(X)), isinstance(with_direct_calls(layer).W_1, nn.Module)
    (True, False)
    """
    light = copy.copy(module)
    for name, part in module.named_children():
        light.__dict__[name] = _called(part)  # __dict__ is searched before torch's own dictionaries
    for name in ("residual", "activation"):  # functions that a module holds
        if name in light.__dict__:
            light.__dict__[name] = _unchecked(light.__dict__[name])
    return light


def _called(part: nn.Module) -> Any:
    """The function to call in place of a submodule."""
    if not _is_plain(part):
        return part
    if isinstance(part, nn.ModuleList):
        return [_called(each) for each in part]
    if type(part) in FUNCTIONS:
        return FUNCTIONS[type(part)](part)
    if type(part) not in OURS:
        return part
    light = with_direct_calls(part)
    forward = partial(_unchecked(type(part).forward), light)
    return _next_position(light, forward) if type(part) is MultiHeadAttention else forward


def _unchecked(function: Any) -> Any:
    """The function without its checks: it is called with what the model has computed. To debug, they stay."""
    return function if shapes.INTERCEPT else getattr(function, "__wrapped__", function)


def _next_position(layer: Any, forward: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """`MultiHeadAttention.forward`. One position after those in a cache goes a shorter way, with the same result:

    queries, keys and values are one product, and their heads are views of it.
    """
    maps = [layer._modules[name] for name in ("W_Q", "W_K", "W_V")]
    with torch.no_grad():
        together = layer._one_product.of(maps) if layer.d_k == layer.d_v else None
    if together is None:
        return forward
    project, parameters = _linear_of(*together), [one for each in maps for one in each.parameters()]
    at = _addresses(parameters)
    h, g, d_k, norm_Q, norm_K = layer.n_heads, layer.n_kv_heads, layer.d_k, layer.norm_Q, layer.norm_K
    heads, W_O, shared = layer.heads, layer.W_O, layer.n_heads != layer.n_kv_heads

    def attention(
        X: Tensor,
        source: Tensor | None = None,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        rotate: Any = None,
        kv_cache: Any = None,
        key_mask: Tensor | None = None,
    ) -> Tensor:
        alone = source is mask is bias is key_mask is None and type(kv_cache) is KVCache
        moved = torch.is_grad_enabled() or _addresses(parameters) != at
        if not alone or moved or X.dim() != 3 or X.shape[1] != 1 or torch.compiler.is_compiling():
            return forward(X, source, mask, bias, rotate, kv_cache, key_mask)
        Q, K, V = torch.split_with_sizes(project(X).view(len(X), h + 2 * g, 1, d_k), (h, g, g), 1)
        Q, K = norm_Q(Q), norm_K(K)
        if rotate is not None:
            Q, K = rotate(Q, kv_cache.length), rotate(K, kv_cache.length)
        K, V = kv_cache.extended(K, V)
        Z = F.scaled_dot_product_attention(Q, K, V, enable_gqa=shared)  # one query sees all keys
        Y = W_O(heads(Z).reshape(len(X), 1, h * d_k))
        kv_cache.keep()
        return Y

    return attention

"""The parts of a block as NumPy functions of a single vector: what is computed again for each generated token.

Chapter 4 counts what a token costs (what-it-costs). A product with a vector does nothing but read its matrix, and what
it reads drives PyTorch's own code out of the processor's caches: between two products each small operator takes several
times as long as in a loop of its own. NumPy's functions are shorter, and its BLAS reads a matrix as fast or faster.
Parameters are read where PyTorch has them; sums may differ in their last bits.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from attnlib.nn.activations import gelu_tanh, relu
from attnlib.nn.cache import KVCache, _written_like
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.shapes import Array

Map = Callable[[Array], Array]


def _readable(*parameters: Tensor | None) -> bool:
    """Whether NumPy can read them where they are."""
    return all(
        W is None
        or (type(W) in (Tensor, nn.Parameter) and W.device.type == "cpu" and W.dtype is torch.float32)
        for W in parameters
    )


def _linear(weight: Tensor, bias: Tensor | None) -> Map:
    """The linear map of a vector, whatever the axes of size one before it (eq-linear-map).

    >>> _linear(2 * torch.eye(3), None)(np.ones((1, 3), np.float32))
    array([[2., 2., 2.]], dtype=float32)
    """
    W, b = weight.detach().numpy(), None if bias is None else bias.detach().numpy()
    m = len(W)

    def product(X: Array) -> Array:
        y = W.dot(X.reshape(-1))
        if b is not None:
            y += b
        return y.reshape((*X.shape[:-1], m))

    return product


def _layer_norm(gain: Tensor, shift: Tensor, eps: float) -> Map:
    """A vector minus its mean, divided by its standard deviation, times gain plus shift (eq-layer-norm).

    >>> _layer_norm(torch.ones(2), torch.zeros(2), 1e-5)(np.array([[1, 3]], np.float32)).round(3)
    array([[-1.,  1.]], dtype=float32)
    """
    g, b, d = gain.detach().numpy(), shift.detach().numpy(), len(gain)
    mean = np.full(d, 1 / d, np.float32)

    def norm(X: Array) -> Array:
        x = X.reshape(-1)
        x = x - x.dot(mean)
        x *= 1 / math.sqrt(x.dot(x) / d + eps)
        x *= g
        x += b
        return x.reshape(X.shape)

    return norm


def _relu(A: Array) -> Array:
    return np.maximum(A, 0)


def _gelu_tanh(A: Array) -> Array:
    T = A * A
    T *= 0.044715
    T += 1
    T *= A
    T *= math.sqrt(2 / math.pi)
    np.tanh(T, out=T)
    T += 1
    T *= A
    T *= 0.5
    return T


_ACTIVATIONS: dict[Any, Map] = {relu: _relu, gelu_tanh: _gelu_tanh}  # of the function of tensors


def _attention(
    layer: MultiHeadAttention,
    forward: Callable[..., Array],
    *,
    project: Map,
    norms: tuple[Map, Map] | None,
    heads: Map,
    W_O: Map,
) -> Callable[..., Array]:
    """`MultiHeadAttention.forward` for one position after those in a cache (eq-multi-head).

    forward    does whatever else is called for
    project    queries, keys and values as one map
    norms      of queries and of keys, (1, h, 1, d_k), where there are any
    """
    h, g, d_k = layer.n_heads, layer.n_kv_heads, layer.d_k
    scale = 1 / math.sqrt(d_k)
    with torch.inference_mode():
        like = _written_like(*torch.empty(2, 1, g, 1, d_k))

    def next_position(
        X: Array, mask: Any = None, bias: Any = None, rotate: Any = None, kv_cache: Any = None
    ) -> Array:
        alone = mask is bias is None and type(kv_cache) is KVCache
        held = kv_cache.with_next(like) if alone else None
        if held is None:
            return forward(X, mask=mask, bias=bias, rotate=rotate, kv_cache=kv_cache)
        both = project(X).reshape(h + 2 * g, d_k)
        Q, K = both[:h], both[h : h + g]
        if norms is not None:
            Q, K = (norm(A[None, :, None])[0, :, 0] for norm, A in zip(norms, (Q, K), strict=True))
        if rotate is not None:
            Q, K = (rotate(A[None, :, None], kv_cache.length)[0, :, 0] for A in (Q, K))
        all_K, all_V = held
        all_K[:, -1], all_V[:, -1] = K, both[h + g :]
        S = np.matmul(Q.reshape(g, h // g, d_k) * scale, all_K.swapaxes(1, 2))  # one query sees all keys
        S -= np.maximum.reduce(S, -1, keepdims=True)
        np.exp(S, out=S)
        Z = np.matmul(S, all_V)
        Z /= np.add.reduce(S, -1, keepdims=True)
        Y = W_O(heads(Z.reshape(1, h, 1, d_k)).reshape(X.shape[:-1] + (-1,)))
        kv_cache.keep()
        return Y

    return next_position


def _by_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of tensors for an array: of a part that has no other here, or that a hook or an adapter belongs to."""

    def of_array(X: Any, *rest: Any, **named: Any) -> Any:
        if not isinstance(X, np.ndarray):
            return function(X, *rest, **named)
        return function(torch.from_numpy(X), *rest, **named).numpy()

    return of_array

"""A whole block, forward and backward: attention and a feed-forward network, each with norm and residual connection.

The book derives it in eq-pre-norm and eq-post-norm (Chapter 4). The twin, where autograd does the backward, is
`attnlib.nn.transformer.Block`.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from attnlib import rules
from attnlib.reference.multihead import (
    MultiHeadCache,
    multi_head_attention,
    multi_head_attention_backward,
)
from attnlib.reference.projections import MultiHeadParameters
from attnlib.reference.transformer import (
    FeedForwardParameters,
    NormParameters,
    ResidualCache,
    feed_forward,
    feed_forward_backward,
    post_norm,
    post_norm_backward,
    pre_norm,
    pre_norm_backward,
)
from attnlib.shapes import Array, Bool, Float, Number, checked, same_size

WIDTHS = {"d_source": "d_model", "d_out": "d_model"}  # what a block reads and writes is one stream


class BlockParameters(NamedTuple):
    norm_1: NormParameters
    attention: MultiHeadParameters
    norm_2: NormParameters
    feed_forward: FeedForwardParameters


class BlockCache(NamedTuple):
    X: Float[Array, "*b n d_model"]
    residuals: list[ResidualCache]  # of attention and of the feed-forward network


def _block(
    residual: Callable, X: Array, parameters: BlockParameters, n_heads: int, mask: Array | None
) -> tuple[Array, BlockCache]:
    def attention(Z: Array) -> tuple[Array, Any]:
        return multi_head_attention(Z, Z, parameters.attention, n_heads, mask)

    def network(Z: Array) -> tuple[Array, Any]:
        return feed_forward(Z, parameters.feed_forward)

    Z, attended = residual(X, parameters.norm_1, attention)
    Y, mapped = residual(Z, parameters.norm_2, network)
    return Y, BlockCache(X, [attended, mapped])


def _attention_backward(dY: Array, cache: MultiHeadCache) -> tuple[Array, MultiHeadParameters]:
    """Of self-attention: queries and keys come from one input, so its two gradients add up."""
    dX, dsource, d_parameters = multi_head_attention_backward(dY, cache)
    return dX + dsource, d_parameters


def _block_backward(
    residual_backward: Callable, dY: Array, cache: BlockCache
) -> tuple[Array, BlockParameters]:
    whole = len(cache.residuals) == 2 and all(isinstance(part, ResidualCache) for part in cache.residuals)
    rules.must(
        whole, "block_backward", f"the cache must be what the forward returned; got {type(cache.residuals)}."
    )
    attended, mapped = cache.residuals
    dZ, d_norm_2, d_network = residual_backward(dY, mapped, feed_forward_backward)
    dX, d_norm_1, d_attention = residual_backward(dZ, attended, _attention_backward)
    return dX, BlockParameters(d_norm_1, d_attention, d_norm_2, d_network)


@checked
@same_size(**WIDTHS, h="n_heads", g="n_heads")
def pre_norm_block(
    X: Float[Array, "*b n d_model"],
    parameters: BlockParameters,
    n_heads: Number[int, "1.."],
    mask: Bool[Array, "*#b #n #n"] | None = None,
) -> tuple[Float[Array, "*b n d_model"], BlockCache]:
    """X + attention(norm(X)), and to that the feed-forward network of its norm (eq-pre-norm)."""
    return _block(pre_norm, X, parameters, n_heads, mask)  # eq-pre-norm


@checked
def pre_norm_block_backward(
    dY: Float[Array, "*b n d_model"], cache: BlockCache
) -> tuple[Float[Array, "*b n d_model"], BlockParameters]:
    """dX and the gradients of the parameters."""
    return _block_backward(pre_norm_backward, dY, cache)


@checked
@same_size(**WIDTHS, h="n_heads", g="n_heads")
def post_norm_block(
    X: Float[Array, "*b n d_model"],
    parameters: BlockParameters,
    n_heads: Number[int, "1.."],
    mask: Bool[Array, "*#b #n #n"] | None = None,
) -> tuple[Float[Array, "*b n d_model"], BlockCache]:
    """norm(X + attention(X)), and of that the norm with the feed-forward network (eq-post-norm): the order of 2017."""
    return _block(post_norm, X, parameters, n_heads, mask)  # eq-post-norm


@checked
def post_norm_block_backward(
    dY: Float[Array, "*b n d_model"], cache: BlockCache
) -> tuple[Float[Array, "*b n d_model"], BlockParameters]:
    """dX and the gradients of the parameters."""
    return _block_backward(post_norm_backward, dY, cache)


@checked
def block_stack(
    block: Callable[..., tuple[Array, BlockCache]],
    X: Float[Array, "*b n d_model"],
    layers: Sequence[BlockParameters],
    n_heads: Number[int, "1.."],
    mask: Bool[Array, "*#b #n #n"] | None = None,
) -> tuple[Float[Array, "*b n d_model"], list[BlockCache]]:
    """Blocks one after another, each with its parameters; the last norm of a pre-norm model is not among them."""
    caches = []
    for parameters in layers:
        X, cache = block(X, parameters, n_heads, mask)
        caches.append(cache)
    return X, caches


@checked
def block_stack_backward(
    block_backward: Callable[..., tuple[Array, BlockParameters]],
    dY: Float[Array, "*b n d_model"],
    caches: Sequence[BlockCache],
) -> tuple[Float[Array, "*b n d_model"], list[BlockParameters]]:
    """dX and the gradients of each block's parameters, the first block's first."""
    gradients = []
    for cache in reversed(caches):
        dY, d_parameters = block_backward(dY, cache)
        gradients.append(d_parameters)
    return dY, gradients[::-1]

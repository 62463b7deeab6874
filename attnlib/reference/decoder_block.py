"""A block of a decoder, forward and backward: attention to the target so far, to the memory of a source, and a network.

The book derives it in eq-decoder-block and eq-cross-projections (Chapter 4). The memory is what an encoder, a
`block_stack`, made of the source. The twin, where autograd does the backward, is `attnlib.nn.decoder_block`.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from attnlib import rules
from attnlib.reference.block import WIDTHS, _attention_backward
from attnlib.reference.multihead import MultiHeadCache, multi_head_attention, multi_head_attention_backward
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


class DecoderBlockParameters(NamedTuple):
    norm_1: NormParameters
    attention: MultiHeadParameters  # within the target
    norm_2: NormParameters
    cross: MultiHeadParameters  # from the target to the memory
    norm_3: NormParameters
    feed_forward: FeedForwardParameters


class DecoderBlockCache(NamedTuple):
    X: Float[Array, "*b m d_model"]
    memory: Float[Array, "*b n d_model"]
    residuals: list[ResidualCache]  # of attention, of cross-attention and of the feed-forward network


def _decoder_block(
    residual: Callable,
    X: Array,
    memory: Array,
    parameters: DecoderBlockParameters,
    n_heads: int,
    mask: Array | None,
    source_mask: Array | None,
) -> tuple[Array, DecoderBlockCache]:
    def attention(Z: Array) -> tuple[Array, Any]:
        return multi_head_attention(Z, Z, parameters.attention, n_heads, mask)

    def cross(Z: Array) -> tuple[Array, Any]:
        return multi_head_attention(Z, memory, parameters.cross, n_heads, source_mask)  # eq-cross-projections

    def network(Z: Array) -> tuple[Array, Any]:
        return feed_forward(Z, parameters.feed_forward)

    Z, attended = residual(X, parameters.norm_1, attention)
    C, read = residual(Z, parameters.norm_2, cross)
    Y, mapped = residual(C, parameters.norm_3, network)
    return Y, DecoderBlockCache(X, memory, [attended, read, mapped])  # eq-decoder-block


def _cross_backward(dY: Array, cache: MultiHeadCache) -> tuple[Array, tuple[Array, MultiHeadParameters]]:
    """Two sequences went in, so two gradients come out: that of the target, and beside the parameters the memory's."""
    dX, d_memory, d_parameters = multi_head_attention_backward(dY, cache)
    return dX, (d_memory, d_parameters)


def _decoder_block_backward(
    residual_backward: Callable, dY: Array, cache: DecoderBlockCache
) -> tuple[Array, Array, DecoderBlockParameters]:
    whole = len(cache.residuals) == 3 and all(isinstance(part, ResidualCache) for part in cache.residuals)
    came = f"the cache must be what the forward returned; got {type(cache.residuals)}."
    rules.must(whole, "decoder_block_backward", came)
    attended, read, mapped = cache.residuals
    dC, d_norm_3, d_network = residual_backward(dY, mapped, feed_forward_backward)
    dZ, d_norm_2, (d_memory, d_cross) = residual_backward(dC, read, _cross_backward)
    dX, d_norm_1, d_attention = residual_backward(dZ, attended, _attention_backward)
    return dX, d_memory, DecoderBlockParameters(d_norm_1, d_attention, d_norm_2, d_cross, d_norm_3, d_network)


@checked
@same_size(**WIDTHS, h="n_heads", g="n_heads")
def pre_norm_decoder_block(
    X: Float[Array, "*b m d_model"],
    memory: Float[Array, "*b n d_model"],
    parameters: DecoderBlockParameters,
    n_heads: Number[int, "1.."],
    mask: Bool[Array, "*#b #m #m"] | None = None,
    source_mask: Bool[Array, "*#b #m #n"] | None = None,
) -> tuple[Float[Array, "*b m d_model"], DecoderBlockCache]:
    """Attention within X, attention to the memory, a network: each reads through its norm, and adds (eq-decoder-block).

    mask           which positions of X each one sees: `causal_mask`, for a decoder that writes token after token
    source_mask    which positions of the memory may be read: padding is not
    """
    return _decoder_block(pre_norm, X, memory, parameters, n_heads, mask, source_mask)  # eq-pre-norm


@checked
def pre_norm_decoder_block_backward(
    dY: Float[Array, "*b m d_model"], cache: DecoderBlockCache
) -> tuple[Float[Array, "*b m d_model"], Float[Array, "*b n d_model"], DecoderBlockParameters]:
    """dX, dmemory and the gradients of the parameters."""
    return _decoder_block_backward(pre_norm_backward, dY, cache)


@checked
@same_size(**WIDTHS, h="n_heads", g="n_heads")
def post_norm_decoder_block(
    X: Float[Array, "*b m d_model"],
    memory: Float[Array, "*b n d_model"],
    parameters: DecoderBlockParameters,
    n_heads: Number[int, "1.."],
    mask: Bool[Array, "*#b #m #m"] | None = None,
    source_mask: Bool[Array, "*#b #m #n"] | None = None,
) -> tuple[Float[Array, "*b m d_model"], DecoderBlockCache]:
    """The same three sublayers with the norm after each sum (eq-decoder-block): the order of 2017."""
    return _decoder_block(post_norm, X, memory, parameters, n_heads, mask, source_mask)  # eq-post-norm


@checked
def post_norm_decoder_block_backward(
    dY: Float[Array, "*b m d_model"], cache: DecoderBlockCache
) -> tuple[Float[Array, "*b m d_model"], Float[Array, "*b n d_model"], DecoderBlockParameters]:
    """dX, dmemory and the gradients of the parameters."""
    return _decoder_block_backward(post_norm_backward, dY, cache)


@checked
def decoder_stack(
    block: Callable[..., tuple[Array, DecoderBlockCache]],
    X: Float[Array, "*b m d_model"],
    memory: Float[Array, "*b n d_model"],
    layers: Sequence[DecoderBlockParameters],
    n_heads: Number[int, "1.."],
    mask: Bool[Array, "*#b #m #m"] | None = None,
    source_mask: Bool[Array, "*#b #m #n"] | None = None,
) -> tuple[Float[Array, "*b m d_model"], list[DecoderBlockCache]]:
    """Blocks one after another, and all of them read the same memory."""
    caches = []
    for parameters in layers:
        X, cache = block(X, memory, parameters, n_heads, mask, source_mask)
        caches.append(cache)
    return X, caches


@checked
def decoder_stack_backward(
    block_backward: Callable[..., tuple[Array, Array, DecoderBlockParameters]],
    dY: Float[Array, "*b m d_model"],
    caches: Sequence[DecoderBlockCache],
) -> tuple[Float[Array, "*b m d_model"], Float[Array, "*b n d_model"], list[DecoderBlockParameters]]:
    """dX, dmemory and the gradients of each block's parameters; those of the memory are summed."""
    rules.must(len(caches) > 0, "decoder_stack_backward", "caches must hold one block or more; got none.")
    d_memory: Any = 0.0
    gradients = []
    for cache in reversed(caches):
        dY, dH, d_parameters = block_backward(dY, cache)
        d_memory = dH + d_memory
        gradients.append(d_parameters)
    return dY, d_memory, gradients[::-1]

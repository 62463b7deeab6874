"""A whole language model, its gradient and its training in NumPy alone: tokens in, scores of the next token out.

Chapter 5 derives it. The twin, where autograd does the backward, is `attnlib.models.gpt.GPT` with `activation="relu"`:
learned positions, norms before the sublayers, and one table for vectors and for scores.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from attnlib import rules
from attnlib.reference.block import (
    BlockCache,
    BlockParameters,
    block_stack,
    block_stack_backward,
    pre_norm_block,
    pre_norm_block_backward,
)
from attnlib.reference.embedding import (
    EmbeddingCache,
    TiedCache,
    embed,
    embed_backward,
    tied_scores,
    tied_scores_backward,
)
from attnlib.reference.losses import cross_entropy, cross_entropy_backward
from attnlib.reference.masks import causal_mask
from attnlib.reference.norm import NormCache, layer_norm, layer_norm_backward
from attnlib.reference.optim import (
    BROWN_2020,
    AdamSettings,
    AdamState,
    adam_state,
    adamw,
    clipped_by_norm,
)
from attnlib.reference.projections import MultiHeadParameters
from attnlib.reference.transformer import FeedForwardParameters, NormParameters
from attnlib.shapes import Array, Float, Int, Number, checked


class GPTParameters(NamedTuple):
    E: Float[Array, "vocab d_model"]
    places: Float[Array, "context d_model"]
    blocks: tuple[BlockParameters, ...]
    norm: NormParameters  # after the last block


@checked
def first_parameters(
    rng: np.random.Generator,
    *,
    vocab: Number[int, "1.."],
    context: Number[int, "1.."],
    d_model: Number[int, "1.."],
    d_hidden: Number[int, "1.."],
    n_layers: Number[int, "1.."],
    spread: Number[float, "0<.."] = 0.02,
) -> GPTParameters:
    """Small random numbers; what writes into the stream is smaller the more blocks there are. Biases are zero.

    >>> sizes = {"vocab": 11, "context": 7, "d_model": 4, "d_hidden": 16, "n_layers": 2}
    >>> sum(array.size for array in all_arrays(first_parameters(np.random.default_rng(0), **sizes)))
    568
    """
    writing = spread / math.sqrt(2 * n_layers)

    def drawn(*shape: int, size: float = spread) -> Array:
        return size * rng.normal(size=shape)

    def norm() -> NormParameters:
        return NormParameters(np.ones(d_model), np.zeros(d_model))

    def block() -> BlockParameters:
        maps = [drawn(d_model, d_model, size=size) for size in (spread, spread, spread, writing)]
        attention = MultiHeadParameters(*[*maps, *(np.zeros(d_model) for _ in "QKVO")])
        out, back = drawn(d_model, d_hidden), drawn(d_hidden, d_model, size=writing)
        network = FeedForwardParameters(out, np.zeros(d_hidden), back, np.zeros(d_model))
        return BlockParameters(norm(), attention, norm(), network)

    blocks = tuple(block() for _ in range(n_layers))
    return GPTParameters(drawn(vocab, d_model), drawn(context, d_model), blocks, norm())


def _leaves(values: Any) -> list[Array]:
    return [leaf for value in values for leaf in _leaves(value)] if isinstance(values, tuple) else [values]


def _filled(like: Any, arrays: Iterator[Array]) -> Any:
    if not isinstance(like, tuple):
        return next(arrays)
    values = [_filled(one, arrays) for one in like]
    return type(like)(*values) if hasattr(like, "_fields") else tuple(values)


@checked
def all_arrays(parameters: GPTParameters) -> list[Array]:
    """The parameters as a list of arrays, for a rule that treats all alike."""
    return _leaves(parameters)


@checked
def with_arrays(parameters: GPTParameters, arrays: list[Array]) -> GPTParameters:
    """The same with other arrays, in the order of `all_arrays`."""
    count, came = len(_leaves(parameters)), len(arrays)
    rules.must(came == count, "with_arrays", f"there must be {count} arrays; got {came}.")
    return _filled(parameters, iter(arrays))


class GPTCache(NamedTuple):
    tokens: EmbeddingCache
    places: Float[Array, "context d_model"]
    blocks: list[BlockCache]
    ends: list[Any]  # of the last norm and of the scores


@checked
def language_model(
    tokens: Int[Array, "*b n"], parameters: GPTParameters, n_heads: Number[int, "1.."]
) -> tuple[Float[Array, "*b n vocab"], GPTCache]:
    """The scores of what comes next, at every position."""
    n, context = tokens.shape[-1], len(parameters.places)
    rules.must(
        n <= context, "language_model", f"every token needs a position; got {n} tokens for {context=}."
    )
    for _, attention, *_ in parameters.blocks:
        for W in attention[:3]:
            rules.splits_evenly("language_model", "the width of a map", W.shape[1], "n_heads", n_heads)
    X, looked_up = embed(tokens, parameters.E)
    X, blocks = block_stack(
        pre_norm_block, X + parameters.places[:n], parameters.blocks, n_heads, causal_mask(n)
    )
    Y, normed = layer_norm(X, *parameters.norm)
    S, scored = tied_scores(Y, parameters.E)
    return S, GPTCache(looked_up, parameters.places, blocks, [normed, scored])


@checked
def language_model_backward(dS: Float[Array, "*b n vocab"], cache: GPTCache) -> GPTParameters:
    """The gradients of all parameters: the steps of the forward, back; the table's is the sum of both of its uses."""
    kinds = [type(part) for part in (*cache.blocks, *cache.ends)]
    whole = kinds == [*[BlockCache] * (len(kinds) - 2), NormCache, TiedCache]
    rules.must(whole, "language_model_backward", f"the cache must be what the forward returned; got {kinds}.")
    normed, scored = cache.ends
    dY, dE = tied_scores_backward(dS, scored)
    dX, *d_norm = layer_norm_backward(dY, normed)
    dX, d_blocks = block_stack_backward(pre_norm_block_backward, dX, cache.blocks)
    d_places = np.zeros_like(cache.places)
    d_places[: dX.shape[-2]] = dX.reshape(-1, *dX.shape[-2:]).sum(axis=0)
    dE = dE + embed_backward(dX, cache.tokens)
    return GPTParameters(dE, d_places, tuple(d_blocks), NormParameters(*d_norm))


@checked
def next_token_loss(
    rows: Int[Array, "*b m"], parameters: GPTParameters, n_heads: Number[int, "1.."]
) -> tuple[float, GPTParameters]:
    """The mean cross-entropy of each next token in rows of n + 1 tokens, and the gradients of all parameters."""
    m = rows.shape[-1]
    rules.must(m > 1, "next_token_loss", f"a row must have a token and a next one; got {m}.")
    S, cache = language_model(rows[..., :-1], parameters, n_heads)
    L, scored = cross_entropy(S, rows[..., 1:])
    dS = cross_entropy_backward(np.full_like(L, 1 / L.size), scored)
    return float(L.mean()), language_model_backward(dS, cache)


class TrainState(NamedTuple):
    """A model in training: its parameters, and the moments that AdamW keeps of each."""

    parameters: GPTParameters
    moments: list[AdamState]


@checked
def new_train_state(parameters: GPTParameters) -> TrainState:
    """The state before the first step: all moments are zero."""
    return TrainState(parameters, [adam_state(array) for array in all_arrays(parameters)])


@checked
def train_step(
    rows: Int[Array, "*b m"],
    train_state: TrainState,
    n_heads: Number[int, "1.."],
    rate: Number[float, "0.."],
    decay: Number[float, "0.."] = 0.1,
    max_norm: Number[float, "0<.."] = 1.0,
    settings: AdamSettings = BROWN_2020,
) -> tuple[float, TrainState]:
    """Forward, backward, clipping of the gradient, and AdamW: the loss, and the state after the step.

    Only the maps of the blocks decay; tables, biases and norms do not.
    """
    old = all_arrays(train_state.parameters)
    shapes = [state.m.shape if isinstance(state, AdamState) else None for state in train_state.moments]
    came = (
        f"got {len(shapes)} moments of other shapes for {len(old)} parameters. `new_train_state` makes them."
    )
    rules.must(
        shapes == [W.shape for W in old], "train_step", f"each parameter has moments of its shape; {came}"
    )
    loss, gradients = next_token_loss(rows, train_state.parameters, n_heads)
    clipped = clipped_by_norm(*all_arrays(gradients), max_norm=max_norm)
    tables = [id(table) for table in train_state.parameters[:2]]
    shares = [decay if W.ndim > 1 and id(W) not in tables else 0.0 for W in old]
    each = zip(old, clipped, train_state.moments, shares, strict=True)
    new = [adamw(W, dW, state, rate, share, settings) for W, dW, state, share in each]
    parameters = with_arrays(train_state.parameters, [W for W, _ in new])
    return loss, TrainState(parameters, [state for _, state in new])

"""The twin of `attnlib.reference.patterns`: rules for which query may attend to which key, and attention by them.

Used in *Who attends to whom?* (Chapter 6). A rule that compares positions is the reference's own function, because
tensors are compared like arrays; what looks into a table of tensors is here. `flex_mask` gives a pattern to PyTorch's
FlexAttention, and `pattern_attention` calls it where it leaves blocks out.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attnlib import rules
from attnlib.nn.attention import scaled_dot_product_attention
from attnlib.nn.masks import Device
from attnlib.reference.patterns import Pattern, _made, _positions, _random_table
from attnlib.reference.patterns import blocks as blocks
from attnlib.reference.patterns import both as both
from attnlib.reference.patterns import causal as causal
from attnlib.reference.patterns import dilated as dilated
from attnlib.reference.patterns import either as either
from attnlib.reference.patterns import first as first
from attnlib.reference.patterns import global_tokens as global_tokens
from attnlib.reference.patterns import strided as strided
from attnlib.reference.patterns import strided_local as strided_local
from attnlib.reference.patterns import strided_summary as strided_summary
from attnlib.reference.patterns import window as window
from attnlib.shapes import Bool, Float, Int, Number, checked


def _pairs(pattern: Pattern, queries: range, keys: range, device: Device) -> Tensor:
    """The pattern for these queries and keys."""
    i, j = (torch.arange(one.start, one.stop, device=device) for one in (queries, keys))
    seen = torch.as_tensor(_made(pattern)(i[:, None], j))
    rule = "it must return booleans, True = may look"
    rules.must(seen.dtype == torch.bool, "pattern", f"{rule}; got {str(seen.dtype).removeprefix('torch.')}.")
    return seen.broadcast_to(len(queries), len(keys))


@checked
def dense_mask(
    pattern: Pattern,
    n_queries: Number[int, "1.."],
    n_keys: Number[int, "1.."] | None = None,
    device: Device = None,
) -> Bool[Tensor, "{n_queries} n"]:
    """The pattern for all pairs, a mask for attention.

    n_keys    by default as many as queries; of more keys, the queries are the last positions

    >>> dense_mask(window(2), 3).int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [0, 1, 1]], dtype=torch.int32)
    """
    queries, keys = _positions("dense_mask", n_queries, n_keys)
    return _pairs(pattern, queries, keys, device).clone()


@checked
def documents(ids: Int[Tensor, "n"]) -> Pattern:
    """The positions of the same document, of several that are packed in one row.

    ids    the number of the document of each position, on the device of the scores

    >>> dense_mask(both(causal(), documents(torch.tensor([0, 0, 1]))), 3).int()
    tensor([[1, 0, 0],
            [1, 1, 0],
            [0, 0, 1]], dtype=torch.int32)
    """
    return lambda query, key: ids[query] == ids[key]


@checked
def block_table(table: Bool[Tensor, "rows columns"], block: Number[int, "1.."]) -> Pattern:
    """Whole blocks of keys for each block of queries, as a table says.

    >>> dense_mask(block_table(torch.tensor([[True, False], [True, True]]), block=1), 2).int()
    tensor([[1, 0],
            [1, 1]], dtype=torch.int32)
    """
    return lambda query, key: table[query // block, key // block]


@checked
def random_blocks(
    block: Number[int, "1.."],
    per_row: Number[int, "0.."],
    seed: Number[int, "0.."],
    n: Number[int, "1.."],
    device: Device = None,
) -> Pattern:
    """For each block of queries `per_row` blocks of keys, drawn once from all blocks; those of the reference.

    >>> dense_mask(random_blocks(1, per_row=1, seed=0, n=3), 3).int()
    tensor([[0, 0, 1],
            [1, 0, 0],
            [0, 1, 0]], dtype=torch.int32)
    """
    return block_table(torch.from_numpy(_random_table(block, per_row, seed, n)).to(device), block)


# ---- Attention ------------------------------------------------------------------------------------------------------


@checked
def flex_mask(
    pattern: Pattern,
    n_queries: Number[int, "1.."],
    n_keys: Number[int, "1.."] | None = None,
    device: Device = None,
) -> Any:
    """The `block_mask` of PyTorch's `flex_attention` for a pattern, the same for all texts and heads.

    PyTorch makes the mask of all pairs on the way, unless this function is compiled: make it once for all layers.

    >>> flex_mask(blocks(128), 256).to_dense()[0, 0]  # which blocks of 128 by 128 are computed
    tensor([[1, 0],
            [0, 1]], dtype=torch.int32)
    """
    from torch.nn.attention.flex_attention import create_block_mask  # here, because it loads the compiler

    queries, keys = _positions("flex_mask", n_queries, n_keys)
    _made(pattern)

    def rule(b: Tensor, h: Tensor, query: Tensor, key: Tensor) -> Tensor:
        return pattern(query + queries.start, key)

    return create_block_mask(rule, None, None, len(queries), len(keys), device=device or "cpu")


@functools.cache
def _compiled_flex() -> Callable[..., Tensor]:
    from torch.nn.attention.flex_attention import flex_attention

    return torch.compile(flex_attention)  # pyright: ignore[reportReturnType]


def _flex(Q: Tensor, K: Tensor, V: Tensor, block_mask: Any) -> Tensor:
    """PyTorch's `flex_attention`, always compiled: otherwise it computes all scores, slower than with a dense mask."""
    if not torch.compiler.is_compiling():
        return _compiled_flex()(Q, K, V, block_mask=block_mask)
    from torch.nn.attention.flex_attention import flex_attention

    return flex_attention(Q, K, V, block_mask=block_mask)


def _flexible(Q: Tensor, K: Tensor, V: Tensor) -> bool:
    """Whether FlexAttention is written for these tensors, and leaves blocks out for them."""
    if Q.numel() == 0:
        return False
    gradients = torch.is_grad_enabled() and any(X.requires_grad for X in (Q, K, V))
    compiling = torch.compiler.is_compiling()
    if Q.device.type == "cuda":
        written = Q.dtype != torch.float64 and min(Q.shape[-1], V.shape[-1]) >= 16
        return written and (compiling or torch._C._functorch.peek_interpreter_stack() is None)  # type: ignore[attr-defined]
    return Q.device.type == "cpu" and compiling and not gradients


@checked
def pattern_attention(
    Q: Float[Tensor, "*b m d_k"], K: Float[Tensor, "*b n d_k"], V: Float[Tensor, "*b n d_v"], pattern: Pattern
) -> Float[Tensor, "*b m d_v"]:
    """Scaled dot-product attention where a pattern allows it (eq-attention).

    FlexAttention computes it on a GPU, and on a CPU within `torch.compile` if no gradients are recorded: PyTorch has no
    derivative for it there. Otherwise the dense mask is used, with the same result, because FlexAttention that is not
    compiled computes all scores, too. `flash_attention` with `tiles` leaves blocks out and has a derivative everywhere.

    >>> Q, K, V = torch.zeros(3, 1), torch.zeros(3, 1), torch.tensor([[4.0], [8.0], [0.0]])
    >>> pattern_attention(Q, K, V, window(2))
    tensor([[4.],
            [6.],
            [4.]])
    """
    m, n = Q.shape[-2], K.shape[-2]
    if not _flexible(Q, K, V):
        return scaled_dot_product_attention(Q, K, V, dense_mask(pattern, m, n, Q.device))
    size = math.prod(Q.shape[:-2])
    flat = [X.reshape(1, size, *X.shape[-2:]) for X in (Q, K, V)]
    if Q.device.type == "cpu":  # it refuses views of parameters even where no gradients are recorded
        flat = [X.detach() for X in flat]
    O = _flex(*flat, block_mask=flex_mask(pattern, m, n, Q.device))
    return O.reshape(*Q.shape[:-1], V.shape[-1])  # eq-attention

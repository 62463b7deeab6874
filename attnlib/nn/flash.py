"""The twin of `attnlib.reference.flash`: FlashAttention as a `torch.autograd.Function`, with its backward by hand.

The book derives it in eq-tile, eq-tile-join and eq-tile-backward (Chapter 3). Memory grows with n on every device and
for every mask. The forward and the backward are one operator each, which `torch.compile` calls as it is: it would
otherwise find the same scores in both and keep those of all tiles. On a GPU with Triton the operators run
`attnlib.nn.flash_triton`, elsewhere they are loops in PyTorch. Of the `tiles` of a pattern (Chapter 6) both leave the
empty ones out.

`fused_attention` calls PyTorch's own program, which is faster, and stores all weights for some arguments.
"""

import math
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from attnlib import rules
from attnlib.nn.tiles import EMPTY, FULL, Tiles
from attnlib.shapes import Bool, Float, Number, checked


def _wide(dtype: torch.dtype) -> torch.dtype:
    """At least float32, for sums over many tiles."""
    return torch.promote_types(dtype, torch.float32)


def _blocks(n: int, block: int) -> list[slice]:
    return [slice(i, min(i + block, n)) for i in range(0, n, block)]


def _for_all_pairs(mask: Tensor | None, m: int, n: int) -> Tensor | None:
    """The mask with an entry for each query and each key: a view, which takes no memory."""
    return None if mask is None else mask.broadcast_to((*mask.shape[:-2], m, n))


def _tiles(
    rows: slice,
    m: int,
    n: int,
    mask: Tensor | None,
    causal: bool,
    block: int,
    device: torch.device,
    number: Tensor | None = None,
    masks: Tensor | None = None,
) -> Iterator[tuple[slice, Tensor | None]]:
    """The tiles of these queries: some keys, and which of them each query may look at (None: all).

    A tile in which no query may look at any key is left out. With `causal` that is every tile after the diagonal; a
    mask is read for it only on the CPU, because a GPU would have to be waited for. The numbers of `Tiles` are there.
    """
    ahead = n - m  # the last query is at the position of the last key
    first, last = rows.start + ahead, rows.stop - 1 + ahead
    kinds = None if number is None else number[rows.start // block].tolist()
    for b, keys in enumerate(_blocks(n, block)):
        if causal and keys.start > last:
            return
        kind = FULL if kinds is None else kinds[b]
        if kind == EMPTY:
            continue
        seen = None if mask is None else mask[..., rows, keys]
        if masks is not None and kind != FULL:
            one = masks[kind, : rows.stop - rows.start, : keys.stop - keys.start]
            seen = one if seen is None else seen & one
        if causal and keys.stop - 1 > first:  # the diagonal goes through this tile
            i = torch.arange(first, last + 1, device=device)[:, None]
            past = torch.arange(keys.start, keys.stop, device=device) <= i
            seen = past if seen is None else seen & past
        if seen is None or seen.device.type != "cpu" or bool(seen.any()):
            yield keys, seen


def _scores(Q: Tensor, K: Tensor, seen: Tensor | None) -> Tensor:
    """The scores of one tile, -inf where a query may not look."""
    S = Q @ K.mT / math.sqrt(Q.shape[-1])  # eq-scaled-score
    return S if seen is None else S.masked_fill(~seen, -math.inf)


def _forward_in_tiles(
    Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None, causal: bool, block: int, *tiles: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The output and lambda, the log of the sum of exp(score) over all keys: -inf where a query may look nowhere."""
    m, n, wide = Q.shape[-2], K.shape[-2], _wide(Q.dtype)
    O, lam = Q.new_empty((*Q.shape[:-1], V.shape[-1])), Q.new_empty(Q.shape[:-1], dtype=wide)
    mask = _for_all_pairs(mask, m, n)
    for rows in _blocks(m, block):
        Q_a = Q[..., rows, :].to(wide)
        largest = Q_a.new_full((*Q_a.shape[:-1], 1), -math.inf)
        total, summed = torch.zeros_like(largest), Q_a.new_zeros((*Q_a.shape[:-1], V.shape[-1]))
        for keys, seen in _tiles(rows, m, n, mask, causal, block, Q.device, *tiles):
            S, before = _scores(Q_a, K[..., keys, :].to(wide), seen), largest
            largest = torch.maximum(before, S.amax(dim=-1, keepdim=True))
            base = largest.masked_fill(largest == -math.inf, 0.0)  # -inf minus -inf would be NaN
            shrink, E = (before - base).exp_(), S.sub_(base).exp_()
            total = shrink * total + E.sum(dim=-1, keepdim=True)
            summed = shrink * summed + E @ V[..., keys, :].to(wide)  # eq-tile-join
        total = total.masked_fill(total == 0, 1.0)  # a query that may look nowhere
        O[..., rows, :] = (summed / total).to(Q.dtype)
        lam[..., rows] = (largest + total.log())[..., 0]  # eq-tile
    return O, lam


def _backward_in_tiles(
    dO: Tensor,
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    O: Tensor,
    lam: Tensor,
    mask: Tensor | None,
    causal: bool,
    block: int,
    *tiles: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """dQ, dK, dV: the weights of each tile are computed again from its scores and lambda."""
    m, n, wide, scale = Q.shape[-2], K.shape[-2], lam.dtype, 1 / math.sqrt(Q.shape[-1])
    dQ, dK, dV = (torch.zeros_like(X, dtype=wide) for X in (Q, K, V))
    own = (dO.to(wide) * O).sum(dim=-1, keepdim=True)
    base = lam.masked_fill(lam == -math.inf, 0.0)[..., None]
    mask = _for_all_pairs(mask, m, n)
    for a in _blocks(m, block):
        Q_a, dO_a = Q[..., a, :].to(wide), dO[..., a, :].to(wide)
        for b, seen in _tiles(a, m, n, mask, causal, block, Q.device, *tiles):
            K_b, V_b = K[..., b, :].to(wide), V[..., b, :].to(wide)
            P = _scores(Q_a, K_b, seen).sub_(base[..., a, :]).exp_()
            dV[..., b, :] += P.mT @ dO_a
            dS = P.mul_(dO_a @ V_b.mT - own[..., a, :]).mul_(scale)  # eq-tile-backward
            dQ[..., a, :] += dS @ K_b
            dK[..., b, :] += dS.mT @ Q_a
    return dQ.to(Q.dtype), dK.to(K.dtype), dV.to(V.dtype)


# ---- The two operators ----------------------------------------------------------------------------------------------


def _on_a_gpu(Q: Tensor, V: Tensor, masks: Tensor | None = None) -> ModuleType | None:
    """The module with the Triton programs if they can be used for these tensors and for tiles with these masks."""
    if not Q.is_cuda:
        return None
    from attnlib.nn import flash_triton  # here, because it loads Triton

    return flash_triton if flash_triton._usable(Q, V, masks) else None


@torch.library.custom_op("attnlib::flash_forward", mutates_args=())
def _forward(
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    mask: Tensor | None,
    causal: bool,
    block: int,
    number: Tensor | None = None,
    masks: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    triton = _on_a_gpu(Q, V, masks)
    with torch.autocast(Q.device.type, enabled=False):
        if triton is not None:
            return triton._forward(Q, K, V, mask, causal, block, number, masks)
        return _forward_in_tiles(Q, K, V, mask, causal, block, number, masks)


@torch.library.custom_op("attnlib::flash_backward", mutates_args=())
def _backward(
    dO: Tensor,
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    O: Tensor,
    lam: Tensor,
    mask: Tensor | None,
    causal: bool,
    block: int,
    number: Tensor | None = None,
    masks: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    triton = _on_a_gpu(Q, V, masks)
    with torch.autocast(Q.device.type, enabled=False):
        if triton is not None:
            return triton._backward(dO, Q, K, V, O, lam, mask, causal, block, number, masks)
        return _backward_in_tiles(dO, Q, K, V, O, lam, mask, causal, block, number, masks)


@_forward.register_fake
def _(Q: Tensor, K: Tensor, V: Tensor, *others: Any) -> tuple[Tensor, Tensor]:
    return Q.new_empty((*Q.shape[:-1], V.shape[-1])), Q.new_empty(Q.shape[:-1], dtype=_wide(Q.dtype))


@_backward.register_fake
def _(dO: Tensor, Q: Tensor, K: Tensor, V: Tensor, *others: Any) -> tuple[Tensor, Tensor, Tensor]:
    return torch.empty_like(Q), torch.empty_like(K), torch.empty_like(V)


def _mapped(operator: Callable[..., Any], outputs: int) -> Callable[..., Any]:
    """The rule for `vmap`: the axis that is mapped over becomes another batch axis, in front; tiles have none."""

    def rule(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> tuple[Any, Any]:
        args, tiles, in_dims = args[:-2], args[-2:], in_dims[:-2]
        rank = max(X.dim() - (dim is not None) for X, dim in zip(args, in_dims, strict=True) if is_tensor(X))

        def in_front(X: Any, dim: int | None) -> Any:
            if not is_tensor(X):
                return X
            if dim is None:
                return X if X.dtype == torch.bool else X.expand(info.batch_size, *X.shape)
            X = X.movedim(dim, 0)
            missing = rank + 1 - X.dim() if X.dtype == torch.bool else 0  # the batch axes that a mask lacks
            return X.reshape(X.shape[0], *(1,) * missing, *X.shape[1:])

        return operator(*map(in_front, args, in_dims), *tiles), (0,) * outputs

    def is_tensor(X: Any) -> bool:
        return isinstance(X, Tensor)

    return rule


class _Gradients(torch.autograd.Function):
    """The second operator; what it returns has no derivative here."""

    @staticmethod
    def forward(*args: Any) -> tuple[Tensor, Tensor, Tensor]:
        return _backward(*args)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        """Nothing is kept."""

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> None:
        raise NotImplementedError(
            "flash_attention: its gradient must not be differentiated again; got a second derivative. "
            "Use `attend(scaled_dot_scores(Q, K), V, mask)`, which keeps all weights."
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> tuple[Any, Any]:  # pyright: ignore
        return _mapped(_Gradients.apply, 3)(info, in_dims, *args)


class _Flash(torch.autograd.Function):
    """The two operators as forward and backward; lambda is an output so that it can be kept."""

    @staticmethod
    def forward(*args: Any) -> tuple[Tensor, Tensor]:
        return _forward(*args)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        Q, K, V, mask, ctx.causal, ctx.block, *tiles = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(Q, K, V, *output, mask, *tiles)

    @staticmethod
    def backward(ctx: Any, dO: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore
        operator = _backward if torch.compiler.is_compiling() else _Gradients.apply
        *tensors, number, masks = ctx.saved_tensors
        gradients = operator(dO, *tensors, ctx.causal, ctx.block, number, masks)
        return *gradients, None, None, None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> tuple[Any, Any]:  # pyright: ignore
        return _mapped(_Flash.apply, 2)(info, in_dims, *args)


def _as_autocast_wants(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Within `torch.autocast` all in its dtype, as PyTorch's own attention does; sums stay in float32."""
    kind = tensors[0].device.type
    if not torch.amp.is_autocast_available(kind) or not torch.is_autocast_enabled(kind):
        return tensors
    return tuple(X if X.dtype == torch.float64 else X.to(torch.get_autocast_dtype(kind)) for X in tensors)


@checked
def flash_attention(
    Q: Float[Tensor, "*b m d_k"],
    K: Float[Tensor, "*b n d_k"],
    V: Float[Tensor, "*b n d_v"],
    *,
    mask: Bool[Tensor, "*#b #m #n"] | None = None,
    causal: bool = False,
    block: Number[int, "1.."] = 128,
    tiles: Tiles | None = None,
) -> Float[Tensor, "*b m d_v"]:
    """Attention with scaled dot-product scores, in tiles of `block` queries and keys (eq-tile, eq-tile-join).

    mask      True where a query may look; a query that may look nowhere gets zeros
    causal    each query sees its own and earlier positions; the last query is at the position of the last key
    block     how many queries and how many keys a tile has; the output does not depend on it
    tiles     a pattern by `block_mask`, whose empty tiles are left out; their size then replaces `block`

    >>> Q, K, V = torch.tensor([[1.0]]), torch.tensor([[0.0], [math.log(3.0)]]), torch.tensor([[4.0], [8.0]])
    >>> flash_attention(Q, K, V, block=1)
    tensor([[7.]])
    """
    rules.of_tiles("flash_attention", tiles, Q.shape[-2], K.shape[-2])
    Q, K, V = _as_autocast_wants(Q, K, V)
    block, number, masks = (block, None, None) if tiles is None else (tiles.masks.shape[-1], *tiles)
    return _Flash.apply(Q, K, V, mask, causal, block, number, masks)[0]  # eq-attention

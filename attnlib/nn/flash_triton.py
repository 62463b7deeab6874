"""The tiles of `attnlib.nn.flash` as Triton programs, for tensors on a GPU; this file can be read without Triton.

The book derives them in eq-tile, eq-tile-join and eq-tile-backward (Chapter 3). One program has a tile of queries and
goes through the keys (the output, and dQ), another has a tile of keys and goes through the queries (dK and dV), so no
two programs add to the same number. Of a sparse pattern each program goes through its own list of tiles that are not
empty (*Tiles become a kernel*, Chapter 6). Matrices are padded with zeros to the next power of two, which Triton
requires.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from attnlib.nn.tiles import EMPTY

if TYPE_CHECKING:
    from typing import Any as constexpr

    triton: Any
    tl: Any
else:
    try:
        import triton
        import triton.language as tl
        from triton.language import constexpr  # what is known when a program is compiled
    except ImportError:
        triton = tl = constexpr = None

WIDEST = 256  # of a query, key or value


def _compiled(kernel: Callable[..., Any]) -> Any:
    return kernel if triton is None else triton.jit(kernel)


@_compiled
def _load(X, b, i, n, D: constexpr, WIDE: constexpr):
    """Rows i of the matrix number b, zeros outside of it."""
    column = tl.arange(0, WIDE)[None, :]
    inside = (i[:, None] < n) & (column < D)
    return tl.load(X + (b * n + i[:, None]) * D + column, mask=inside, other=0.0)


@_compiled
def _store(X, value, b, i, n, D: constexpr, WIDE: constexpr):
    column = tl.arange(0, WIDE)[None, :]
    inside = (i[:, None] < n) & (column < D)
    tl.store(X + (b * n + i[:, None]) * D + column, value.to(X.dtype.element_ty), mask=inside)


@_compiled
def _steps(begins, first, since, until, SIDE: constexpr, BLOCK: constexpr):
    """The first and the last step of a program: through the positions from `since` on, or through its list of tiles."""
    if SIDE > 0:  # tiles of SIDE by SIDE; BLOCK divides SIDE
        from_, to = tl.load(begins + first // SIDE), tl.load(begins + first // SIDE + 1)
        from_, to = from_ * (SIDE // BLOCK), to * (SIDE // BLOCK)
    else:
        from_, to = since // BLOCK, (until + BLOCK - 1) // BLOCK
    return from_, to


@_compiled
def _step(listed, kinds, t, SIDE: constexpr, BLOCK: constexpr):
    """Where the positions of step t begin, and the number of the mask of their tile."""
    if SIDE > 0:
        entry = t // (SIDE // BLOCK)
        start = tl.load(listed + entry) * SIDE + t % (SIDE // BLOCK) * BLOCK
        kind = tl.load(kinds + entry)
    else:
        start, kind = t * BLOCK, 1
    return start, kind


@_compiled
def _seen(
    mask, mask_of, masks, b, i, j, kind, m, n, step_m, step_n,
    MASKED: constexpr, CAUSAL: constexpr, SIDE: constexpr,
):  # fmt: skip
    """Which of the queries i may look at which of the keys j."""
    seen = (i[:, None] < m) & (j[None, :] < n)
    if CAUSAL:
        seen = seen & (j[None, :] <= i[:, None] + n - m)
    if MASKED:
        entries = mask + tl.load(mask_of + b) + i[:, None].to(tl.int64) * step_m + j[None, :] * step_n
        seen = seen & (tl.load(entries, mask=seen, other=0) != 0)
    if SIDE > 0:  # noqa: SIM102  (known when it is compiled, the next condition not)
        if kind > 1:  # 1: every query sees every key
            entries = masks + (kind * SIDE + i[:, None] % SIDE) * SIDE + j[None, :] % SIDE
            seen = seen & (tl.load(entries, mask=seen, other=0) != 0)
    return seen


@_compiled
def _any(seen):
    return tl.max(tl.max(seen.to(tl.int32), axis=1), axis=0) > 0


@_compiled
def _product(A, B):
    """A B in float32; float32 is not rounded to fewer bits for it."""
    return tl.dot(A, B, input_precision="ieee")


@_compiled
def _joined(largest, total, summed, q, k, v, seen, scale):
    """What `join_tile` of the reference does: sums so far, and those of another tile."""
    S = tl.where(seen, _product(q, tl.trans(k)) * scale, float("-inf"))
    new = tl.maximum(largest, tl.max(S, axis=1))
    base = tl.where(new > float("-inf"), new, 0.0)
    shrink, E = tl.exp(largest - base), tl.exp(S - base[:, None])
    total = shrink * total + tl.sum(E, axis=1)
    return new, total, shrink[:, None] * summed + _product(E.to(v.dtype), v)  # eq-tile-join


@_compiled
def _weights(q, k, lam, seen, scale):
    S = tl.where(seen, _product(q, tl.trans(k)) * scale, float("-inf"))
    return tl.exp(S - tl.where(lam > float("-inf"), lam, 0.0)[:, None])


@_compiled
def _forward_kernel(
    Q, K, V, O, lam, mask, mask_of, begins, listed, kinds, masks, m, n, step_m, step_n, scale,
    D_K: constexpr, D_V: constexpr, WIDE_K: constexpr, WIDE_V: constexpr,
    MASKED: constexpr, CAUSAL: constexpr, SIDE: constexpr, BLOCK: constexpr,
):  # fmt: skip
    b, first = tl.program_id(1).to(tl.int64), tl.program_id(0) * BLOCK
    i = first + tl.arange(0, BLOCK)
    q = _load(Q, b, i, m, D_K, WIDE_K)
    largest = tl.full([BLOCK], float("-inf"), tl.float32)
    total, summed = tl.zeros([BLOCK], tl.float32), tl.zeros([BLOCK, WIDE_V], tl.float32)
    end = n
    if CAUSAL:
        end = tl.minimum(n, first + BLOCK + n - m)
    from_, to = _steps(begins, first, 0, end, SIDE, BLOCK)
    for t in range(from_, to):
        start, kind = _step(listed, kinds, t, SIDE, BLOCK)
        j = start + tl.arange(0, BLOCK)
        seen = _seen(mask, mask_of, masks, b, i, j, kind, m, n, step_m, step_n, MASKED, CAUSAL, SIDE)
        if _any(seen):
            k, v = _load(K, b, j, n, D_K, WIDE_K), _load(V, b, j, n, D_V, WIDE_V)
            largest, total, summed = _joined(largest, total, summed, q, k, v, seen, scale)
    total = tl.where(total > 0, total, 1.0)
    _store(O, summed / total[:, None], b, i, m, D_V, WIDE_V)
    tl.store(lam + b * m + i, largest + tl.log(total), mask=i < m)  # eq-tile


@_compiled
def _backward_of_queries(
    dO, Q, K, V, lam, own, mask, mask_of, begins, listed, kinds, masks, dQ, m, n, step_m, step_n, scale,
    D_K: constexpr, D_V: constexpr, WIDE_K: constexpr, WIDE_V: constexpr,
    MASKED: constexpr, CAUSAL: constexpr, SIDE: constexpr, BLOCK: constexpr,
):  # fmt: skip
    b, first = tl.program_id(1).to(tl.int64), tl.program_id(0) * BLOCK
    i = first + tl.arange(0, BLOCK)
    q, d_o = _load(Q, b, i, m, D_K, WIDE_K), _load(dO, b, i, m, D_V, WIDE_V)
    lam_i = tl.load(lam + b * m + i, mask=i < m, other=0.0)
    own_i = tl.load(own + b * m + i, mask=i < m, other=0.0)
    d_q = tl.zeros([BLOCK, WIDE_K], tl.float32)
    end = n
    if CAUSAL:
        end = tl.minimum(n, first + BLOCK + n - m)
    from_, to = _steps(begins, first, 0, end, SIDE, BLOCK)
    for t in range(from_, to):
        start, kind = _step(listed, kinds, t, SIDE, BLOCK)
        j = start + tl.arange(0, BLOCK)
        seen = _seen(mask, mask_of, masks, b, i, j, kind, m, n, step_m, step_n, MASKED, CAUSAL, SIDE)
        if _any(seen):
            k, v = _load(K, b, j, n, D_K, WIDE_K), _load(V, b, j, n, D_V, WIDE_V)
            P = _weights(q, k, lam_i, seen, scale)
            dS = P * (_product(d_o, tl.trans(v)) - own_i[:, None])  # eq-tile-backward
            d_q += _product(dS.to(k.dtype), k)
    _store(dQ, scale * d_q, b, i, m, D_K, WIDE_K)


@_compiled
def _backward_of_keys(
    dO, Q, K, V, lam, own, mask, mask_of, begins, listed, kinds, masks, dK, dV, m, n, step_m, step_n, scale,
    D_K: constexpr, D_V: constexpr, WIDE_K: constexpr, WIDE_V: constexpr,
    MASKED: constexpr, CAUSAL: constexpr, SIDE: constexpr, BLOCK: constexpr,
):  # fmt: skip
    b, first = tl.program_id(1).to(tl.int64), tl.program_id(0) * BLOCK
    j = first + tl.arange(0, BLOCK)
    k, v = _load(K, b, j, n, D_K, WIDE_K), _load(V, b, j, n, D_V, WIDE_V)
    d_k, d_v = tl.zeros([BLOCK, WIDE_K], tl.float32), tl.zeros([BLOCK, WIDE_V], tl.float32)
    begin = 0
    if CAUSAL:
        begin = tl.maximum(0, first - (n - m))  # earlier queries see none of these keys
    from_, to = _steps(begins, first, begin, m, SIDE, BLOCK)
    for t in range(from_, to):
        start, kind = _step(listed, kinds, t, SIDE, BLOCK)
        i = start + tl.arange(0, BLOCK)
        seen = _seen(mask, mask_of, masks, b, i, j, kind, m, n, step_m, step_n, MASKED, CAUSAL, SIDE)
        if _any(seen):
            q, d_o = _load(Q, b, i, m, D_K, WIDE_K), _load(dO, b, i, m, D_V, WIDE_V)
            lam_i = tl.load(lam + b * m + i, mask=i < m, other=0.0)
            own_i = tl.load(own + b * m + i, mask=i < m, other=0.0)
            P = _weights(q, k, lam_i, seen, scale)
            dS = P * (_product(d_o, tl.trans(v)) - own_i[:, None])  # eq-tile-backward
            d_v += _product(tl.trans(P).to(d_o.dtype), d_o)
            d_k += _product(tl.trans(dS).to(q.dtype), q)
    _store(dK, scale * d_k, b, j, n, D_K, WIDE_K)
    _store(dV, d_v, b, j, n, D_V, WIDE_V)


# ---- Their calls ----------------------------------------------------------------------------------------------------


def _usable(Q: Tensor, V: Tensor, masks: Tensor | None = None) -> bool:
    """Whether Triton is there, and the programs are written for these tensors and for tiles of this size."""
    kinds = torch.float16, torch.bfloat16, torch.float32
    sides = masks is None or masks.shape[-1] % 16 == 0  # a product of Triton has at least 16 rows and columns
    return triton is not None and Q.dtype in kinds and max(Q.shape[-1], V.shape[-1]) <= WIDEST and sides


def _edge(block: int, widest: int, dtype: torch.dtype) -> int:
    """How many queries and keys a tile has: a power of two up to `block`, so that a few tiles fit into fast memory."""
    width = widest * dtype.itemsize
    most = 64 if width <= 256 and dtype.itemsize == 2 else 32 if width <= 512 else 16
    return min(most, max(16, 2 ** (block.bit_length() - 1)))


def _constants(
    Q: Tensor, V: Tensor, mask: Tensor | None, causal: bool, block: int, masks: Tensor | None = None
) -> dict[str, Any]:
    wide_k, wide_v = (max(16, triton.next_power_of_2(X.shape[-1])) for X in (Q, V))
    side = 0 if masks is None else masks.shape[-1]
    block = side & -side or block  # of tiles with a side the largest power of two that divides it
    edge = _edge(block, max(wide_k, wide_v), Q.dtype)
    sizes = {"D_K": Q.shape[-1], "D_V": V.shape[-1], "WIDE_K": wide_k, "WIDE_V": wide_v, "SIDE": side}
    return {**sizes, "MASKED": mask is not None, "CAUSAL": causal, "BLOCK": edge, "num_stages": 1}


def _flat(*tensors: Tensor) -> list[Tensor]:
    """(*b, n, d) with one batch axis, in the order of memory that the programs assume."""
    return [X.reshape(math.prod(X.shape[:-2]), *X.shape[-2:]).contiguous() for X in tensors]


def _flat_mask(mask: Tensor | None, Q: Tensor) -> tuple[Tensor, Tensor, int, int]:
    """The mask as it is stored, where the part of each batch entry begins, and the steps from query to query and from
    key to key, zero along an axis of size one.
    """
    if mask is None:
        nothing = torch.zeros(1, dtype=torch.uint8, device=Q.device)
        return nothing, nothing, 0, 0
    mask = mask[(None,) * (2 - mask.dim())] if mask.dim() < 2 else mask
    batch, (rows, columns) = mask.shape[:-2], mask.shape[-2:]
    begins = rows * columns * torch.arange(math.prod(batch), device=Q.device).reshape(batch)
    begins = begins.broadcast_to(Q.shape[:-2]).reshape(-1).contiguous()
    return mask.contiguous().view(torch.uint8), begins, columns * (rows > 1), int(columns > 1)


def _lists(number: Tensor | None, masks: Tensor | None, device: torch.device) -> tuple[Tensor, ...]:
    """The lists of tiles that are not empty, one for each row of tiles, in order: where each list begins, the column
    and the kind of each tile, and the masks of the kinds.

    >>> begins, columns, kinds, _ = _lists(torch.tensor([[2, 0], [0, 0], [1, 2]]), None, torch.device("cpu"))
    >>> begins.tolist(), columns.tolist(), kinds.tolist()
    ([0, 1, 1, 3], [0, 0, 1], [2, 1, 2])
    """
    number = torch.full((1, 1), EMPTY) if number is None else number
    rows, columns = (number != EMPTY).nonzero(as_tuple=True)
    begins = torch.searchsorted(rows, torch.arange(len(number) + 1))
    bits = torch.zeros(1, dtype=torch.uint8) if masks is None else masks.view(torch.uint8)
    return tuple(X.to(device) for X in (begins, columns, number[rows, columns], bits))


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
    """What `attnlib.nn.flash` computes in a loop over tiles: the output and lambda."""
    constants, (m, n) = _constants(Q, V, mask, causal, block, masks), (Q.shape[-2], K.shape[-2])
    O = Q.new_empty((*Q.shape[:-1], V.shape[-1]))
    lam = Q.new_empty(Q.shape[:-1], dtype=torch.float32)
    if O.numel():
        seen, begins, *steps = _flat_mask(mask, Q)
        grid = triton.cdiv(m, constants["BLOCK"]), math.prod(Q.shape[:-2])
        sizes = m, n, *steps, 1 / math.sqrt(Q.shape[-1])
        lists = _lists(number, masks, Q.device)
        _forward_kernel[grid](*_flat(Q, K, V), O, lam, seen, begins, *lists, *sizes, **constants)
    return O, lam


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
    """dQ, dK, dV, each number summed by one program."""
    constants, (m, n) = _constants(Q, V, mask, causal, block, masks), (Q.shape[-2], K.shape[-2])
    dQ, dK, dV = (torch.empty_like(X, memory_format=torch.contiguous_format) for X in (Q, K, V))
    if dO.numel():
        own = (dO.float() * O).sum(dim=-1)
        (seen, begins, *steps), batch = _flat_mask(mask, Q), math.prod(Q.shape[:-2])
        given = *_flat(dO, Q, K, V), lam, own, seen, begins
        sizes = m, n, *steps, 1 / math.sqrt(Q.shape[-1])
        tiles = triton.cdiv(m, constants["BLOCK"]), triton.cdiv(n, constants["BLOCK"])
        of_queries, of_keys = (
            _lists(one, masks, Q.device) for one in (number, None if number is None else number.mT)
        )
        _backward_of_queries[tiles[0], batch](*given, *of_queries, dQ, *sizes, **constants)
        _backward_of_keys[tiles[1], batch](*given, *of_keys, dK, dV, *sizes, **constants)
    return dQ, dK, dV

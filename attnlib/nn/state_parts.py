"""What layers with a state have in common: decays, the short convolution, the gate, and sums in full precision.

Used by `attnlib.nn.linear_attention` and `attnlib.nn.delta_rule` (Chapter 6).
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlib import rules
from attnlib.nn.convolution import ShortConvolution
from attnlib.nn.heads import split_heads
from attnlib.nn.state_cache import StateCache


def _widths(who: str, d_model: int, n_heads: int, d_k: int | None, d_v: int | None) -> tuple[int, int]:
    """The widths of a head's keys and values."""
    if d_k is None:
        rules.splits_evenly(who, "d_model", d_model, "n_heads", n_heads)
        d_k = d_model // n_heads
    return d_k, d_k if d_v is None else d_v


def _decay_map(who: str, decay: str | None, d_model: int, n_heads: int) -> nn.Linear | None:
    """The map from a token to the decay of each head."""
    came = f"decay must be None or 'learned'; got {decay!r}."
    rules.must(decay in (None, "learned"), who, came)
    if decay is None:
        return None
    W = nn.Linear(d_model, n_heads)
    _begin(W)
    return W


def _gate_map(gate: bool, d_model: int, width: int) -> nn.Linear | None:
    """The map from a token to the gates of all heads."""
    W = nn.Linear(d_model, width) if gate else None
    _begin(None, W)
    return W


def _convolution(width: int | None, d: int) -> ShortConvolution | None:
    """The short convolution of queries, keys and values, d coordinates in all."""
    return None if width is None else ShortConvolution(d, width)


def _convolved(
    conv: nn.Module | None, maps: list[Tensor], kv_cache: StateCache | None
) -> tuple[list[Tensor], Tensor | None]:
    """Queries, keys and values after the convolution, and the rows that its next call has to know."""
    if conv is None:
        return maps, None
    joined = torch.cat(maps, dim=-1)
    before = None if kv_cache is None else kv_cache.rows_before(joined)
    mixed = conv(joined, before).split([A.shape[-1] for A in maps], dim=-1)
    return list(mixed), None if kv_cache is None else conv.recent(joined, before)  # type: ignore[operator]


def _gated(W: nn.Module | None, X: Tensor, Z: Tensor) -> Tensor:
    """The outputs of the heads, (*b, h, m, d_v), multiplied with swish of a map of the tokens."""
    return Z if W is None else Z * F.silu(split_heads(W(X), Z.shape[-3]))


@torch.no_grad()
def _begin(W_decay: nn.Linear | None, W_G: nn.Linear | None = None) -> None:
    """At first some heads forget soon, others late: they keep from 0.88 to 0.998 at each token. Gates are open."""
    if W_decay is not None:
        W_decay.bias.copy_(-torch.linspace(2.0, 6.0, len(W_decay.bias)))
    if W_G is not None:
        W_G.bias.fill_(1.0)


def _learned_decay(W: nn.Module | None, X: Tensor) -> Tensor | None:
    """exp(-softplus) of a map of the tokens, which is the sigmoid of its negative: (*b, h, m), in (0, 1)."""
    return None if W is None else torch.sigmoid(-_of_state(W(X))).mT


def _of_state(A: Tensor) -> Tensor:
    """At least float32, for a sum over all positions."""
    return A.to(torch.promote_types(A.dtype, torch.float32))


def _in_full(X: Tensor) -> AbstractContextManager[Any]:
    """Inside it `torch.autocast` leaves the sums over all positions in their dtype."""
    return nullcontext() if X.is_meta else torch.autocast(X.device.type, enabled=False)


def _heads(A: Tensor, n_heads: int) -> Tensor:
    return _of_state(split_heads(A, n_heads))


def _check(who: str, X: Tensor, W: nn.Module, mask: Tensor | None, bias: Tensor | None) -> None:
    """X has the layer's dtype, and nothing was passed for single pairs of tokens, which a state does not know."""
    if torch.compiler.is_compiling():
        return
    rules.dtype_of_the_layer(who, X, W)
    came = f"got {'a bias' if mask is None else 'a mask'}"
    then = "A layer with scores, such as MultiHeadAttention, takes them."
    rules.must(
        mask is bias is None, who, f"mask and bias must be None, for a state has no scores; {came}. {then}"
    )

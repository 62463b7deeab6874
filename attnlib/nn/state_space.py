"""The twin of `attnlib.reference.state_space`: a linear differential equation as a recurrence or as a convolution.

The book derives it in eq-state-space, eq-discretised, eq-ssm-recurrence and eq-ssm-kernel (Chapter 6). `StateSpace` is
the layer of Mamba, whose step and maps are computed from the token (eq-selective), or the same layer with fixed ones,
S4D (eq-diagonal).
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlib import rules
from attnlib.nn.convolution import depthwise_convolution
from attnlib.nn.heads import merge_heads, split_heads
from attnlib.nn.linear_attention import _check
from attnlib.nn.multihead import Rotate
from attnlib.nn.s4d import DiagonalStateSpace
from attnlib.nn.selective_scan import SelectiveScan
from attnlib.nn.state_cache import StateCache
from attnlib.shapes import Bool, Float, Number, checked


@checked
def zero_order_hold(
    A: Float[Tensor, "d_state d_state"], B: Float[Tensor, "d_state"], step: Number[float, "0<.."]
) -> tuple[Float[Tensor, "d_state d_state"], Float[Tensor, "d_state"]]:
    """A and B for steps of a fixed length, exact for an input that is constant during each step (eq-discretised)."""
    n = len(A)
    E = torch.linalg.matrix_exp(step * F.pad(torch.cat([A, B[:, None]], dim=1), (0, 0, 0, 1)))
    return E[:n, :n], E[:n, n]  # eq-discretised


@checked
def bilinear(
    A: Float[Tensor, "d_state d_state"], B: Float[Tensor, "d_state"], step: Number[float, "0<.."]
) -> tuple[Float[Tensor, "d_state d_state"], Float[Tensor, "d_state"]]:
    """A and B for steps of a fixed length, with the mean of A h before and after each step for its derivative."""
    I = torch.eye(len(A), dtype=A.dtype, device=A.device)
    left = I - step / 2 * A
    return torch.linalg.solve(left, I + step / 2 * A), torch.linalg.solve(left, step * B)


@checked
def state_space_recurrence(
    x: Float[Tensor, "*b n"],
    A: Float[Tensor, "d_state d_state"],
    B: Float[Tensor, "d_state"],
    C: Float[Tensor, "d_state"],
    state: Float[Tensor, "*b d_state"] | None = None,
) -> tuple[Float[Tensor, "*b n"], Float[Tensor, "*b d_state"]]:
    """What is read after each input, and the last state, with discretised A and B (eq-ssm-recurrence).

    state    what earlier inputs left; by default zeros
    """
    h, outputs = torch.zeros_like(x[..., 0, None] * B) if state is None else state, []
    for t in range(x.shape[-1]):
        h = h @ A.T + x[..., t, None] * B  # eq-ssm-recurrence
        outputs.append(h @ C)
    return torch.stack(outputs, dim=-1), h


@checked
def state_space_kernel(
    A: Float[Tensor, "d_state d_state"],
    B: Float[Tensor, "d_state"],
    C: Float[Tensor, "d_state"],
    n: Number[int, "1.."],
) -> Float[Tensor, "n"]:
    """What an input adds to the output 0, 1, ..., n - 1 tokens later: C A^s B, by explicit powers (eq-ssm-kernel)."""
    K, h = [], B
    for _ in range(n):
        K.append(C @ h)  # eq-ssm-kernel
        h = A @ h
    return torch.stack(K)


class StateSpace(nn.Module):
    """The layer of Mamba (Gu and Dao, 2023): a short convolution, the selective scan, and a gate (eq-selective).

    n_heads      the channels are seen in this many groups by `norm` and by hooks; the scan itself has none
    d_state      how many numbers the state of each channel has
    expand       the layer has expand * d_model channels
    width        tokens that the short convolution sees; with one there is no convolution
    step_rank    width of the map from a token to its steps; by default d_model / 16
    selective    False: step, B and C do not depend on the token, as in S4D, all else as before
    norm         a class of norm, such as `torch.nn.RMSNorm`, applied to the output of each group

    >>> layer, X, cache = StateSpace(d_model=8, n_heads=2, d_state=4), torch.randn(5, 8), StateCache()
    >>> steps = [layer(x[None], kv_cache=cache) for x in X]
    >>> torch.allclose(torch.cat(steps), layer(X), atol=1e-5), cache.nbytes  # 16 channels of 4 + 3 numbers of 4 bytes
    (True, 448)
    """

    @checked
    def __init__(
        self,
        *,
        d_model: Number[int, "1.."],
        n_heads: Number[int, "1.."] = 1,
        d_state: Number[int, "1.."] = 16,
        expand: Number[int, "1.."] = 2,
        width: Number[int, "1.."] = 4,
        step_rank: Number[int, "1.."] | None = None,
        selective: bool = True,
        bias: bool = True,
        norm: Callable[[int], nn.Module] | None = None,
    ) -> None:
        super().__init__()
        who, d = type(self).__name__, expand * d_model
        rules.splits_evenly(who, "expand * d_model", d, "n_heads", n_heads)
        self.d_model, self.n_heads, self.d_state, self.width = d_model, n_heads, d_state, width
        self.W_X, self.W_Z = nn.Linear(d_model, d, bias), nn.Linear(d_model, d, bias)
        self.W_O = nn.Linear(d, d_model, bias)
        self.filter = nn.Parameter(
            nn.init.uniform_(self.W_X.weight.new_empty(width, d), -(width**-0.5), width**-0.5)
        )
        self.filter_bias = nn.Parameter(self.W_X.weight.new_zeros(d))
        rank = step_rank or math.ceil(d_model / 16)
        self.scan = (
            SelectiveScan(d=d, d_state=d_state, step_rank=rank)
            if selective
            else DiagonalStateSpace(d=d, d_state=d_state)
        )
        self.skip = nn.Parameter(self.W_X.weight.new_ones(d))
        self.norm_Z = nn.Identity() if norm is None else norm(d // n_heads)
        self.heads = nn.Identity()

    def extra_repr(self) -> str:
        """What the printed layer says beside its maps."""
        names = ("d_model", "n_heads", "d_state", "width")
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)

    def _continued(self, X: Tensor, cache: StateCache | None) -> tuple[Tensor | None, Tensor]:
        """The state before X, and the tokens before X that the short convolution sees: zeros at the beginning."""
        heads = split_heads(X, self.n_heads)
        numbers = self.d_state + self.width - 1
        held = (
            None if cache is None else cache.before(heads, heads[..., :1].expand(*heads.shape[:-1], numbers))
        )
        if held is None:
            return None, X.new_zeros(*X.shape[:-2], self.width - 1, X.shape[-1])
        h, tail = held.flatten(-3, -2).split([self.d_state, self.width - 1], dim=-1)
        return h, tail.mT.to(X.dtype)

    @checked
    def forward(
        self,
        X: Float[Tensor, "*b m {self.d_model}"],
        mask: Bool[Tensor, "..."] | None = None,
        bias: Float[Tensor, "..."] | None = None,
        rotate: Rotate | None = None,
        kv_cache: StateCache | None = None,
    ) -> Float[Tensor, "*b m d_model"]:
        """The output for X; with a cache X are the tokens after those whose state it holds.

        mask, bias    are refused: there are no scores of single pairs that they could change
        rotate        is not used: the order of the tokens is that in which they are written into the state
        """
        _check(type(self).__name__, X, self.W_X, mask, bias)
        U, n = self.W_X(X), X.shape[-2]
        h, tail = self._continued(U, kv_cache)
        seen = torch.cat([tail, U], dim=-2)
        convolved = depthwise_convolution(seen, self.filter.to(U.dtype), self.filter_bias.to(U.dtype))
        U = F.silu(convolved[..., self.width - 1 :, :])
        Y, h = self.scan(U, h)
        Y = (Y + self.skip * U).to(X.dtype)
        Y = merge_heads(self.heads(self.norm_Z(split_heads(Y, self.n_heads))))
        Y = self.W_O(Y * F.silu(self.W_Z(X)))
        if kv_cache is not None:
            state = torch.cat([h, seen[..., n:, :].mT.to(h.dtype)], dim=-1)
            kv_cache.hold(state.unflatten(-2, (self.n_heads, -1)), n)
        return Y

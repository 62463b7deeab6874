"""The twin of `attnlib.reference.delta_rule`: a token writes the difference between its value and what is held.

The book derives it in eq-delta-rule and eq-delta-chunks (Chapter 6). The triangular systems of all chunks are solved at
once: each for its values, and for what its keys would read from any state, which is known only when its turn comes.
Keys are not normalised in the functions: with |k| = 1 a step of one overwrites exactly what was held for the key, and
above step |k|^2 = 2 a state explodes. `DeltaRule` is the layer around them, which normalises keys.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlib.nn.heads import merge_heads
from attnlib.nn.linear_attention import _decays, _first, _in_chunks, _log, decay_products
from attnlib.nn.multihead import Rotate
from attnlib.nn.state_cache import StateCache
from attnlib.nn.state_parts import (
    _begin,
    _check,
    _convolution,
    _convolved,
    _decay_map,
    _gate_map,
    _gated,
    _heads,
    _in_full,
    _learned_decay,
    _of_state,
    _widths,
)
from attnlib.shapes import Bool, Float, Number, checked


@checked
def delta_rule(
    Q: Float[Tensor, "*b n d_k"],
    K: Float[Tensor, "*b n d_k"],
    V: Float[Tensor, "*b n d_v"],
    step: Float[Tensor, "*b n"],
    decay: Float[Tensor, "*b n"] | None = None,
    state: Float[Tensor, "*b d_k d_v"] | None = None,
) -> tuple[Float[Tensor, "*b n d_v"], Float[Tensor, "*b d_k d_v"]]:
    """What each token reads after its own write, and the last state (eq-delta-rule).

    step     in [0, 2], the share of the error that is corrected: 0 nothing, 1 all of it, 2 flips its sign
    decay    in (0, 1], how much of the state is kept at each token, before the difference is taken
    state    what earlier tokens left; by default zeros

    >>> Q, K, V = torch.ones(2, 1), torch.ones(2, 1), torch.tensor([[2.0], [4.0]])
    >>> delta_rule(Q, K, V, step=torch.ones(2))[0].flatten()  # the second value overwrites the first
    tensor([2., 4.])
    """
    S, a, outputs = _first(state, K, V), _decays(decay, K), []
    for t in range(K.shape[-2]):
        q, k, v = (A[..., t : t + 1, :] for A in (Q, K, V))
        kept = a[..., t, None, None] * S
        S = kept + k.mT * (step[..., t, None, None] * (v - k @ kept))  # eq-delta-rule
        outputs.append(q @ S)
    return torch.cat(outputs, dim=-2), S


def _solve_unit_lower(A: Tensor, *B: Tensor) -> tuple[Tensor, ...]:
    """For each B the X with (I + A) X = B, where A is zero on and above the diagonal; at least in float32."""
    dtype = torch.promote_types(A.dtype, torch.float32)
    joined = torch.cat(B, dim=-1)
    X = torch.linalg.solve_triangular(A.to(dtype), joined.to(dtype), upper=False, unitriangular=True)
    return X.to(joined.dtype).split([b.shape[-1] for b in B], dim=-1)


def _states_before(S: Tensor, kept: Tensor, K_left: Tensor, of_state: Tensor, of_values: Tensor) -> Tensor:
    """The states before each chunk, (*b, C, d_k, d_v), from that before the first.

    A chunk multiplies the state by one matrix and adds another one; both are computed for all chunks at once.
    """
    eye = torch.eye(S.shape[-2], dtype=S.dtype, device=S.device)
    kept, K_left, of_state, of_values = (A[..., :-1, :, :] for A in (kept, K_left, of_state, of_values))
    turned, added, before = kept * eye - K_left @ of_state, K_left @ of_values, [S]
    for i in range(turned.shape[-3]):
        before.append(turned[..., i, :, :] @ before[-1] + added[..., i, :, :])
    return torch.stack(before, dim=-3)


@checked
def delta_rule_chunked(
    Q: Float[Tensor, "*b n d_k"],
    K: Float[Tensor, "*b n d_k"],
    V: Float[Tensor, "*b n d_v"],
    step: Float[Tensor, "*b n"],
    chunk: Number[int, "1.."],
    decay: Float[Tensor, "*b n"] | None = None,
    state: Float[Tensor, "*b d_k d_v"] | None = None,
) -> tuple[Float[Tensor, "*b n d_v"], Float[Tensor, "*b d_k d_v"]]:
    """The same in chunks: what all tokens of a chunk write, U, solves one triangular system (eq-delta-chunks).

    chunk    how many tokens a chunk has; the last one may have fewer, and the output does not depend on it
    """
    n, S = K.shape[-2], _first(state, K, V)
    a = _in_chunks(_decays(decay, K)[..., None], chunk, filling=1.0)[..., 0]  # (*b, C, c)
    Q, K, V, step = (_in_chunks(A, chunk) for A in (Q, K, V, step[..., None]))  # (*b, C, c, d)
    M, since = decay_products(a), _log(a).cumsum(dim=-1).exp()[..., None]
    A = step * (K @ K.mT * M).tril(-1)
    of_values, of_state = _solve_unit_lower(A, step * V, step * since * K)
    K_left = (M[..., -1, :, None] * K).mT  # (*b, C, d_k, c)
    before = _states_before(S, since[..., -1:, :], K_left, of_state, of_values)
    U = of_values - of_state @ before  #                        eq-delta-chunks  (*b, C, c, d_v)
    O = (Q @ K.mT * M) @ U + since * (Q @ before)
    S = since[..., -1, -1:, :] * before[..., -1, :, :] + K_left[..., -1, :, :] @ U[..., -1, :, :]
    return O.flatten(-3, -2)[..., :n, :], S


class DeltaRule(nn.Module):
    """A layer of n_heads states that are written by the delta rule, with learned steps (eq-delta-chunks).

    Queries and keys have length one, so a step of one overwrites. With decays it is the gated delta rule (Yang, Kautz
    and Hatamizadeh, 2025); their layer, and that of Qwen3-Next, has `conv=4`, `gate=True` and an RMS norm as well.

    d_k, d_v        widths of a head's keys and values; by default d_model / n_heads, and d_k
    largest_step    steps are a sigmoid of a map of each token, times this; above one a step can flip a sign
    decay           "learned": a map of each token says how much each head keeps; None: everything is kept
    conv            width of a short convolution of queries, keys and values, such as 4; None: there is none
    gate            the output of each head is multiplied with swish of a map of the tokens
    chunk           how many tokens are computed at once; the output does not depend on it
    norm            a class of norm, such as `torch.nn.RMSNorm`, applied to the output of each head

    >>> layer, X, cache = DeltaRule(d_model=8, n_heads=2), torch.randn(5, 8), StateCache()
    >>> steps = [layer(x[None], kv_cache=cache) for x in X]
    >>> torch.allclose(torch.cat(steps), layer(X), atol=1e-5), cache.nbytes  # two of 4 x 4 numbers of 4 bytes
    (True, 128)
    """

    @checked
    def __init__(
        self,
        *,
        d_model: Number[int, "1.."],
        n_heads: Number[int, "1.."],
        d_k: Number[int, "1.."] | None = None,
        d_v: Number[int, "1.."] | None = None,
        largest_step: Number[float, "0<..2"] = 1.0,
        decay: str | None = None,
        conv: Number[int, "2.."] | None = None,
        gate: bool = False,
        chunk: Number[int, "1.."] = 64,
        bias: bool = True,
        norm: Callable[[int], nn.Module] | None = None,
    ) -> None:
        super().__init__()
        who = type(self).__name__
        self.d_k, self.d_v = _widths(who, d_model, n_heads, d_k, d_v)
        self.d_model, self.n_heads, self.largest_step, self.chunk = d_model, n_heads, largest_step, chunk
        self.W_Q = nn.Linear(d_model, n_heads * self.d_k, bias)
        self.W_K = nn.Linear(d_model, n_heads * self.d_k, bias)
        self.W_V = nn.Linear(d_model, n_heads * self.d_v, bias)
        self.W_O = nn.Linear(n_heads * self.d_v, d_model, bias)
        self.W_step = nn.Linear(d_model, n_heads)
        self.W_decay = _decay_map(who, decay, d_model, n_heads)
        self.W_G = _gate_map(gate, d_model, n_heads * self.d_v)
        self.conv = _convolution(conv, n_heads * (2 * self.d_k + self.d_v))
        self.norm_Z = nn.Identity() if norm is None else norm(self.d_v)
        self.heads = nn.Identity()

    def extra_repr(self) -> str:
        """What the printed layer says beside its maps."""
        names = ("d_model", "n_heads", "d_k", "d_v", "largest_step", "chunk")
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)

    def begin(self) -> None:
        """The numbers of its own with which a training starts, after those that all maps get."""
        _begin(self.W_decay, self.W_G)

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
        _check(type(self).__name__, X, self.W_Q, mask, bias)
        maps, recent = _convolved(self.conv, [W(X) for W in (self.W_Q, self.W_K, self.W_V)], kv_cache)
        Q, K, V = (_heads(A, self.n_heads) for A in maps)
        Q, K = F.normalize(Q, dim=-1), F.normalize(K, dim=-1)
        step = self.largest_step * torch.sigmoid(_of_state(self.W_step(X))).mT  # (*b, h, m)
        decay = _learned_decay(self.W_decay, X)
        state = None if kv_cache is None else kv_cache.before(K, V)
        with _in_full(X):
            if X.shape[-2] == 1:
                O, S = delta_rule(Q, K, V, step, decay, state)  # eq-delta-rule
            else:
                O, S = delta_rule_chunked(Q, K, V, step, self.chunk, decay, state)  # eq-delta-chunks
        Z = _gated(self.W_G, X, self.norm_Z(O.to(X.dtype)))
        Y = self.W_O(merge_heads(self.heads(Z)))
        if kv_cache is not None:
            kv_cache.hold(S, X.shape[-2], recent)
        return Y

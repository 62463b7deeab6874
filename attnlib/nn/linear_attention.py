"""The twin of `attnlib.reference.linear_attention`: linear attention as a sum, a recurrence and in chunks.

The book derives it in eq-linear-attention, eq-linear-state and eq-linear-chunks (Chapter 6). The chunked form computes
all chunks at once, except for the states between them, so its cost grows with n. A decay that has rounded to zero
counts as the smallest number of its dtype, because its logarithm is taken. `LinearAttention` is the layer around it.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlib import rules
from attnlib.nn.heads import merge_heads
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
    _widths,
)
from attnlib.nn.state_parts import _of_state as _of_state
from attnlib.shapes import Bool, Float, Number, checked


@checked
def elu_plus_one(X: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]:
    """A feature map that is positive everywhere: x + 1 above zero, e^x below (Katharopoulos and others, 2020)."""
    return torch.where(X > 0, X + 1, X.clamp(max=0).exp())


def _log(decay: Tensor) -> Tensor:
    """The logarithm of decays, which is finite."""
    return decay.clamp_min(torch.finfo(decay.dtype).tiny).log()


def _decays(decay: Tensor | None, K: Tensor) -> Tensor:
    """The decays; where none were given ones, (n,) for every sequence."""
    return K.new_ones(K.shape[-2]) if decay is None else decay


def _first(state: Tensor | None, K: Tensor, V: Tensor) -> Tensor:
    """The state before the first token, zeros where none was given."""
    return torch.zeros_like(K[..., 0, :, None] * V[..., 0, None, :]) if state is None else state


def _in_chunks(X: Tensor, chunk: int, filling: float = 0.0) -> Tensor:
    """(*b, n, d) as (*b, C, c, d); the last chunk is filled with tokens that write nothing."""
    chunk = min(chunk, X.shape[-2])
    missing = -X.shape[-2] % chunk
    filled = F.pad(X, (0, 0, 0, missing), value=filling) if missing else X
    return filled.unflatten(-2, (-1, chunk))


def _from_chunk_to_chunk(S: Tensor, kept: Tensor, added: Tensor) -> tuple[Tensor, Tensor]:
    """The states before each chunk, (*b, C, d_k, d_v), and after the last one."""
    before = []
    for i in range(added.shape[-3]):
        before.append(S)
        S = kept[..., i, :, :] * S + added[..., i, :, :]  # eq-linear-chunks
    return torch.stack(before, dim=-3), S


def _token_after_token(Q: Tensor, K: Tensor, V: Tensor, gates: Tensor, S: Tensor) -> tuple[Tensor, Tensor]:
    """The recurrence, with what is kept of each row of the state, or one number for all rows."""
    outputs = []
    for t in range(K.shape[-2]):
        S = gates[..., t, :, None] * S + K[..., t, :, None] * V[..., t, None, :]  # eq-linear-state
        outputs.append(Q[..., t : t + 1, :] @ S)  #                                 eq-linear-state
    return torch.cat(outputs, dim=-2), S


@checked
def decay_products(decay: Float[Tensor, "*b n"]) -> Float[Tensor, "*b n n"]:
    """How much of the pair of token s is left at token t: the product of the decays after s up to t; 0 for s > t."""
    L = _log(decay).cumsum(dim=-1)
    n = decay.shape[-1]
    past = torch.ones(n, n, dtype=torch.bool, device=decay.device).tril()
    return torch.where(past, L[..., :, None] - L[..., None, :], -math.inf).exp()  # eq-linear-attention


@checked
def linear_attention(
    Q: Float[Tensor, "*b n d_k"],
    K: Float[Tensor, "*b n d_k"],
    V: Float[Tensor, "*b n d_v"],
    decay: Float[Tensor, "*b n"] | None = None,
) -> Float[Tensor, "*b n d_v"]:
    """The masked sum: every score of a token and an earlier one, or itself, times its value (eq-linear-attention).

    decay    in (0, 1], how much of all that came before is kept at each token; by default everything
    """
    S = Q @ K.mT
    return (S.tril() if decay is None else S * decay_products(decay)) @ V  # eq-linear-attention


@checked
def linear_attention_recurrent(
    Q: Float[Tensor, "*b n d_k"],
    K: Float[Tensor, "*b n d_k"],
    V: Float[Tensor, "*b n d_v"],
    decay: Float[Tensor, "*b n"] | None = None,
    state: Float[Tensor, "*b d_k d_v"] | None = None,
) -> tuple[Float[Tensor, "*b n d_v"], Float[Tensor, "*b d_k d_v"]]:
    """The same output token after token, and the last state: S_t = decay_t S_(t-1) + k_t^T v_t (eq-linear-state).

    state    what earlier tokens left; by default zeros
    """
    return _token_after_token(Q, K, V, _decays(decay, K)[..., None], _first(state, K, V))


@checked
def linear_attention_chunked(
    Q: Float[Tensor, "*b n d_k"],
    K: Float[Tensor, "*b n d_k"],
    V: Float[Tensor, "*b n d_v"],
    chunk: Number[int, "1.."],
    decay: Float[Tensor, "*b n"] | None = None,
    state: Float[Tensor, "*b d_k d_v"] | None = None,
) -> tuple[Float[Tensor, "*b n d_v"], Float[Tensor, "*b d_k d_v"]]:
    """The same again: the masked sum within each chunk, the state from chunk to chunk (eq-linear-chunks).

    chunk    how many tokens a chunk has; the last one may have fewer, and the output does not depend on it

    >>> Q, K, V = torch.ones(3, 1), torch.ones(3, 1), torch.tensor([[2.0], [4.0], [1.0]])
    >>> linear_attention_chunked(Q, K, V, chunk=2)[0].flatten()
    tensor([2., 6., 7.])
    """
    n, S = K.shape[-2], _first(state, K, V)
    a = _in_chunks(_decays(decay, K)[..., None], chunk, filling=1.0)[..., 0]  # (*b, C, c)
    Q, K, V = (_in_chunks(A, chunk) for A in (Q, K, V))  #                      (*b, C, c, d)
    M, since = decay_products(a), _log(a).cumsum(dim=-1).exp()[..., None]
    before, S = _from_chunk_to_chunk(S, since[..., -1:, :], (M[..., -1, :, None] * K).mT @ V)
    O = (Q @ K.mT * M) @ V + since * (Q @ before)  # eq-linear-chunks
    return O.flatten(-3, -2)[..., :n, :], S


@checked
def normalised_linear_attention(
    Q: Float[Tensor, "*b n d_k"], K: Float[Tensor, "*b n d_k"], V: Float[Tensor, "*b n d_v"]
) -> Float[Tensor, "*b n d_v"]:
    """Linear attention divided by the query's dot product with the sum of all keys so far (eq-linear-attention).

    Q and K have passed a feature map that makes every such product positive, as `elu_plus_one` does.
    """
    summed = linear_attention(Q, K, torch.cat([V, torch.ones_like(V[..., :1])], dim=-1))
    return summed[..., :-1] / summed[..., -1:]  # eq-linear-attention


def _as_it_is(X: Tensor) -> Tensor:
    """No feature map."""
    return X


FEATURE_MAPS = {"elu_plus_one": elu_plus_one, "none": _as_it_is}


class LinearAttention(nn.Module):
    """Causal linear attention of X to itself with n_heads heads: in chunks, one token alone by the recurrence.

    d_k, d_v       widths of a head's keys and values; by default d_model / n_heads, and d_k
    feature_map    of queries and keys, one of FEATURE_MAPS
    normalised     weights sum to one, which needs a positive feature map; otherwise queries are divided by sqrt(d_k)
    decay          "learned": a map of each token says how much each head keeps; None: everything is kept
    conv           width of a short convolution of queries, keys and values, such as 4; None: there is none
    gate           the output of each head is multiplied with swish of a map of the tokens
    chunk          how many tokens are computed at once; the output does not depend on it
    norm           a class of norm, such as `torch.nn.RMSNorm`, applied to the output of each head

    >>> layer, X, cache = LinearAttention(d_model=8, n_heads=2), torch.randn(5, 8), StateCache()
    >>> steps = [layer(x[None], kv_cache=cache) for x in X]
    >>> torch.allclose(torch.cat(steps), layer(X), atol=1e-5), cache.nbytes  # two of 4 x (4 + 1) numbers of 4 bytes
    (True, 160)
    """

    @checked
    def __init__(
        self,
        *,
        d_model: Number[int, "1.."],
        n_heads: Number[int, "1.."],
        d_k: Number[int, "1.."] | None = None,
        d_v: Number[int, "1.."] | None = None,
        feature_map: str = "elu_plus_one",
        normalised: bool = True,
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
        rules.one_of(who, "feature_map", feature_map, FEATURE_MAPS)
        rules.must(
            not normalised or feature_map != "none",
            who,
            "weights that sum to one need a positive feature map; got feature_map='none'. Pass normalised=False.",
        )
        self.d_model, self.n_heads, self.normalised, self.chunk = d_model, n_heads, normalised, chunk
        self.feature_map = FEATURE_MAPS[feature_map]
        self.W_Q = nn.Linear(d_model, n_heads * self.d_k, bias)
        self.W_K = nn.Linear(d_model, n_heads * self.d_k, bias)
        self.W_V = nn.Linear(d_model, n_heads * self.d_v, bias)
        self.W_O = nn.Linear(n_heads * self.d_v, d_model, bias)
        self.W_decay = _decay_map(who, decay, d_model, n_heads)
        self.W_G = _gate_map(gate, d_model, n_heads * self.d_v)
        self.conv = _convolution(conv, n_heads * (2 * self.d_k + self.d_v))
        self.norm_Z = nn.Identity() if norm is None else norm(self.d_v)
        self.heads = nn.Identity()

    def extra_repr(self) -> str:
        """What the printed layer says beside its maps."""
        names = ("d_model", "n_heads", "d_k", "d_v", "normalised", "chunk")
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
        Q, K = self.feature_map(Q), self.feature_map(K)
        if self.normalised:  # the sum of the weights is that of values of one
            V = torch.cat([V, torch.ones_like(V[..., :1])], dim=-1)
        decay = _learned_decay(self.W_decay, X)
        state = None if kv_cache is None else kv_cache.before(K, V)
        with _in_full(X):
            if X.shape[-2] == 1:
                O, S = linear_attention_recurrent(Q, K, V, decay, state)  # eq-linear-state
            else:
                O, S = linear_attention_chunked(Q, K, V, self.chunk, decay, state)  # eq-linear-chunks
        Z = O[..., :-1] / O[..., -1:] if self.normalised else O / math.sqrt(self.d_k)
        Z = _gated(self.W_G, X, self.norm_Z(Z.to(X.dtype)))
        Y = self.W_O(merge_heads(self.heads(Z)))
        if kv_cache is not None:
            kv_cache.hold(S, X.shape[-2], recent)
        return Y

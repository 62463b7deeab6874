"""The twin of `attnlib.reference.low_rank`: attention whose keys and values are projected along the length (Linformer).

The book derives it in eq-linformer and eq-best-low-rank (Chapter 6), after Wang and others (2020). There is no causal
form: every row of the shorter keys and values mixes all positions, later ones too.
"""

import math

import torch
from torch import Tensor

from attnlib.nn.attention import fused_attention
from attnlib.shapes import Float, Number, checked


@checked
def random_projection(
    r: Number[int, "1.."], n: Number[int, "1.."], rng: torch.Generator
) -> Float[Tensor, "r n"]:
    """A random map from n rows to r: on average, its transpose times itself is the identity.

    >>> random_projection(5, 3, torch.Generator().manual_seed(0)).shape
    torch.Size([5, 3])
    """
    return torch.randn(r, n, generator=rng, device=rng.device) / math.sqrt(r)


@checked
def best_low_rank(P: Float[Tensor, "*b m n"], r: Number[int, "1.."]) -> Float[Tensor, "*b m n"]:
    """The matrix of rank r or less that is nearest to P: its r largest singular values are kept (eq-best-low-rank)."""
    U, values, Vt = torch.linalg.svd(P, full_matrices=False)
    return (U[..., :r] * values[..., None, :r]) @ Vt[..., :r, :]  # eq-best-low-rank


@checked
def low_rank_attention(
    Q: Float[Tensor, "*b m d_k"],
    K: Float[Tensor, "*b n d_k"],
    V: Float[Tensor, "*b n d_v"],
    E: Float[Tensor, "r n"],
    F: Float[Tensor, "r n"],
) -> Float[Tensor, "*b m d_v"]:
    """Attention to r mixtures of the tokens in place of the n tokens (eq-linformer).

    E, F    what each of the r mixtures takes of each key, and of each value

    >>> Q, K, V = torch.zeros(1, 1), torch.zeros(4, 1), torch.tensor([[1.0], [3.0], [5.0], [7.0]])
    >>> halves = torch.tensor([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]])
    >>> low_rank_attention(Q, K, V, halves, halves)
    tensor([[4.]])
    """
    return fused_attention(Q, E @ K, F @ V)  # eq-linformer

"""The twin of `attnlib.reference.random_features`: softmax attention estimated by positive random features (FAVOR+).

The book derives it in eq-random-expectation, eq-positive-features and eq-random-law (Chapter 6), after Choromanski and
others (2020). The causal form computes linear attention in chunks, so its cost grows with n, not with its square.
"""

import math

import torch
from torch import Tensor

from attnlib.nn.linear_attention import linear_attention_chunked
from attnlib.shapes import Float, Number, checked

CHUNK = 64  # tokens that the causal form computes at once; the output does not depend on it


@checked
def iid_directions(
    r: Number[int, "1.."], d_k: Number[int, "1.."], rng: torch.Generator
) -> Float[Tensor, "r d_k"]:
    """Independent directions: every number is drawn from a standard normal distribution.

    >>> iid_directions(5, 3, torch.Generator().manual_seed(0)).shape
    torch.Size([5, 3])
    """
    return torch.randn(r, d_k, generator=rng, device=rng.device)


@checked
def orthogonal_directions(
    r: Number[int, "1.."], d_k: Number[int, "1.."], rng: torch.Generator
) -> Float[Tensor, "r d_k"]:
    """Directions in blocks of d_k, perpendicular to each other; each alone is distributed as an independent one is.

    >>> W = orthogonal_directions(3, 3, torch.Generator().manual_seed(0))
    >>> torch.allclose(W @ W.T, (W**2).sum(dim=1).diag(), atol=1e-5)
    True
    """
    blocks = -(-r // d_k)
    units, R = torch.linalg.qr(torch.randn(blocks, d_k, d_k, generator=rng, device=rng.device))
    units = (
        units * R.diagonal(dim1=-2, dim2=-1).sign()[:, None, :]
    )  # so that all rotations are equally likely
    lengths = iid_directions(r, d_k, rng).norm(dim=1, keepdim=True)
    return units.reshape(-1, d_k)[:r] * lengths


def _exponents(X: Tensor, W: Tensor) -> Tensor:
    """w.x - |x|^2 / 2 for every direction w: the logarithms of the features, but for a constant."""
    return X @ W.mT - (X**2).sum(dim=-1, keepdim=True) / 2


@checked
def positive_features(X: Float[Tensor, "*b n d_k"], W: Float[Tensor, "r d_k"]) -> Float[Tensor, "*b n r"]:
    """The features of queries or keys: e^(w.x - |x|^2 / 2) / sqrt(r) for each direction w (eq-positive-features)."""
    return _exponents(X, W).exp() / math.sqrt(W.shape[0])  # eq-positive-features


def _stable_features(X: Tensor, W: Tensor, axes: tuple[int, ...]) -> Tensor:
    """The features of X / d_k^(1/4), divided by the largest one along the axes: a factor that later cancels.

    A feature that rounds to zero counts as the smallest number of its dtype, so that no denominator is zero.
    """
    A = _exponents(X / X.shape[-1] ** 0.25, W)
    F = (A - A.detach().amax(dim=axes, keepdim=True)).exp()
    return F.clamp_min(torch.finfo(F.dtype).tiny)


@checked
def random_feature_attention(
    Q: Float[Tensor, "*b m d_k"],
    K: Float[Tensor, "*b n d_k"],
    V: Float[Tensor, "*b n d_v"],
    W: Float[Tensor, "r d_k"],
) -> Float[Tensor, "*b m d_v"]:
    """An estimate of softmax attention without a mask, from r features and without an array of all pairs.

    W    directions, from `orthogonal_directions` or `iid_directions`

    >>> Q, K, V = torch.zeros(1, 2), torch.zeros(2, 2), torch.tensor([[4.0], [8.0]])
    >>> random_feature_attention(Q, K, V, iid_directions(4, 2, torch.Generator().manual_seed(0)))
    tensor([[6.]])
    """
    F_Q, F_K = _stable_features(Q, W, (-1,)), _stable_features(K, W, (-2, -1))
    return F_Q @ (F_K.mT @ V) / (F_Q @ F_K.sum(dim=-2)[..., None])


@checked
def causal_random_feature_attention(
    Q: Float[Tensor, "*b n d_k"],
    K: Float[Tensor, "*b n d_k"],
    V: Float[Tensor, "*b n d_v"],
    W: Float[Tensor, "r d_k"],
) -> Float[Tensor, "*b n d_v"]:
    """The same for causal attention: linear attention of the features, in chunks, divided by the sum of its weights.

    >>> Q, K, V = torch.zeros(2, 2), torch.zeros(2, 2), torch.tensor([[4.0], [8.0]])
    >>> causal_random_feature_attention(Q, K, V, iid_directions(4, 2, torch.Generator().manual_seed(0)))
    tensor([[4.],
            [6.]])
    """
    F_Q, F_K = _stable_features(Q, W, (-1,)), _stable_features(K, W, (-2, -1))
    with_ones = torch.cat([V, torch.ones_like(V[..., :1])], dim=-1)
    summed, _ = linear_attention_chunked(F_Q, F_K, with_ones, CHUNK)  # eq-linear-chunks
    return summed[..., :-1] / summed[..., -1:]

"""Sparse attention: each query keeps few keys, the best-scoring ones or the near ones.

The book derives it in eq-top-k, eq-top-k-attention, eq-local-mask, eq-local-gaussian and eq-local-attention (Chapter
1), the last two after Luong et al. (2015). The twin with the backwards written out is `attnlib.reference.sparse`.
"""

import math

import torch
from torch import Tensor

from attnlib.nn.attention import scaled_dot_product_attention
from attnlib.nn.ops import masked_softmax
from attnlib.nn.scores import scaled_dot_scores
from attnlib.shapes import Bool, Float, Number, checked


@checked
def scores_computed(mask: Bool[Tensor, "*s"]) -> int:
    """The number of scores that are computed if hidden ones are skipped (eq-scores-computed).

    >>> scores_computed(torch.ones(4, 4, dtype=torch.bool).tril())
    10
    """
    return int(mask.sum())  # eq-scores-computed


@checked
def top_k_mask(S: Float[Tensor, "*b n"], k: Number[int, "1..n"]) -> Bool[Tensor, "*b n"]:
    """True at the k largest scores of each row, exactly k; of equal scores the first ones count (eq-top-k).

    `torch.topk` does not specify which of two equal scores it takes; a stable sort takes the first.

    >>> top_k_mask(torch.tensor([[1.0, 3.0, 2.0], [5.0, 5.0, 5.0]]), k=2)
    tensor([[False,  True,  True],
            [ True,  True, False]])
    """
    order = torch.sort(S, dim=-1, descending=True, stable=True).indices
    return torch.zeros_like(S, dtype=torch.bool).scatter(-1, order[..., :k], True)  # eq-top-k  (*b, n)


@checked
def top_k_attention(
    Q: Float[Tensor, "*b m d_k"],
    K: Float[Tensor, "*b n d_k"],
    V: Float[Tensor, "*b n d_v"],
    k: Number[int, "1..n"],
    mask: Bool[Tensor, "*#b #m #n"] | None = None,
) -> Float[Tensor, "*b m d_v"]:
    """Scaled dot-product attention over the k best keys of each query (eq-top-k-attention).

    A query that sees fewer than k keys through the mask keeps those that it sees.

    >>> Q, K, V = torch.ones(1, 1), torch.tensor([[0.0], [2.0], [2.0]]), torch.tensor([[9.0], [1.0], [3.0]])
    >>> top_k_attention(Q, K, V, k=2)
    tensor([[2.]])
    """
    S = scaled_dot_scores(Q, K)
    if mask is None:
        return scaled_dot_product_attention(Q, K, V, top_k_mask(S, k))
    best = top_k_mask(torch.where(mask, S, -math.inf), k) & mask
    return scaled_dot_product_attention(Q, K, V, best)  # eq-top-k-attention  (*b, m, d_v)


@checked
def local_mask(
    m: Number[int, "1.."],
    n: Number[int, "1.."],
    window: Number[float, "0.."],
    centers: Float[Tensor, "*b {m}"] | None = None,
) -> Bool[Tensor, "*b {m} {n}"]:
    """True for the keys at most `window` positions from each query's centre (eq-local-mask).

    window      half the width: up to 2 window + 1 keys are seen
    centers     one position for each query, real-valued; by default query i looks around key i

    >>> local_mask(3, 4, window=1).int()
    tensor([[1, 1, 0, 0],
            [1, 1, 1, 0],
            [0, 1, 1, 1]], dtype=torch.int32)
    """
    if centers is None:
        centers = torch.arange(m, dtype=torch.float64)
    return (torch.arange(n, device=centers.device) - centers[..., None]).abs() <= window  # eq-local-mask


@checked
def local_attention(
    Q: Float[Tensor, "*b m d_k"],
    K: Float[Tensor, "*b n d_k"],
    V: Float[Tensor, "*b n d_v"],
    centers: Float[Tensor, "*b m"],
    window: Number[float, "0<.."],
    mask: Bool[Tensor, "*#b #m #n"] | None = None,
) -> Float[Tensor, "*b m d_v"]:
    """Attention in a window around a position that a model can predict, and learn to predict (eq-local-attention).

    centers     the centre of each query's window, real-valued; a query whose window holds no key gets zeros
    window      half the width D; the Gaussian's standard deviation is D / 2

    >>> Q, K, V = torch.zeros(1, 1), torch.zeros(3, 1), torch.tensor([[1.0], [0.0], [9.0]])
    >>> local_attention(Q, K, V, centers=torch.tensor([0.0]), window=1.0)
    tensor([[0.5000]])
    """
    S = scaled_dot_scores(Q, K)
    near = local_mask(S.shape[-2], S.shape[-1], window, centers)
    P = masked_softmax(S, near if mask is None else near & mask)  # eq-local-mask
    distance = torch.arange(S.shape[-1], device=S.device) - centers[..., None]
    G = torch.exp(-(distance**2) / (2 * (window / 2) ** 2))  # eq-local-gaussian
    return (P * G) @ V  #                                     eq-local-attention  (*b, m, d_v)

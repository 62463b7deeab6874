"""The twin of `attnlib.reference.kernel`: kernel regression in PyTorch.

The book derives it in eq-kernel and eq-gaussian-kernel (Chapter 1).
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attnlib.shapes import Float, Number, checked


@checked
def exponential_kernel(Q: Float[Tensor, "*b m d_k"], K: Float[Tensor, "*b n d_k"]) -> Float[Tensor, "*b m n"]:
    """exp(q.k / sqrt(d_k)) for every pair (eq-kernel)."""
    return torch.exp(Q @ K.mT / math.sqrt(Q.shape[-1]))  # eq-kernel


@checked
def gaussian_kernel(
    Q: Float[Tensor, "*b m d_k"], K: Float[Tensor, "*b n d_k"], bandwidth: Number[float, "0<.."]
) -> Float[Tensor, "*b m n"]:
    """exp(-|q - k|^2 / 2h^2) for every pair (eq-gaussian-kernel)."""
    distance = (Q[..., :, None, :] - K[..., None, :, :]).square().sum(dim=-1)
    return torch.exp(-distance / (2 * bandwidth**2))  # eq-gaussian-kernel


@checked
def kernel_regression(
    Q: Float[Tensor, "*b m d_k"],
    K: Float[Tensor, "*b n d_k"],
    V: Float[Tensor, "*b n d_v"],
    kernel: Callable[[Tensor, Tensor], Tensor],
) -> Float[Tensor, "*b m d_v"]:
    """The values averaged by how near each key lies to the query (eq-kernel)."""
    G = kernel(Q, K)
    return G @ V / G.sum(dim=-1, keepdim=True)  # eq-kernel

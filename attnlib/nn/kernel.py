"""The twin of `attnlib.reference.kernel`: kernel regression in PyTorch.

The book derives it in eq-kernel and eq-gaussian-kernel (Chapter 1).
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attnlib.nn import _check
from attnlib.shapes import Float


def exponential_kernel(Q: Float[Tensor, "*b m d_k"], K: Float[Tensor, "*b n d_k"]) -> Float[Tensor, "*b m n"]:
    """exp(q.k / sqrt(d_k)) for every pair (eq-kernel)."""
    _check.matrices("exponential_kernel", Q=Q, K=K)
    _check.same_width("exponential_kernel", "queries and keys", "d_k", Q=Q, K=K)
    return torch.exp(Q @ K.mT / math.sqrt(Q.shape[-1]))  # eq-kernel


def gaussian_kernel(
    Q: Float[Tensor, "*b m d_k"], K: Float[Tensor, "*b n d_k"], bandwidth: float
) -> Float[Tensor, "*b m n"]:
    """exp(-|q - k|^2 / 2h^2) for every pair (eq-gaussian-kernel)."""
    _check.matrices("gaussian_kernel", Q=Q, K=K)
    _check.same_width("gaussian_kernel", "queries and keys", "d_k", Q=Q, K=K)
    _check.positive("gaussian_kernel", "bandwidth", bandwidth)
    distance = (Q[..., :, None, :] - K[..., None, :, :]).square().sum(dim=-1)
    return torch.exp(-distance / (2 * bandwidth**2))  # eq-gaussian-kernel


def kernel_regression(
    Q: Float[Tensor, "*b m d_k"],
    K: Float[Tensor, "*b n d_k"],
    V: Float[Tensor, "*b n d_v"],
    kernel: Callable[[Tensor, Tensor], Tensor],
) -> Float[Tensor, "*b m d_v"]:
    """The values averaged by how near each key lies to the query (eq-kernel)."""
    _check.matrices("kernel_regression", Q=Q, K=K, V=V)
    _check.same_count("kernel_regression", "keys and values", "n", K=K, V=V)
    G = kernel(Q, K)
    _check.finite("kernel_regression", G=G)
    total = G.sum(dim=-1, keepdim=True)
    if not bool((total > 0).all()):
        raise ValueError(
            "kernel_regression: each query needs a key with a kernel value above zero; got a query without one. "
            "Widen the kernel."
        )
    return G @ V / total  # eq-kernel

"""The twin of `attnlib.reference.losses`: losses in PyTorch; one number for each token.

Chapter 5 derives them (eq-cross-entropy, eq-token-loss, eq-smoothed-target).
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlib.nn.ops import log_softmax, log_sum_exp
from attnlib.shapes import Bool, Float, Int, Number, checked


def _by_rows(S: Tensor, targets: Tensor, epsilon: float = 0.0) -> Tensor:
    """PyTorch's cross-entropy, which takes one axis of tokens."""
    rows, right = S.reshape(-1, S.shape[-1]), targets.reshape(-1).long()
    return F.cross_entropy(rows, right, reduction="none", label_smoothing=epsilon).view(targets.shape)


@checked
def cross_entropy(S: Float[Tensor, "*b vocab"], targets: Int[Tensor, "*b"]) -> Float[Tensor, "*b"]:
    """-log p of each target token, in nats."""
    return _by_rows(S, targets)


@checked
def smoothed_over_all(
    targets: Int[Tensor, "*b"], vocab: Number[int, "2.."], epsilon: Number[float, "0..1"]
) -> Float[Tensor, "*b vocab"]:
    """One-hot targets with a share epsilon spread evenly over all tokens, including the target."""
    right = F.one_hot(targets, vocab).to(torch.get_default_dtype())
    return (1 - epsilon) * right + epsilon / vocab


@checked
def smoothed_over_others(
    targets: Int[Tensor, "*b"], vocab: Number[int, "2.."], epsilon: Number[float, "0..1"]
) -> Float[Tensor, "*b vocab"]:
    """One-hot targets with a share epsilon spread evenly over the other tokens: the target keeps 1 - epsilon."""
    right = F.one_hot(targets, vocab).to(torch.get_default_dtype())
    return (1 - epsilon) * right + epsilon / (vocab - 1) * (1 - right)


@checked
def soft_cross_entropy(S: Float[Tensor, "*b vocab"], Q: Float[Tensor, "*b vocab"]) -> Float[Tensor, "*b"]:
    """Cross-entropy with a target distribution Q in place of one target token."""
    return -(Q * log_softmax(S)).sum(dim=-1)


@checked
def smoothed_cross_entropy(
    S: Float[Tensor, "*b vocab"], targets: Int[Tensor, "*b"], epsilon: Number[float, "0..1"]
) -> Float[Tensor, "*b"]:
    """Cross-entropy with labels that are smoothed over all tokens; the smoothed labels are never stored."""
    return _by_rows(S, targets, epsilon)


@checked
def z_loss(S: Float[Tensor, "*b vocab"]) -> Float[Tensor, "*b"]:
    """The square of Z = log sum exp of the scores: it limits their common offset, which the softmax ignores."""
    return log_sum_exp(S) ** 2


@checked
def sequence_loss(
    S: Float[Tensor, "*b vocab"], targets: Int[Tensor, "*b"], real: Bool[Tensor, "*b"]
) -> Float[Tensor, ""]:
    """The mean cross-entropy of the real tokens of a batch; padding may have any values."""
    shown = torch.where(real[..., None], S, 0.0)
    L = cross_entropy(shown, torch.where(real, targets, 0))
    return (L * real).sum() / real.sum()

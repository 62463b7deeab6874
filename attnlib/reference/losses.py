"""Losses: cross-entropy, with and without smoothed labels, and z-loss; one number for each token.

Chapter 5 derives them (eq-cross-entropy, eq-token-loss, eq-slope, eq-smoothed-target). The twin, where autograd does
the backward, is `attnlib.nn.losses`. S are the scores (logits), P their softmax; the gradient of each cross-entropy
with respect to S is P minus the target distribution.
"""

from typing import NamedTuple

import numpy as np

from attnlib import rules
from attnlib.reference.ops import log_softmax, log_sum_exp, softmax
from attnlib.shapes import Array, Bool, Float, Int, Number, checked


class CrossEntropyCache(NamedTuple):
    P: Float[Array, "*b vocab"]
    targets: Int[Array, "*b"]


@checked
def cross_entropy(
    S: Float[Array, "*b vocab"], targets: Int[Array, "*b"]
) -> tuple[Float[Array, "*b"] | np.floating, CrossEntropyCache]:
    """-log p of each target token, in nats.

    >>> S = np.log(np.array([[0.25, 0.75], [0.25, 0.75]]))
    >>> cross_entropy(S, np.array([1, 0]))[0].round(4)
    array([0.2877, 1.3863])
    """
    rules.between("cross_entropy", "targets", targets, "vocab - 1", S.shape[-1] - 1)
    L = log_softmax(S)
    loss = -np.take_along_axis(L, targets[..., None], axis=-1)[..., 0]
    return loss, CrossEntropyCache(np.exp(L), targets)


@checked
def cross_entropy_backward(
    dL: Float[Array, "*b"] | np.floating, cache: CrossEntropyCache
) -> Float[Array, "*b vocab"]:
    """dS = (P - Q) dL, where Q is one at the target token and zero elsewhere.

    >>> cross_entropy_backward(np.ones(1), CrossEntropyCache(np.array([[0.25, 0.75]]), np.array([1])))
    array([[ 0.25, -0.25]])
    """
    P, targets = cache
    dS = P.copy()
    at = targets[..., None]
    np.put_along_axis(dS, at, np.take_along_axis(P, at, axis=-1) - 1, axis=-1)
    return dS * np.expand_dims(dL, -1)


@checked
def smoothed_over_all(
    targets: Int[Array, "*b"], vocab: Number[int, "2.."], epsilon: Number[float, "0..1"]
) -> Float[Array, "*b vocab"]:
    """One-hot targets with a share epsilon spread evenly over all tokens, including the target.

    This is PyTorch's `label_smoothing`, and the definition of the original paper (2015).

    >>> smoothed_over_all(np.array([1]), 4, 0.2)
    array([[0.05, 0.85, 0.05, 0.05]])
    """
    rules.between("smoothed_over_all", "targets", targets, "vocab - 1", vocab - 1)
    right = targets[..., None] == np.arange(vocab)
    return (1 - epsilon) * right + epsilon / vocab


@checked
def smoothed_over_others(
    targets: Int[Array, "*b"], vocab: Number[int, "2.."], epsilon: Number[float, "0..1"]
) -> Float[Array, "*b vocab"]:
    """One-hot targets with a share epsilon spread evenly over the other tokens: the target keeps 1 - epsilon.

    The same as `smoothed_over_all` with a share V / (V - 1) times as large.

    >>> smoothed_over_others(np.array([1]), 5, 0.2)
    array([[0.05, 0.8 , 0.05, 0.05, 0.05]])
    """
    rules.between("smoothed_over_others", "targets", targets, "vocab - 1", vocab - 1)
    right = targets[..., None] == np.arange(vocab)
    return (1 - epsilon) * right + epsilon / (vocab - 1) * ~right


class SoftCrossEntropyCache(NamedTuple):
    L: Float[Array, "*b vocab"]  # log P
    Q: Float[Array, "*b vocab"]


@checked
def soft_cross_entropy(
    S: Float[Array, "*b vocab"], Q: Float[Array, "*b vocab"]
) -> tuple[Float[Array, "*b"] | np.floating, SoftCrossEntropyCache]:
    """Cross-entropy with a target distribution Q in place of one target token.

    Its minimum, at P = Q, is the entropy of Q: with smoothed labels the loss cannot reach zero.

    >>> half = np.array([[0.5, 0.5]])
    >>> soft_cross_entropy(np.log(half), half)[0].round(4)
    array([0.6931])
    """
    rules.probabilities("soft_cross_entropy", Q)
    L = log_softmax(S)
    return -(Q * L).sum(axis=-1), SoftCrossEntropyCache(L, Q)


@checked
def soft_cross_entropy_backward(
    dL: Float[Array, "*b"] | np.floating, cache: SoftCrossEntropyCache
) -> tuple[Float[Array, "*b vocab"], Float[Array, "*b vocab"]]:
    """dS = (P - Q) dL for rows of Q that sum to one, and dQ = -log P dL."""
    L, Q = cache
    d = np.expand_dims(dL, -1)
    return d * (np.exp(L) * Q.sum(axis=-1, keepdims=True) - Q), -d * L


@checked
def smoothed_cross_entropy(
    S: Float[Array, "*b vocab"], targets: Int[Array, "*b"], epsilon: Number[float, "0..1"]
) -> tuple[Float[Array, "*b"] | np.floating, SoftCrossEntropyCache]:
    """Cross-entropy with labels that are smoothed over all tokens.

    >>> smoothed_cross_entropy(np.zeros((1, 4)), np.array([2]), 0.1)[0].round(4)  # equal scores: log 4
    array([1.3863])
    """
    return soft_cross_entropy(S, smoothed_over_all(targets, S.shape[-1], epsilon).astype(S.dtype))


@checked
def smoothed_cross_entropy_backward(
    dL: Float[Array, "*b"] | np.floating, cache: SoftCrossEntropyCache
) -> Float[Array, "*b vocab"]:
    """dS = (P - Q) dL: the other tokens are pushed up while their probability is below epsilon / vocab."""
    return soft_cross_entropy_backward(dL, cache)[0]


class ZLossCache(NamedTuple):
    S: Float[Array, "*b vocab"]
    Z: Float[Array, "*b"] | np.floating


@checked
def z_loss(S: Float[Array, "*b vocab"]) -> tuple[Float[Array, "*b"] | np.floating, ZLossCache]:
    """The square of Z = log sum exp of the scores: it limits their common offset, which the softmax ignores.

    Added with a small factor, such as 1e-4, so that scores do not grow to where low precision is coarse.

    >>> z_loss(np.log(np.array([[0.25, 0.75], [1.0, 1.0]])))[0].round(4)
    array([0.    , 0.4805])
    """
    Z = log_sum_exp(S)
    return Z**2, ZLossCache(S, Z)


@checked
def z_loss_backward(dL: Float[Array, "*b"] | np.floating, cache: ZLossCache) -> Float[Array, "*b vocab"]:
    """dS: 2 Z times the softmax."""
    S, Z = cache
    return np.expand_dims(2 * Z * dL, -1) * softmax(S)


class SequenceLossCache(NamedTuple):
    tokens: CrossEntropyCache
    real: Bool[Array, "*b"]


@checked
def sequence_loss(
    S: Float[Array, "*b vocab"], targets: Int[Array, "*b"], real: Bool[Array, "*b"]
) -> tuple[Float[Array, ""] | np.floating, SequenceLossCache]:
    """The mean cross-entropy of the real tokens of a batch; padding may have any values.

    Each token counts the same, so a long sentence counts for more than a short one.

    real    True at a token, False at padding

    >>> S = np.log(np.array([[0.25, 0.75], [0.5, 0.5]]))
    >>> sequence_loss(S, np.array([1, -100]), np.array([True, False]))[0].round(4)
    np.float64(0.2877)
    """
    rules.must(bool(real.any()), "sequence_loss", f"there must be a real token; got none of {real.size}.")
    shown = np.where(real[..., None], S, 0)
    L, cache = cross_entropy(shown, np.where(real, targets, 0))
    return (L * real).sum() / real.sum(dtype=S.dtype), SequenceLossCache(cache, real)


@checked
def sequence_loss_backward(
    dL: Float[Array, ""] | np.floating, cache: SequenceLossCache
) -> Float[Array, "*b vocab"]:
    """dS: each real token gets the same share of dL; padding gets none."""
    tokens, real = cache
    part = (dL * real / real.sum()).astype(tokens.P.dtype)
    return cross_entropy_backward(part, tokens)

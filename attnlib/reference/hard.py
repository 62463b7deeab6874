"""Hard attention: one key is sampled instead of averaging over all, and two ways to train without its derivative.

The book derives it in eq-draw, eq-hard-attention, eq-expected-reward, eq-reinforce, eq-reinforce-variance,
eq-optimal-baseline and eq-straight-through (Chapter 1). The twin is `attnlib.nn.hard`.
"""

from typing import NamedTuple

import numpy as np

from attnlib import rules
from attnlib.reference.ops import softmax, softmax_backward
from attnlib.shapes import Array, Float, Int, checked


@checked
def one_hot(index: Int[Array, "*b"], P: Float[Array, "*#b n"]) -> Float[Array, "*b n"]:
    """A one at the drawn key and zeros elsewhere, as many keys and the same dtype as P (eq-hard-attention).

    >>> one_hot(np.array([2, 0]), np.array([[0.25, 0.25, 0.5], [0.25, 0.25, 0.5]]))
    array([[0., 0., 1.],
           [1., 0., 0.]])
    """
    return (index[..., None] == np.arange(P.shape[-1])).astype(P.dtype)


@checked
def sample_hard(P: Float[Array, "*b n"], rng: np.random.Generator) -> Int[Array, "*b"]:
    """One key for each row of P, drawn with its weight as its probability (eq-draw).

    The unit interval is cut into pieces as long as the weights, and a uniform number falls into one of them. A key of
    weight zero has no piece: it is never drawn.

    >>> sample_hard(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]), np.random.default_rng(0))
    array([1, 0])
    """
    rules.probabilities("sample_hard", P)
    rules.distributions("sample_hard", P)
    ends = P.cumsum(axis=-1, dtype=np.float64)
    u = (
        rng.random((*P.shape[:-1], 1)) * ends[..., -1:]
    )  # so that a sum of 1 - 1e-16 cannot exclude the last key
    return np.asarray((ends <= u).sum(axis=-1))  # eq-draw  (*b)


@checked
def hard_attention(
    P: Float[Array, "*b m n"], V: Float[Array, "*b n d_v"], index: Int[Array, "*b m"]
) -> Float[Array, "*b m d_v"]:
    """For each query the value of the key drawn from its row of P, and nothing of the others (eq-hard-attention).

    >>> P, V = np.array([[0.25, 0.75]]), np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> hard_attention(P, V, np.array([1]))
    array([[3., 4.]])
    """
    rules.between("hard_attention", "index", index, "n - 1", P.shape[-1] - 1)
    rules.possible("hard_attention", np.take_along_axis(P, index[..., None], axis=-1))
    return np.take_along_axis(V, index[..., None], axis=-2)  # eq-hard-attention  (*b, m, d_v)


@checked
def hard_attention_backward(
    dO: Float[Array, "*b m d_v"], P: Float[Array, "*b m n"], index: Int[Array, "*b m"]
) -> tuple[Float[Array, "*b m n"], Float[Array, "*b n d_v"]]:
    """dP and dV. dP is zero: a small change of a weight does not change the draw (eq-hard-attention-backward)."""
    return np.zeros_like(P), one_hot(index, P).swapaxes(-1, -2) @ dO  # eq-hard-attention-backward


@checked
def expected_reward(S: Float[Array, "*b n"], R: Float[Array, "*b n"]) -> Float[Array, "*b"] | np.floating:
    """The mean of the reward R[j] when key j is drawn from the softmax of S (eq-expected-reward).

    >>> float(expected_reward(np.array([0.0, 0.0]), np.array([1.0, 3.0])))
    2.0
    """
    return (softmax(S) * R).sum(axis=-1)  # eq-expected-reward  (*b)


@checked
def expected_reward_gradient(S: Float[Array, "*b n"], R: Float[Array, "*b n"]) -> Float[Array, "*b n"]:
    """The exact derivative with respect to the scores, which needs no sampling (eq-expected-reward-gradient).

    >>> expected_reward_gradient(np.array([0.0, 0.0]), np.array([1.0, 3.0]))
    array([-0.5,  0.5])
    """
    return softmax_backward(R, softmax(S))  # eq-expected-reward-gradient  (*b, n)


@checked
def reinforce_gradient(
    S: Float[Array, "*#b n"],
    index: Int[Array, "*b"],
    reward: Float[Array, "*b"] | np.floating | int | float,
    baseline: Float[Array, "*#b"] | np.floating | int | float = 0.0,
) -> Float[Array, "*b n"]:
    """One-draw estimates of that derivative, which only need the reward of the key that was drawn (eq-reinforce).

    reward      the reward of the sampled key
    baseline    subtracted from the reward; if it does not depend on the draw, the mean stays the same

    Many draws from the same S are leading axes of index and reward.

    >>> reinforce_gradient(np.array([0.0, 0.0]), np.array([0, 1]), reward=np.array([1.0, 3.0]))
    array([[ 0.5, -0.5],
           [-1.5,  1.5]])
    """
    rules.between("reinforce_gradient", "index", index, "n - 1", S.shape[-1] - 1)
    P = softmax(S)
    advantage = np.asarray(reward - baseline, S.dtype)[..., None]
    return advantage * (one_hot(index, P) - P)  # eq-reinforce  (*b, n)


@checked
def score_lengths(P: Float[Array, "*b n"]) -> Float[Array, "*b n"]:
    """The squared length of the score function, one-hot minus P, for each key that could be drawn (eq-score-length).

    >>> score_lengths(np.array([0.25, 0.75]))
    array([1.125, 0.125])
    """
    each = np.eye(P.shape[-1], dtype=P.dtype) - P[..., None, :]
    return (each**2).sum(axis=-1)  # eq-score-length  (*b, n)


@checked
def reinforce_variance(
    S: Float[Array, "*#b n"],
    R: Float[Array, "*#b n"],
    baseline: Float[Array, "*#b"] | np.floating | int | float = 0.0,
) -> Float[Array, "*#b"] | np.floating:
    """The variance of one draw's estimate, summed over the scores: the mean square minus the squared mean
    (eq-reinforce-variance). Several baselines to compare go into leading axes.

    >>> S, R = np.array([0.0, 0.0]), np.array([1.0, 3.0])
    >>> float(reinforce_variance(S, R)), float(reinforce_variance(S, R, baseline=2.0))
    (2.0, 0.0)
    """
    P = softmax(S)
    advantage = R - np.asarray(baseline, S.dtype)[..., None]
    mean_square = (P * advantage**2 * score_lengths(P)).sum(axis=-1)
    return mean_square - (expected_reward_gradient(S, R) ** 2).sum(axis=-1)  # eq-reinforce-variance  (*b)


@checked
def optimal_baseline(S: Float[Array, "*b n"], R: Float[Array, "*b n"]) -> Float[Array, "*b"] | np.floating:
    """The baseline of least variance: the mean reward, each key weighted by its squared score (eq-optimal-baseline).

    It is not the expected reward. With weights 1/4 and 3/4 the squared scores are 1.125 and 0.125, so the rare key
    counts three times as much as the other although it is drawn a third as often. Where the draw is certain every
    baseline has variance zero, and the expected reward is returned.

    >>> S, R = np.log(np.array([0.25, 0.75])), np.array([4.0, 0.0])
    >>> round(float(expected_reward(S, R)), 12), round(float(optimal_baseline(S, R)), 12)
    (1.0, 3.0)
    """
    P = softmax(S)
    W = P * score_lengths(P)
    W = np.where(W.sum(axis=-1, keepdims=True) > 0, W, P)
    return (W * R).sum(axis=-1) / W.sum(axis=-1)  # eq-optimal-baseline  (*b)


class StraightThroughCache(NamedTuple):
    P: Float[Array, "*b m n"]
    V: Float[Array, "*b n d_v"]
    H: Float[Array, "*b m n"]


@checked
def straight_through_attention(
    S: Float[Array, "*b m n"], V: Float[Array, "*b n d_v"], index: Int[Array, "*b m"]
) -> tuple[Float[Array, "*b m d_v"], StraightThroughCache]:
    """Hard attention in the forward; the backward is that of soft attention with weights P (eq-straight-through).

    >>> O, cache = straight_through_attention(np.zeros((1, 2)), np.array([[1.0], [3.0]]), np.array([1]))
    >>> O
    array([[3.]])
    """
    P = softmax(S)
    return hard_attention(P, V, index), StraightThroughCache(P, V, one_hot(index, P))  # eq-straight-through


@checked
def straight_through_attention_backward(
    dO: Float[Array, "*b m d_v"], cache: StraightThroughCache
) -> tuple[Float[Array, "*b m n"], Float[Array, "*b n d_v"]]:
    """dS as if O had been P V, and the exact dV, nonzero only for sampled values (eq-straight-through-backward).

    If the loss is linear in O, then dS is the exact derivative of the expected loss, without any variance; if it is
    not, dO depends on the draw and dS is biased.
    """
    P, V, H = cache
    dS = softmax_backward(dO @ V.swapaxes(-1, -2), P)  # eq-straight-through-backward
    return dS, H.swapaxes(-1, -2) @ dO

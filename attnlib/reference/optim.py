"""Optimisers: SGD, momentum, Adam, weight decay, and gradient clipping.

Chapter 5 derives them. Each is a pure function from a parameter W of any shape, its gradient dW and the state of the
optimiser to the new parameter and state. `torch.optim` has the same optimisers.
"""

import math
from typing import NamedTuple

import numpy as np

from attnlib import rules
from attnlib.shapes import Array, Float, Number, checked


@checked
def sgd(W: Float[Array, "*s"], dW: Float[Array, "*s"], rate: Number[float, "0.."]) -> Float[Array, "*s"]:
    """Stochastic gradient descent: one step against the gradient.

    >>> sgd(np.array([1.0, 2.0]), np.array([10.0, 0.0]), rate=0.01)
    array([0.9, 2. ])
    """
    return W - rate * dW


@checked
def momentum(
    W: Float[Array, "*s"],
    dW: Float[Array, "*s"],
    B: Float[Array, "*s"],
    rate: Number[float, "0.."],
    beta: Number[float, "0..1"] = 0.9,
) -> tuple[Float[Array, "*s"], Float[Array, "*s"]]:
    """A step against B, a sum of gradients in which earlier ones decay by beta a step; B begins as zeros.

    >>> W, B = momentum(np.array([1.0]), np.array([1.0]), np.array([2.0]), rate=0.1, beta=0.5)
    >>> W, B
    (array([0.8]), array([2.]))
    """
    B = beta * B + dW
    return W - rate * B, B


@checked
def with_l2(dW: Float[Array, "*s"], W: Float[Array, "*s"], decay: Number[float, "0.."]) -> Float[Array, "*s"]:
    """The gradient when decay / 2 times the sum of squares of W is added to the loss.

    >>> with_l2(np.array([1.0]), np.array([2.0]), decay=0.1)
    array([1.2])
    """
    return dW + decay * W


class AdamSettings(NamedTuple):
    """The decay of Adam's averages of the gradient and of its square, and eps, which is added to the root."""

    beta_1: Number[float, "0..1"]
    beta_2: Number[float, "0..1"]
    eps: Number[float, "0<.."]


KINGMA_BA_2014 = AdamSettings(0.9, 0.999, 1e-8)  # the paper that introduced Adam; PyTorch's default
VASWANI_2017 = AdamSettings(0.9, 0.98, 1e-9)  # the first transformer
BROWN_2020 = AdamSettings(0.9, 0.95, 1e-8)  # GPT-3, and most later language models


class AdamState(NamedTuple):
    """The moving averages of the gradient and of its square, and the number of steps."""

    m: Float[Array, "*s"]
    v: Float[Array, "*s"]
    t: Number[int, "0.."]


@checked
def adam_state(W: Float[Array, "*s"]) -> AdamState:
    """Adam's state before the first step: zeros.

    >>> adam_state(np.array([5.0]))
    AdamState(m=array([0.]), v=array([0.]), t=0)
    """
    return AdamState(np.zeros_like(W), np.zeros_like(W), 0)


@checked
def adam(
    W: Float[Array, "*s"],
    dW: Float[Array, "*s"],
    state: AdamState,
    rate: Number[float, "0.."],
    settings: AdamSettings = KINGMA_BA_2014,
) -> tuple[Float[Array, "*s"], AdamState]:
    """A step of Adam, about `rate` in each coordinate: the mean gradient over the root of its mean square.

    Both averages begin at zero, so each is divided by the sum of its weights so far, 1 - beta^t: bias correction.

    >>> W = np.array([1.0, 1.0])
    >>> adam(W, np.array([1e-3, -1e3]), adam_state(W), rate=0.1)[0].round(4)  # the first step has the size of the rate
    array([0.9, 1.1])
    """
    beta_1, beta_2, eps = settings
    rules.must(
        max(beta_1, beta_2) < 1, "adam", f"beta_1 and beta_2 must be below 1; got {beta_1:g}, {beta_2:g}."
    )
    t = state.t + 1
    m = beta_1 * state.m + (1 - beta_1) * dW
    v = beta_2 * state.v + (1 - beta_2) * dW**2
    m_hat, v_hat = m / (1 - beta_1**t), v / (1 - beta_2**t)
    return W - rate * m_hat / (np.sqrt(v_hat) + eps), AdamState(m, v, t)


@checked
def adamw(
    W: Float[Array, "*s"],
    dW: Float[Array, "*s"],
    state: AdamState,
    rate: Number[float, "0.."],
    decay: Number[float, "0.."],
    settings: AdamSettings = KINGMA_BA_2014,
) -> tuple[Float[Array, "*s"], AdamState]:
    """Adam with decoupled weight decay: W shrinks by the share rate times decay, which is not divided by the root of v.

    >>> W = np.array([1.0])
    >>> adamw(W, np.zeros(1), adam_state(W), rate=0.1, decay=0.5)[0]
    array([0.95])
    """
    return adam((1 - rate * decay) * W, dW, state, rate, settings)


@checked
def global_norm(*gradients: Float[Array, "..."]) -> float:
    """The Euclidean length of all gradients as one vector.

    >>> global_norm(np.array([3.0]), np.array([[0.0, 4.0]]))
    5.0
    """
    return math.sqrt(sum(float((g.astype(np.float64) ** 2).sum()) for g in gradients))


@checked
def clipped_by_norm(*gradients: Float[Array, "..."], max_norm: Number[float, "0<.."]) -> list[Array]:
    """All gradients scaled by one factor so that their global norm is at most `max_norm`; the direction stays.

    >>> clipped_by_norm(np.array([3.0]), np.array([4.0]), max_norm=1.0)
    [array([0.6]), array([0.8])]
    """
    norm = global_norm(*gradients)
    return [g if norm <= max_norm else g * (max_norm / norm) for g in gradients]

"""Loss scaling: gradients that would be too small for float16 are computed larger by a factor, and divided by it.

Chapter 5 derives it (small-numbers). The order matters: multiply the loss by the scale, compute gradients, divide
them by the scale, check that all are finite, clip, step, update the scale. `torch.amp.GradScaler` does the same.
"""

from typing import NamedTuple

import numpy as np

from attnlib.shapes import Array, Float, Number, checked


class LossScale(NamedTuple):
    """The factor on the loss, and the number of steps in a row with finite gradients."""

    value: Number[float, "0<.."] = 65536.0
    good: Number[int, "0.."] = 0


@checked
def scaled(loss: float, scale: LossScale) -> float:
    """The loss times the scale, so that each gradient is larger by it (eq-scaled-loss).

    >>> scaled(2.5, LossScale(1024.0))
    2560.0
    """
    return loss * scale.value  # eq-scaled-loss


@checked
def unscaled(*gradients: Float[Array, "..."], scale: LossScale) -> tuple[list[Array], bool]:
    """The gradients of the unscaled loss, in float32 or more (eq-unscaled), and whether all are finite.

    >>> dW = np.array([1e-8], np.float32)
    >>> (dW.astype(np.float16), (1024 * dW).astype(np.float16))
    (array([0.], dtype=float16), array([1.025e-05], dtype=float16))
    >>> unscaled((1024 * dW).astype(np.float16), scale=LossScale(1024.0))
    ([array([1.0011718e-08], dtype=float32)], True)
    """
    wide = [g.astype(np.result_type(g, np.float32)) for g in gradients]
    found = [g / np.asarray(scale.value, g.dtype) for g in wide]  # eq-unscaled
    return found, all(bool(np.isfinite(g).all()) for g in found)


@checked
def next_scale(scale: LossScale, finite: bool, every: Number[int, "1.."] = 2000) -> LossScale:
    """Halve the scale when a gradient was not finite, and double it after `every` good steps in a row.

    >>> next_scale(LossScale(1024.0, 7), finite=False)
    LossScale(value=512.0, good=0)
    >>> next_scale(LossScale(1024.0, 7), finite=True, every=8)
    LossScale(value=2048.0, good=0)
    """
    if not finite:
        return LossScale(scale.value / 2, 0)
    if scale.good + 1 < every:
        return LossScale(scale.value, scale.good + 1)
    return LossScale(scale.value * 2, 0)

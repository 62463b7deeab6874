"""Learning-rate schedules: the rate as a function of the step, in closed form.

Chapter 5 derives them. Steps are counted from 0, as in PyTorch, and the papers' t is step + 1, so that the first rate
is not zero; with `from_zero`, t is the step itself, as in Hugging Face's schedules, and the first step changes nothing.
`peak` is the largest rate; its default 1 gives a factor, as needed by
`torch.optim.lr_scheduler.LambdaLR(optimizer, partial(cosine, steps=1000, warmup=100))`.
"""

import math

from attnlib.shapes import Number, checked


@checked
def constant(
    step: Number[int, "0.."],
    warmup: Number[int, "0.."] = 0,
    peak: Number[float, "0<.."] = 1.0,
    from_zero: bool = False,
) -> float:
    """Linear warmup for `warmup` steps, then constant.

    >>> [constant(step, warmup=4) for step in range(6)]
    [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]
    >>> [constant(step, warmup=4, from_zero=True) for step in range(6)]
    [0.0, 0.25, 0.5, 0.75, 1.0, 1.0]
    """
    t = step if from_zero else step + 1
    return peak * min(1.0, t / warmup if warmup else 1.0)


def _done(step: int, begin: int, end: int) -> float:
    """The fraction of steps done between `begin` and `end`: 0 before, 1 after."""
    return min(1.0, max(0, step - begin) / max(1, end - begin))


@checked
def linear(
    step: Number[int, "0.."],
    steps: Number[int, "1.."],
    warmup: Number[int, "0..steps"] = 0,
    peak: Number[float, "0<.."] = 1.0,
    last: Number[float, "0..1"] = 0.0,
    from_zero: bool = False,
) -> float:
    """Linear warmup, then linear decay to the share `last` of the peak after the last step.

    >>> [linear(step, steps=6, warmup=2) for step in range(7)]
    [0.5, 1.0, 1.0, 0.75, 0.5, 0.25, 0.0]
    """
    return constant(step, warmup, peak, from_zero) * (1 - (1 - last) * _done(step, warmup, steps))


@checked
def cosine(
    step: Number[int, "0.."],
    steps: Number[int, "1.."],
    warmup: Number[int, "0..steps"] = 0,
    peak: Number[float, "0<.."] = 1.0,
    last: Number[float, "0..1"] = 0.0,
    from_zero: bool = False,
) -> float:
    """Linear warmup, then half a wave of a cosine down to the share `last`: slow at both ends.

    >>> [round(cosine(step, steps=6, warmup=2), 3) for step in range(7)]
    [0.5, 1.0, 1.0, 0.854, 0.5, 0.146, 0.0]
    """
    wave = (1 + math.cos(math.pi * _done(step, warmup, steps))) / 2
    return constant(step, warmup, peak, from_zero) * (last + (1 - last) * wave)


@checked
def inverse_square_root(
    step: Number[int, "0.."], warmup: Number[int, "1.."], peak: Number[float, "0<.."] = 1.0
) -> float:
    """Linear warmup, then the peak times the root of warmup / t: without an end, so no length has to be chosen.

    >>> [round(inverse_square_root(step, warmup=4), 3) for step in (0, 3, 15, 63)]
    [0.25, 1.0, 0.5, 0.25]
    """
    t = step + 1
    return peak * min(t / warmup, math.sqrt(warmup / t))


@checked
def vaswani_2017(
    step: Number[int, "0.."], d_model: Number[int, "1.."] = 512, warmup: Number[int, "1.."] = 4000
) -> float:
    """The rate of the first transformer, d_model^-1/2 min(t^-1/2, t warmup^-3/2): wider models get smaller rates.

    >>> f"{vaswani_2017(3999):.2e}"  # the peak, at t = warmup
    '6.99e-04'
    """
    return inverse_square_root(step, warmup, peak=1 / math.sqrt(d_model * warmup))


@checked
def warmup_stable_decay(
    step: Number[int, "0.."],
    steps: Number[int, "1.."],
    decay: Number[int, "1..steps"],
    warmup: Number[int, "0..steps"] = 0,
    peak: Number[float, "0<.."] = 1.0,
    last: Number[float, "0..1"] = 0.0,
    from_zero: bool = False,
) -> float:
    """Linear warmup, constant, and linear decay in the last `decay` steps: the end can be chosen late.

    >>> [warmup_stable_decay(step, steps=8, decay=4, warmup=2) for step in range(9)]
    [0.5, 1.0, 1.0, 1.0, 1.0, 0.75, 0.5, 0.25, 0.0]
    """
    return constant(step, warmup, peak, from_zero) * (1 - (1 - last) * _done(step, steps - decay, steps))

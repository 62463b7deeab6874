"""One number from a curve: where it first falls below a level, or first reaches it.

Book: the-bottleneck.
"""

from collections.abc import Sequence
from typing import TypeVar

X = TypeVar("X", int, float)


def first_below(x: Sequence[X], y: Sequence[float], level: float = 0.9) -> X | None:
    """The first x at which the curve is below `level`; None if it never is.

    >>> first_below([4, 6, 8], [1.0, 0.95, 0.7])
    8
    """
    _check("first_below", x, y)
    return next((here for here, value in zip(x, y, strict=True) if value < level), None)


def first_reached(x: Sequence[X], y: Sequence[float], level: float = 0.9) -> X | None:
    """The first x at which the curve is at `level` or above; None if it never is.

    >>> first_reached([50, 100, 150], [0.2, 0.9, 0.85])
    100
    """
    _check("first_reached", x, y)
    return next((here for here, value in zip(x, y, strict=True) if value >= level), None)


def _check(who: str, x: Sequence[float | int], y: Sequence[float]) -> None:
    if len(x) != len(y):
        raise ValueError(f"{who}: every x needs its y; got {len(x)} x and {len(y)} y.")

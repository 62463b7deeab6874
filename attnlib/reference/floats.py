"""Floating-point formats: how a number is rounded when it is stored in few bits, to zero or infinity at the limits.

Chapter 5 shows it (small-numbers). A format has a sign, e bits for the exponent (the power of two) and m bits for
the digits after the leading one. Numbers are computed in float64, which represents all formats below exactly.
"""

import math
from typing import NamedTuple

import numpy as np

from attnlib.shapes import Array, Float, Number, checked


class FloatFormat(NamedTuple):
    """The number of bits of the exponent, and of the digits (mantissa)."""

    e: Number[int, "2..8"]
    m: Number[int, "1..23"]


FLOAT32 = FloatFormat(8, 23)
FLOAT16 = FloatFormat(5, 10)
BFLOAT16 = FloatFormat(8, 7)


@checked
def largest_power(format: FloatFormat) -> int:
    """The largest exponent of a finite number; the next one encodes infinity and NaN.

    >>> largest_power(FLOAT16), largest_power(BFLOAT16)
    (15, 127)
    """
    return 2 ** (format.e - 1) - 1


@checked
def largest(format: FloatFormat) -> float:
    """The largest finite number.

    >>> largest(FLOAT16), largest(BFLOAT16) == 3.3895313892515355e38
    (65504.0, True)
    """
    return (2 - 2.0**-format.m) * 2.0 ** largest_power(format)


@checked
def smallest_normal(format: FloatFormat) -> float:
    """The smallest number with full precision; smaller ones (subnormal) have fewer digits.

    >>> smallest_normal(FLOAT16) == 2.0**-14, smallest_normal(BFLOAT16) == smallest_normal(FLOAT32)
    (True, True)
    """
    return 2.0 ** (1 - largest_power(format))


@checked
def smallest(format: FloatFormat) -> float:
    """The smallest number above zero.

    >>> smallest(FLOAT16) == 2.0**-24, smallest(BFLOAT16) == 2.0**-133
    (True, True)
    """
    return smallest_normal(format) * 2.0**-format.m


@checked
def spacing(x: Float[Array, "*s"], format: FloatFormat) -> Float[Array, "*s"]:
    """The distance from x to the next number of the format (eq-spacing); it grows with x.

    >>> spacing(np.array([1.0, 3.0, 1e-9, 0.0]), FLOAT16).tolist() == [2**-10, 2**-9, 2**-24, 2**-24]
    True
    """
    size = np.maximum(np.abs(x).astype(np.float64), smallest_normal(format))
    power = np.minimum(np.frexp(size)[1] - 1, largest_power(format))
    return np.asarray(np.ldexp(1.0, power - format.m))  # eq-spacing


@checked
def stored(x: Float[Array, "*s"], format: FloatFormat) -> Float[Array, "*s"]:
    """The nearest number of the format (eq-stored); of two equally near ones that whose last digit is zero.

    >>> stored(np.array([1 + 1e-4, 1 + 1e-3, 1e-8, 7e4]), FLOAT16)
    array([1.        , 1.00097656, 0.        ,        inf])
    """
    step = spacing(x, format)
    near = np.round(x.astype(np.float64) / step) * step  # eq-stored
    return np.where(np.abs(near) > largest(format), np.copysign(np.inf, near), near)


@checked
def bits(x: float, format: FloatFormat) -> tuple[str, str, str]:
    """The bits of sign, exponent and digits as they are stored; the exponent is stored with an offset.

    >>> bits(1.0, FLOAT16), bits(-0.375, BFLOAT16)
    (('0', '01111', '0000000000'), ('1', '01111101', '1000000'))
    """
    y = float(stored(np.array(x), format))
    sign = str(int(math.copysign(1, y) < 0))
    if not math.isfinite(y):
        return sign, "1" * format.e, f"{int(math.isnan(y)) << (format.m - 1):0{format.m}b}"
    steps = round(
        abs(y) / float(spacing(np.array(y), format))
    )  # the digits, with the leading one unless x is subnormal
    leads = steps >> format.m
    power = leads * (math.frexp(y)[1] - 1 + largest_power(format))
    return sign, f"{power:0{format.e}b}", f"{steps - (leads << format.m):0{format.m}b}"

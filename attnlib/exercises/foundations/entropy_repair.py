"""An entropy that is negative, or nan

repair · ★ · 5 min · 01-foundations/8-temperature · after foundations.entropy

This entropy of each row comes out negative, and nan where a mask has made a weight zero. Repair both.

1. Which sign has the logarithm of a number below one?
2. What is the logarithm of zero, and what is zero times that?
3. Use the array in which the zeros were replaced, and mind the sign before the sum.

`safe` was made and then not used: a bug that raises no error.
"""

import numpy as np

from attnlib.exercises.foundations.entropy import MISTAKES as MISTAKES
from attnlib.exercises.foundations.entropy import cases as cases
from attnlib.exercises.foundations.entropy import reference as reference


def entropy_of_rows(P):
    """The entropy of each row of weights, in nats; a weight of zero adds nothing."""
    safe = np.where(P > 0, P, 1.0)
    return -(P * np.log(safe)).sum(axis=-1)


GIVEN = ("log of zero", "sign")
VARIANTS = (
    {"safe = np.where(P > 0, P, 1.0)": "safe = P + (P == 0)"},
    {"-(P * np.log(safe)).sum(axis=-1)": "(P * np.log(1 / safe)).sum(axis=-1)"},
)  # fmt: skip

"""The gradient noise scale: how much of a batch's gradient is noise, measured with batches of two sizes.

Chapter 5 uses it (where-the-time-goes): eq-gradient-length solved for its two unknowns; their ratio is eq-noise-scale.
"""

from attnlib import rules
from attnlib.shapes import Number, checked


@checked
def signal_and_noise(
    small: Number[float, "0.."], large: Number[float, "0.."], b: Number[int, "1.."], B: Number[int, "2.."]
) -> tuple[float, float]:
    """The squared length of the true gradient, and the variance of the gradient of one row; eq-gradient-length.

    small, large    mean squared lengths of the gradients of batches of b and of B rows; of too few batches the first
                    result can come out negative

    >>> signal_and_noise(small=3.0, large=1.5, b=2, B=8)  # 1 + 4 / 2 and 1 + 4 / 8
    (1.0, 4.0)
    """
    rules.must(b < B, "signal_and_noise", f"b must be smaller than B; got b={b} and B={B}.")
    return (B * large - b * small) / (B - b), (small - large) / (1 / b - 1 / B)

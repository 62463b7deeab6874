"""Where the square takes over

predict · ★★ · 4 min · 02-self-attention/4-what-it-costs · after self-attention.count

Self-attention of width 512, with its four projections. At how many tokens do the two products with n by n
matrices take as many multiply-adds as the four projections?

1. Write both counts down. Which of them grows with the square of n, and which with the square of d?
2. Set 4 n d d equal to 2 n n d.
3. Divide both sides by 2 n d.

At n = 2d. For a sentence the projections dominate; the square matters for long texts.
"""

WIDTH = 512


def answer():
    return 2 * WIDTH


WITHIN = 0.5
MISTAKES = """
three quarters of it | The output projection belongs to the four.
    = 3 * WIDTH / 2
n equal to d | That compares one product of each kind. There are four of one and two of the other.
    = WIDTH
the scores alone | Averaging the values costs as much as the scores.
    = 4 * WIDTH
the square | Both counts have a factor n d in common: divide by it first.
    = WIDTH ** 2
half of the width | The four are on the side of the width.
    = WIDTH / 2
one token more or less | One token later the products take more, one token earlier the projections. Asked is
  where they are equal.
    = 2.0 * WIDTH + 1
    = 2.0 * WIDTH - 1
"""

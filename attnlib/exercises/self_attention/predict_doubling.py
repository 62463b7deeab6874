"""Twice the text

predict · ★★ · 5 min · 02-self-attention/4-what-it-costs

A transformer block of width 768 (four projections, mixing, a feed-forward network of 8 n d²) reads texts of 512
tokens. By what factor do its multiply-adds grow if the texts become twice as long? Give it to one decimal.

1. One part of the cost grows with n, the other with n². What is the ratio of the two at 512 tokens?
2. Per block 12 n d² + 2 n² d: divide by 2 n d, and 6 d + n is left for one token.
3. Twice the tokens, times (6 d + 1024) / (6 d + 512).

"Attention is quadratic", and twice the text costs 2.2 times as much, not four times. The factor gets near four only
where n is far beyond 6 d.
"""

from attnlib.exercises.engine.model import Mistake

WIDTH, BEFORE = 768, 512


def answer():
    return 2 * (6 * WIDTH + 2 * BEFORE) / (6 * WIDTH + BEFORE)


WITHIN = 0.06
MISTAKES = (
    Mistake("quadratic", "Only the mixing is quadratic, and at 512 tokens it is a tenth of the cost.", 4),
    Mistake("linear", "The projections and the feed-forward network double, and the mixing becomes four times as much.",
        2),
    Mistake("without the feed-forward network", "That is attention alone. The block has a feed-forward network of 8 n "
        "d² as well.", 2 * (2 * WIDTH + 2 * BEFORE) / (2 * WIDTH + BEFORE)),
    Mistake("per token", "That is how much more each token costs. There are twice as many of them.",
        (6 * WIDTH + 2 * BEFORE) / (6 * WIDTH + BEFORE)),
    Mistake("one product for the mixing", "The mixing has two products with n by n matrices: scores and averages.",
        2 * (12 * WIDTH + 2 * BEFORE) / (12 * WIDTH + BEFORE)),
    Mistake("eight times", "Doubling n makes n² four times as large.", 8),
)  # fmt: skip

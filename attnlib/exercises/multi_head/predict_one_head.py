"""One head, four places

predict · ★ · 3 min · 03-multi-head/1-why-several-heads

A position needs what stands at 4 other places. One head has to look at all of them at once. At best, how
much weight can the place that gets the least of them have?

1. What do the weights of a row sum to?
2. If one place gets more, who gets less?
3. Share the total of one equally.

A quarter each, and worse: the head returns one average, in which the four values can be told apart only if
they lie in different directions.
"""

OFFSETS = 4


def answer():
    return 1 / OFFSETS


MISTAKES = """
one for each | That needs four heads: the weights of a row sum to one.
    = 1.0
the token itself takes part | Weight on the token itself is wasted: none is needed there.
    = 1 / (OFFSETS + 1)
half | Then two places have used up everything.
    = 0.5
nothing | All four can get the same share.
    = 0.0
a root | Weights sum to one; their squares need not.
    = 1 / OFFSETS ** 2
"""

"""How far the scores of a sparse key spread

predict · ★ · 4 min · 01-foundations/4-softmax-and-scale

A query has 256 numbers, each +1 or -1 by the toss of a coin. Each of the 256 numbers of a key is zero with
probability 3/4, and otherwise +1 or -1; all are drawn independently. What is the standard deviation of their dot
product?

1. A dot product is a sum of 256 products. How often is one of them not zero, and what is its square then?
2. So what is the variance of one product? Variances of independent terms add up.
3. The standard deviation is the root of the variance.

The variance of one product is that of the query's entry times that of the key's: 1 times 1/4. The sum of 256 has the
variance 64, so dividing by the root of the width, 16, would leave a spread of one half. The square root is right for
entries of variance one, and for others the product of the two variances is needed.
"""

import math

from attnlib.exercises.engine.model import Mistake

D_K, SHARE = 256, 0.25


def answer():
    return math.sqrt(D_K * SHARE)


MISTAKES = (
    Mistake("the variance", "That is how the square of q · k behaves; a standard deviation is its root.", D_K * SHARE),
    Mistake("the zeros are forgotten", "That is the root of the width. Three of four products are zero and add "
        "nothing.", math.sqrt(D_K)),
    Mistake("the share stands outside the root", "The zeros lower the variance, so their share belongs under the root.",
        math.sqrt(D_K) * SHARE),
    Mistake("the spread of one product", "That is the standard deviation of one product, and of what is left after "
        "dividing by √d_k = 16. The dot product itself is wanted, a sum of 256 products.", math.sqrt(SHARE)),
    Mistake("the zeros counted, not the others", "One in four products is not zero, not three in four.",
        math.sqrt(D_K * (1 - SHARE))),
)  # fmt: skip

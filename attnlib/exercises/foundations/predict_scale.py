"""How far a dot product spreads

predict · ★ · 3 min · 01-foundations/4-softmax-and-scale

All entries of $q$ and $k$ are independent, with mean 0 and variance 1, and $d_k = 64$. What is the standard
deviation of their dot product?

1. A dot product is a sum of d_k products. What is the variance of one product?
2. Variances of independent terms add up.
3. The standard deviation is the root of the variance, and the variance is d_k.

Each product q_i k_i has mean 0 and variance 1; the d_k of them are independent, so the variance of the sum
is d_k, and its standard deviation √d_k.
"""

import math

D_K = 64


def answer():
    return math.sqrt(D_K)


MISTAKES = """
the variance | That is how the square of q · k behaves; a standard deviation is its root.
    = D_K
the spread of one product | That is the standard deviation of one product q_i k_i. The dot product adds up
  d_k of them.
    = 1.0
the factor that undoes the spread | That is what the scores are multiplied by, so that their spread becomes
  one.
    = 1 / math.sqrt(D_K)
squared once too often | The variance is d_k, and the standard deviation is smaller.
    = D_K ** 2
"""

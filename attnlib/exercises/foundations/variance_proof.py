r"""Why the variance is d_k

prove · ★★ · 15 min · 01-foundations/4-softmax-and-scale

All entries of $q$ and $k$ are independent with mean 0 and variance $\sigma^2$. Prove that $q \cdot k$ has
mean 0 and variance $d_k \sigma^4$, and say which of the assumptions the mean needs.

1. Write the dot product as a sum and look at one term first.
2. Square the sum: which of the products of two different terms survive the mean?
3. A term with i ≠ j contains a factor whose mean is zero and that is independent of the rest.

Scaling removes the dependence on d_k, not that on σ: large weights still saturate a softmax.
"""

PROOF = r"""1. $\mathbb{E}[q \cdot k] = \sum_i \mathbb{E}[q_i k_i] = \sum_i \mathbb{E}[q_i]\,\mathbb{E}[k_i] = 0$.
   This needs that $q_i$ and $k_i$ are independent (uncorrelated is enough) and that one of the two means is zero.
2. So the variance is $\mathbb{E}[(q \cdot k)^2] = \sum_i \sum_j \mathbb{E}[q_i q_j k_i k_j]$.
3. For $i \ne j$ all four factors are independent, and the term is
   $\mathbb{E}[q_i]\,\mathbb{E}[q_j]\,\mathbb{E}[k_i]\,\mathbb{E}[k_j] = 0$.
4. For $i = j$ it is $\mathbb{E}[q_i^2]\,\mathbb{E}[k_i^2] = \sigma^2 \sigma^2 = \sigma^4$, because the means are zero.
5. There are $d_k$ terms with $i = j$: the variance is $d_k \sigma^4$, and dividing $q \cdot k$ by $\sqrt{d_k}$ leaves
   $\sigma^4$. ∎"""
RUBRIC = (
    "I showed that the mean is zero and named what it needs.",
    "I wrote the square as a double sum.",
    "I showed that the terms with i ≠ j vanish, and said by which independence.",
    "I computed the terms with i = j and counted them.",
)

r"""A word that meets itself

prove · ★★ · 15 min · 01-foundations/4-softmax-and-scale

Scores are divided by $\sqrt{d_k}$ because the dot product of an independent query and key has mean 0 and variance
$d_k$. Let them be *equal* instead, $k = q$: a word attends to itself, and $W_Q = W_K$. The entries are independent with
mean 0, variance 1 and $\mathbb{E}[q_i^4] = \kappa$. Prove that $q \cdot q$ has mean $d_k$ and variance $(\kappa - 1)\,
d_k$. Then describe what becomes of the mean and of the standard deviation if $q \cdot q$ is divided by $\sqrt{d_k}$ and
the vectors get longer, and what follows for the weights.

1. Write $q \cdot q$ as a sum. What is the mean of one term?
2. The terms $q_i^2$ are independent of each other, so their variances add up.
3. The variance of $q_i^2$ is the mean of its square less the square of its mean. Then divide by $\sqrt{d_k}$.

For normal entries κ is 3: the variance is twice d_k. The score of a word with itself, divided by the root, lies near
√d_k with a spread of √2, while the scores with other words have the mean 0 and a spread of one: such a word attends
to itself, and the more so the longer its vectors. Learned projections that differ prevent this.
"""

PROOF = r"""1. $\mathbb{E}[q \cdot q] = \sum_i \mathbb{E}[q_i^2] = d_k$, since mean 0 and variance 1 give
   $\mathbb{E}[q_i^2] = 1$.
2. The $q_i$ are independent, so the $q_i^2$ are, too, and the variance of the sum is the sum of the variances.
3. $\operatorname{Var}(q_i^2) = \mathbb{E}[q_i^4] - (\mathbb{E}[q_i^2])^2 = \kappa - 1$. There are $d_k$ of them:
   $\operatorname{Var}(q \cdot q) = (\kappa - 1)\, d_k$.
4. Divided by $\sqrt{d_k}$ the mean becomes $\sqrt{d_k}$ and the variance $\kappa - 1$. The spread stays, and the
   mean grows without end.
5. The scores with independent keys have mean 0 and variance 1 after the same division. The gap grows like
   $\sqrt{d_k}$, and the word's own weight goes to one. ∎"""
RUBRIC = (
    "I showed that the mean is d_k, from the mean square of one entry.",
    "I explained why the variances of the terms add up here.",
    "I computed the variance of one term from the fourth moment.",
    "I divided by the root and noted that the mean still grows while the spread stays.",
    "I compared with the score of an independent key and concluded that the weight on the word itself goes to one.",
)

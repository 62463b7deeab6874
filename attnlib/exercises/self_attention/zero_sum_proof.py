r"""Scores compete

prove · ★★ · 12 min · 02-self-attention/5-gradients-by-hand · after self-attention.bias-gradient

Prove that each row of the gradient with respect to the scores sums to zero, for every loss. Conclude that a constant
added to all keys' scores of a query is never learned, and that a bias of the keys always has the gradient
zero.

1. Sum the formula for one row over the keys, and use what the weights of a row sum to.
2. What does the softmax do if the same number is added to all scores of a row?
3. A bias $b$ of the keys adds $q \cdot b$ to each score of the query $q$: does that differ from key to key?

Large models keep this bias for symmetry's sake or drop it. It is the one parameter of the layer that can
never do anything.
"""

PROOF = r"""Let $p$ be a row of weights, $g$ the gradient with respect to them, and
$\delta_j = p_j (g_j - \sum_k p_k g_k)$ that of the row's scores.

1. $\sum_j \delta_j = \sum_j p_j g_j - (\sum_j p_j)(\sum_k p_k g_k) = \sum_j p_j g_j - \sum_k p_k g_k = 0$, because
   $\sum_j p_j = 1$.
2. Adding $c$ to all scores of a row changes the loss, to first order, by $c \sum_j \delta_j = 0$. In fact it changes
   nothing at all: $\exp(s_j + c) / \sum_k \exp(s_k + c) = \exp(s_j) / \sum_k \exp(s_k)$.
3. With a bias $b$ the keys are $k_j + b$, and the score of query $i$ is
   $(q_i \cdot k_j + q_i \cdot b) / \sqrt{d_k}$: the second term is the same for all keys of a row. By 2 the weights
   do not depend on $b$ at all, so its gradient is zero for every loss. ∎

The biases of queries and values have no such luck: $b \cdot k_j$ differs from key to key, and a bias of the values
is added to each output."""
RUBRIC = (
    "I summed the row and used that the weights sum to one.",
    "I showed that a constant added to a row of scores does not change the weights.",
    "I wrote the score with a bias of the keys and saw that the new term is the same for all keys.",
    "I concluded that the gradient of that bias is zero, and did not claim it of the other biases.",
)

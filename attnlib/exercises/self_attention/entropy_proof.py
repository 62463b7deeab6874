r"""Between nothing and log n

prove · ★ · 12 min · 02-self-attention/6-patterns-and-entropy · after foundations.entropy

Prove that the entropy $H = -\sum_j p_j \log p_j$ of a row of $n$ weights lies between $0$ and $\log n$, and state when
each bound is attained. (Take $0 \log 0 = 0$.)

1. Which sign has each term of the sum?
2. For the upper bound compare $H$ with $\log n$: bring $\log n = \sum_j p_j \log n$ under the same sum.
3. Use $\log x \le x - 1$, with equality at $x = 1$ alone.

With a mask n is the number of visible keys, which differs from row to row.
"""

PROOF = r"""1. For $0 < p_j \le 1$ we have $\log p_j \le 0$, so each term $-p_j \log p_j$ is at least $0$; hence
   $H \ge 0$. A term is $0$ only for $p_j = 0$ or $p_j = 1$, and since the weights sum to one, $H = 0$ exactly if one
   weight is $1$.
2. $H - \log n = \sum_{j: p_j > 0} p_j (-\log p_j - \log n) = \sum_{j: p_j > 0} p_j \log \frac{1}{n p_j}$, because the
   weights sum to one.
3. With $\log x \le x - 1$ this is at most
   $\sum_{j: p_j > 0} p_j \left(\frac{1}{n p_j} - 1\right) = \frac{k}{n} - 1 \le 0$, where $k \le n$ counts the positive
   weights. Hence $H \le \log n$.
4. Equality needs $k = n$, and $\log x = x - 1$ in each term, hence $n p_j = 1$ for all $j$: the uniform row, which does
   attain it. ∎

A softmax of finite scores has only positive weights, so for $n > 1$ it never attains the lower bound."""
RUBRIC = (
    "I showed that no term is negative, and when each is zero.",
    "I compared H with log n using that the weights sum to one.",
    "I used log x ≤ x - 1 (or concavity) with its case of equality.",
    "I stated when each bound is attained.",
)

r"""The best baseline is not the mean reward

prove · ★★★ · 20 min · 01-foundations/6-hard-sparse-local

A key $i$ is drawn with probability $p_i$, and $g_i = (R_i - b)\,u_i$ estimates the gradient, where $u_i =
e_i - p$ is the derivative of $\ln p_i$ with respect to the scores. Prove that $b$ does not change the mean of $g$, and
find the $b$ for which the variance, summed over the entries of $g$, is smallest.

1. What is the mean of e_i, if i is drawn with probability p_i?
2. The summed variance is the mean of the squared length minus the squared length of the mean. Which of
   these two depends on b?
3. What depends on b is a parabola in b that opens upwards; set its derivative to zero and solve for b.

The mean reward is the usual choice because a running average of the rewards is all it takes.
"""

PROOF = r"""Write $\mathbb{E}$ for the mean over the draw $i$, and $g_i = (R_i - b)\,u_i$.

1. $\mathbb{E}[e_i] = \sum_i p_i e_i = p$, so $\mathbb{E}[u_i] = p - p = 0$.
2. Hence $\mathbb{E}[g_i] = \mathbb{E}[R_i u_i] - b\,\mathbb{E}[u_i] = \mathbb{E}[R_i u_i]$, whatever $b$ is.
3. The variance summed over the entries is $\mathbb{E}\lVert g_i \rVert^2 - \lVert \mathbb{E}[g_i] \rVert^2$. By 2 the
   second term does not contain $b$, so only $f(b) = \mathbb{E}\left[(R_i - b)^2 \lVert u_i \rVert^2\right]$ matters.
4. $f$ is a parabola: $f'(b) = -2\,\mathbb{E}\left[(R_i - b) \lVert u_i \rVert^2\right]$ and
   $f''(b) = 2\,\mathbb{E}\lVert u_i \rVert^2$. The latter is positive, because $u_i = 0$ only where $p_i = 1$, and
   with finite scores and two or more keys no weight is one.
5. $f'(b) = 0$ gives the one minimum

   $$b^* = \frac{\mathbb{E}\left[R_i \lVert u_i \rVert^2\right]}{\mathbb{E}\lVert u_i \rVert^2},
   \qquad \lVert u_i \rVert^2 = 1 - 2 p_i + \sum_j p_j^2. \quad ∎$$

It is the mean reward, each key counted with the squared length of its $u_i$: a rare key, whose $u_i$ is long, counts
more. It equals $\mathbb{E}[R_i]$ if all $u_i$ are equally long, as they are with even weights. With weights 1/4 and
3/4 and rewards 4 and 0, the mean reward is 1 and the best baseline is 3."""
RUBRIC = (
    "I showed that the mean of e_i - p is zero, and that b drops out of the mean of g.",
    "I wrote the summed variance as a mean square minus a squared mean, and named which part depends on b.",
    "I found the b at which the derivative is zero, and explained why it is a minimum.",
    "I saw that it is a mean reward weighted by the squared lengths of e_i - p, and so in general not E[R].",
)

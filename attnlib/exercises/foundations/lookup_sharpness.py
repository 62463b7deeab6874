r"""What half of the weight costs

prove · ★ · 10 min · 01-foundations/2-the-attention-function · after foundations.attention-loops

In softmax attention a query has the score $\beta$ with one key, the right one, and the score 0 with each of the $n - 1
\ge 2$ other keys. Prove that the right key gets at least half of the weight exactly if $\beta \ge \ln(n - 1)$. How
much more is needed for a weight of $1 - \varepsilon$, with $0 < \varepsilon < \tfrac12$?

1. What is the softmax weight of the right key, as a function of the one number β?
2. Divide above and below the fraction line by the exponential of β, and see in which direction the weight
   moves as β grows.
3. Set the weight against the wanted share and multiply out both positive denominators; every step can be
   read in both directions. Then take the logarithm.

The sharpness that a soft lookup needs grows with the logarithm of what is stored: slowly, but without end. Bounded
scores (cosines, for example) cannot reach it without a temperature.
"""

PROOF = r"""1. The scores are $\beta, 0, \dots, 0$ with $n - 1$ zeros, and $e^0 = 1$, so the weight of the right key
   is $p = e^{\beta} / (e^{\beta} + n - 1)$.
2. Both denominators in $e^{\beta} / (e^{\beta} + n - 1) \ge \tfrac12$ are positive, so the inequality holds exactly if
   $2 e^{\beta} \ge e^{\beta} + n - 1$, that is, exactly if $e^{\beta} \ge n - 1$.
3. The logarithm is increasing and $n - 1 > 0$, so this holds exactly if $\beta \ge \ln(n - 1)$.
4. In the same way $p \ge 1 - \varepsilon$ means $\varepsilon\, e^{\beta} \ge (1 - \varepsilon)(n - 1)$, that is
   $\beta \ge \ln(n - 1) + \ln\frac{1 - \varepsilon}{\varepsilon}$. The second term is what is needed more; it does not
   depend on $n$. ∎

So a thousand times as many entries cost $\ln 1000$, about 6.9, in score; and a share of 99 % costs $\ln 99$, about 4.6,
more than a half, however many entries there are. No finite $\beta$ reaches a share of one."""
RUBRIC = (
    "I wrote the weight of the right key as a fraction with all n exponentials in its denominator.",
    "I multiplied out denominators that I had shown to be positive, or used that the weight grows with β.",
    "Each step works in both directions, so I proved both: it suffices, and it is needed.",
    "For the share 1 - ε I found a second term that does not depend on n.",
)

"""The output never leaves the hull of the values

prove · ★★ · 15 min · 01-foundations/2-the-attention-function

Prove that each output of softmax attention lies in the convex hull of the values, and that with finite
scores it is never a corner of that hull, unless all values coincide there.

1. What makes a sum of vectors a convex combination? Check both conditions for the softmax.
2. Which weights would put the output on a corner, and can a softmax of finite scores give them?
3. If a corner v is a convex combination in which every weight is positive, what must all values be?

Softmax attention can come as close to a value as you like, but it never copies it exactly. Hard attention
does.
"""

PROOF = r"""Let $o = \sum_j p_j v_j$ with $p = \operatorname{softmax}(s)$ and finite scores $s_1, \dots, s_n$.

1. Every $p_j = \exp(s_j) / \sum_l \exp(s_l)$ is a positive number divided by a positive one, hence $p_j > 0$.
2. $\sum_j p_j = 1$, because numerators and denominator sum the same numbers.
3. By 1 and 2, $o$ is a convex combination of the values, hence in their convex hull.
4. A corner $c$ of the hull is a point that lies strictly between no two other points of it. Suppose $o = c$. If
   $n = 1$, there is one value, and it is $c$. Otherwise write $o = p_j v_j + (1 - p_j) w$, where
   $w = \sum_{l \ne j} p_l v_l / (1 - p_j)$ is again in the hull, and $0 < p_j < 1$. Since $c$ lies strictly between no
   two other points, $v_j = w = c$. This holds for every $j$: all values coincide with $c$. ∎

Where it fails: a mask or a score of $-\infty$ makes weights 0; a single visible key puts the output on its value."""
RUBRIC = (
    "I showed that every weight is positive (not only: not negative), from the finite scores.",
    "I showed that the weights sum to one.",
    "I concluded from both that the output is in the convex hull.",
    "I defined a corner, and used that all weights are positive to show that all values coincide with it.",
)

r"""Joining tiles is exact

prove · ★★ · 15 min · 03-multi-head/3-memory

A tile of keys is summed up by $(m, \ell, a)$: its largest score, the sum of $\exp(s_j - m)$, and the sum of
$\exp(s_j - m) v_j$. Give the rule that joins two tiles, prove that it is exact, and that the order of
joining does not matter.

1. Which number, formed from $m$ and $\ell$, does not depend on the choice of $m$?
2. $e^{m} \ell$ is the plain sum of exponentials, and $e^{m} a$ the plain weighted sum. How do plain sums
   join?
3. The output is $a / \ell$: what happens to it if both are multiplied by the same number?

The maximum is bookkeeping. The proof never uses that it is the maximum, only that both tiles are brought to
the same one.
"""

PROOF = r"""For a set $T$ of keys let $L_T = \sum_{j \in T} e^{s_j}$ and $A_T = \sum_{j \in T} e^{s_j} v_j$. The
output of attention over $T$ is $A_T / L_T$. A triple $(m, \ell, a)$ stands for $T$ if $e^m \ell = L_T$ and
$e^m a = A_T$.

1. The tile's own triple stands for it: $e^m \sum e^{s_j - m} = \sum e^{s_j}$, and likewise with the values.
2. Let $(m, \ell, a)$ stand for $T$ and $(m', \ell', a')$ for $T'$, disjoint. Put $M = \max(m, m')$ and
   join to $(M, \; e^{m - M} \ell + e^{m' - M} \ell', \; e^{m - M} a + e^{m' - M} a')$.
3. Then $e^M (e^{m - M} \ell + e^{m' - M} \ell') = e^m \ell + e^{m'} \ell' = L_T + L_{T'} = L_{T \cup T'}$, and the
   same for $a$: the joined triple stands for $T \cup T'$, whatever $M$ is. The maximum only keeps the
   factors at most one.
4. The output is $a / \ell = e^M a / (e^M \ell) = A / L$, exactly the attention over all keys.
5. $L$ and $A$ of a union are sums over its keys, which have no order; so any order of joining gives a triple
   for the same set, and the same output. ∎

With floating point the sums are rounded, and their order shows in the last digits."""
RUBRIC = (
    "I gave the rule with both factors relative to a common maximum.",
    "I showed that it gives the sums over the union, for the denominator and for the values.",
    "I showed that the output does not depend on which maximum is used.",
    "I argued that the order of joining does not matter, or showed that the rule is associative and commutative.",
)

r"""Causal layers stay causal when stacked

prove · ★★ · 12 min · 02-self-attention/3-masks · after self-attention.causal-mask

A layer is causal if output $i$ depends on inputs $1, \dots, i$ alone. Prove that masked self-attention is
causal, that a stack of causal layers is causal, and that one layer that is not breaks the stack in general.

1. Which inputs enter row $i$ of the weights, if the masked ones are exactly zero? Do not forget the sum in
   the denominator.
2. Induction over the layers: what may output $i$ of the second layer depend on?
3. For the last part give an example: which layer lets position 1 read position 2?

This is what makes training in parallel honest: all n predictions come from one pass, and each has seen only
its own past.
"""

PROOF = r"""1. Row $i$ of the masked scores has entries $q_i \cdot k_j / \sqrt{d_k}$ for $j \le i$ and $-\infty$ for
   $j > i$. The row's softmax has $\exp(-\infty) = 0$ in numerators and in the denominator for $j > i$, hence
   $p_{ij} = 0$ there, and for $j \le i$ it is a function of $q_i$ and $k_1, \dots, k_i$ alone.
2. $o_i = \sum_{j \le i} p_{ij} v_j$ depends on $q_i$ and on keys and values up to $i$. Each of them is a function of
   its own token, hence $o_i$ depends on $x_1, \dots, x_i$: the layer is causal.
3. Let $f$ and $g$ be causal. Output $i$ of $g \circ f$ depends on outputs $1, \dots, i$ of $f$. Output $j \le i$ of $f$
   depends on inputs $1, \dots, j$, all of which are among $1, \dots, i$. By induction any number of layers is causal.
   What acts on each token alone (projections, residual connections, feed-forward layers) is causal too.
4. Let one layer be the mean over all tokens, unmasked. After it every position depends on every input, and causal
   layers above it do not take that away. ∎"""
RUBRIC = (
    "I showed that hidden keys are absent from the numerator and from the denominator of the weights.",
    "I used that queries, keys and values are made from one token each.",
    "I proved the stack by composing two causal layers, for every position.",
    "I gave a layer that breaks it.",
)

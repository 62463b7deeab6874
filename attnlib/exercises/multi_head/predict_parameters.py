"""The parameters of eight heads

predict · ★ · 4 min · 03-multi-head/2-one-matrix-multiplication

d_model is 512, there are 8 heads of d_model / h numbers each, and no biases. How many parameters does the
whole layer have?

1. How many columns do the query matrices of all heads have together?
2. Side by side the matrices of the heads are one (d_model, d_model) matrix, for queries, keys and values
   each.
3. Four square matrices: do not forget the one after the heads.

4 d², for every number of heads: more heads are thinner heads. A count of three quarters of it leaves the
output projection out.
"""

D_MODEL, HEADS = 512, 8


def answer():
    return 4 * D_MODEL**2


WITHIN = 0.5
MISTAKES = """
the output projection is missing | After the heads there is one more square matrix.
    = 3 * D_MODEL ** 2
eight times as many | Each head is only d_model / h wide.
    = HEADS * 4 * D_MODEL ** 2
one head | There are eight of them.
    = 4 * D_MODEL * D_MODEL // HEADS
eight heads, and one output | Each head has three matrices of d_model by d_model / h.
    = D_MODEL ** 2 * (3 * HEADS + 1)
"""

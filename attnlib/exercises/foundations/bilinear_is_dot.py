r"""Every bilinear score is a dot product, and a low-rank one is cheap

prove · ★★ · 12 min · 01-foundations/5-scoring-functions

Prove that the score $q^\top W k$ is a dot product of a linear function of $q$ with $k$, and that if $W$ has
rank $r$ it is a dot product of two vectors of width $r$.

1. Where can you put brackets in a product of three matrices?
2. A matrix of rank r is a product of two matrices. Of which sizes?
3. Write W as A B with r columns in A and r rows in B, and bracket so that A meets the query and B the key.

This is why a Transformer needs no extra bilinear matrix: its query and key projections are one.
"""

PROOF = r"""1. $q^\top W k = (W^\top q)^\top k$, because $(W^\top q)^\top = q^\top W$. So the score is the dot product
   of $W^\top q$, a linear function of $q$, with $k$.
2. A matrix $W \in \mathbb{R}^{d_q \times d_k}$ of rank $r$ can be written $W = A B$ with
   $A \in \mathbb{R}^{d_q \times r}$ and $B \in \mathbb{R}^{r \times d_k}$: take for the columns of $A$ a basis of the
   column space of $W$, and for column $j$ of $B$ the coordinates of column $j$ of $W$ in it.
3. Then $q^\top W k = q^\top A B k = (A^\top q)^\top (B k)$, a dot product of two vectors of width $r$. ∎

With $A = W_Q$ and $B = W_K^\top$ this is how attention layers score: the two projections together are one matrix of
rank at most $d_k$."""
RUBRIC = (
    "I moved W to one side by transposing, and noted that the result is linear in q.",
    "I wrote W as a product of two matrices with r columns and r rows, and explained why that is possible.",
    "I bracketed so that one factor meets q and the other meets k.",
)

r"""Two heads that no single head can replace

prove · ★★★ · 25 min · 03-multi-head/6-rank-and-subspaces · after multi-head.kronecker

Hold the weights fixed. One head computes $X \mapsto P X M$ for some $P$ and $M$. Show that $X \mapsto P_1 X
M_1 + P_2 X M_2$ is of this form for no choice of $P$ and $M$ if $P_1, P_2$ are linearly independent and
$M_1, M_2$ are too.

1. The map sends entry $(j, b)$ of $X$ to entry $(i, a)$ of the output by a number. Which?
2. Arrange those numbers in a table with a row for each pair $(i, j)$ and a column for each pair $(b, a)$.
   What is its rank for one head?
3. For two heads the table is a sum of two outer products. When has such a sum rank two?

A printed argument is that one head is limited because its output lies in the span of the values. So does the output of
many heads. What grows with the number of heads is this rank.
"""

PROOF = r"""Write $(PXM)_{ia} = \sum_{j, b} P_{ij} M_{ba} X_{jb}$.

1. A linear map from $X$ to the output is given by its numbers $T_{(ij),(ba)}$, and two maps are equal exactly if all
   these numbers are. For one head $T_{(ij),(ba)} = P_{ij} M_{ba}$. Seen as a table with rows $(ij)$ and columns $(ba)$
   it is an outer product, $\operatorname{vec}(P) \operatorname{vec}(M)^\top$, of rank at most one.
2. For two heads the table is $\operatorname{vec}(P_1) \operatorname{vec}(M_1)^\top +
   \operatorname{vec}(P_2) \operatorname{vec}(M_2)^\top = U V^\top$, where the columns of $U$ are the two vectors of
   weights, and those of $V$ the two vectors of matrices.
3. $U$ and $V$ have two linearly independent columns each, by assumption. Then $V^\top$ is onto the plane and $U$ is
   one-to-one on it, so $U V^\top$ has rank two.
4. A table of rank two is no table of rank at most one. Hence no single $P, M$ gives the same map. ∎

Nothing was proved about spans: for one $X$ and one row, a single head may well give the same vector. It is the map for
all $X$ that differs."""
RUBRIC = (
    "I wrote the map by its coefficients and arranged them in a table.",
    "I showed that one head gives rank at most one.",
    "I showed that two heads give rank two, using both independences.",
    "I compared maps, not single outputs.",
)

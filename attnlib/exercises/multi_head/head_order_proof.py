"""Heads have no names

prove · ★★ · 12 min · 03-multi-head/2-one-matrix-multiplication · after multi-head.split

Prove that exchanging two heads, together with the rows of $W^O$ that read them, changes nothing. How many
settings of the parameters compute the same function by this alone? What does it say about comparing head 3
of two networks?

1. Write the output of the layer as a sum over heads.
2. In what order may a sum be added up?
3. Count the orders of $h$ heads.

Within a head there is more freedom still: any invertible change of basis of its queries and keys.
"""

PROOF = r"""Let $O_k$ be the output of head $k$ and $W^O_k$ the block of rows of $W^O$ that it meets.

1. $\operatorname{Concat}(O_1, \dots, O_h) W^O = \sum_{k=1}^h O_k W^O_k$, by multiplying block by block.
2. $O_k$ depends on head $k$'s own three matrices alone. Exchanging heads $a$ and $b$, all three matrices and the block
   of $W^O$, exchanges two terms of the sum, which does not change it.
3. The heads can be put in $h!$ orders, so in general $h!$ settings compute the same function (fewer, if some heads are
   equal).
4. Training from another seed may end in any of them: nothing ties "head 3" of one network to "head 3" of
   another. Heads can be compared only after they are matched by what they do. ∎"""
RUBRIC = (
    "I wrote the layer as a sum of one term per head.",
    "I exchanged all that belongs to a head, and the rows of the output projection with it.",
    "I counted h! orders.",
    "I concluded that numbers of heads mean nothing across networks.",
)

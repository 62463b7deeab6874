"""Heads that keep their width

predict · ★ · 4 min · 03-multi-head/2-one-matrix-multiplication

The largest T5 has a model width of 1,024 and 128 heads, each with queries, keys and values of 128 numbers. How
many times as many parameters has its layer of attention as one whose heads share the width of 1,024 evenly?
Leave biases out.

1. How many numbers have the queries of all heads together?
2. How large is then W_Q, and how large is W_O?
3. Divide the four matrices by 4 · 1,024².

The width of a head and the width of the model are two choices. That their product rule d_k = d / h is kept is a
convention, which makes the count independent of the number of heads; without it each head costs 4 d d_k.
"""

from attnlib.exercises.engine.model import Mistake

D, HEADS, D_K = 1024, 128, 128


def answer():
    return 4 * D * HEADS * D_K / (4 * D * D)


MISTAKES = (
    Mistake("as many", "That holds where d_k = d / h, here 8 numbers for each head. These heads have 128.", 1.0),
    Mistake("one for each head", "Each head is as wide as 128 numbers, and the model as 1,024.", HEADS),
    Mistake("W_O was left as it is", "W_O reads the outputs of all heads, so it grows with them.",
        (3 * D * HEADS * D_K + D * D) / (4 * D * D)),
    Mistake("the square", "Each matrix has one side of the model's width. Only the other grows.",
        (HEADS * D_K / D) ** 2),
    Mistake("the wrong way round", "These heads are wider, not thinner.", D / (HEADS * D_K)),
    Mistake("the width of a head", "It is how wide a head is, as a share of the model.", D_K / D),
)  # fmt: skip

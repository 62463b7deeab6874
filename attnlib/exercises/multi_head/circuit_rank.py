r"""A large table of few numbers

predict · ★★ · 5 min · 03-multi-head/4-a-circuit · after multi-head.rank-proof

GPT-2 small has 50,257 tokens, vectors of 768 numbers, and heads that are 64 wide. In a table $\mathbf{C}_{QK}$, a head
of a second layer scores each token as a query with each token as a key, where the key has been written by one head of
the first layer. How large can its rank be at most?

1. The table is a product of matrices. Which sizes do they have, from left to right?
2. The rank of a product is at most the smallest width that everything has to pass.
3. It passes $\mathbf{E}$, 768 wide, then queries and keys of the second head, and on the other side values of
   the first.

At most 64: the queries of the second head are 64 wide, and so are the values of the first. Yet a table of low rank can
have its largest number on the diagonal in every row: this chapter does it for 26 letters with heads that are 16 wide.
"""

from attnlib.exercises.engine.model import Mistake


def answer():
    vocabulary, d_model, d_k, d_v = 50_257, 768, 64, 64
    return min(vocabulary, d_model, d_k, d_v)


MISTAKES = (
    Mistake("the width of the model", "The embedding is 768 wide, but what comes after it is narrower.", 768),
    Mistake("both widths added", "A product passes one width after the other; the smallest counts, not the sum.", 128),
    Mistake("both widths multiplied", "The rank of a product is at most the smallest width on its way.", 64 * 64),
    Mistake("the vocabulary", "The table has as many rows, but they are all made of far fewer numbers.", 50257),
    Mistake("all heads together", "Twelve heads have twelve such tables. One passes one head of each layer.",
        12 * 64 - 1),
)  # fmt: skip

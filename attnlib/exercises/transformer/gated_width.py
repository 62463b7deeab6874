"""As many parameters with three matrices

predict · ★ · 4 min · 04-transformer/2-the-block

A gated feed-forward network (SwiGLU) has three matrices: two of d × d_hidden, whose results are multiplied
number by number, and one of d_hidden × d. For d = 768, which d_hidden gives it as many parameters as the two matrices
of a plain network with 4 d inside? Leave biases out.

1. How many parameters have the two matrices of the plain network, in d²?
2. Three matrices of d × d_hidden have 3 d d_hidden.
3. Set the two equal and solve for d_hidden.

8/3 d instead of 4 d. Llama with d = 4,096 would have 10,922.7 by this rule, and has 11,008: the next
multiple of 256.
"""

from attnlib.exercises.engine.model import Mistake

D = 768


def answer():
    return 8 * D / 3


WITHIN = 0.5
MISTAKES = (
    Mistake("four times, as before", "Three matrices of 4 d have 12 d² parameters, not 8 d².", 4 * D),
    Mistake("twice", "That counts four matrices. There are two of d × d_hidden and one of d_hidden × d.", 2 * D),
    Mistake("one matrix forgotten", "A third of four: the plain network has two matrices, 8 d² together.", 4 * D / 3),
    Mistake("the other way round", "More matrices at equal parameters must be narrower, not wider.", 6 * D),
    Mistake("the number of parameters", "That is how many parameters the plain network has. Give the width with which "
        "the gated one has as many.", 8 * D**2),
    Mistake("the factor", "That is d_hidden in units of d. For d = 768 it is a whole number.", 8 / 3),
    Mistake("the width of the stream", "Three matrices of d × d have 3 d² parameters, fewer than 8 d².", D),
)  # fmt: skip

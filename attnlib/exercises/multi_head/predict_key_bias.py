r"""A parameter that never learns

predict · ★★ · 4 min · 03-multi-head/5-heads-at-work · after self-attention.zero-sum-proof

A layer has biases for queries, keys, values and output. In exact arithmetic, how large is the gradient of a loss with
respect to the bias of the keys?

1. What does a bias of the keys add to the score of query i and key j?
2. Does what it adds differ from key to key?
3. What does the softmax do if all scores of a row grow by the same number?

The bias adds $q_i \cdot b$ to every score of row i, and the softmax forgets what is added to a whole row.
In floating point the gradient is noise around 1e-17. So leaving it out is no mistake.
"""

from attnlib.exercises.engine.model import Mistake

CHOICES = (
    "exactly zero",
    "as large as that of the queries' bias",
    "1 / √d_k of the queries' bias",
    "it depends on the loss",
)


def answer():
    return CHOICES[0]


CHOICES = CHOICES
MISTAKES = (
    Mistake("symmetry", "Queries and keys are not alike here: the softmax runs over keys, not over queries.",
        CHOICES[1]),
    Mistake("a scale", "No factor is left of it: look at what the softmax does to a whole row.", CHOICES[2]),
    Mistake("the loss decides", "No loss can see it, because the weights themselves do not move.", CHOICES[3]),
)  # fmt: skip

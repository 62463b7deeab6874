r"""A start of zeros

predict · ★★ · 5 min · 02-self-attention/5-gradients-by-hand

To begin without any preference, a programmer sets $W_Q$ and $W_K$ of a layer to zero and draws $W_V$ at random. The
layer is then trained by gradient descent on a task in which words must attend to distant words. What do its attention
weights look like after a thousand steps?

1. With both zero all scores are zero. What are the weights, and is the gradient with respect to the scores zero as
   well?
2. The gradient with respect to the queries is a product with the keys, that with respect to the keys one with the
   queries.
3. Keys of zero send nothing to $W_Q$, queries of zero send nothing to $W_K$. What changes in the first step?

The gradient with respect to the scores is not zero: the layer knows which score should rise, and has no way to raise
it. One of the two maps may start at zero, and then it learns from the first step on. The loss does fall, for $W_V$
learns.
"""

from attnlib.exercises.engine.model import Mistake

CHOICES = (
    "as after any other start, a little later",
    "uniform, as at the start",
    "all weight on one word, the same for all",
    "nan",
)


def answer():
    return CHOICES[1]


CHOICES = CHOICES
MISTAKES = (
    Mistake("zeros are no obstacle", "One zero map would be none. With both, each gradient has a factor that is zero, "
        "and stays so.", CHOICES[0]),
    Mistake("it has to decide for one", "To prefer a word its score must rise, and each gradient of a score's maps "
        "has a factor of zero.", CHOICES[2]),
    Mistake("nothing breaks", "Scores of zero are fine: the softmax makes equal weights of them.", CHOICES[3]),
)  # fmt: skip

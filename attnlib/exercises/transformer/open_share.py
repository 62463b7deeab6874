"""Units that learn nothing

write · ★★ · 8 min · 04-transformer/11-activations-and-gates

X (b, n, d) is a batch of texts, W (d, h) and c (h,) are the weights and biases of a feed-forward network's hidden
layer, and its activation function is a ReLU, whose derivative at zero counts as zero. Return an array of h numbers:
for each hidden unit, the share of the batch's tokens for which the derivative of the ReLU is not zero.

1. What is the gradient of a number that the ReLU has set to zero?
2. Look at the numbers before the ReLU. For which of them is the derivative not zero?
3. A unit's weights are shared by all tokens of all texts, so take the mean over both axes of tokens.

A unit with the share 0 is dead for this batch. If it is dead for every text of the training, no step changes it any
more, unless the layers before it change. GELU or swish would still give it a gradient, if a small one.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def open_share(X, W, c):
    """From which share of the tokens each hidden unit gets a gradient; X (b, n, d), W (d, h), c (h,)."""
    Z = X @ W + c
    return (Z > 0).mean(axis=(0, 1))


def counted(X, W, c):
    b, n, d = X.shape
    Z = X.reshape(b * n, d) @ W + c
    return np.count_nonzero(np.maximum(Z, 0), axis=0) / (b * n)


def closed(X, W, c):
    Z = (X @ W + c).reshape(-1, len(c))
    return 1 - np.mean(Z <= 0, axis=0)


def cases(rng):
    def parts(*size, down=0.3):
        X, W, c = drawn(rng, size[:3], size[2:], size[3:])
        return X, W, c - down

    X, W, c = parts(2, 3, 4, 5)
    a_word_of_zeros = X.copy()
    a_word_of_zeros[0, 1] = 0
    return {
        "five units": (X, W, c),
        "two texts of one token": parts(2, 1, 3, 5),
        "long texts": parts(2, 7, 3, 6),
        "one text": parts(1, 4, 3, 5),
        "all sizes equal": parts(3, 3, 3, 3),
        "a token at zero": (a_word_of_zeros, W, np.array([0, 0, -0.2, 0.2, 0])),
        "mostly silent": parts(2, 5, 4, 6, down=3.0),
    }


VARIANTS = (counted, closed)
MISTAKES = (
    Mistake("the silent share", "These are the shares of the tokens for which the derivative *is* zero.",
        {"Z > 0": "Z <= 0"}),
    Mistake("the bias is forgotten", "The bias is added to a unit's numbers before the ReLU, and can make all of them "
        "negative.",
        {"X @ W + c": "X @ W"}),
    Mistake("the bias is subtracted", "The bias is added.", {"X @ W + c": "X @ W - c"}),
    Mistake("zero counts as positive",
        "At exactly zero the derivative counts as zero, by the task.", {"Z > 0": "Z >= 0"}),
    Mistake("the mean of the activations",
        "That is the mean output. The derivative of a ReLU depends only on the sign of its input, not on its size.",
        {"(Z > 0).mean": "np.maximum(Z, 0).mean"}),
    Mistake("the mean before the ReLU", "That is the mean of the inputs of the ReLU.", {"(Z > 0).mean": "Z.mean"}),
    Mistake("a number, not a share", "That is a number of tokens. Divide by the number of all tokens.",
        {".mean(axis=(0, 1))": ".sum(axis=(0, 1))"}),
    Mistake("a share of the texts", "That is the share of the texts in which the unit is open for some token. Count "
        "the tokens.", {".mean(axis=(0, 1))": ".any(axis=1).mean(axis=0)"}),
    Mistake("one share for each text", "Each text got shares of its own. A unit's weights are shared by all texts.",
        {"axis=(0, 1)": "axis=1"}),
    Mistake("one share for each position",
        "Each position got shares of its own. A unit's weights are shared by all positions.",
        {"axis=(0, 1)": "axis=0"}),
    Mistake("one share for each token", "That is, for each token, a share of the units. Return one number for each "
        "unit.", {"axis=(0, 1)": "axis=-1"}),
)  # fmt: skip

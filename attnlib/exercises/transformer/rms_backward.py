"""The norm that keeps the mean

write · ★★ · 10 min · 04-transformer/13-the-block-backwards

RMS norm divides each vector by the root of its mean square, and its mean stays: y = x / s with s =
sqrt(mean(x²) + eps), and the output is gain * y. X is (n, d), gain (d,), and dO (n, d) is the gradient of the
output. Return dX (n, d).

1. Which of the two things that layer normalisation takes from a gradient has its reason in the mean?
2. Which change of a vector does RMS norm not notice?
3. With g = gain * dO: only the part along y is taken away, and the rest is divided by s.

One mean less forwards is one mean less backwards. Llama and most models after it use this norm.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def rms_backward(dO, X, gain, eps):
    """dX of gain * X / sqrt(mean(X²) + eps), each row by itself."""
    s = np.sqrt((X**2).mean(axis=-1, keepdims=True) + eps)
    Y, G = X / s, gain * dO
    return (G - Y * (G * Y).mean(axis=-1, keepdims=True)) / s


def by_jacobians(dO, X, gain, eps):
    rows = []
    for d_o, x in zip(dO, X, strict=True):
        square = x @ x / len(x) + eps
        J = np.eye(len(x)) / square**0.5 - np.outer(x, x) / len(x) / square**1.5
        rows.append(J @ (gain * d_o))
    return np.array(rows)


def cases(rng):
    def case(n, d, eps=1e-5, size=1.0, shift=0.0):
        X, dO, gain = drawn(rng, (n, d), (n, d), (d,))
        return dO, size * X + shift, gain, eps

    return {
        "two vectors of three": case(2, 3),
        "a mean that is not zero": case(2, 4, shift=3.0),
        "a large eps": case(3, 4, eps=0.5),
        "as many vectors as numbers": case(3, 3),
        "small numbers": case(2, 5, eps=1e-8, size=1e-3),
    }


VARIANTS = (
    by_jacobians,
    {"(G - Y * (G * Y).mean(axis=-1, keepdims=True)) / s": "G / s - X * (G * X).mean(axis=-1)[:, None] / s**3"},
)  # fmt: skip
MISTAKES = (
    Mistake("the mean is taken away, too", "Layer normalisation takes the mean of the gradient away, because it takes "
        "the mean of the vector away. This norm does not.",
        {"return (G - Y": "return (G - G.mean(axis=-1, keepdims=True) - Y"}),
    Mistake("the mean was taken from the vector", "This norm leaves the mean where it is: y is x divided by its size.",
        {"Y, G = X / s, gain * dO": "Y, G = (X - X.mean(axis=-1, keepdims=True)) / s, gain * dO"},
        {"s = np.sqrt((X**2)": "X = X - X.mean(axis=-1, keepdims=True); s = np.sqrt((X**2)"},
        {"(X**2).mean(axis=-1, keepdims=True)": "X.var(axis=-1, keepdims=True)"}),
    Mistake("the size is taken for a constant", "The size moves with the vector, too: the part along y must go.",
        {"return (G - Y * (G * Y).mean(axis=-1, keepdims=True)) / s": "return G / s"}),
    Mistake("the gain is forgotten", "What arrives at y has passed the gain.", {"gain * dO": "dO"}),
    Mistake("the gain comes last", "The gain stands behind the division forwards, so it comes first backwards.",
        {"Y, G = X / s, gain * dO": "Y, G = X / s, dO", "return (G -": "return gain * (G -"}),
    Mistake("a sum in place of the mean", "The size is a root of a mean, so the part along y is a mean as well.",
        {"(G * Y).mean(": "(G * Y).sum("}),
    Mistake("added in place of taken away", "What runs along y does not pass.", {"(G - Y": "(G + Y"}),
    Mistake("the vector as it came", "The part along the vector was taken with x where y belongs.",
        {"(G - Y * (G * Y)": "(G - X * (G * X)"}, {"(G - Y * (G * Y)": "(G - X * (G * Y)"}),
    Mistake("the gain in one term alone", "Both terms are made from g, the gradient that has passed the gain.",
        {"(G - Y * (G * Y)": "(G - Y * (dO * Y)"}, {"(G - Y": "(dO - Y"}),
    Mistake("the gain in y as well", "y is x divided by s. The gain comes behind it.",
        {"Y, G = X / s,": "Y, G = gain * X / s,"}),
    Mistake("divided twice", "The size divides once.", {") / s": ") / s**2"}),
    Mistake("the length for the size", "s is the root of the *mean* square, not of the sum.",
        {"(X**2).mean(": "(X**2).sum("}),
    Mistake("twice the part along the vector", "The square brings a 2, and the root takes it away again.",
        {"(G - Y": "(G - 2 * Y"}),
    Mistake("the output", "That is what comes out forwards. Asked for is the gradient of X.",
        {"return (G - Y * (G * Y).mean(axis=-1, keepdims=True)) / s": "return gain * Y"}),
    Mistake("the gradient of the gain", "That is the gradient of the gain. Asked for is that of X.",
        {"return (G - Y * (G * Y).mean(axis=-1, keepdims=True)) / s": "return (dO * Y).sum(axis=0)"}),
)  # fmt: skip

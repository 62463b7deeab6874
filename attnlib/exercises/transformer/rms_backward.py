"""The norm that keeps the mean

write · ★★ · 10 min · 04-transformer/13-the-block-backwards

RMS norm divides each vector by the root of its mean square and does not subtract the mean: y = x / s with s =
sqrt(mean(x²) + eps), and the output is gain * y. X is (n, d), gain (d,), and dO (n, d) is the gradient of the output.
Return dX (n, d).

1. The backward of layer normalisation subtracts two terms. Which of them comes from the mean?
2. Which change of a vector does not change its RMS norm?
3. With g = gain * dO: only the component along y is subtracted, and the rest is divided by s.

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
    Mistake("the mean is subtracted, too", "Layer normalisation subtracts the mean of the gradient, because it "
        "subtracts the mean of the vector. This norm does not.",
        {"return (G - Y": "return (G - G.mean(axis=-1, keepdims=True) - Y"}),
    Mistake("the mean of the vector was subtracted",
        "This norm does not subtract the mean: y is x / s.",
        {"Y, G = X / s, gain * dO": "Y, G = (X - X.mean(axis=-1, keepdims=True)) / s, gain * dO"},
        {"s = np.sqrt((X**2)": "X = X - X.mean(axis=-1, keepdims=True); s = np.sqrt((X**2)"},
        {"(X**2).mean(axis=-1, keepdims=True)": "X.var(axis=-1, keepdims=True)"}),
    Mistake("only the way through s", "x enters y directly and through s. The direct term is missing.",
        {"return (G - Y *": "return (-Y *"}),
    Mistake("s is taken for a constant", "s depends on the vector, too: the component along y must be subtracted.",
        {"return (G - Y * (G * Y).mean(axis=-1, keepdims=True)) / s": "return G / s"}),
    Mistake("the gain is forgotten", "The gradient at y is that of the output times the gain.", {"gain * dO": "dO"}),
    Mistake("the gain comes last", "The gain comes after the division in the forward pass, so it comes first in the "
        "backward pass.",
        {"Y, G = X / s, gain * dO": "Y, G = X / s, dO", "return (G -": "return gain * (G -"}),
    Mistake("a sum instead of the mean", "s is the root of a mean, so the component along y has a mean as well.",
        {"(G * Y).mean(": "(G * Y).sum("}),
    Mistake("added instead of subtracted", "The component along y does not pass.", {"(G - Y": "(G + Y"}),
    Mistake("x instead of y", "The component along the vector was computed with x instead of y.",
        {"(G - Y * (G * Y)": "(G - X * (G * X)"}, {"(G - Y * (G * Y)": "(G - X * (G * Y)"}),
    Mistake("the gain in one term alone", "Both terms are made from g, the gradient that has passed the gain.",
        {"(G - Y * (G * Y)": "(G - Y * (dO * Y)"}, {"(G - Y": "(dO - Y"}),
    Mistake("the gain in y as well", "y is x divided by s. The gain comes after it.",
        {"Y, G = X / s,": "Y, G = gain * X / s,"}),
    Mistake("divided twice", "s divides once.", {") / s": ") / s**2"}),
    Mistake("the length instead of s", "s is the root of the *mean* square, not of the sum.",
        {"(X**2).mean(": "(X**2).sum("}),
    Mistake("twice the component along the vector", "The square brings a 2, and the root takes it away again.",
        {"(G - Y": "(G - 2 * Y"}),
    Mistake("the output", "That is the output of the forward pass. Return the gradient of X.",
        {"return (G - Y * (G * Y).mean(axis=-1, keepdims=True)) / s": "return gain * Y"}),
    Mistake("the gradient of the gain", "That is the gradient of the gain. Return that of X.",
        {"return (G - Y * (G * Y).mean(axis=-1, keepdims=True)) / s": "return (dO * Y).sum(axis=0)"}),
)  # fmt: skip

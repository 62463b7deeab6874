"""A filter from an equation

repair · ★★ · 10 min · 06-efficient-attention/7-state-spaces

A state of several numbers follows h' = a h + b x, each number alone, and the output is y = sum of c h. a, b and c are
arrays (d_state,), and all of a is negative. x (n,) holds one input for each step of length `step`, and each input is
constant during its step. Return y (n,), read at the end of each step, as the convolution of x with a kernel.
np.expm1(z) is e to the z, minus 1. The function has two faults. Repair both.

1. Give it a single input, 1, and a state of one number. What is y at the end of that step, and what does the code say?
2. Without an input h follows h' = a h. By which factor does it shrink in one step?
3. The first number of the kernel is what an input adds at the end of its own step: it has not shrunk yet.

Both faults run without an error, and a training would partly make up for them. So compare with a small case by hand.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def filtered(x, a, b, c, step):
    """(n,): the output at the end of each step, by a convolution with the kernel of the equation."""
    n = len(x)
    kept = np.exp(step * a)
    written = np.expm1(step * a) / a * b
    K = (c * written) @ kept[:, None] ** np.arange(n)
    spectrum = np.fft.rfft(x, 2 * n) * np.fft.rfft(K, 2 * n)
    return np.fft.irfft(spectrum, 2 * n)[:n]


def step_by_step(x, a, b, c, step):
    h, y = np.zeros(len(a)), np.empty(len(x))
    for t, one in enumerate(x):
        h = np.exp(step * a) * h + (np.exp(step * a) - 1) / a * b * one
        y[t] = c @ h
    return y


def by_a_matrix(x, a, b, c, step):
    t = np.arange(len(x))
    after = np.maximum(t[:, None] - t, 0)
    K = np.exp(step * a * after[..., None]) @ (c * b * (np.exp(step * a) - 1) / a)
    return np.tril(K) @ x


def cases(rng):
    def one(n, d_state, step):
        x, b, c = drawn(rng, (n,), (d_state,), (d_state,))
        return x, -rng.uniform(0.5, 2.0, size=d_state), b, c, step

    return {
        "one number, four inputs": one(4, 1, 0.5),
        "three numbers": one(6, 3, 0.2),
        "long steps": one(5, 2, 1.5),
        "one input": one(1, 2, 0.7),
    }


KEPT, WRITTEN = "kept = np.exp(step * a)", "np.expm1(step * a) / a * b"
BILINEAR = "(1 + step * a / 2) / (1 - step * a / 2)"
GIVEN = ("a is used as it stands", "the kernel begins one step late")
VARIANTS = (step_by_step, by_a_matrix)
MISTAKES = (
    Mistake("a is used as it stands", "a belongs to the equation. In one step of it the state shrinks by another "
        "factor, which depends on the length of the step: it has to be discretised.", {KEPT: "kept = a"}),
    Mistake("the kernel begins one step late", "It says what an input adds 1, 2, 3, ... steps after its own. Output t "
        "reads input t, too: that is power 0.", {"np.arange(n)": "np.arange(1, n + 1)"}),
    Mistake("the convolution wraps around", "The last inputs act on the first outputs: a transform repeats its signal. "
        "Put as many zeros after it as it has numbers.", {"2 * n": "n"}),
    Mistake("Euler's rule, or another approximation", "Euler's rule, explicit or implicit, and the bilinear rule come "
        "near. But the input is constant during a step, so the equation has an exact solution.",
        {KEPT: "kept = 1 + step * a"}, {KEPT: "kept = 1 / (1 - step * a)"}, {KEPT: f"kept = {BILINEAR}"},
        {KEPT: "kept = 1 / (1 - step * a)", WRITTEN: "step * b / (1 - step * a)"},
        {KEPT: f"kept = {BILINEAR}", WRITTEN: "step * b / (1 - step * a / 2)"}),
    Mistake("the step is outside of the exponential", "The exponent is a times the length of the step.",
        {KEPT: "kept = step * np.exp(a)"}),
    Mistake("what is lost, not what is left", "The state is multiplied by what is left of it after a step.",
        {KEPT: "kept = np.expm1(step * a)"}, {KEPT: "kept = 1 - np.exp(step * a)"}),
    Mistake("the sign of what is added", "exp(step a) - 1 and a are both negative, so their quotient is positive.",
        {WRITTEN: "(1 - np.exp(step * a)) / a * b"}),
    Mistake("the output is read at the beginning of each step", "Output t is read at the end of its step, when its own "
        "input has acted.", {"np.fft.rfft(K, 2 * n)": "np.fft.rfft(np.append(0, K[:-1]), 2 * n)"}),
    Mistake("the kernel runs backwards", "The first number of the kernel belongs to the input of the step itself.",
        {"np.arange(n)": "np.arange(n)[::-1]"}),
    Mistake("what an input adds does not shrink in its own step", "An input acts during a whole step, and what it has "
        "added shrinks meanwhile.", {WRITTEN: "step * b"}, {WRITTEN: "b"}),
)  # fmt: skip

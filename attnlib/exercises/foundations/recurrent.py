"""Recurrent states, and what they forget (eq-rnn, eq-gru)."""

import math

import numpy as np

from attnlib.exercises import properties as laws
from attnlib.exercises.model import AnswerExercise, CodeExercise, Mistake

PAGE = "01-foundations/1-the-bottleneck"


def draws(rng, *sizes, dtype: type = np.float64):
    return tuple(rng.normal(size=size).astype(dtype) for size in sizes)


def rnn_step(x, h, W_x, W_h, b):
    """The next state of a simple recurrent network, from the input x and the state h before it."""
    return np.tanh(x @ W_x + h @ W_h + b)


def rnn_reference(x, h, W_x, W_h, b):
    from attnlib.reference import recurrent

    return recurrent.rnn_cell(x, h, recurrent.RNNWeights(W_x, W_h, b))[0]


def rnn_cases(rng):
    return {
        "one sequence": draws(rng, 3, 4, (3, 4), (4, 4), 4),
        "two sequences": draws(rng, (2, 5), (2, 3), (5, 3), (3, 3), 3),
        "all sizes equal": draws(rng, (3, 3), (3, 3), (3, 3), (3, 3), 3),
        "float32": draws(rng, (2, 3), (2, 4), (3, 4), (4, 4), 4, dtype=np.float32),
    }


rnn = CodeExercise(
    id="foundations.rnn-step",
    title="One step of a recurrent network",
    kind="write",
    level=1,
    minutes=6,
    page=PAGE,
    task="Write one step of a simple recurrent network: the input x is (..., d_in), the state h is (..., d), W_x is "
    "(d_in, d), W_h is (d, d) and b is (d,). Return the next state, the tanh of what the three add up to.",
    hints=(
        "Which three things are added before anything is squashed?",
        "x and h are rows, so each stands to the left of its matrix.",
        "Multiply the input with its matrix and the state with its own, add both and the bias, then take the tanh.",
    ),
    commentary="Everything that the network knows of the past must pass through these d numbers, at every step.",
    solution=rnn_step,
    reference=rnn_reference,
    cases=rnn_cases,
    properties=(laws.separate_batches(0, 1, dimensions=2),),
    variants=(
        {"x @ W_x + h @ W_h": "np.concatenate([x, h], axis=-1) @ np.concatenate([W_x, W_h])"},
        {"x @ W_x + h @ W_h + b": "b + np.dot(h, W_h) + np.dot(x, W_x)"},
    ),
    mistakes=(
        Mistake(
            "no tanh",
            "The sum was not squashed. Without the tanh the step is linear, and a state can grow without bound.",
            {"np.tanh(x @ W_x + h @ W_h + b)": "(x @ W_x + h @ W_h + b)"},
        ),
        Mistake("no bias", "The bias b has no part in the result.", {" + b)": ")"}),
        Mistake(
            "the bias after the tanh",
            "b was added to the squashed numbers; it belongs to what is squashed.",
            {" + b)": ") + b"},
        ),
        Mistake(
            "squashed one by one",
            "Input and state were squashed separately, so they never met inside the tanh.",
            {"x @ W_x + h @ W_h": "x @ W_x) + np.tanh(h @ W_h"},
        ),
        Mistake(
            "W_h is transposed",
            "W_h is square, so its transpose runs too, but it mixes the state with rows and columns exchanged.",
            {"h @ W_h": "h @ W_h.T"},
        ),
        Mistake(
            "the old state does not matter",
            "The state before has no part in the result, so nothing is remembered.",
            {" + h @ W_h": ""},
        ),
        Mistake(
            "the input does not matter",
            "The input has no part in the result.",
            {"x @ W_x + ": ""},
        ),
        Mistake(
            "the old state was added",
            "The new state replaces the old one; here the old one was added to it.",
            {"return np.tanh": "return h + np.tanh"},
        ),
        Mistake(
            "sigmoid in place of tanh",
            "These lie between 0 and 1, as a sigmoid's values do. A tanh lies between -1 and 1.",
            {"np.tanh(x @ W_x + h @ W_h + b)": "1 / (1 + np.exp(-(x @ W_x + h @ W_h + b)))"},
        ),
        Mistake(
            "the state changed in place",
            "The caller's h was overwritten, but it is still needed for the gradient. Make a new array.",
            {
                "return np.tanh(x @ W_x + h @ W_h + b)": "h[...] = np.tanh(x @ W_x + h @ W_h + b)\n    return h"
            },
        ),
        Mistake(
            "float32 became float64",
            "float32 went in and float64 came out: some number on the way was float64.",
            {"return np.tanh": "return np.float64(1) * np.tanh"},
        ),
    ),
)


def gru_step(x, h, W_x, W_h, b_x, b_h):
    """The next state of a gated recurrent unit; the weights hold the blocks r, z and g side by side."""
    x_r, x_z, x_g = np.split(x @ W_x + b_x, 3, axis=-1)
    h_r, h_z, h_g = np.split(h @ W_h + b_h, 3, axis=-1)
    r = 1 / (1 + np.exp(-(x_r + h_r)))
    z = 1 / (1 + np.exp(-(x_z + h_z)))
    g = np.tanh(x_g + r * h_g)
    return (1 - z) * g + z * h


def gru_reference(x, h, W_x, W_h, b_x, b_h):
    from attnlib.reference import recurrent

    return recurrent.gru_cell(x, h, recurrent.GRUWeights(W_x, W_h, b_x, b_h))[0]


def gru_cases(rng):
    return {
        "one sequence": draws(rng, 3, 4, (3, 12), (4, 12), 12, 12),
        "two sequences": draws(rng, (2, 5), (2, 3), (5, 9), (3, 9), 9, 9),
        "all sizes equal": draws(rng, (3, 3), (3, 3), (3, 9), (3, 9), 9, 9),
        "float32": draws(rng, (2, 3), (2, 4), (3, 12), (4, 12), 12, 12, dtype=np.float32),
    }


gru = CodeExercise(
    id="foundations.gru-step",
    title="One step of a gated unit",
    kind="write",
    level=2,
    minutes=15,
    page=PAGE,
    task="Write one step of a GRU. W_x is (d_in, 3d), W_h is (d, 3d), b_x and b_h are (3d,), each with three blocks: "
    "reset r, update z, candidate g. $r$ and $z$ are sigmoids of the sums of their blocks, "
    "$g = \\tanh(a_g + r \\odot c_g)$ with $a_g$ from the input and $c_g$ from the state, and the next state is "
    "$(1 - z) \\odot g + z \\odot h$.",
    hints=(
        "How many numbers come out of the input's matrix, and of the state's, and how are they shared out?",
        "Keep the blocks of the input and those of the state apart: r acts on the state's block alone.",
        "Split both products, with their biases, into three. Two sigmoids give the gates; a tanh of the input's block "
        "plus r times the state's block is the candidate; z keeps the old state, one minus z takes the candidate.",
    ),
    commentary="Where z is near one the old state passes almost untouched, and so does its gradient: a path through "
    "time without any weight on it.",
    prerequisites=("foundations.rnn-step",),
    solution=gru_step,
    reference=gru_reference,
    cases=gru_cases,
    properties=(laws.separate_batches(0, 1, dimensions=2),),
    variants=(
        {"(1 - z) * g + z * h": "g + z * (h - g)"},
        {
            "1 / (1 + np.exp(-(x_r + h_r)))": "0.5 + 0.5 * np.tanh((x_r + h_r) / 2)",
            "1 / (1 + np.exp(-(x_z + h_z)))": "0.5 + 0.5 * np.tanh((x_z + h_z) / 2)",
        },
    ),
    mistakes=(
        Mistake(
            "z and 1 - z exchanged",
            "Here z takes the candidate and 1 - z keeps the old state. Papers differ; the task says: z keeps.",
            {"(1 - z) * g + z * h": "z * g + (1 - z) * h"},
        ),
        Mistake(
            "the gates are exchanged",
            "The first block is the reset gate r, the second the update gate z.",
            {"x_r, x_z, x_g": "x_z, x_r, x_g", "h_r, h_z, h_g": "h_z, h_r, h_g"},
        ),
        Mistake(
            "r acts on the input too",
            "The reset gate decides how much of the state enters the candidate; the input's block is not gated.",
            {"x_g + r * h_g": "r * (x_g + h_g)"},
        ),
        Mistake(
            "no reset gate",
            "The candidate was made without r: all of the state enters.",
            {"x_g + r * h_g": "x_g + h_g"},
        ),
        Mistake(
            "r acts before the matrix",
            "The state was multiplied by r before its matrix and bias. Here r acts on what comes out of them, as "
            "in the task.",
            {"g = np.tanh(x_g + r * h_g)": "g = np.tanh(x_g + np.split((r * h) @ W_h + b_h, 3, axis=-1)[2])"},
        ),
        Mistake(
            "sigmoid in the candidate",
            "The candidate was squashed between 0 and 1; its tanh lies between -1 and 1.",
            {"np.tanh(x_g + r * h_g)": "1 / (1 + np.exp(-(x_g + r * h_g)))"},
        ),
        Mistake(
            "the candidate is not squashed",
            "The tanh of the candidate is missing, so the state can grow without bound.",
            {"np.tanh(x_g + r * h_g)": "x_g + r * h_g"},
        ),
        Mistake(
            "tanh in the gates",
            "A tanh gives gates below zero; a gate lies between 0 and 1.",
            {
                "1 / (1 + np.exp(-(x_r + h_r)))": "np.tanh(x_r + h_r)",
                "1 / (1 + np.exp(-(x_z + h_z)))": "np.tanh(x_z + h_z)",
            },
        ),
        Mistake(
            "the sign in the sigmoids",
            "The gates are closed where they should be open: the sign inside the exponential is turned.",
            {"np.exp(-(": "np.exp(+("},
        ),
        Mistake(
            "the biases are left out",
            "b_x and b_h have no part in the result.",
            {" + b_x": "", " + b_h": ""},
        ),
        Mistake("b_h is left out", "The state's bias has no part in the result.", {" + b_h": ""}),
        Mistake(
            "the old state is not kept",
            "Only the candidate's share is in the result; z times the old state has to be added.",
            {" + z * h": ""},
        ),
        Mistake(
            "the candidate replaced everything",
            "This is the candidate. The update gate should choose between it and the old state.",
            {"(1 - z) * g + z * h": "g"},
        ),
        Mistake(
            "the state changed in place",
            "The caller's h was overwritten, but it is still needed for the gradient. Make a new array.",
            {"return (1 - z) * g + z * h": "h *= z\n    h += (1 - z) * g\n    return h"},
        ),
        Mistake(
            "float32 became float64",
            "float32 went in and float64 came out: some number on the way was float64.",
            {"return (1 - z)": "return (np.float64(1) - z.astype(np.float64))"},
        ),
    ),
)


KEPT, STEPS = 0.9, 99

forgetting = AnswerExercise(
    id="foundations.forgetting",
    title="What is left of the first word?",
    kind="predict",
    level=1,
    minutes=3,
    page=PAGE,
    task=f"A state keeps {KEPT} of itself at every step: $h_t = {KEPT} \\, h_{{t-1}} + x_t$. The share of the first "
    f"input that is still in the state {STEPS} steps later is $10^x$. What is $x$, to two decimals?",
    hints=(
        "By which factor is the first input's share multiplied at one step, and by which after two?",
        "A product of equal factors is a power, and the logarithm turns it into a multiplication.",
        f"Multiply {STEPS} by the logarithm to base 10 of {KEPT}, and mind its sign.",
    ),
    commentary="Not even a thirty-thousandth is left. The gradient on its way back is multiplied by the same factors, "
    "so the first word hardly teaches the network anything.",
    answer=lambda: STEPS * math.log10(KEPT),
    within=0.02,
    mistakes=(
        Mistake("the sign", "A share below one is a negative power of ten.", -STEPS * math.log10(KEPT)),
        Mistake(
            "natural logarithm",
            "That is the power of e; the power of ten was asked for.",
            STEPS * math.log(KEPT),
        ),
        Mistake(
            "logarithm to base 2",
            "That is the power of 2; the power of ten was asked for.",
            STEPS * math.log2(KEPT),
        ),
        Mistake(
            "one step too many",
            f"Between the first input and {STEPS} steps later there are no more than {STEPS} factors.",
            (STEPS + 1) * math.log10(KEPT),
        ),
        Mistake(
            "a tenth is kept",
            "That would be right if a tenth were kept at each step; here a tenth is lost.",
            STEPS * math.log10(1 - KEPT),
        ),
    ),
)

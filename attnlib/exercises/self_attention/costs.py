"""What looking everywhere costs: counted products, steps and paths (eq-attention-cost)."""

import math

import numpy as np

from attnlib.exercises.model import AnswerExercise, CodeExercise, Mistake

PAGE = "02-self-attention/4-what-it-costs"


def multiply_adds(n, d):
    """(projections, attention): multiply-adds of self-attention of width d with an output projection."""
    projections = 4 * n * d * d
    attention = 2 * n * n * d
    return projections, attention


count = CodeExercise(
    id="self-attention.count",
    title="Count the multiplications",
    kind="write",
    level=1,
    minutes=8,
    page=PAGE,
    task="n tokens of width d; queries, keys, values and the output projection are all (d, d). Return the number of "
    "multiply-adds of the four projections, and of the two products with n by n matrices, as two integers.",
    hints=(
        "A product of (a, b) with (b, c) takes a times b times c multiply-adds.",
        "The projections are (n, d) times (d, d), four times. Which two products have an (n, n) matrix in them?",
        "Scores: (n, d) times (d, n). Output: (n, n) times (n, d).",
    ),
    commentary="The two are equal at n = 2d. Below that the projections cost more than the part that everybody calls "
    "quadratic.",
    solution=multiply_adds,
    cases=lambda rng: {
        "six tokens of width 4": (6, 4),
        "n equal to d": (5, 5),
        "a base model, one sentence": (100, 512),
        "a long text": (10_000, 512),
    },
    returns=("count of the projections", "count of the products"),
    variants=(
        {"4 * n * d * d": "n * (4 * d**2)", "2 * n * n * d": "sum(n * d * n for _ in range(2))"},
        {"projections = 4 * n * d * d\n": "projections = sum([n * d * d] * 4)\n"},
    ),
    mistakes=(
        Mistake(
            "the output projection is missing",
            "Three projections were counted; the output has one too.",
            {"4 * n": "3 * n"},
        ),
        Mistake(
            "the scores alone",
            "The scores take n n d multiply-adds, and averaging the values as many again.",
            {"2 * n * n * d": "n * n * d"},
        ),
        Mistake(
            "additions counted apart",
            "These are operations. One multiply-add is a multiplication and an addition: count it once.",
            {"4 * n * d * d": "8 * n * d * d", "2 * n * n * d": "4 * n * n * d"},
        ),
        Mistake(
            "n cubed",
            "There are n n pairs, and each costs d multiply-adds, not n.",
            {"2 * n * n * d": "2 * n * n * n"},
        ),
        Mistake(
            "the width of a pair was forgotten",
            "A score adds up d products. There are as many scores as pairs, each of them d multiply-adds.",
            {"2 * n * n * d": "2 * n * n"},
        ),
        Mistake(
            "projections of pairs",
            "A projection acts on each token, not on each pair.",
            {"4 * n * d * d": "4 * n * n * d"},
        ),
        Mistake(
            "n and d are exchanged",
            "The projections are quadratic in the width, the attention in the number of tokens.",
            {"4 * n * d * d": "4 * d * n * n", "2 * n * n * d": "2 * d * d * n"},
        ),
        Mistake(
            "the two are swapped",
            "First come the projections, then the two products with n by n matrices.",
            {"return projections, attention": "return attention, projections"},
        ),
    ),
)

WIDTH = 512

crossover = AnswerExercise(
    id="self-attention.predict-crossover",
    title="Where the square takes over",
    kind="predict",
    level=2,
    minutes=4,
    page=PAGE,
    task=f"Self-attention of width {WIDTH}, with its four projections. At how many tokens do the two products with n "
    "by n matrices take as many multiply-adds as the four projections?",
    hints=(
        "Write both counts down. Which of them grows with the square of n, and which with the square of d?",
        "Set 4 n d d equal to 2 n n d.",
        "Divide both sides by 2 n d.",
    ),
    commentary="At n = 2d. For a sentence the projections dominate; the square matters for long texts.",
    prerequisites=("self-attention.count",),
    answer=lambda: 2 * WIDTH,
    within=0.5,
    mistakes=(
        Mistake("three quarters of it", "The output projection belongs to the four.", 3 * WIDTH / 2),
        Mistake(
            "n equal to d",
            "That compares one product of each kind. There are four of one and two of the other.",
            WIDTH,
        ),
        Mistake("the scores alone", "Averaging the values costs as much as the scores.", 4 * WIDTH),
        Mistake("the square", "Both counts have a factor n d in common: divide by it first.", WIDTH**2),
        Mistake("half of the width", "The four are on the side of the width.", WIDTH / 2),
        Mistake(
            "one token more or less",
            "One token later the products take more, one token earlier the projections. Asked is where they are equal.",
            2.0 * WIDTH + 1,
            2.0 * WIDTH - 1,
        ),
    ),
)


def layers_to_reach(length, kernel, dilated):
    """Layers until the last output can depend on the first of `length` inputs, with a kernel that looks back."""
    if length == 1:
        return 0
    if not dilated:
        return math.ceil((length - 1) / (kernel - 1))
    layers, reach = 0, 1
    while reach < length:
        reach += (kernel - 1) * kernel**layers
        layers += 1
    return layers


def by_walking(length, kernel, dilated):
    seen, layers = np.zeros(length, dtype=bool), 0
    seen[-1] = True
    while not seen[0]:
        step = kernel**layers if dilated else 1
        places = np.flatnonzero(seen)[:, None] - step * np.arange(kernel)
        seen[places[places >= 0]] = True
        layers += 1
        if places.min() < 0:
            break
    return layers


reach = CodeExercise(
    id="self-attention.layers-to-reach",
    title="How deep must a convolution be?",
    kind="write",
    level=2,
    minutes=15,
    page=PAGE,
    task="Each output of a convolution layer reads `kernel` inputs: its own place and the kernel - 1 places before "
    "it, or, dilated, every kernel^l-th place in layer l = 0, 1, 2, ... How many layers does it take until the last "
    "of `length` outputs can depend on the first input? (One self-attention layer does it for any length.)",
    hints=(
        "One layer with kernel 3 reaches back two places. And two layers?",
        "Undilated, each layer adds the same number of places. Dilated, layer l adds kernel^l times as many.",
        "Undilated: the distance, length - 1, divided by kernel - 1, rounded up. Dilated: let the reach grow in a "
        "loop until it is as large as the length.",
    ),
    commentary="Linear for plain convolutions, logarithmic for dilated ones: after L dilated layers the reach is "
    "kernel^L. A table that gives the logarithm for all convolutions is about the dilated ones.",
    solution=layers_to_reach,
    cases=lambda rng: {
        "length 6, kernel 3": (6, 3, False),
        "length 5, kernel 3": (5, 3, False),
        "length 9, kernel 2": (9, 2, False),
        "dilated, length 6, kernel 3": (6, 3, True),
        "dilated, length 9, kernel 3": (9, 3, True),
        "dilated, length 10, kernel 3": (10, 3, True),
        "dilated, length 100, kernel 2": (100, 2, True),
        "dilated, length 27, kernel 3": (27, 3, True),
        "one token": (1, 3, False),
        "a kernel wider than the text": (3, 7, True),
        "length 100, kernel 4": (100, 4, False),
        "length 12, kernel 4": (12, 4, False),
        "dilated, length 125, kernel 5": (125, 5, True),
        "dilated, length 16807, kernel 7": (16807, 7, True),
    },
    variants=(by_walking, {"math.ceil((length - 1) / (kernel - 1))": "-(-(length - 1) // (kernel - 1))"}),
    mistakes=(
        Mistake(
            "each layer reaches back a whole kernel",
            "One of the places that a kernel reads is its own: it reaches back kernel - 1.",
            {"(length - 1) / (kernel - 1)": "(length - 1) / kernel"},
            {
                "(length - 1) / (kernel - 1)": "(length - 1) / kernel",
                "(kernel - 1) * kernel": "kernel * kernel",
            },
        ),
        Mistake(
            "one place too many",
            "From the last to the first of `length` places the distance is length - 1.",
            {"(length - 1) / (kernel - 1)": "length / (kernel - 1)"},
        ),
        Mistake(
            "rounded down",
            "What is left of the distance takes one more layer.",
            {"math.ceil((length - 1) / (kernel - 1))": "(length - 1) // (kernel - 1)"},
        ),
        Mistake(
            "a logarithm that was not exact",
            "Where the length is a power of the kernel, the quotient of logarithms can come out a hair too large, and "
            "rounding up makes a whole layer of it. Count with integers.",
            {"while reach < length": "while layers < math.ceil(math.log(length) / math.log(kernel))"},
        ),
        Mistake(
            "dilation was ignored",
            "Dilated layers reach farther and farther back.",
            {"if not dilated": "if True"},
        ),
        Mistake(
            "always dilated",
            "Without dilation each layer adds the same number of places.",
            {"if not dilated": "if False"},
        ),
        Mistake(
            "dilated by the layer's number",
            "The step of layer l is kernel^l, not l + 1 or 2^l.",
            {"kernel**layers": "(layers + 1)"},
            {"kernel**layers": "2**layers"},
        ),
        Mistake(
            "its own place was forgotten",
            "Before any layer an output reaches one place: its own. The reach starts with 1.",
            {"layers, reach = 0, 1": "layers, reach = 0, 0"},
        ),
        Mistake(
            "one dilated layer too many",
            "After l dilated layers the reach is kernel^l. It is enough that it equals the length.",
            {"    return layers\n": "    return layers + 1\n"},
        ),
        Mistake(
            "the first layer is dilated already",
            "Layer 0 reads neighbours: its step is kernel^0, which is 1.",
            {"kernel**layers": "kernel ** (layers + 1)"},
        ),
    ),
)


def shortest_paths(reads):
    """(n, n): through how many layers input j first reaches output i; -1 where it never does."""
    n = len(reads)
    steps = np.full((n, n), -1)
    seen = np.eye(n, dtype=bool)
    for layers in range(n + 1):
        steps[seen & (steps < 0)] = layers
        seen = reads @ seen
    return steps


def paths_cases(rng):
    band = abs(np.subtract.outer(np.arange(5), np.arange(5))) <= 1
    recurrent = np.eye(4, dtype=bool) | np.eye(4, k=-1, dtype=bool)
    hop = np.eye(5, dtype=bool)
    hop[4, 2] = hop[2, 0] = True
    ring = np.eye(4, k=1, dtype=bool)
    ring[3, 0] = True
    return {
        "neighbours": (band,),
        "the previous state": (recurrent,),
        "everything": (np.ones((3, 3), dtype=bool),),
        "two jumps": (hop,),
        "a ring that forgets": (ring,),
    }


def paths_by_search(reads):
    n = len(reads)
    steps = np.full((n, n), -1)
    for i in range(n):
        front, depth, seen = {i}, 0, set()
        while front:
            for j in front:
                steps[i, j] = depth
            seen |= front
            front = {int(j) for k in front for j in np.flatnonzero(reads[k])} - seen
            depth += 1
    return steps


paths = CodeExercise(
    id="self-attention.path-length",
    title="How many layers apart?",
    kind="write",
    level=3,
    minutes=20,
    page=PAGE,
    task="reads (n, n) says which inputs one layer reads: reads[i, j] is True if output i depends on input j. Return "
    "a table of integers with the smallest number of such layers through which input j reaches output i: 0 for a "
    "token and itself, -1 where it never does.",
    hints=(
        "If `reads` says who depends on whom after one layer, what says it after two?",
        "Start with the identity, for no layers. Multiply by `reads` once for each layer, as a boolean product.",
        "Keep a table of -1. In each round, write the number of layers wherever something is reached that had no "
        "number before.",
    ),
    commentary="This is the path length of the documents' tables, n for a recurrent layer, 1 for self-attention, and "
    "the supports of gradients measure exactly this.",
    prerequisites=("self-attention.layers-to-reach", "self-attention.leak-hunt"),
    solution=shortest_paths,
    cases=paths_cases,
    variants=(paths_by_search, {"seen = reads @ seen": "seen = (reads.astype(int) @ seen.astype(int)) > 0"}),
    mistakes=(
        Mistake(
            "the table is transposed",
            "Row i belongs to output i, and column j to input j.",
            {"reads @ seen": "reads.T @ seen"},
        ),
        Mistake(
            "the longest way was kept",
            "A later, longer way overwrote a shorter one. Write a number only where there is none.",
            {"seen & (steps < 0)": "seen"},
        ),
        Mistake(
            "a token is one layer away from itself",
            "No layer is needed for a token to reach itself: all ways are too long by one.",
            {"= layers\n": "= layers + 1\n"},
        ),
        Mistake(
            "started with one layer",
            "No layer is needed for a token to reach itself: the diagonal is 0, whatever `reads` says there.",
            {"np.eye(n, dtype=bool)": "reads", "range(n + 1)": "range(1, n + 1)"},
        ),
        Mistake(
            "stopped too early",
            "The longest shortest way among n tokens takes n - 1 layers.",
            {"range(n + 1)": "range(n // 2)"},
        ),
        Mistake(
            "zero where there is no way",
            "What is never reached was given 0, which is the distance of a token to itself.",
            {"return steps": "return np.maximum(steps, 0)"},
        ),
        Mistake(
            "only one layer was tried",
            "What takes two layers or more was not found.",
            {"range(n + 1)": "range(2)"},
        ),
    ),
)

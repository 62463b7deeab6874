"""A block that is used several times

repair · ★★ · 10 min · 05-training/9-a-transformer-in-numpy-trained

Some models run one block several times over, with the same parameters. Here the block is X + relu(X W + b), and it is
run `times` times: X (n, d), W (d, d), b (d,). dY (n, d) is the gradient of a loss with respect to the output. This
should return the gradients with respect to X, W and b. It is right for times = 1 and wrong for 2. Two things are wrong;
repair both.

1. How many times does the model use W, and the gradients of how many of these uses are in dW at the end?
2. Which X did each run read? In the backward pass the runs come in the reverse order.
3. dW and db must be sums over the runs; and the backward pass of each run needs the X that this run has read.

The gradient of shared parameters is the sum over their uses, as for a tied embedding. PyTorch does so by itself,
because `backward` always adds to `.grad`. It is also why gradients must be cleared before a step.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn

RETURNS = ("gradient of X", "gradient of W", "gradient of b")


def slopes(dY, X, W, b, times):
    """Slopes of X, W and b of a block that is run `times` times."""
    read = []
    for _ in range(times):
        read.append(X)
        X = X + np.maximum(X @ W + b, 0)
    dX, dW, db = dY, np.zeros_like(W), np.zeros_like(b)
    for t in range(times):
        Z = read[times - 1 - t]
        dA = dX * (Z @ W + b > 0)
        dW = dW + Z.T @ dA
        db = db + dA.sum(axis=0)
        dX = dX + dA @ W.T
    return dX, dW, db


def from_the_end(dY, X, W, b, times):
    """Run once, compute the gradients of the rest, and go back through this run."""
    if times == 0:
        return dY, 0 * W, 0 * b
    A = X @ W + b
    above, dW, db = from_the_end(dY, X + A * (A > 0), W, b, times - 1)
    dA = np.where(A > 0, above, 0)
    return above + dA @ W.T, dW + X.T @ dA, db + dA.sum(axis=0)


def with_lists(dY, X, W, b, times):
    steps, d = [], dY
    for _ in range(times):
        A = X @ W + b
        steps.append((X, (A > 0).astype(float)))
        X = X + np.maximum(A, 0)
    weights, biases = [np.zeros_like(W)], [np.zeros_like(b)]
    for Z, on in steps[::-1]:
        weights.append(np.einsum("nd,ne->de", Z, d * on))
        biases.append((d * on).sum(0))
        d = d + (d * on) @ W.T
    return d, sum(weights), sum(biases)


def handed_on_first(dY, X, W, b, times):
    read = []
    for _ in range(times):
        read.append(X)
        X = X + np.maximum(X @ W + b, 0)
    dX, dW, db = dY, np.zeros_like(W), np.zeros_like(b)
    for Z in read[::-1]:
        on = Z @ W + b > 0
        dX = dX + dX * on @ W.T
        dW, db = dW + Z.T @ (dX * on), db + (dX * on).sum(axis=0)
    return dX, dW, db


def cases(rng):
    return {
        "once": (*drawn(rng, (2, 3), (2, 3), (3, 3), 3), 1),
        "twice": (*drawn(rng, (2, 3), (2, 3), (3, 3), 3), 2),
        "three times": (*drawn(rng, (4, 3), (4, 3), (3, 3), 3), 3),
        "all sizes equal": (*drawn(rng, (3, 3), (3, 3), (3, 3), 3), 2),
    }


GIVEN = ("the gradient of the map from one run", "in the order of the forward pass")
VARIANTS = (from_the_end, with_lists)
MISTAKES = (
    Mistake("in the order of the forward pass",
        "The backward pass begins with the last run, so it needs first what the last run has read.",
        {"read[times - 1 - t]": "read[t]"}),
    Mistake("the gradient of the bias from one run",
        "b is used in every run, and each adds to its gradient. Only one of them is returned.",
        {"db = db + dA": "db = dA"}),
    Mistake("the gradient of the map from one run",
        "W is used in every run, and each adds to its gradient. Only one of them is returned.",
        {"dW = dW + Z.T": "dW = Z.T"}),
    Mistake("without the residual connection",
        "X is also added to the output of the map: the gradient passes unchanged, and that of the map is added.",
        {"dX = dX + dA @": "dX = dA @"}),
    Mistake("the first input for all", "Each run has read an X of its own.", {"read[times - 1 - t]": "read[0]"}),
    Mistake("the last input for all", "Each run has read an X of its own.", {"read[times - 1 - t]": "read[-1]"}),
    Mistake("no ReLU in the backward pass", "Where the ReLU gave zero, no gradient passes.",
        {"dA = dX * (Z @ W + b > 0)": "dA = dX"}),
    Mistake("the map is not transposed", "In the backward pass the map is transposed.", {"dA @ W.T": "dA @ W"}),
    Mistake("a mean over the runs", "The gradients of the runs are added, not averaged.",
        {"return dX, dW, db": "return dX, dW / times, db / times"}),
    Mistake("the gate of another number", "The input of the ReLU is X W + b, not X.", {"(Z @ W + b > 0)": "(Z > 0)"}),
    Mistake("one gradient for all runs",
        "The runs have read different X, so their gradients differ.",
        {"dW = dW + Z.T @ dA": "dW = times * Z.T @ dA"}),
    Mistake("the output of a run", "The gradient of a map needs its input, not its output.",
        {"Z = read[times - 1 - t]": "Z = [*read, X][times - t]"}),
    Mistake("passed on too early", "W and b need the gradient that arrives at the output of their run. Here it was "
        "passed on to the input first.", handed_on_first),
)  # fmt: skip

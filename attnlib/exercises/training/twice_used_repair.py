"""A block that is used several times

repair · ★★ · 10 min · 05-training/8-a-transformer-in-numpy-trained

Some models run one block several times over, with the same parameters. Here the block is X + relu(X W + b), and it is
run `times` times: X (n, d), W (d, d), b (d,). dY (n, d) is the slope of what comes out at the end. This should return
the slopes of X, W and b. It is right for one time, and wrong for two. Two things are wrong; repair both.

1. How many times does the model read W, and how many of these reports are in dW at the end?
2. Which X did each run read? On the way back the runs come in the reverse order.
3. dW and db must collect; and each run back needs the X that this run has read.

A block that is shared is the tied table once more: it hears from each of its uses, and the reports are added. PyTorch
does so by itself, because `backward` always adds to `.grad`. It is also why gradients must be cleared before a step.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn

RETURNS = ("slope of X", "slope of W", "slope of b")


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
    """Run once, ask for the slopes of the rest, and go back through this run."""
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


GIVEN = ("the map hears once", "in the order of the way up")
VARIANTS = (from_the_end, with_lists)
MISTAKES = (
    Mistake("in the order of the way up", "The way back begins with the last run, so it needs first what the last run "
        "has read.", {"read[times - 1 - t]": "read[t]"}),
    Mistake("the bias hears once", "b is read in every run, and each run has a report. Only one of them is returned.",
        {"db = db + dA": "db = dA"}),
    Mistake("the map hears once", "W is read in every run, and each run has a report. Only one of them is returned.",
        {"dW = dW + Z.T": "dW = Z.T"}),
    Mistake("without the copy", "X goes around the block, too: what arrives is handed on, and what came through the "
        "map is added.", {"dX = dX + dA @": "dX = dA @"}),
    Mistake("the first input for all", "Each run has read an X of its own.", {"read[times - 1 - t]": "read[0]"}),
    Mistake("the last input for all", "Each run has read an X of its own.", {"read[times - 1 - t]": "read[-1]"}),
    Mistake("no bend on the way back", "Where the bend gave zero, no slope passes.",
        {"dA = dX * (Z @ W + b > 0)": "dA = dX"}),
    Mistake("the map is not turned", "On the way back the map is transposed.", {"dA @ W.T": "dA @ W"}),
    Mistake("a mean over the runs", "The reports are added, not averaged.",
        {"return dX, dW, db": "return dX, dW / times, db / times"}),
    Mistake("the gate of another number", "The bend has seen X W + b, and not X.", {"(Z @ W + b > 0)": "(Z > 0)"}),
    Mistake("one report for all", "The runs have read different X, so their reports differ: none can stand for all.",
        {"dW = dW + Z.T @ dA": "dW = times * Z.T @ dA"}),
    Mistake("what came out of a run", "A map's slope needs what it has read, and not what came out behind it.",
        {"Z = read[times - 1 - t]": "Z = [*read, X][times - t]"}),
    Mistake("handed on too early", "W and b hear what arrives at their run. Here it was handed on first, and they "
        "heard the new one.", handed_on_first),
)  # fmt: skip

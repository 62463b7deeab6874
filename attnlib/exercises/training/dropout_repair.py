"""Dropout at the wrong time

repair · ★★ · 8 min · 05-training/4-not-too-well

This feed-forward network drops numbers of its output: X (n, d), W_1 (d, h), W_2 (h, d), and draws (n, d) are uniform
between 0 and 1, so that a number is dropped where its draw is below p. `training` is True while the model is trained.
Its held-out loss is worse than it should be, and different in each run. Two things are wrong; repair both.

1. Where is `training` used?
2. Take p = 0.5 and the mean over many draws: is it the output without dropout?
3. Nothing is dropped when the model is used; while it trains, what stays is divided by 1 - p.

Either fault alone leaves a model that trains. The first makes it worse only where it is measured, so it is often found
late: by two evaluations of the same model that differ.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def feed_forward(X, W_1, W_2, draws, p, training):
    """A feed-forward network with dropout while it trains."""
    H = np.maximum(X @ W_1, 0)
    Y = H @ W_2
    kept = (draws >= p) / (1 - p)
    return Y * kept if training else Y


def one_expression(X, W_1, W_2, draws, p, training):
    Y = np.clip(X @ W_1, 0, None) @ W_2
    return np.where(draws < p, 0.0, Y / (1 - p)) if training else Y


def no_share(X, W_1, W_2, draws, p, training):
    p = p if training else 0.0
    return (draws >= p) * (np.maximum(X @ W_1, 0) @ W_2) / (1 - p)


def older(X, W_1, W_2, draws, p, training):
    Y = np.maximum(X @ W_1, 0) @ W_2
    return Y * (draws >= p) if training else Y * (1 - p)


def cases(rng):
    def parts(n, d, h, p, training):
        return (*drawn(rng, (n, d), (d, h), (h, d)), rng.random((n, d)), p, training)

    return {
        "while it trains": parts(3, 4, 5, 0.3, True),
        "when it is used": parts(3, 4, 5, 0.3, False),
        "half is dropped": parts(2, 3, 4, 0.5, True),
        "all sizes equal": parts(3, 3, 3, 0.25, True),
        "all sizes equal, when it is used": parts(3, 3, 3, 0.25, False),
    }


GIVEN = ("it drops when it is used", "nothing is rescaled")
VARIANTS = (one_expression, no_share)
MISTAKES = (
    Mistake("it drops when it is used", "The network drops numbers outside of training, too: every evaluation gives "
        "other figures.", {"return Y * kept if training else Y": "return Y * kept"}),
    Mistake("nothing is rescaled", "What stays must be divided by 1 - p while the model trains, or it is smaller on "
        "average than when nothing is dropped.", {"(draws >= p) / (1 - p)": "draws >= p"}),
    Mistake("scaled when it is used", "In use the output was multiplied by 1 - p. That belongs to the older "
        "convention, in which training divides by nothing; here training divides, and use leaves everything as it is.",
        older),
    Mistake("one draw for a whole position", "A position lost all of its numbers or none. Each number has a draw of "
        "its own.", {"(draws >= p)": "(draws[:, :1] >= p)"}),
    Mistake("what stays and what goes are exchanged", "A number is dropped where its draw is below p, and stays "
        "elsewhere.", {"draws >= p": "draws < p"}),
    Mistake("it drops only when it is used", "It is in training that numbers are dropped.",
        {"if training": "if not training"}),
    Mistake("nothing is ever dropped", "Nothing is dropped while the model trains.",
        {"return Y * kept if training else Y": "return Y"}),
    Mistake("made smaller, not larger", "What stays was multiplied by 1 - p. It must become larger, so that the mean "
        "stays.", {"/ (1 - p)": "* (1 - p)"}),
    Mistake("divided by the share that is dropped", "What stays is divided by the share that stays, 1 - p.",
        {"/ (1 - p)": "/ p"}),
    Mistake("scaled up when it is used", "In use nothing is dropped, so nothing has to be made up for by a division "
        "by 1 - p.",
        lambda X, W_1, W_2, draws, p, training: feed_forward(X, W_1, W_2, draws, p, training) / (1 if training else 1
            - p)),
    Mistake("divided by the share that happened to stay", "What stays was divided by the share of these draws that "
        "stayed. It is divided by the share that stays on average, 1 - p, which no draw changes.",
        {"(draws >= p) / (1 - p)": "(draws >= p) / max((draws >= p).mean(), 1e-9)"}),
    Mistake("the input is dropped", "Numbers of X were dropped. This network drops numbers of its output.",
        {"H = np.maximum(X @ W_1, 0)": "H = np.maximum((X * ((draws >= p) / (1 - p) if training else 1)) @ W_1, 0)",
         "return Y * kept if training else Y": "return Y"}),
)  # fmt: skip

"""Which parameters does weight decay shrink?

write · ★★ · 10 min · 05-training/2-steps

A model makes `steps` steps of AdamW with the given rate and decay while every gradient is zero. `parameters` is a dict
from names to arrays: matrices (W_Q or W_1 and so on), biases (b_1 or b_O), the gain and shift of a norm, and the
embedding tables `embed` and `places`. Only the matrices whose names begin with W decay: each step subtracts rate times
decay times the matrix. Return one array: for each parameter, in the order of the dict, its length afterwards (the root
of the sum of its squares).

1. How does the name of a parameter show that it is one of the matrices?
2. Without a gradient AdamW multiplies by the same factor at every step.
3. The length of an array that is multiplied by a number is its length times that number.

`attnlib.train.optim.decay_groups` makes this choice for a PyTorch model. That biases and gains are not decayed is a
convention. A wrong choice raises no error: with rate 0.001 and decay 0.1, a gain of one that has no gradient is 0.37
after 10,000 steps.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def lengths(parameters, rate, decay, steps):
    """The length of each parameter afterwards: a dict in, one array out."""
    left = []
    for name, W in parameters.items():
        decays = W.ndim > 1 and name not in ("embed", "places")
        factor = (1 - rate * decay) ** steps if decays else 1.0
        left.append(factor * np.sqrt((W**2).sum()))
    return np.array(left)


def by_name(parameters, rate, decay, steps):
    found = np.array([np.linalg.norm(W.ravel()) for W in parameters.values()])
    maps = np.array([name.startswith("W_") for name in parameters])
    return found * np.where(maps, (1 - rate * decay) ** steps, 1)


def step_by_step(parameters, rate, decay, steps):
    copies = {name: np.array(W, dtype=float) for name, W in parameters.items()}
    for _ in range(steps):
        for name, W in copies.items():
            if name[0] == "W":
                W -= rate * decay * W
    return np.array([float(np.sqrt(np.square(W).sum())) for W in copies.values()])


def cases(rng):
    def model(**shapes):
        return {name: 1 + drawn(rng, shape)[0] for name, shape in shapes.items()}

    block = {"gain": (4,), "shift": (4,), "W_1": (4, 6), "b_1": (6,), "W_2": (6, 4), "b_2": (4,)}
    return {
        "a feed-forward network and its norm": (model(**block), 0.1, 0.5, 3),
        "a small GPT": (
            model(embed=(7, 4), places=(5, 4), W_Q=(4, 4), W_O=(4, 4), b_O=(4,), gain=(4,)), 0.1, 0.2, 4
        ),
        "no decay": (model(embed=(3, 2), W_1=(2, 5), b_1=(5,)), 0.1, 0.0, 5),
        "no step": (model(places=(3, 2), W_K=(2, 2), shift=(2,)), 0.1, 0.3, 0),
        "one step": (model(W_V=(3, 3), b_V=(3,), embed=(5, 3)), 0.2, 0.5, 1),
    }  # fmt: skip


VARIANTS = (by_name, step_by_step)
MISTAKES = (
    Mistake("decay on biases and norms", "Biases, gains and shifts decayed, too. Here only the matrices do.",
        {'decays = W.ndim > 1 and name not in ("embed", "places")': 'decays = name not in ("embed", "places")'}),
    Mistake("decay on tables", "The tables decayed, too: a row would shrink while its token is not seen.",
        {'decays = W.ndim > 1 and name not in ("embed", "places")': "decays = W.ndim > 1"}),
    Mistake("everything decays", "Everything decayed. Only the matrices should; vectors and tables should not.",
        {"if decays else 1.0": "if True else 1.0"}),
    Mistake("nothing decays", "Nothing decayed. The matrices should.", {"if decays else 1.0": "if False else 1.0"}),
    Mistake("the other way round", "The matrices did not decay, and the rest did.",
        {"if decays else 1.0": "if not decays else 1.0"}),
    Mistake("decay without the rate", "The share lost at a step is rate times decay.",
        {"(1 - rate * decay) ** steps": "(1 - decay) ** steps"}),
    Mistake("one step", "That is the result of one step. Make `steps` steps.",
        {"(1 - rate * decay) ** steps": "(1 - rate * decay)"}),
    Mistake("steps added up", "Each step takes a share of what is left, so the shares multiply.",
        {"(1 - rate * decay) ** steps": "(1 - rate * decay * steps)"}),
    Mistake("the squares", "The root is missing.", {"np.sqrt((W**2).sum())": "(W**2).sum()"}),
    Mistake("the share that is left", "That is the share of each that is left. Return its length.",
        {"left.append(factor * np.sqrt((W**2).sum()))": "left.append(factor)"}),
    Mistake("decay on biases", "The biases decayed, too. Only the matrices should.",
        {"if decays else 1.0": 'if decays or name[0] == "b" else 1.0'}),
    Mistake("decay on norms", "Gains and shifts decayed, too. Only the matrices should.",
        {"if decays else 1.0": 'if decays or name in ("gain", "shift") else 1.0'}),
    Mistake("the limit of small steps", "An exponential is what many small steps come to. These are `steps` steps, "
        "each of which keeps its share.", {"(1 - rate * decay) ** steps": "np.exp(-rate * decay * steps)"}),
    Mistake("in the order of the alphabet", "Keep the order of the dict.",
        {"in parameters.items()": "in sorted(parameters.items())"}),
    Mistake("the largest singular value", "That is how much the matrix can lengthen a vector. Return the root of the "
        "sum of all squares.", {"np.sqrt((W**2).sum())": "np.linalg.norm(W, 2)"}),
    Mistake("absolute values were added", "The absolute values were added up. The length is the root of the sum of "
        "squares.", {"np.sqrt((W**2).sum())": "np.abs(W).sum()"}),
    Mistake("what was lost", "That is what each parameter has lost.",
        {"left.append(factor * np.sqrt((W**2).sum()))": "left.append((1 - factor) * np.sqrt((W**2).sum()))"}),
    Mistake("the decay without its factor", "The rate alone was taken off; the decay was not multiplied with it.",
        {"(1 - rate * decay) ** steps": "(1 - rate) ** steps"}),
)  # fmt: skip

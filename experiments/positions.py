"""Looking three steps back, told the positions in five ways, at lengths like and unlike those of training
(book: permutation).

A position is told by nothing, by its index t, by t / (N - 1), by sinusoids or by a learned table; the model has one
layer of attention, or two with feed-forward networks between. Also: one of them trained on many lengths, and what each
way does to the scale of the first layer's input.
"""

from functools import cache
from typing import Any

import numpy as np
import torch
from _runner import SEEDS, Experiment, main

from attnlib.data.tasks import SequenceTask, look_back
from attnlib.interpret.capture import capture
from attnlib.interpret.patterns import evenness
from attnlib.metrics.seeds import mean_and_sd
from attnlib.models.config import ModelConfig
from attnlib.models.stack import Stack, stack_config
from attnlib.train.toy import TEST_SEED, answer_accuracy, examples, train_stack

SYMBOLS, OFFSET, WIDTH, BATCH, STEPS, SIZE = 10, 3, 32, 64, 150, 300
LENGTH, LENGTHS = 20, (8, 12, 16, 20, 24, 28, 32, 40)  # of training, and in the test
MANY = (8, 20)  # lengths, in a training that has more than one
DEPTHS: dict[str, dict[str, Any]] = {
    "one layer": {"n_layers": 1},
    "two layers": {"n_layers": 2, "d_hidden": 128},
}
POSITIONS = ("none", "index", "normalised", "sinusoid", "learned")  # the arms of the stored result
NAMES = {"sinusoid": "sinusoids"}  # what a config calls an arm, where it differs
LONG = (20, 80, 320)  # where the scale of the input is measured


def config(positions: str, depth: str, context: int = max(LENGTHS)) -> ModelConfig:
    return stack_config(
        SYMBOLS,
        SYMBOLS,
        d_model=WIDTH,
        positions=NAMES.get(positions, positions),
        context=context,
        **DEPTHS[depth],
    )


def batch(seed: int, many: bool) -> SequenceTask:
    """Sequences of one length; of `many` lengths it is drawn, too."""
    length = int(np.random.default_rng([seed, 1]).integers(MANY[0], MANY[1] + 1)) if many else LENGTH
    return look_back(BATCH, length, SYMBOLS, OFFSET, seed=seed)


def trial(
    seed: int, steps: int, lr: float, *, positions: str, depth: str, many: bool = False
) -> dict[str, Any]:
    """Train one model; its accuracy at the length of training, and at every length of the test."""
    model = train_stack(config(positions, depth), lambda s: batch(s, many), steps=steps, seed=seed, lr=lr)
    by_length = [
        answer_accuracy(model, examples(look_back(SIZE, n, SYMBOLS, OFFSET, seed=TEST_SEED))) for n in LENGTHS
    ]
    return {"accuracy": by_length[LENGTHS.index(LENGTH)], "by_length": by_length}


def first_input(positions: str, seed: int) -> dict[str, list[float]]:
    """Before training: the size of the first layer's input beside the tokens' own, and how even its weights are."""
    torch.manual_seed(seed)
    model = Stack(config(positions, "one layer", context=max(LONG)))
    ratio, even = [], []
    for n in LONG:
        tokens = torch.from_numpy(look_back(20, n, SYMBOLS, OFFSET, seed=TEST_SEED).source)
        with capture(model) as seen:
            model(tokens)
        ratio.append(float(seen["places"].square().mean().sqrt() / seen["embed"].square().mean().sqrt()))
        even.append(float(evenness(seen["blocks.0.attention.P"].numpy()).mean()))
    return {"scale": ratio, "evenness": even}


@cache
def before_training() -> dict[str, Any]:
    """What each way of telling the positions does to the first layer's input."""
    found = {arm: [first_input(arm, seed) for seed in SEEDS] for arm in POSITIONS}
    return {
        "lengths": LENGTHS,
        "first_input": {
            "lengths": LONG,
            **{
                arm: {key: mean_and_sd([one[key] for one in trials]) for key in ("scale", "evenness")}
                for arm, trials in found.items()
            },
        },
    }


EXPERIMENT = Experiment(
    name="positions",
    question="which ways of telling the position let attention look three steps back, also at other lengths?",
    trial=trial,
    arms={
        "two layers": {
            **{arm: {"positions": arm, "depth": "two layers"} for arm in POSITIONS},
            "normalised, many lengths": {"positions": "normalised", "depth": "two layers", "many": True},
        },
        "one layer": {arm: {"positions": arm, "depth": "one layer"} for arm in POSITIONS},
    },
    steps=STEPS,
    rates=(1.25e-3, 2.5e-3, 5e-3, 1e-2, 2e-2, 4e-2),
    settings={
        "symbols": SYMBOLS,
        "offset": OFFSET,
        "width": WIDTH,
        "batch": BATCH,
        "trained_length": LENGTH,
        "many_lengths": MANY,
    },
    once=before_training,
)

if __name__ == "__main__":
    main(EXPERIMENT)

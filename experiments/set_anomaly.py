"""Finding the odd one of a set, with and without being told the positions (book: permutation).

The answer does not depend on the order of the set, so a model without positions loses nothing, and need not learn that.
Measured after training on few sets, on endless ones, and on sets whose odd item always stands in the first half:
accuracy at the length of training, at other lengths, and for each place of the odd item.
"""

from typing import Any

import numpy as np
import torch
from _runner import Experiment, main

from attnlib.data.anomaly import set_anomaly
from attnlib.data.tasks import MarkedTask
from attnlib.models.stack import Stack, stack_config
from attnlib.train.toy import TEST_SEED, answer_accuracy, examples, train_stack

CLASSES, MEMBERS, LENGTH, WIDTH, BATCH, STEPS, SIZE = 8, 8, 8, 32, 64, 300, 500
FEW = 1000  # sets, when they are few
LENGTHS = (4, 6, 8, 12, 16, 24, 32)  # in the test
POSITIONS = ("none", "sinusoid", "learned")  # the arms of the stored result
NAMES = {"sinusoid": "sinusoids"}  # what a config calls an arm, where it differs


def few_sets(seed: int) -> MarkedTask:
    """A batch out of the same thousand sets."""
    return chosen(set_anomaly(FEW, LENGTH, CLASSES, MEMBERS, seed=TEST_SEED + 1), rows=seed, size=BATCH)


def chosen(task: MarkedTask, rows: int, size: int) -> MarkedTask:
    """Some sets of a task, drawn with the seed `rows`."""
    take = np.random.default_rng(rows).integers(len(task.symbols), size=size)
    return task._replace(symbols=task.symbols[take], marks=task.marks[take], target=task.target[take])


def endless(seed: int) -> MarkedTask:
    return set_anomaly(BATCH, LENGTH, CLASSES, MEMBERS, seed=seed)


def first_half(seed: int) -> MarkedTask:
    return set_anomaly(BATCH, LENGTH, CLASSES, MEMBERS, last=LENGTH // 2, seed=seed)


TRAINED = {"1000 sets": few_sets, "endless": endless, "odd one in the first half": first_half}


def trial(seed: int, steps: int, lr: float, *, positions: str, trained: str) -> dict[str, Any]:
    """Train one model and measure it on sets it has not seen."""
    told = NAMES.get(positions, positions)
    config = stack_config(
        CLASSES * MEMBERS, 1, d_model=WIDTH, n_heads=2, positions=told, context=max(LENGTHS), d_hidden=64
    )
    model = train_stack(config, TRAINED[trained], steps=steps, seed=seed, lr=lr)
    by_length = [answer_accuracy(model, examples(test_sets(n))) for n in LENGTHS]
    return {
        "accuracy": by_length[LENGTHS.index(LENGTH)],
        "by_length": by_length,
        "by_place": by_place(model),
        "moved": moved(model),
    }


def test_sets(length: int, size: int = SIZE) -> MarkedTask:
    return set_anomaly(size, length, CLASSES, MEMBERS, seed=TEST_SEED)


def by_place(model: Stack) -> list[float]:
    """Accuracy for each position of the odd item, at the length of training."""
    task = test_sets(LENGTH, 4 * SIZE)
    place, accuracy = task.marks.argmax(1), []
    for j in range(LENGTH):
        here = place == j
        accuracy.append(
            answer_accuracy(
                model, examples(task._replace(symbols=task.symbols[here], marks=task.marks[here]))
            )
        )
    return accuracy


@torch.no_grad()
def moved(model: Stack) -> float:
    """How much the scores of shuffled sets differ from the shuffled scores, beside their spread: 0 is equivariant."""
    tokens = torch.from_numpy(test_sets(LENGTH).symbols)
    order = torch.from_numpy(np.random.default_rng(1).permutation(LENGTH))
    scores = model(tokens)
    return float((model(tokens[:, order]) - scores[:, order]).square().mean().sqrt() / scores.std())


EXPERIMENT = Experiment(
    name="set_anomaly",
    question="does a model that cannot see the order find the odd one of a set better?",
    trial=trial,
    arms={
        trained: {positions: {"positions": positions, "trained": trained} for positions in POSITIONS}
        for trained in TRAINED
    },
    steps=STEPS,
    rates=(2.5e-3, 5e-3, 1e-2, 2e-2, 4e-2),
    settings={
        "classes": CLASSES,
        "members": MEMBERS,
        "few": FEW,
        "width": WIDTH,
        "batch": BATCH,
        "trained_length": LENGTH,
    },
    once=lambda: {"lengths": LENGTHS, "chance": [1 / n for n in LENGTHS]},
)

if __name__ == "__main__":
    main(EXPERIMENT)

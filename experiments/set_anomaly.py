"""Finding the odd one of a set, with and without being told the positions (book: permutation).

The answer does not depend on the order of the set, so a model without positions loses nothing, and need not learn that.
Measured after training on few sets, on endless ones, and on sets whose odd item always stands in the first half:
accuracy at the length of training, at other lengths, and for each place of the odd item. Stores
attnlib/data/results/set_anomaly.json.

    python experiments/set_anomaly.py            # about 2 minutes on one thread
    python experiments/set_anomaly.py --quick    # about 10 seconds, prints, stores nothing
"""

import argparse
import time
from typing import Any

import numpy as np
import torch

from attnlib.data.anomaly import set_anomaly
from attnlib.data.results import save_result
from attnlib.data.tasks import MarkedTask
from attnlib.metrics.spread import spread
from attnlib.models.stack import Stack, StackConfig
from attnlib.train.toy import TEST_SEED, answer_accuracy, examples, train_stack

CLASSES, MEMBERS, LENGTH, WIDTH, BATCH, STEPS, LR = 8, 8, 8, 32, 64, 600, 5e-3
FEW = 1000  # sets, when they are few
LENGTHS = (4, 6, 8, 12, 16, 24, 32)  # in the test
SEEDS = (0, 1, 2, 3, 4)
POSITIONS = ("none", "sinusoid", "learned")


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


def trial(positions: str, trained: str, seed: int, *, steps: int = STEPS, size: int = 500) -> dict[str, Any]:
    """Train one model and measure it on sets it has not seen."""
    config = StackConfig(
        CLASSES * MEMBERS, 1, d_model=WIDTH, n_heads=2, positions=positions, longest=max(LENGTHS), d_hidden=64
    )
    model = train_stack(config, TRAINED[trained], steps=steps, seed=seed, lr=LR)
    return {
        "accuracy": [answer_accuracy(model, examples(test_sets(n, size))) for n in LENGTHS],
        "by_place": by_place(model, size),
        "moved": moved(model, size),
    }


def test_sets(length: int, size: int) -> MarkedTask:
    return set_anomaly(size, length, CLASSES, MEMBERS, seed=TEST_SEED)


def by_place(model: Stack, size: int) -> list[float]:
    """Accuracy for each place of the odd item, at the length of training."""
    task = test_sets(LENGTH, 4 * size)
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
def moved(model: Stack, size: int) -> float:
    """How much the scores of shuffled sets differ from the shuffled scores, beside their spread: 0 is equivariant."""
    tokens = torch.from_numpy(test_sets(LENGTH, size).symbols)
    order = torch.from_numpy(np.random.default_rng(1).permutation(LENGTH))
    scores = model(tokens)
    return float((model(tokens[:, order]) - scores[:, order]).square().mean().sqrt() / scores.std())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few steps, one model; stores nothing")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    started = time.process_time()
    if arguments.quick:
        print(trial("none", "endless", 0, steps=200))
        return
    models: dict[str, Any] = {}
    for trained in TRAINED:
        for positions in POSITIONS:
            trials = [trial(positions, trained, seed) for seed in SEEDS]
            entry = {key: spread([one[key] for one in trials]) for key in trials[0]}
            models.setdefault(trained, {})[positions] = entry
            print(f"{time.process_time() - started:5.0f} s  {trained}, {positions}")
            for key, values in entry.items():
                print("   ", key, values["mean"], "sd", values["sd"], flush=True)
    data = {
        "question": "does a model that cannot see the order find the odd one of a set better?",
        "settings": {
            "classes": CLASSES,
            "members": MEMBERS,
            "width": WIDTH,
            "steps": STEPS,
            "lr": LR,
            "batch": BATCH,
        },
        "trained_length": LENGTH,
        "lengths": LENGTHS,
        "chance": [1 / n for n in LENGTHS],
        "models": models,
    }
    command, seconds = "python experiments/set_anomaly.py", time.process_time() - started
    save_result("set_anomaly", data, seeds=SEEDS, command=command, seconds=seconds)


if __name__ == "__main__":
    main()

"""Looking three steps back, told the positions in five ways, at lengths like and unlike those of training
(book: permutation).

A position is told by nothing, by its index t, by t / (N - 1), by sinusoids or by a learned table; the model has one
layer of attention, or two with feed-forward networks between; training shows one length or many. Also: what each way
does to the scale of the first layer's input. Stores attnlib/data/results/positions.json.

    python experiments/positions.py            # about 5 minutes on one thread
    python experiments/positions.py --quick    # about 10 seconds, prints, stores nothing
"""

import argparse
import time
from typing import Any

import numpy as np
import torch

from attnlib.data.results import save_result
from attnlib.data.tasks import SequenceTask, look_back
from attnlib.interpret.capture import capture
from attnlib.interpret.patterns import evenness, mass_on
from attnlib.metrics.spread import spread
from attnlib.models.stack import POSITIONS, Stack, StackConfig
from attnlib.train.toy import TEST_SEED, answer_accuracy, examples, train_stack

SYMBOLS, OFFSET, WIDTH, BATCH, STEPS, LR = 10, 3, 32, 64, 400, 5e-3
SEEDS = (0, 1, 2, 3, 4)
LENGTHS = (8, 12, 16, 20, 24, 28, 32, 40)  # in the test
TRAINED = {"one length": (20, 20), "many lengths": (8, 20)}
DEPTHS = {"one layer": {"n_layers": 1}, "two layers": {"n_layers": 2, "d_hidden": 128}}
LONG = (20, 80, 320)  # where the scale of the input is measured


def config(positions: str, depth: str, longest: int = max(LENGTHS)) -> StackConfig:
    return StackConfig(SYMBOLS, SYMBOLS, d_model=WIDTH, positions=positions, longest=longest, **DEPTHS[depth])


def batch(lengths: tuple[int, int], seed: int) -> SequenceTask:
    """Sequences of one length, which is drawn too."""
    length = int(np.random.default_rng([seed, 1]).integers(lengths[0], lengths[1] + 1))
    return look_back(BATCH, length, SYMBOLS, OFFSET, seed=seed)


def trial(positions: str, depth: str, trained: str, seed: int, *, steps: int = STEPS, size: int = 300):
    """Train one model; accuracy and weight at the true place, at every length."""
    lengths = TRAINED[trained]
    model = train_stack(config(positions, depth), lambda s: batch(lengths, s), steps=steps, seed=seed, lr=LR)
    accuracy, true_mass = [], []
    for n in LENGTHS:
        task = look_back(size, n, SYMBOLS, OFFSET, seed=TEST_SEED)
        with capture(model) as seen:
            accuracy.append(answer_accuracy(model, examples(task)))
        masses = [
            mass_on(P[:, 0].double().numpy(), task.weights) for name, P in seen.items() if name.endswith(".P")
        ]
        true_mass.append(max(masses))
    return accuracy, true_mass


def first_input(positions: str, seed: int) -> dict[str, list[float]]:
    """Before training: the size of the first layer's input beside the tokens' own, and how even its weights are."""
    torch.manual_seed(seed)
    model = Stack(config(positions, "one layer", longest=max(LONG)))
    ratio, even = [], []
    for n in LONG:
        tokens = torch.from_numpy(look_back(20, n, SYMBOLS, OFFSET, seed=TEST_SEED).source)
        with capture(model) as seen:
            model(tokens)
        ratio.append(float(seen["positions"].square().mean().sqrt() / seen["embed"].square().mean().sqrt()))
        even.append(float(evenness(seen["blocks.0.attention.P"].numpy()).mean()))
    return {"scale": ratio, "evenness": even}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few steps, one model; stores nothing")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    started = time.process_time()
    if arguments.quick:
        print(trial("sinusoid", "one layer", "many lengths", 0, steps=200))
        return
    models: dict[str, Any] = {}
    for depth in DEPTHS:
        for trained in TRAINED:
            for positions in POSITIONS:
                trials = [trial(positions, depth, trained, seed) for seed in SEEDS]
                accuracy, true_mass = zip(*trials, strict=True)
                entry = {"accuracy": spread(accuracy), "true_mass": spread(true_mass)}
                models.setdefault(depth, {}).setdefault(trained, {})[positions] = entry
                print(f"{time.process_time() - started:5.0f} s  {depth}, {trained}, {positions}:", end=" ")
                print(entry["accuracy"]["mean"], "sd", entry["accuracy"]["sd"], flush=True)
    before = {positions: [first_input(positions, seed) for seed in SEEDS] for positions in POSITIONS}
    data = {
        "question": "which ways of telling the position let attention look three steps back, also at other lengths?",
        "settings": {
            "symbols": SYMBOLS,
            "offset": OFFSET,
            "width": WIDTH,
            "steps": STEPS,
            "lr": LR,
            "batch": BATCH,
        },
        "trained_lengths": TRAINED,
        "lengths": LENGTHS,
        "models": models,
        "first_input": {
            "lengths": LONG,
            **{
                positions: {key: spread([one[key] for one in trials]) for key in ("scale", "evenness")}
                for positions, trials in before.items()
            },
        },
    }
    print(data["first_input"])
    command, seconds = "python experiments/positions.py", time.process_time() - started
    save_result("positions", data, seeds=SEEDS, command=command, seconds=seconds)


if __name__ == "__main__":
    main()

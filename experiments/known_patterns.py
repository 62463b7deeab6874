"""Heads on tasks whose best attention is known, and evenness by layer (book: patterns-and-entropy).

Four tasks with one head a layer: which pattern does it find, and how much of its weight is where it must be? Then three
layers of four heads on two tasks: evenness of every head, over all rows, over the rows that are asked, and before any
training. Stores attnlib/data/results/known-patterns.json.

    python experiments/known_patterns.py            # about 2 minutes on one thread
    python experiments/known_patterns.py --quick    # some seconds, prints, stores nothing
"""

import argparse
import time
from typing import Any

import numpy as np
import torch
from _deep import (
    BATCH,
    DEEP,
    HEADS,
    LENGTH,
    LR,
    SEEDS,
    SETTINGS,
    STEPS,
    SYMBOLS,
    WIDTH,
    causal,
    config,
    trained,
    weights_by_layer,
)

from attnlib.data import tasks
from attnlib.data.offsets import retrieve_offsets
from attnlib.data.recall import induction
from attnlib.data.results import save_result
from attnlib.interpret.patterns import evenness, mass_on, measure_pattern, name_pattern
from attnlib.metrics.spread import spread
from attnlib.models.stack import Stack, StackConfig
from attnlib.train.toy import TEST_SEED, answer_accuracy, examples, train_stack

KNOWN: dict[str, dict[str, Any]] = {
    "previous": {
        "make": lambda size, seed: tasks.look_back(size, LENGTH, SYMBOLS, 1, seed=seed),
        "steps": 200,
    },
    "first": {"make": lambda size, seed: tasks.say_first(size, LENGTH, SYMBOLS, seed=seed), "steps": 200},
    "neighbours": {
        "make": lambda size, seed: retrieve_offsets(size, LENGTH, SYMBOLS, (-1, 0, 1), seed=seed),
        "steps": 200,
        "n_out": 3 * SYMBOLS,
    },
    "induction": {
        "make": lambda size, seed: induction(size, LENGTH, SYMBOLS, seed=seed),
        "steps": 800,
        "n_layers": 2,
        "causal": True,
    },
}

# --- one head a layer, against the truth -----------------------------------------------------------------------------


def known(name: str, seed: int, *, size: int = 300) -> dict[str, Any]:
    """A small model for one task: what its heads do, and their weight at the true place; also that of even weights."""
    options = dict(KNOWN[name])
    make, steps = options.pop("make"), options.pop("steps")
    small = StackConfig(SYMBOLS, **{"n_out": SYMBOLS, "d_model": WIDTH, "longest": LENGTH, **options})
    model = train_stack(small, lambda s: make(BATCH, s), steps=steps, seed=seed, lr=LR)
    task = make(size, TEST_SEED)
    answer = task.weights.max(axis=0) if name == "neighbours" else task.weights
    before = np.eye(LENGTH, k=-1)  # what the first of two layers must look at
    layers = weights_by_layer(model, examples(task))
    layers[-1] = layers[-1] * task.mask[:, None, :, None]  # rows that are not asked may look anywhere
    mask = causal(model)
    may = np.ones((LENGTH, LENGTH)) if mask is None else mask
    even = may / may.sum(axis=1, keepdims=True)
    heads = []
    for l, P in enumerate(layers):
        truth = answer if l == len(layers) - 1 else before
        pattern = measure_pattern(P[:, 0], mask)
        rounded = {key: round(value, 3) for key, value in pattern._asdict().items()}
        scores = {"true_mass": mass_on(P[:, 0], truth), "even_mass": mass_on(even + 0 * P[:, 0], truth)}
        heads.append({"layer": l, "name": name_pattern(pattern), **rounded, **round_all(scores)})
    return {"seed": seed, "accuracy": round(answer_accuracy(model, examples(task)), 4), "heads": heads}


def round_all(scores: dict[str, float]) -> dict[str, float]:
    return {key: round(value, 4) for key, value in scores.items()}


# --- evenness by layer -----------------------------------------------------------------------------------------------


def by_layer(task_name: str, seed: int, *, steps: int = STEPS, size: int = 300) -> dict[str, Any]:
    """A model of three layers with four heads each: how even every head is, and its weight at the true place."""
    torch.manual_seed(seed)
    untrained, model = Stack(config()), trained(task_name, seed, steps)
    task = DEEP[task_name](size, TEST_SEED)
    data = examples(task)
    layers = weights_by_layer(model, data)
    return {
        "accuracy": answer_accuracy(model, data),
        "evenness": mean_evenness(model, layers),
        "evenness_asked": mean_evenness(model, layers, task.mask),
        "evenness_untrained": mean_evenness(untrained, weights_by_layer(untrained, data)),
        "true_mass": np.array([[mass_on(P[:, h], task.weights) for h in range(HEADS)] for P in layers]),
    }


def mean_evenness(model: Stack, layers: list[np.ndarray], asked: np.ndarray | None = None) -> np.ndarray:
    """(layers, heads): mean evenness over all rows, or over those that are asked."""
    even = np.array([evenness(P, causal(model)) for P in layers])  # (layers, inputs, heads, n)
    rows = np.ones_like(even, dtype=bool) if asked is None else np.broadcast_to(asked[:, None], even.shape)
    return np.nanmean(np.where(rows, even, np.nan), axis=(1, 3))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few steps, one model each; stores nothing")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    started = time.process_time()
    if arguments.quick:
        print(known("previous", 0), by_layer("recall", 0, steps=50))
        return
    scored = {name: [known(name, seed) for seed in SEEDS] for name in KNOWN}
    layers = {}
    for name in DEEP:
        trials = [by_layer(name, seed) for seed in SEEDS]
        layers[name] = {key: spread([one[key] for one in trials]) for key in trials[0]}
    data = {
        "question": "do heads find the attention that is known to be best, and does entropy grow with depth?",
        "settings": SETTINGS,
        "known": scored,
        "layers": layers,
    }  # fmt: skip
    command, seconds = "python experiments/known_patterns.py", time.process_time() - started
    file = save_result("known-patterns", data, seeds=SEEDS, command=command, seconds=seconds)
    print(file.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()

"""Copying a sequence of symbols with a fixed context and with attention, by length (book: the-bottleneck).

Every sequence of symbols is equally likely, so nothing can be guessed: what the decoder says right, it was told. Trains
small GRU encoder-decoders with fixed contexts of several widths and with attention, and measures on sequences longer
than those in training too. Stores attnlib/data/results/copy_bottleneck.json.

    python experiments/copy_bottleneck.py            # about 10 minutes on 2 threads
    python experiments/copy_bottleneck.py --quick    # about 15 seconds, prints, stores nothing
"""

import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import torch
from _by_length import arguments, summary

from attnlib.data import tasks
from attnlib.data.results import save_result
from attnlib.data.vocab import Batch, symbol_batch
from attnlib.metrics.curves import first_below
from attnlib.train.device import device
from attnlib.train.translation import accuracy, train_on_symbols

SYMBOLS = 10
TRAINED = (1, 20)  # lengths in training; the tests go beyond
LENGTHS = tuple(range(2, 41, 2))
SEEDS = (0, 1, 2)
STEPS, LR, BATCH = 2000, 5e-3, 64
MODELS: dict[str, dict[str, Any]] = {
    "initial, width 64": {"attention": "none", "context_every_step": False, "d_hidden": 64},  # Sutskever
    "fixed, width 32": {"attention": "none", "d_hidden": 32},  # Cho: the context at every step
    "fixed, width 64": {"attention": "none", "d_hidden": 64},
    "fixed, width 128": {"attention": "none", "d_hidden": 128},
    "additive, width 64": {"attention": "additive", "d_hidden": 64},  # Bahdanau
    "dot, width 64": {"attention": "dot", "d_hidden": 64},  # Luong
}


def training_data(seed: int) -> Iterator[Batch]:
    """Endless fresh batches; all sequences of one batch have the same random length."""
    rng = np.random.default_rng(seed)
    while True:
        length, source_seed = int(rng.integers(TRAINED[0], TRAINED[1] + 1)), int(rng.integers(2**31))
        task = tasks.copy(BATCH, length, SYMBOLS, seed=source_seed)
        yield symbol_batch(task.source, task.target)


def test_data(length: int, size: int) -> Batch:
    task = tasks.copy(size, length, SYMBOLS, seed=2**31 + length)  # a seed that training never draws
    return symbol_batch(task.source, task.target)


def trial(name: str, seed: int, *, steps: int = STEPS, size: int = 300) -> dict[str, Any]:
    """Train one model and measure it on every length."""
    torch.set_num_threads(1)
    started = time.perf_counter()
    model = train_on_symbols(training_data(seed), SYMBOLS, steps=steps, seed=seed, lr=LR, **MODELS[name])
    measured = [accuracy(model, test_data(length, size)) for length in LENGTHS]
    return {
        "seed": seed,
        "parameters": sum(p.numel() for p in model.parameters()),
        "token": [round(one.token, 4) for one in measured],
        "exact": [round(one.exact, 4) for one in measured],
        "seconds": round(time.perf_counter() - started, 1),
    }


def report(models: dict[str, Any]) -> None:
    for name, model in models.items():
        each = [first_below(LENGTHS, one["token"]) for one in model["trials"]]
        print(f"{name}: below 90 % at {model['below_90_at']}; tokens, each seed {each}")
        print("  token", model["mean"]["token"], "\n  exact", model["mean"]["exact"])


def main() -> None:
    asked = arguments(__doc__)
    started = time.perf_counter()
    if asked.quick:
        names = ("fixed, width 64", "dot, width 64")
        report({name: summary(LENGTHS, [trial(name, 0, steps=150, size=50)]) for name in names})
        return
    with ProcessPoolExecutor(asked.workers) as pool:
        waiting = {name: [pool.submit(trial, name, seed) for seed in SEEDS] for name in MODELS}
        models = {
            name: summary(LENGTHS, [one.result() for one in trials]) for name, trials in waiting.items()
        }
    report(models)
    data = {
        "question": "up to which length can a sequence be copied, with a fixed context and with attention?",
        "settings": {
            "steps": STEPS,
            "lr": LR,
            "batch": BATCH,
            "symbols": SYMBOLS,
            "trained_lengths": TRAINED,
        },
        "lengths": LENGTHS,
        "models": models,
    }
    seconds = time.perf_counter() - started
    file = save_result(
        "copy_bottleneck",
        data,
        seeds=SEEDS,
        command="python experiments/copy_bottleneck.py",
        seconds=seconds,
        device=device().label,
    )
    print(f"{file.name}: {file.stat().st_size} bytes, {seconds:.0f} s")


if __name__ == "__main__":
    main()

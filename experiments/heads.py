"""How many heads are best? Saying the neighbours at several offsets, with the same number of parameters for every
number of heads (book: why-several-heads, memory).

One layer of attention must fetch two, four or eight neighbours at once; its heads number 1 to 64, each 64 / h wide.
Also: few heads trained four times as long, and heads that share keys and values. Stores
attnlib/data/results/heads.json.

    python experiments/heads.py            # about 6 minutes on one thread
    python experiments/heads.py --quick    # about 10 seconds, prints, stores nothing
"""

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from attnlib.data.offsets import retrieve_offsets
from attnlib.data.results import save_result
from attnlib.interpret.capture import capture
from attnlib.interpret.patterns import head_distances, measure_pattern, name_pattern
from attnlib.metrics.spread import spread
from attnlib.models.stack import Stack, StackConfig
from attnlib.train.toy import TEST_SEED, answer_accuracy, examples, train_stack

SYMBOLS, LENGTH, WIDTH, BATCH, STEPS, LR = 10, 16, 64, 64, 300, 5e-3
SEEDS = (0, 1, 2, 3, 4)
OFFSETS = {"two": (-1, 1), "four": (-2, -1, 1, 2), "eight": (-4, -3, -2, -1, 1, 2, 3, 4)}
HEADS = {"two": (1, 2, 4, 8, 16), "four": (1, 2, 4, 8, 16, 32, 64), "eight": (1, 2, 4, 8, 16)}
SHARED_HEADS, SHARED_WIDTHS, KV_HEADS = 8, (16, 32), (1, 2, 4, 8)


def trial(
    offsets: Sequence[int], seed: int, *, steps: int = STEPS, size: int = 500, **options: Any
) -> dict[str, Any]:
    """Train one model and measure it."""
    config = StackConfig(SYMBOLS, SYMBOLS * len(offsets), longest=LENGTH, **{"d_model": WIDTH, **options})

    def batch(batch_seed: int):
        return retrieve_offsets(BATCH, LENGTH, SYMBOLS, offsets, seed=batch_seed)

    model = train_stack(config, batch, steps=steps, seed=seed, lr=LR)
    task = retrieve_offsets(size, LENGTH, SYMBOLS, offsets, seed=TEST_SEED)
    with capture(model) as seen:
        accuracy = answer_accuracy(model, examples(task))
    P = seen["blocks.0.attention.P"].double().numpy()[:, :, task.mask[0]]  # the rows that count
    return {
        "accuracy": accuracy,
        "parameters": sum(p.numel() for p in model.parameters()),
        **looking(model, P, task.mask[0].nonzero()[0]),
    }


def looking(model: Stack, P: np.ndarray, rows: np.ndarray) -> dict[str, Any]:
    """What each head looks at, how many different offsets that makes, and how much the heads differ."""
    whole = np.zeros((*P.shape[:2], P.shape[-1], P.shape[-1]))
    whole[:, :, rows] = P
    patterns = [measure_pattern(whole[:, h]) for h in range(P.shape[1])]
    distances = head_distances(P)
    pairs = distances[np.triu_indices(len(distances), 1)]
    return {
        "offset": [pattern.offset for pattern in patterns],
        "at_offset": [round(pattern.at_offset, 3) for pattern in patterns],
        "named": [name_pattern(pattern) for pattern in patterns],
        "distance": float(pairs.mean()) if len(pairs) else 0.0,
        "nearest": float(pairs.min()) if len(pairs) else 0.0,
    }


def summary(trials: list[dict[str, Any]]) -> dict[str, Any]:
    """Accuracy and the heads' distances with their spread, and what each seed's heads looked at."""
    measured = {key: spread([one[key] for one in trials]) for key in ("accuracy", "distance", "nearest")}
    looked = [{key: one[key] for key in ("offset", "at_offset", "named")} for one in trials]
    return {**measured, "parameters": trials[0]["parameters"], "looked": looked}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few steps, one model; stores nothing")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    started = time.process_time()
    if arguments.quick:
        print(trial(OFFSETS["four"], 0, steps=150, n_heads=4))
        return

    def measured(name: str, offsets: Sequence[int], **options: Any) -> dict[str, Any]:
        entry = summary([trial(offsets, seed, **options) for seed in SEEDS])
        accuracy = entry["accuracy"]
        print(f"{time.process_time() - started:5.0f} s  {name} {options}:", end=" ")
        print(accuracy["mean"], "sd", accuracy["sd"], "parameters", entry["parameters"], flush=True)
        return entry

    swept = {
        name: {h: measured(name, offsets, n_heads=h) for h in HEADS[name]}
        for name, offsets in OFFSETS.items()
    }
    longer = {h: measured("four", OFFSETS["four"], n_heads=h, steps=4 * STEPS) for h in (1, 2)}
    shared = {
        d: {
            g: measured("eight", OFFSETS["eight"], n_heads=SHARED_HEADS, n_kv_heads=g, d_model=d)
            for g in KV_HEADS
        }
        for d in SHARED_WIDTHS
    }
    data = {
        "question": "how many heads are best, and what do shared keys and values cost?",
        "settings": {
            "symbols": SYMBOLS,
            "length": LENGTH,
            "width": WIDTH,
            "steps": STEPS,
            "lr": LR,
            "batch": BATCH,
        },
        "heads": HEADS,
        "offsets": OFFSETS,
        "chance": retrieve_offsets(1, LENGTH, SYMBOLS).chance,
        "swept": swept,
        "four_times_the_steps": longer,
        "shared": {"heads": SHARED_HEADS, "kv_heads": KV_HEADS, "by_width": shared},
    }
    command, seconds = "python experiments/heads.py", time.process_time() - started
    save_result("heads", data, seeds=SEEDS, command=command, seconds=seconds)


if __name__ == "__main__":
    main()

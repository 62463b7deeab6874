"""What trained heads do, and which of them matter (book: heads-at-work).

Deeper models on two tasks with known attention show entropy and distance by layer, which heads matter, how many can go,
and how alike they are. Stores attnlib/data/results/patterns.json.

    python experiments/patterns.py            # about 2 minutes on one thread
    python experiments/patterns.py --quick    # about 10 seconds, prints, stores nothing
"""

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from _deep import DEEP, HEADS, SEEDS, SETTINGS, STEPS, causal, trained, weights_by_layer

from attnlib.data.results import save_result
from attnlib.data.tasks import SequenceTask
from attnlib.interpret.distance import mean_distance
from attnlib.interpret.importance import all_gated, importance_by_ablation, importance_by_gradient
from attnlib.interpret.patterns import evenness, head_distances, mass_on, measure_pattern, name_pattern
from attnlib.metrics.spread import spread
from attnlib.models.stack import Stack
from attnlib.train.toy import TEST_SEED, Examples, answer_accuracy, answer_loss, examples

# --- layers, importance, pruning -----------------------------------------------------------------------------------


def deep(task_name: str, seed: int, *, steps: int = STEPS, size: int = 300) -> tuple[Stack, dict[str, Any]]:
    """A model of three layers with four heads each, and what is measured on it."""
    make, model = DEEP[task_name], trained(task_name, seed, steps)
    task = make(size, TEST_SEED)
    data = examples(task)
    layers = weights_by_layer(model, data)
    even = np.array([[np.nanmean(evenness(P[:, h], causal(model))) for h in range(HEADS)] for P in layers])
    far = np.array([[mean_distance(P[:, h]).mean() for h in range(HEADS)] for P in layers])
    true_mass = np.array([[mass_on(P[:, h], task.weights) for h in range(HEADS)] for P in layers])
    names = [[name_pattern(measure_pattern(P[:, h], causal(model))) for h in range(HEADS)] for P in layers]
    alike = [head_distances(P)[np.triu_indices(HEADS, 1)] for P in layers]
    measured = {
        "accuracy": answer_accuracy(model, data),
        "evenness": even,
        "distance": far,
        "true_mass": true_mass,
        "head_distance": [D.mean() for D in alike],
        "nearest_heads": [D.min() for D in alike],
        **pruning(model, data, examples(make(size, TEST_SEED + 1)), seed),
    }
    return model, {**measured, "names": names}


def pruning(model: Stack, valid: Examples, test: Examples, seed: int) -> dict[str, Any]:
    """Importance in two ways on `valid`; then heads go one by one, in three orders, and `test` says what is left."""
    model.eval()
    by_ablation = importance_by_ablation(model, lambda: answer_loss(model, valid)).numpy()
    by_gradient = importance_by_gradient(model, lambda: answer_loss(model, valid), len(valid.tokens)).numpy()
    orders = {
        "by_ablation": by_ablation.ravel().argsort(),
        "by_gradient": by_gradient.ravel().argsort(),
        "at_random": np.random.default_rng(seed).permutation(by_ablation.size),
        "most_important_first": by_ablation.ravel().argsort()[::-1],
    }
    ranks = [I.ravel().argsort().argsort() for I in (by_ablation, by_gradient)]
    return {
        "importance_by_ablation": by_ablation,
        "importance_by_gradient": by_gradient,
        "rank_correlation": np.corrcoef(*ranks)[0, 1],
        "pruned": [pruned(model, test, order, by_ablation.shape) for order in orders.values()],
    }


def pruned(model: Stack, test: Examples, order: Sequence[int], shape: tuple[int, ...]) -> list[float]:
    """Accuracy with the first 0, 1, 2 ... heads of the order gone; nothing is trained again."""
    accuracy = []
    for gone in range(len(order) + 1):
        gates = torch.ones(shape)
        gates.view(-1)[list(order[:gone])] = 0
        with all_gated(model, gates):
            accuracy.append(answer_accuracy(model, test))
    return accuracy


def to_look_at(model: Stack, task: SequenceTask) -> list[dict[str, Any]]:
    """Two sequences as letters, with the weights of every layer and head in hundredths, and the true places."""
    shown = []
    for b in range(2):
        one = SequenceTask(*(field[b : b + 1] for field in task[:4]), task.chance, task.n_inputs)
        P = np.stack([layer[0] for layer in weights_by_layer(model, examples(one))])
        shown.append(
            {
                "tokens": [chr(ord("A") + token) for token in one.source[0]],
                "answers": [
                    chr(ord("A") + t) if c else "" for t, c in zip(one.target[0], one.mask[0], strict=True)
                ],
                "true_place": np.where(one.mask[0], one.weights[0].argmax(1), -1).tolist(),
                "hundredths": (100 * P).round().astype(int).tolist(),
            }
        )
    return shown


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few steps, one model each; stores nothing")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    started = time.process_time()
    if arguments.quick:
        print(deep("recall", 0, steps=50)[1])
        return
    layers, shown = {}, []
    for name in DEEP:
        trials = []
        for seed in SEEDS:
            model, measured = deep(name, seed)
            trials.append(measured)
            print(
                f"{time.process_time() - started:5.0f} s  {name} {seed} {measured['accuracy']:.4f}",
                flush=True,
            )
            if (name, seed) == ("induction", SEEDS[0]):
                shown = to_look_at(model, DEEP[name](2, TEST_SEED))
        names = [one.pop("names") for one in trials]
        layers[name] = {key: spread([one[key] for one in trials]) for key in trials[0]} | {"names": names}
        for key in ("accuracy", "rank_correlation", "head_distance", "nearest_heads", "pruned"):
            print("   ", key, layers[name][key]["mean"], "sd", layers[name][key]["sd"])
        for key in ("evenness", "distance"):
            print("   ", key, np.mean(layers[name][key]["trials"], axis=2).round(3).tolist())
        print("   ", names, flush=True)
    data = {
        "question": "what do trained heads do, does entropy grow with depth, and how many heads can go?",
        "settings": SETTINGS,
        "layers": layers,
        "orders": ["by_ablation", "by_gradient", "at_random", "most_important_first"],
        "shown": shown,
    }  # fmt: skip
    command, seconds = "python experiments/patterns.py", time.process_time() - started
    save_result("patterns", data, seeds=SEEDS, command=command, seconds=seconds)


if __name__ == "__main__":
    main()

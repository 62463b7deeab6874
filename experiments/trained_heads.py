"""What trained heads do, and how many of them can go (book: patterns-and-entropy, heads-at-work).

Models of three layers with four heads each learn one of two tasks with known attention. Measured for every head: how
even its weights are, how far it looks, its pattern, its weight at the place of the answer, and how much it is missed.
Then heads are removed one by one, without further training, and the accuracy is measured on unseen examples: the least
important first, by removal or by gradient; ranked again after each removal; at random, the mean of many orders; and the
most important first.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import torch
from _runner import SEEDS, Experiment, main

from attnlib.data.recall import associative_recall, induction
from attnlib.data.tasks import SequenceTask
from attnlib.interpret.capture import capture
from attnlib.interpret.distance import mean_distance
from attnlib.interpret.importance import all_gated, importance_by_ablation, importance_by_gradient
from attnlib.interpret.patterns import evenness, head_distances, mass_on, measure_pattern, name_pattern
from attnlib.models.config import ModelConfig
from attnlib.models.stack import Stack, stack_config
from attnlib.train.toy import TEST_SEED, Examples, answer_accuracy, answer_loss, examples, train_stack

LENGTH, SYMBOLS, WIDTH, BATCH, LAYERS, HEADS, STEPS = 12, 16, 32, 64, 3, 4, 300
SIZE, RANDOM_ORDERS, KEPT = 100, 50, 0.95  # heads can go as long as this share of the right answers is kept
SHAPE, CAUSAL = (LAYERS, HEADS), np.tril(np.ones((LENGTH, LENGTH), dtype=bool))
TASKS: dict[str, Callable[[int, int], SequenceTask]] = {
    "induction": lambda size, seed: induction(size, LENGTH, SYMBOLS, seed=seed),
    "recall": lambda size, seed: associative_recall(
        size, 4, SYMBOLS // 2, SYMBOLS // 2, n_queries=4, seed=seed
    ),
}


def config() -> ModelConfig:
    return stack_config(
        SYMBOLS, SYMBOLS, d_model=WIDTH, n_heads=HEADS, n_layers=LAYERS, context=LENGTH, causal=True,
        d_hidden=2 * WIDTH, norm=True,
    )  # fmt: skip


def trained(task: str, seed: int, steps: int, lr: float) -> Stack:
    return train_stack(config(), lambda s: TASKS[task](BATCH, s), steps=steps, seed=seed, lr=lr).eval()


def trial(
    seed: int, steps: int, lr: float, *, task: str, size: int = SIZE, orders: int = RANDOM_ORDERS
) -> dict[str, Any]:
    """Train one model; what its heads look at, and what is left without them."""
    model, unseen = trained(task, seed, steps, lr), TASKS[task](size, TEST_SEED)
    orders = orders if seed in SEEDS else 1  # the other seeds only choose the learning rate
    return {**looking(model, unseen), **pruning(model, task, seed, size, orders)}


# --- where heads look ------------------------------------------------------------------------------------------------


def weights_by_layer(model: Stack, data: Examples) -> list[np.ndarray]:
    """(inputs, heads, n, n) for each layer."""
    with capture(model) as seen, torch.no_grad():
        model(data.tokens)
    return [seen[f"blocks.{l}.attention.P"].double().numpy() for l in range(LAYERS)]


def looking(model: Stack, task: SequenceTask) -> dict[str, Any]:
    """For each layer and head: evenness, distance, pattern, and the weight at the position of the answer."""
    layers = weights_by_layer(model, examples(task))
    alike = [head_distances(P)[np.triu_indices(HEADS, 1)] for P in layers]
    return {
        "evenness": mean_evenness(layers),
        "evenness_asked": mean_evenness(layers, task.mask),
        "distance": [[mean_distance(P[:, h]).mean() for h in range(HEADS)] for P in layers],
        "true_mass": [[mass_on(P[:, h], task.weights) for h in range(HEADS)] for P in layers],
        "names": [[name_pattern(measure_pattern(P[:, h], CAUSAL)) for h in range(HEADS)] for P in layers],
        "nearest_heads": [D.min() for D in alike],
    }


def mean_evenness(layers: list[np.ndarray], asked: np.ndarray | None = None) -> np.ndarray:
    """(layers, heads): mean evenness over all rows, or over those that are asked."""
    even = np.array([evenness(P, CAUSAL) for P in layers])  # (layers, inputs, heads, n)
    rows = np.ones_like(even, dtype=bool) if asked is None else np.broadcast_to(asked[:, None], even.shape)
    return np.nanmean(np.where(rows, even, np.nan), axis=(1, 3))


# --- what is left without them ---------------------------------------------------------------------------------------


def pruning(model: Stack, task: str, seed: int, size: int, orders: int) -> dict[str, Any]:
    """Accuracy with 0, 1, 2 ... heads gone in each order, and how many can go."""
    valid, test = (examples(TASKS[task](size, TEST_SEED + i)) for i in range(2))
    removal = importance_by_ablation(model, lambda: answer_loss(model, valid)).numpy().ravel()
    slope = importance_by_gradient(model, lambda: answer_loss(model, valid), size).numpy().ravel()
    rng = np.random.default_rng(seed)
    chance = [pruned(model, test, rng.permutation(LAYERS * HEADS).tolist()) for _ in range(orders)]
    left = {
        "by removal": pruned(model, test, removal.argsort().tolist()),
        "by gradient": pruned(model, test, slope.argsort().tolist()),
        "ranked again": pruned(model, test, ranked_again(model, valid)),
        "at random": np.mean(chance, axis=0),
        "most important first": pruned(model, test, removal.argsort()[::-1].tolist()),
    }
    gone = {name: can_go(curve) for name, curve in left.items()}
    return {
        "accuracy": left["by removal"][0],
        "removal": removal,
        "rank_correlation": np.corrcoef(removal.argsort().argsort(), slope.argsort().argsort())[0, 1],
        "left": left,
        "gone": {**gone, "at random": np.mean([can_go(curve) for curve in chance])},
    }


def without(gone: Sequence[int]) -> torch.Tensor:
    """Gates that close some heads."""
    gates = torch.ones(SHAPE)
    gates.view(-1)[list(gone)] = 0
    return gates


def pruned(model: Stack, test: Examples, order: Sequence[int]) -> list[float]:
    """Accuracy with the first 0, 1, 2 ... heads of the order gone."""
    accuracy = []
    for count in range(len(order) + 1):
        with all_gated(model, without(order[:count])):
            accuracy.append(answer_accuracy(model, test))
    return accuracy


@torch.no_grad()
def ranked_again(model: Stack, valid: Examples) -> list[int]:
    """The order in which each time the head goes whose loss, beside those that are gone, is missed least."""
    gone: list[int] = []
    while len(gone) < LAYERS * HEADS:
        losses = {}
        for head in set(range(LAYERS * HEADS)) - set(gone):
            with all_gated(model, without([*gone, head])):
                losses[head] = float(answer_loss(model, valid))
        gone.append(min(losses, key=losses.__getitem__))
    return gone


def can_go(curve: Sequence[float]) -> int:
    """How many heads are gone before the accuracy falls below the share that is to be kept, for the first time."""
    fine = np.array(curve) > KEPT * curve[0]
    return int(fine.cumprod().sum() - 1)


# --- without a comparison: models before training, and one to look at ------------------------------------------------


def untrained(task: str, seed: int) -> np.ndarray:
    """The evenness of every head before training."""
    torch.manual_seed(seed)
    return mean_evenness(weights_by_layer(Stack(config()), examples(TASKS[task](SIZE, TEST_SEED))))


def to_look_at(model: Stack, task: SequenceTask) -> list[dict[str, Any]]:
    """Two sequences as letters, with the weights of every layer and head in hundredths, and the true positions."""
    shown = []
    for b in range(2):
        source, target, weights, mask = (field[b : b + 1] for field in task[:4])
        one = SequenceTask(source, target, weights, mask, task.chance, task.n_inputs)
        P = np.stack([layer[0] for layer in weights_by_layer(model, examples(one))])
        shown.append(
            {
                "tokens": [chr(ord("A") + token) for token in one.source[0]],
                "true_place": np.where(one.mask[0], one.weights[0].argmax(1), -1).tolist(),
                "hundredths": (100 * P).round().astype(int).tolist(),
            }
        )
    return shown


@cache
def beside() -> dict[str, Any]:
    before = {task: np.round([untrained(task, seed) for seed in SEEDS], 4).tolist() for task in TASKS}
    model = trained("induction", 0, 4 * STEPS, 5e-3)
    return {"evenness_untrained": before, "shown": to_look_at(model, TASKS["induction"](2, TEST_SEED))}


EXPERIMENT = Experiment(
    name="trained_heads",
    question="what do trained heads look at, which layer is sharp, and how many heads can go?",
    trial=trial,
    arms={task: {"three layers": {"task": task}} for task in TASKS},
    steps=STEPS,
    rates=(2.5e-3, 5e-3, 1e-2),
    tie=0.005,
    settings={
        "length": LENGTH, "symbols": SYMBOLS, "width": WIDTH, "batch": BATCH, "layers": LAYERS, "heads": HEADS,
        "tested": SIZE, "random_orders": RANDOM_ORDERS, "kept": KEPT,
    },
    once=beside,
)  # fmt: skip

if __name__ == "__main__":
    main(EXPERIMENT)

"""What the experiments of patterns-and-entropy and heads-at-work share: sizes, deep models, and where these look."""

from collections.abc import Callable

import numpy as np
import torch

from attnlib.data.recall import associative_recall, induction
from attnlib.data.tasks import SequenceTask
from attnlib.interpret.capture import capture
from attnlib.models.stack import Stack, StackConfig
from attnlib.train.toy import Examples, train_stack

SEEDS = (0, 1, 2, 3, 4)
LENGTH, SYMBOLS, WIDTH, BATCH, LR = 12, 16, 32, 64, 5e-3
LAYERS, HEADS, STEPS = 3, 4, 800
DEEP: dict[str, Callable[[int, int], SequenceTask]] = {
    "induction": lambda size, seed: induction(size, LENGTH, SYMBOLS, seed=seed),
    "recall": lambda size, seed: associative_recall(
        size, 4, SYMBOLS // 2, SYMBOLS // 2, n_queries=4, seed=seed
    ),
}
SETTINGS = {
    "length": LENGTH, "symbols": SYMBOLS, "width": WIDTH, "batch": BATCH, "lr": LR,
    "steps": STEPS, "layers": LAYERS, "heads": HEADS,
}  # fmt: skip


def config() -> StackConfig:
    """Three layers with four heads each."""
    return StackConfig(
        SYMBOLS, SYMBOLS, d_model=WIDTH, n_heads=HEADS, n_layers=LAYERS, longest=LENGTH, causal=True,
        d_hidden=2 * WIDTH, norm=True,
    )  # fmt: skip


def trained(name: str, seed: int, steps: int) -> Stack:
    """A deep model for one of the two tasks."""
    return train_stack(config(), lambda s: DEEP[name](BATCH, s), steps=steps, seed=seed, lr=LR)


def weights_by_layer(model: Stack, data: Examples) -> list[np.ndarray]:
    """(inputs, heads, n, n) for each layer."""
    with capture(model) as seen, torch.no_grad():
        model(data.tokens)
    return [seen[f"blocks.{l}.attention.P"].double().numpy() for l in range(model.config.n_layers)]


def causal(model: Stack) -> np.ndarray | None:
    return np.tril(np.ones((LENGTH, LENGTH), dtype=bool)) if model.config.causal else None

"""How many steps does a batch need, and does its gradient say so before? (book: where-the-time-goes)

A small GPT reads sentences of the course's grammar in batches of 2 to 128 rows of 32 words. Each arm has the best of
four rates, constant. Stored is after how many steps the held-out loss, looked at often, is first below each of some
levels, and the noise scale at as many steps of the training, from batches of two sizes: with eq-steps-of-a-batch it
predicts the steps of all arms from those of one.
"""

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import torch
from _runner import Experiment, main
from torch import Tensor
from torch.nn.functional import cross_entropy

from attnlib.data.bilingual import corpus, source_vocab
from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.train.callbacks import Callback
from attnlib.train.fit import fit
from attnlib.train.optim import decay_groups
from attnlib.train.training import Training

VOCAB = source_vocab()
WIDTH, HEADS, LAYERS, N, SENTENCES, HELD_OUT, LOOKS = 32, 2, 2, 32, 8000, 64, 60
ROWS = (2, 8, 32, 128)
SMALL, LARGE, DRAWS = 2, 64, (64, 12)  # rows of the batches that are compared, and how many of each
LEVELS = (4.5, 4.0, 3.75, 3.5, 3.25, 3.1)  # nats a word
ALSO = 1000  # added to the seed: batches that are looked at are not those of the training


@cache
def text(split: str, size: int) -> Tensor:
    """All sentences of a split, one after the other."""
    return torch.tensor([n for pair in corpus(size, split=split) for n in VOCAB.encode(pair.source)])


def batch(words: Tensor, rows: int, rng: np.random.Generator) -> Tensor:
    return words[rng.integers(len(words) - N, size=(rows, 1)) + np.arange(N + 1)]


def batches(rows: int, seed: int) -> Iterator[Tensor]:
    rng = np.random.default_rng(seed)
    while True:
        yield batch(text("train", SENTENCES), rows, rng)


def loss_of(model: GPT, rows: Tensor) -> Tensor:
    return cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())


def mean_square(model: GPT, rows: int, draws: int, rng: np.random.Generator) -> float:
    """The mean squared length of the gradients of batches of this size."""
    found = []
    for _ in range(draws):
        loss = loss_of(model, batch(text("train", SENTENCES), rows, rng))
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        found.append(sum(float(one.square().sum()) for one in gradients))
    return float(np.mean(found))


class Looks(Callback):
    """The held-out loss and the lengths of gradients at some steps, which lie closer at the beginning."""

    def __init__(self, steps: int, seed: int) -> None:
        self.looks, self.measured = (
            set(np.unique(np.geomspace(1, steps, n).astype(int))) for n in (LOOKS, len(LEVELS))
        )
        self.rng = np.random.default_rng(ALSO + seed)
        self.unseen = batch(text("valid", 600), HELD_OUT, np.random.default_rng(ALSO))
        self.at: list[int] = []
        self.losses: list[float] = []
        self.lengths: list[list[float]] = []

    def on_step_end(self, training: Training) -> None:
        model: Any = training.model
        if training.step in self.looks:
            with torch.no_grad():
                self.at.append(training.step)
                self.losses.append(float(loss_of(model, self.unseen)))
        if training.step in self.measured:
            pair = (
                mean_square(model, rows, n, self.rng) for rows, n in zip((SMALL, LARGE), DRAWS, strict=True)
            )
            self.lengths.append([training.step, *pair])


def trial(seed: int, steps: int, lr: float, *, rows: int) -> dict[str, Any]:
    """Train with batches of one size; when each level is reached, and the lengths of gradients on the way."""
    torch.manual_seed(seed)
    model = GPT(ModelConfig(len(VOCAB), context=N, d_model=WIDTH, n_heads=HEADS, n_layers=LAYERS))
    optimizer = torch.optim.AdamW(decay_groups(model, 0.1), lr=lr)
    seen = Looks(steps, seed)
    fit(
        model, loss_of, batches(rows, seed), steps=steps, optimizer=optimizer, clip=math.inf, callbacks=[seen]
    )
    curve = list(zip(seen.at, seen.losses, strict=True))
    return {
        "gain": -seen.losses[-1],
        "at": seen.at,
        "held out": seen.losses,
        "reached": [next((step for step, nats in curve if nats < level), 0) for level in LEVELS],
        "lengths": seen.lengths,
    }


EXPERIMENT = Experiment(
    name="batch_size",
    question="how many steps does a batch need, and does its gradient say so before?",
    trial=trial,
    arms={"rows": {str(rows): {"rows": rows} for rows in ROWS}},
    steps=60,
    rates=(1e-3, 3e-3, 1e-2, 3e-2),
    settings={
        "words": len(VOCAB), "n": N, "width": WIDTH, "heads": HEADS, "layers": LAYERS, "sentences": SENTENCES,
        "held out": HELD_OUT, "looks": LOOKS, "levels": LEVELS, "small": SMALL, "large": LARGE, "draws": DRAWS,
    },
    figure="gain",
    best=0.0,
)  # fmt: skip

if __name__ == "__main__":
    main(EXPERIMENT)

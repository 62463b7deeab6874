"""How many steps does a batch need, and does its gradient say so before? (book: where-the-time-goes)

A small GPT reads sentences of the course's grammar in batches of 2 to 128 rows of 32 words. Each arm has the best of
three rates, constant. Stored is after how many steps the held-out loss, looked at often, is first below each of some
levels, and the noise scale at as many places of the training, from batches of two sizes: with eq-steps-of-a-batch it
foretells the steps of all arms from one.
"""

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
from attnlib.train.optim import decay_groups

VOCAB = source_vocab()
WIDTH, HEADS, LAYERS, N, SENTENCES, HELD_OUT, LOOKS = 32, 2, 2, 32, 8000, 64, 60
ROWS = (2, 8, 32, 128)
SMALL, LARGE, DRAWS = 2, 64, (64, 12)  # rows of the batches that are compared, and how many of each
LEVELS = (4.5, 4.0, 3.75, 3.5, 3.25, 3.1)  # nats a word
ALSO = 1000  # added to the seed: batches that are looked at are not those of the training


@cache
def text(split: str, size: int) -> Tensor:
    """All sentences of a split, one behind the other."""
    return torch.tensor([n for pair in corpus(size, split=split) for n in VOCAB.encode(pair.source)])


def batch(words: Tensor, rows: int, rng: np.random.Generator) -> Tensor:
    return words[rng.integers(len(words) - N, size=(rows, 1)) + np.arange(N + 1)]


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


def trial(seed: int, steps: int, lr: float, *, rows: int) -> dict[str, Any]:
    """Train with batches of one size; when each level is reached, and what the gradient says on the way."""
    torch.manual_seed(seed)
    model = GPT(ModelConfig(len(VOCAB), context=N, d_model=WIDTH, n_heads=HEADS, n_layers=LAYERS))
    optimizer = torch.optim.AdamW(decay_groups(model, 0.1), lr=lr)
    rng, also = np.random.default_rng(seed), np.random.default_rng(ALSO + seed)
    unseen = batch(text("valid", 600), HELD_OUT, np.random.default_rng(ALSO))
    at, losses, lengths = [], [], []
    looks = set(np.unique(np.geomspace(1, steps, LOOKS).astype(int)))
    measured = set(np.unique(np.geomspace(1, steps, len(LEVELS)).astype(int)))
    for step in range(1, steps + 1):
        loss = loss_of(model, batch(text("train", SENTENCES), rows, rng))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step in looks:
            with torch.no_grad():
                at.append(step)
                losses.append(float(loss_of(model, unseen)))
        if step in measured:
            pair = (mean_square(model, SMALL, DRAWS[0], also), mean_square(model, LARGE, DRAWS[1], also))
            lengths.append([step, *pair])
    reached = [
        next((one for one, nats in zip(at, losses, strict=True) if nats < level), 0) for level in LEVELS
    ]
    return {"gain": -losses[-1], "at": at, "held out": losses, "reached": reached, "lengths": lengths}


EXPERIMENT = Experiment(
    name="batch_size",
    question="how many steps does a batch need, and does its gradient say so before?",
    trial=trial,
    arms={"rows": {str(rows): {"rows": rows} for rows in ROWS}},
    steps=60,
    rates=(1e-3, 3e-3, 1e-2),
    settings={
        "words": len(VOCAB), "n": N, "width": WIDTH, "heads": HEADS, "layers": LAYERS, "sentences": SENTENCES,
        "held out": HELD_OUT, "looks": LOOKS, "levels": LEVELS, "small": SMALL, "large": LARGE, "draws": DRAWS,
    },
    figure="gain",
    best=0.0,
)  # fmt: skip

if __name__ == "__main__":
    main(EXPERIMENT)

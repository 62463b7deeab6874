"""How large may a step be? A small GPT at several rates, with and without warmup, in both orders. (book: how-fast)

The text is the course's English sentences, word by word; the figure is how many nats a word the model is better on
sentences held out than a guess that knows nothing, which is where it starts. The question is which rates a training
survives, so the rate belongs to the arm, and the runner chooses none. Its two seeds for that choice are trained all the
same: whoever wants the best arm can choose it by them.

    "post-norm", "pre-norm"    three rates, each with a warmup of a fifth of the steps or none, then a line down;
                               for post-norm the largest also with clipped gradients in place of the warmup
    "the end"                  pre-norm after a warmup: a constant rate, and one that falls on a cosine
"""

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import torch
from _runner import Experiment, main
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR

from attnlib.data.bilingual import corpus, source_vocab
from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.reference.schedules import constant, cosine, linear
from attnlib.train.fit import fit

VOCAB = source_vocab()
N, WIDTH, HEADS, LAYERS, BATCH, SENTENCES, HELD_OUT = 32, 32, 2, 4, 16, 8000, 400
SHARE = 0.2  # of the steps that a warmup takes
RATES = (3e-3, 1e-2, 3e-2)


@cache
def words(split: str, size: int) -> Tensor:
    """Sentences one after the other, each with an end mark, as one row of numbers."""
    pairs = corpus(size, split=split)
    return torch.tensor([word for pair in pairs for word in VOCAB.encode(pair.source)])


def model(order: str) -> GPT:
    """A GPT in one of both orders."""
    sizes = {"d_model": WIDTH, "n_heads": HEADS, "n_layers": LAYERS}
    return GPT(ModelConfig(vocab=len(VOCAB), context=N, tied=False, order=order, **sizes))


def factor(step: int, steps: int, warm: bool, end: str) -> float:
    """The rate of a step as a share of the peak."""
    warmup = round(SHARE * steps) if warm else 0
    if end == "constant":
        return constant(step, warmup)
    return (cosine if end == "cosine" else linear)(step, steps, warmup)


def loss_of(made: GPT, rows: Tensor) -> Tensor:
    return nn.functional.cross_entropy(made(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())


def batches(seed: int) -> Iterator[Tensor]:
    """Endless batches of rows of N + 1 words, which begin anywhere in the text."""
    text, rng = words("train", SENTENCES), np.random.default_rng(seed)
    while True:
        yield text[rng.integers(len(text) - N, size=(BATCH, 1)) + np.arange(N + 1)]


def train(
    made: GPT, seed: int, steps: int, rate: float, warm: bool, clip: float | None, end: str
) -> list[float]:
    """Adam; the loss of each step."""
    optimizer = torch.optim.Adam(made.parameters(), lr=rate)
    return fit(
        made, loss_of, batches(seed), steps=steps, optimizer=optimizer, clip=math.inf if clip is None else clip,
        schedule=LambdaLR(optimizer, lambda step: factor(step, steps, warm, end)),
    )  # fmt: skip


@torch.no_grad()
def held_out(made: GPT) -> float:
    """Nats a word on sentences that were not trained on."""
    text = words("valid", HELD_OUT)
    rows = text[: len(text) // (N + 1) * (N + 1)].view(-1, N + 1)
    return float(loss_of(made.eval(), rows))


@torch.no_grad()
def apart(made: GPT) -> float:
    """Which share of what reaches the scores differs from word to word: 1 - |mean|^2 / mean |h|^2."""
    H = made.eval().hidden(words("valid", HELD_OUT)[: N * N].view(N, N)).flatten(0, 1)
    return float(1 - H.mean(dim=0).square().sum() / H.square().sum(dim=1).mean())


def surprise(counts: Tensor, asked: Tensor) -> float:
    """Nats a word, where the probabilities are the shares of the counts."""
    return float(-(counts / counts.sum()).log()[asked].mean())


def frequencies() -> float:
    """Nats a word of a model that knows how often each word comes, and nothing else."""
    counts = torch.bincount(words("train", SENTENCES), minlength=len(VOCAB)) + 1
    return surprise(counts, words("valid", HELD_OUT))


def trial(
    seed: int,
    steps: int,
    *,
    order: str,
    rate: float,
    warm: bool = False,
    clip: float | None = None,
    end: str = "linear",
) -> dict[str, Any]:
    """Train one model; its first loss, its loss on sentences held out, and how far that is below log V."""
    torch.manual_seed(seed)
    made = model(order)
    losses = train(made, seed, steps, rate, warm, clip, end)
    found = held_out(made)
    return {
        "gained": math.log(len(VOCAB)) - found,
        "held out": found,
        "first": losses[0],
        "apart": apart(made),
    }


def starts(order: str) -> dict[str, dict[str, Any]]:
    """Three rates, without and with a warmup."""
    arms: dict[str, dict[str, Any]] = {}
    for rate in RATES:
        arms[f"{rate}"] = {"order": order, "rate": rate}
        arms[f"{rate}, warmup"] = {"order": order, "rate": rate, "warm": True}
    return arms


EXPERIMENT = Experiment(
    name="warmup",
    question="how large may a step be, with and without a warmup?",
    trial=trial,
    arms={
        "post-norm": {
            **starts("post"),
            f"{RATES[-1]}, clipped": {"order": "post", "rate": RATES[-1], "clip": 1.0},
        },
        "pre-norm": starts("pre"),
        "the end": {
            f"{rate}, {end}": {"order": "pre", "rate": rate, "warm": True, "end": end}
            for end in ("constant", "cosine")
            for rate in RATES[:2]
        },
    },
    steps=60,
    settings={
        "words": len(VOCAB), "length": N, "width": WIDTH, "heads": HEADS, "layers": LAYERS, "batch": BATCH,
        "sentences": SENTENCES, "held out": HELD_OUT, "share": SHARE,
    },
    figure="gained",
    best=math.log(len(VOCAB)),
    once=lambda: {"log V": math.log(len(VOCAB)), "frequencies": frequencies()},
)  # fmt: skip

if __name__ == "__main__":
    main(EXPERIMENT)

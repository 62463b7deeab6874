"""How should the rate end? A small GPT under four schedules, each at the peak that suits it. (book: how-fast)

The text is the course's English sentences, word by word, so much of it that the longest training reads it about once.
The peak of each schedule is chosen at each number of steps, by the loss on sentences of one split (`valid`) with seeds
that serve this choice only; reported is the loss on those of another (`test`). The schedules rise in a fifth of
the steps. Then the rate stays, falls on a line, falls on a cosine, or stays and falls in the last quarter.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from _runner import Experiment, main
from torch import Tensor
from torch.optim.lr_scheduler import LambdaLR
from warmup import BATCH, HEADS, SHARE, VOCAB, WIDTH, N, loss_of, words

from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.reference.schedules import constant, cosine, linear, warmup_stable_decay
from attnlib.train.fit import fit

LAYERS, SENTENCES, CHOICE, REPORT = 2, 36_000, 1000, 2000
DECAY = 4  # the level schedule falls in the last of so many parts
PEAKS = tuple(round(1e-3 * 2.0**i, 4) for i in range(-1, 8))


def factor(kind: str, steps: int) -> Callable[[int], float]:
    """The rate of a step as a share of the peak."""
    warmup = round(SHARE * steps)
    shapes: dict[str, Callable[[int], float]] = {
        "stays": partial(constant, warmup=warmup),
        "line": partial(linear, steps=steps, warmup=warmup),
        "cosine": partial(cosine, steps=steps, warmup=warmup),
        "stays, then falls": partial(
            warmup_stable_decay, steps=steps, decay=max(1, steps // DECAY), warmup=warmup
        ),
    }
    return shapes[kind]


def batches(seed: int, sentences: int) -> Iterator[Tensor]:
    """Endless batches of rows of N + 1 words, which begin anywhere in the text."""
    text, rng = words("train", sentences), np.random.default_rng(seed)
    while True:
        yield text[rng.integers(len(text) - N, size=(BATCH, 1)) + np.arange(N + 1)]


@torch.no_grad()
def loss_on(made: GPT, split: str, sentences: int) -> float:
    """Nats a word on sentences of a split."""
    text = words(split, sentences)
    return float(loss_of(made.eval(), text[: len(text) // (N + 1) * (N + 1)].view(-1, N + 1)))


def trial(seed: int, steps: int, lr: float, *, kind: str, sentences: int = SENTENCES) -> dict[str, Any]:
    """Train one model: how far its losses are below log V, where the peak is chosen and where it is reported."""
    torch.manual_seed(seed)
    sizes = {"d_model": WIDTH, "n_heads": HEADS, "n_layers": LAYERS}
    made = GPT(ModelConfig(vocab=len(VOCAB), context=N, tied=False, **sizes))
    adam = torch.optim.Adam(made.parameters(), lr=lr)
    fit(
        made, loss_of, batches(seed, sentences), steps=steps, optimizer=adam, clip=math.inf,
        schedule=LambdaLR(adam, factor(kind, steps)),
    )  # fmt: skip
    found = loss_on(made, "test", REPORT)
    return {
        "gained": math.log(len(VOCAB)) - found,
        "held out": found,
        "choice": math.log(len(VOCAB)) - loss_on(made, "valid", CHOICE),
    }


EXPERIMENT = Experiment(
    name="schedules",
    question="which schedule is best, each at the peak that suits it?",
    trial=trial,
    arms={"the end": {kind: {"kind": kind} for kind in ("stays", "line", "cosine", "stays, then falls")}},
    steps=60,
    rates=PEAKS,
    at_each=True,
    chosen_by="choice",
    settings={
        "words": len(VOCAB), "length": N, "width": WIDTH, "heads": HEADS, "layers": LAYERS, "batch": BATCH,
        "sentences": SENTENCES, "choice": CHOICE, "report": REPORT, "share": SHARE, "decay": DECAY,
    },
    figure="gained",
    best=math.log(len(VOCAB)),
    always=("stays", "line", "cosine", "stays, then falls"),
    once=lambda: {"log V": math.log(len(VOCAB)), "held-out words": len(words("test", REPORT))},
)  # fmt: skip

if __name__ == "__main__":
    main(EXPERIMENT)

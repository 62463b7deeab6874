"""What does a broken training show? One small GPT, healthy and with one fault each. (book: when-training-goes-wrong)

The text is the course's English sentences, a sentence a row, with padding behind it. A fault is an edit of the model,
the loss, the optimiser or the data, and the curves are computed with the same edit: its losses, train and held out, are
what somebody with this fault would see. Beside them stands what the model is worth in use: nats a word on held-out
sentences, when it is given the words before and nothing else. The runner compares how far that is below log V, the loss
of a model that knows nothing. A fault keeps the rate of the healthy training, so the runner chooses none.

    "rates"     the healthy training at three rates
    "faults"    eight faults, and two in a second form: the decay of norms and biases a hundred times as strong, and
                the reduction by a sum
"""

import math
from collections.abc import Iterator
from functools import cache
from itertools import count
from typing import Any

import numpy as np
import torch
from _runner import Experiment, main
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from warmup import BATCH, HEADS, SENTENCES, VOCAB, WIDTH, surprise

from attnlib.data.bilingual import corpus
from attnlib.data.vocab import BOS, PAD
from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.train.callbacks import Callback
from attnlib.train.fit import fit
from attnlib.train.optim import decay_groups
from attnlib.train.training import Training

WORDS, LAYERS, HELD_OUT = 12, 2, 200
RATE, DECAY, STOPS, SHOWN, LOOKS, PROMPT = 0.01, 0.1, 15, 30, 15, 4  # STOPS: steps from one to the next


@cache
def sentences(split: str, size: int) -> Tensor:
    """Each a row: a beginning, the words, an end, padding."""
    lines = [[BOS, *VOCAB.encode(pair.source)] for pair in corpus(size, lengths=(3, WORDS), split=split)]
    return torch.tensor([line + [PAD] * (WORDS + 2 - len(line)) for line in lines])


def model(fault: str) -> GPT:
    made = GPT(ModelConfig(len(VOCAB), context=WORDS + 1, d_model=WIDTH, n_heads=HEADS, n_layers=LAYERS))
    if fault == "no mask":
        for block in made.blocks:
            block.attention.causal = False  # type: ignore[union-attr, assignment]
    if fault == "exploding scores":
        nn.init.normal_(made.embed.weight)
        made.norm = nn.Identity()
    return made


def loss_of(made: GPT, rows: Tensor, fault: str) -> Tensor:
    """The loss that is minimised and shown, with its fault."""
    targets = rows[:, :-1] if fault == "no shift" else rows[:, 1:]
    ignored = -100 if fault == "mean over padding" else PAD
    reduction = "sum" if fault == "sum" else "mean"
    scores = made(rows[:, :-1])
    return cross_entropy(scores.flatten(0, 1), targets.flatten(), ignore_index=ignored, reduction=reduction)


def optimizer_of(made: GPT, rate: float, fault: str) -> torch.optim.Optimizer:
    """Maps decay; norms, biases and tables do not, unless this is the fault."""
    maps, spared = decay_groups(made, DECAY)
    small = [one for one in spared["params"] if one.ndim < 2]
    tables = [one for one in spared["params"] if one.ndim > 1]
    pull = {"decay on norms": DECAY, "strong decay on norms": 100 * DECAY}.get(fault, 0.0)
    groups = [maps, {"params": small, "weight_decay": pull}, {"params": tables, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=rate)


def batches(seed: int, fault: str) -> Iterator[Tensor]:
    text, rng = sentences("train", SENTENCES), np.random.default_rng(seed)
    for step in count():
        if fault == "repeated order" and step % STOPS == 0:
            rng = np.random.default_rng(seed)  # stopped, and resumed with the data from the beginning
        yield text[rng.integers(len(text), size=BATCH)]


class Curves(Callback):
    """The length of each gradient, and the held-out loss at the start, some times on the way, and at the end."""

    def __init__(self, fault: str) -> None:
        self.fault, self.unseen = fault, sentences("valid", HELD_OUT)
        self.length: list[float] = []
        self.held_out: list[float] = []

    @torch.no_grad()
    def look(self, made: Any) -> None:
        self.held_out.append(float(loss_of(made, self.unseen, self.fault)))

    def on_train_begin(self, training: Training) -> None:
        self.look(training.model)

    def on_step_end(self, training: Training) -> None:
        gradients = (one.grad for one in training.model.parameters() if one.grad is not None)
        self.length.append(math.hypot(*(float(one.norm()) for one in gradients)))
        if training.step % max(training.steps // LOOKS, 1) == 0 and training.step < training.steps:
            self.look(training.model)

    def on_train_end(self, training: Training) -> None:
        self.look(training.model)


def train(made: GPT, seed: int, steps: int, rate: float, fault: str) -> dict[str, list[float]]:
    """AdamW at one rate; the curves that one would see of it: losses, train and held out, and gradient lengths."""
    curves = Curves(fault)
    losses = fit(
        made, lambda made, rows: loss_of(made, rows, fault), batches(seed, fault), steps=steps,
        optimizer=optimizer_of(made, rate, fault), clip=math.inf, callbacks=[curves],
    )  # fmt: skip
    return {"train": points(losses), "held out": curves.held_out, "length": points(curves.length)}


def points(every: list[float]) -> list[float]:
    """The first step, whose loss shows whether the start is right, and then the mean of each stretch of steps."""
    return [every[0], *(float(part.mean()) for part in np.array_split(every, min(SHOWN, len(every))))]


@torch.no_grad()
def in_use(made: GPT, fault: str) -> float:
    """Nats a word when each word is predicted from those before it, as in use."""
    rows = sentences("valid", HELD_OUT)
    cache, nats = made.new_kv_cache(), []
    for n in range(1, rows.shape[1]):
        if fault != "stale cache":
            scores = made(rows[:, :n])[:, -1]
        else:  # word by word; what comes after the prompt is read and not kept
            scores = made.next_scores(rows[:, n - 1 : n], cache)
            for layer in cache:
                layer.crop(min(n, PROMPT))
        nats.append(cross_entropy(scores, rows[:, n], ignore_index=PAD, reduction="sum"))
    return float(sum(nats)) / int((rows[:, 1:] != PAD).sum())


def frequencies() -> float:
    """Nats a word of a model that knows how often each word comes, and nothing else."""
    counts = torch.bincount(sentences("train", SENTENCES)[:, 1:].flatten(), minlength=len(VOCAB)) + 1.0
    counts[PAD] = 0
    words = sentences("valid", HELD_OUT)[:, 1:]
    return surprise(counts, words[words != PAD])


def trial(seed: int, steps: int, *, rate: float, fault: str = "") -> dict[str, Any]:
    """Train one model with its fault; its curves, and what it is worth in use."""
    torch.manual_seed(seed)
    made = model(fault)
    curves = train(made, seed, steps, rate, fault)
    worth = in_use(made, fault)
    with torch.no_grad():
        largest = float(made(sentences("valid", HELD_OUT)[:, :-1]).abs().max())
    gains = [one.weight.abs().mean().item() for one in made.modules() if isinstance(one, nn.LayerNorm)]
    return {
        "gained": math.log(len(VOCAB)) - worth,
        "in use": worth,
        **curves,
        "largest score": largest,
        "gains": float(np.mean(gains)),
    }


FAULTS = (
    "no shift", "no mask", "decay on norms", "exploding scores", "stale cache", "repeated order",
    "mean over padding", "rate x 10", "strong decay on norms", "sum",
)  # fmt: skip
EXPERIMENT = Experiment(
    name="gone_wrong",
    question="what does a training show of its fault?",
    trial=trial,
    arms={
        "rates": {f"{rate}": {"rate": rate} for rate in (0.003, RATE, 0.03)},
        "faults": {
            fault: {"fault": fault, "rate": 10 * RATE if fault == "rate x 10" else RATE} for fault in FAULTS
        },
    },
    steps=60,
    settings={
        "words": len(VOCAB), "length": WORDS, "width": WIDTH, "heads": HEADS, "layers": LAYERS, "batch": BATCH,
        "sentences": SENTENCES, "held out": HELD_OUT, "rate": RATE, "decay": DECAY, "stops": STOPS,
        "shown": SHOWN, "looks": LOOKS, "prompt": PROMPT,
    },
    figure="gained",
    best=math.log(len(VOCAB)),
    once=lambda: {"log V": math.log(len(VOCAB)), "frequencies": frequencies()},
)  # fmt: skip

if __name__ == "__main__":
    main(EXPERIMENT)

"""What does a training lose with half the bits? One small GPT, stored and computed in several ways. (small-numbers)

The text is the course's English sentences, word by word; the figure is how many nats a word the model is better on
sentences held out than a guess that knows nothing. Each arm says in which format its parameters are used, whether they
are also kept in float32 (master weights), and whether the loss is scaled.

    float32                        all of it
    bfloat16, autocast             parameters in float32, matrix products in bfloat16
    bfloat16 alone                 parameters, gradients and Adam's means in bfloat16
    float16, master                parameters and gradients in float16, and Adam on parameters kept in float32
    float16, master, scaled        the same with a scaled loss

"one of 1,024 parts": a step of a large model is a mean over so many tokens that the gradients of those which fit into
the memory at a time are a thousandth. Here the loss is divided by 1,024 before its gradients are computed in float16,
and they are multiplied by 1,024 in float32, as if the other parts were like it. Without rounding nothing changes.

It keeps a loop of its own, because what it varies lies inside of a step: gradients that are copied from parameters in
half precision to master weights, and a loss scale that follows the equation of the book and not `torch.amp`.
"""

import math
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from _runner import Experiment, main
from torch import Tensor, nn
from warmup import BATCH, HEADS, HELD_OUT, SENTENCES, VOCAB, WIDTH, N, frequencies, held_out, words

from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.reference.loss_scale import LossScale, next_scale
from attnlib.reference.schedules import linear

LAYERS, WARM, PIECES, EVERY, PARTS = 2, 0.1, 12, 20, 1024
TYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


def loss_of(made: nn.Module, rows: Tensor) -> Tensor:
    """Nats a word; the scores are compared in float32."""
    return nn.functional.cross_entropy(made(rows[:, :-1]).float().flatten(0, 1), rows[:, 1:].flatten())


class Masters:
    """Parameters in float32, from which those in use are copied after each step."""

    def __init__(self, used: nn.Module) -> None:
        self.used = list(used.parameters())
        self.kept = [nn.Parameter(one.detach().float()) for one in self.used]

    def take_gradients(self, scale: float) -> bool:
        """In float32, and divided by the scale there; whether all are finite."""
        for kept, used in zip(self.kept, self.used, strict=True):
            assert used.grad is not None
            kept.grad = used.grad.float() / scale
        return all(bool(one.grad.isfinite().all()) for one in self.kept if one.grad is not None)

    @torch.no_grad()
    def give(self) -> None:
        for kept, used in zip(self.kept, self.used, strict=True):
            used.copy_(kept)


def train(
    made: GPT,
    masters: Masters | None,
    seed: int,
    steps: int,
    rate: float,
    autocast: str | None,
    dynamic: bool,
    parts: int,
) -> tuple[list[float], list[float]]:
    """Adam with a short warmup and a linear decay; the loss and the scale of each step."""
    text, rng = words("train", SENTENCES), np.random.default_rng(seed)
    losses, scales = [], []
    optimizer = torch.optim.Adam(masters.kept if masters else made.parameters(), lr=rate)
    scale = LossScale(2.0**16) if dynamic else LossScale(1.0)
    for step in range(steps):
        rows = text[rng.integers(len(text) - N, size=(BATCH, 1)) + np.arange(N + 1)]
        with torch.autocast("cpu", TYPES[autocast]) if autocast else nullcontext():
            loss = loss_of(made, rows)
        made.zero_grad()
        (loss / parts * scale.value).backward()
        finite = masters.take_gradients(scale.value / parts) if masters else True
        optimizer.param_groups[0]["lr"] = rate * linear(step, steps, round(WARM * steps))
        if finite:
            optimizer.step()
        if masters:
            masters.give()
        if dynamic:
            scale = next_scale(scale, finite, every=EVERY)
        losses.append(loss.item())
        scales.append(scale.value)
        if not math.isfinite(losses[-1]):
            break
    return losses, scales


def trial(
    seed: int,
    steps: int,
    lr: float,
    *,
    used: str = "float32",
    autocast: str | None = None,
    masters: bool = False,
    scaled: bool = False,
    parts: int = 1,
) -> dict[str, Any]:
    """Train one model; its loss on sentences held out, and the mean loss of each twelfth of its steps."""
    torch.manual_seed(seed)
    config = ModelConfig(
        vocab=len(VOCAB), context=N, d_model=WIDTH, n_heads=HEADS, n_layers=LAYERS, tied=False
    )
    made = GPT(config)
    kept = Masters(made) if masters else None
    made.to(TYPES[used])
    if kept:
        kept.used = list(made.parameters())
    losses, scales = train(made, kept, seed, steps, lr, autocast, scaled, parts)
    found = held_out(made.float())
    return {
        "gained": math.log(len(VOCAB)) - found,
        "held out": found,
        "curve": [float(np.mean(piece)) for piece in np.array_split(losses, min(PIECES, len(losses)))],
        "scale": math.log2(scales[-1]),
        "skipped": sum(after < before for before, after in zip(scales, scales[1:], strict=False)),
    }


EXPERIMENT = Experiment(
    name="small_numbers",
    question="what does a training lose with half the bits?",
    trial=trial,
    arms={
        "one of 1,024 parts": {
            "float16, master": {"used": "float16", "masters": True, "parts": PARTS},
            "float16, master, scaled": {"used": "float16", "masters": True, "scaled": True, "parts": PARTS},
        },
        "whole steps": {
            "float32": {},
            "bfloat16, autocast": {"autocast": "bfloat16"},
            "bfloat16 alone": {"used": "bfloat16"},
            "float16, master": {"used": "float16", "masters": True},
        },
    },
    steps=40,
    rates=(3e-3, 1e-2, 3e-2),
    settings={
        "words": len(VOCAB), "length": N, "width": WIDTH, "heads": HEADS, "layers": LAYERS, "batch": BATCH,
        "sentences": SENTENCES, "held out": HELD_OUT, "warmup": WARM, "scale grows after": EVERY, "parts": PARTS,
    },
    figure="gained",
    best=math.log(len(VOCAB)),
    once=lambda: {"log V": math.log(len(VOCAB)), "frequencies": frequencies()},
)  # fmt: skip

if __name__ == "__main__":
    main(EXPERIMENT)

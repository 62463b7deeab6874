"""What is each part of a block for? Take it out of a model that trains, and see what it costs. (book: the-block)

The language is known: the next symbol depends on the last two together. What is compared is the share of what can be
known that a model knows: one minus its distance from the true probabilities, in bits, over the distance of somebody
who knows the frequencies of the symbols alone. `floors` has that share for those who know more.

    "four layers"    the block; without attention, feed-forward, norm or residual; rivals with as many parameters; and
                     the block with weights that start twice as large, with and without its norm
    "eight layers"   where the norm stands, with and without a warm-up of the learning rate

A training whose loss or gradient becomes infinite or NaN has no figure; it is stored as null.
"""

import math
from collections.abc import Iterator
from typing import Any

import torch
from _runner import Experiment, main
from torch import Tensor, nn

from attnlib.data.pairs import floors, pair_language, text
from attnlib.models.stack import Stack, stack_config
from attnlib.train.fit import fit
from attnlib.train.toy import TEST_SEED
from attnlib.train.training import TrainingStopped

LANGUAGE = pair_language(n_symbols=12)
LENGTH, WIDTH, HEADS, BATCH, SIZE = 16, 32, 2, 32, 500
KNOWN = floors(LANGUAGE)

ORDERS = {"pre": "pre", "post": "post", "none": "without residual"}
FEED_FORWARD = {
    "bend": {"feed_forward": "dense"},
    "straight": {"feed_forward": "dense", "activation": "none"},
    "none": {"feed_forward": "none"},
}


def model_of(
    *,
    layers: int = 4,
    width: int = WIDTH,
    around: str = "pre",
    attention: bool = True,
    feed_forward: str = "bend",
    norm: bool = True,
    start: float = 1.0,
) -> Stack:
    """Symbols in, scores of the next symbol out; a block with what is left of it."""
    n, sizes = (
        len(LANGUAGE.pairs),
        {"d_model": width, "n_heads": HEADS, "n_layers": layers, "context": LENGTH},
    )
    parts = {"mixer": "attention" if attention else "none", **FEED_FORWARD[feed_forward]}
    config = stack_config(
        n, n, **sizes, causal=True, norm=norm, **{"d_hidden": 4 * width, "order": ORDERS[around], **parts}
    )
    model = Stack(config)
    with torch.no_grad():
        for module in model.blocks.modules():
            if isinstance(module, nn.Linear):
                module.weight *= start
    return model


def batches(seed: int, steps: int) -> Iterator[Tensor]:
    for step in range(steps):
        yield torch.from_numpy(text(LANGUAGE, BATCH, LENGTH + 1, seed=TEST_SEED + 1 + seed * 10**6 + step))


def loss(model: nn.Module, symbols: Tensor) -> Tensor:
    """The mean cross-entropy from the third symbol on: the second has no pair before it."""
    return nn.functional.cross_entropy(model(symbols[:, :-1])[:, 1:].flatten(0, 1), symbols[:, 2:].flatten())


def gap_after_training(model: nn.Module, seed: int, steps: int, lr: float, warm: float = 0.0) -> float:
    """The `gap` of the trained model; NaN if the training broke.

    Adam with clipped gradients; the rate rises for a share `warm` of the steps, and falls in their second half.
    """
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, 2 - 2 * step / steps, (step + 1) / (warm * steps + 1))
    )
    try:
        fit(model, loss, batches(seed, steps), steps=steps, optimizer=optimizer, schedule=schedule)
    except TrainingStopped:
        return math.nan
    return gap(model)


@torch.no_grad()
def gap(model: nn.Module) -> float:
    """How many bits a symbol costs above what it must: the mean distance from the true probabilities."""
    symbols = torch.from_numpy(text(LANGUAGE, SIZE, LENGTH, seed=TEST_SEED))
    guess = model.eval()(symbols)[:, 1:].log_softmax(-1).double()
    true = torch.from_numpy(LANGUAGE.next)[symbols[:, :-1], symbols[:, 1:]]
    return float((true * (true.log2() - guess / math.log(2))).sum(-1).mean())


def share(bits: float) -> float:
    """The gap as a share of what can be known: one is all, zero is the frequencies alone."""
    return 1 - bits / (KNOWN["frequencies"] - KNOWN["both"])


def trial(seed: int, steps: int, lr: float, *, warm: float = 0.0, **parts: Any) -> dict[str, Any]:
    """Train one model; how much of what can be known it knows, and what it costs above the least."""
    torch.manual_seed(seed)
    model = model_of(**parts)
    bits = gap_after_training(model, seed, steps, lr, warm)
    return {"known": share(bits), "gap": bits, "parameters": sum(p.numel() for p in model.parameters())}


EXPERIMENT = Experiment(
    name="block",
    question="what is each part of a block for?",
    trial=trial,
    arms={
        "four layers": {
            "the block": {},
            "no attention": {"attention": False},
            "no residual": {"around": "none"},
            "no feed-forward": {"feed_forward": "none"},
            "no feed-forward, 12 layers": {"feed_forward": "none", "layers": 12},
            "no feed-forward, 56 wide": {"feed_forward": "none", "width": 56},
            "no bend": {"feed_forward": "straight"},
            "no norm": {"norm": False},
            "twice the start": {"start": 2.0},
            "twice the start, no norm": {"start": 2.0, "norm": False},
        },
        "eight layers": {
            "pre-norm": {"layers": 8},
            "post-norm": {"layers": 8, "around": "post"},
            "post-norm, warm-up": {"layers": 8, "around": "post", "warm": 0.2},
            "no norm": {"layers": 8, "norm": False},
        },
    },
    steps=200,
    rates=(1e-3, 3e-3, 1e-2, 3e-2),
    settings={
        "symbols": len(LANGUAGE.pairs),
        "length": LENGTH,
        "width": WIDTH,
        "heads": HEADS,
        "batch": BATCH,
        "tested": SIZE,
    },
    figure="known",
    once=lambda: {"floors": KNOWN},
)

if __name__ == "__main__":
    main(EXPERIMENT)

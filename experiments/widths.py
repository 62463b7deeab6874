"""Does a rate carry over from a narrow model to a wide one? Two widths, five rates, and two ways to use a rate.

The text, the model and its training are those of `warmup.py`, with the norms before the sublayers and a warmup; only
the width changes. The rate belongs to the arm: where the best of the five lies is what is asked. (book: how-fast)

    "one rate"    every parameter moves at the rate, and starts as PyTorch starts it
    "by width"    for each matrix the rate is divided by how many times wider than 32 the model is, and so is the start
                  of the map to the scores; the other matrices start smaller by the root of it
"""

import math
from functools import partial
from typing import Any

import torch
from _runner import Experiment, main
from torch import nn
from torch.optim.lr_scheduler import LambdaLR
from warmup import BATCH, HEADS, HELD_OUT, SENTENCES, SHARE, VOCAB, N, batches, held_out, loss_of

from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.reference.schedules import linear
from attnlib.train.fit import fit

NARROW, WIDTHS, LAYERS, STEPS = 32, (32, 128), 2, 60
RATES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)


def parameters(made: GPT, rate: float, times: float) -> list[dict[str, Any]]:
    """The model's start made smaller for `times` the width, and its parameters in two groups, each with its rate."""
    maps = [part for part in made.modules() if isinstance(part, nn.Linear)]
    for part in maps:
        part.weight.data /= times if part is made.unembed else math.sqrt(times)
    matrices = [part.weight for part in maps]
    known = {id(matrix) for matrix in matrices}
    others = [one for one in made.parameters() if id(one) not in known]
    return [{"params": matrices, "lr": rate / times}, {"params": others, "lr": rate}]


def trial(seed: int, steps: int, *, width: int, rate: float, scaled: bool) -> dict[str, Any]:
    """Train one model; how many nats a word it is better on held-out sentences than one that knows nothing."""
    torch.manual_seed(seed)
    made = GPT(
        ModelConfig(vocab=len(VOCAB), context=N, d_model=width, n_heads=HEADS, n_layers=LAYERS, tied=False)
    )
    groups = parameters(made, rate, width / NARROW if scaled else 1.0)
    optimizer = torch.optim.Adam(groups)
    schedule = LambdaLR(optimizer, partial(linear, steps=steps, warmup=round(SHARE * steps)))
    fit(made, loss_of, batches(seed), steps=steps, optimizer=optimizer, schedule=schedule, clip=math.inf)
    found = held_out(made)
    return {"gained": math.log(len(VOCAB)) - found, "held out": found}


EXPERIMENT = Experiment(
    name="widths",
    question="is the best rate of a narrow model the best of a wide one?",
    trial=trial,
    arms={
        way: {
            f"{width}, {rate}": {"width": width, "rate": rate, "scaled": way == "by width"}
            for width in WIDTHS
            for rate in RATES
            if way == "one rate" or width != NARROW
        }
        for way in ("one rate", "by width")
    },
    steps=STEPS,
    settings={
        "words": len(VOCAB), "length": N, "heads": HEADS, "layers": LAYERS, "batch": BATCH, "sentences": SENTENCES,
        "held out": HELD_OUT, "share": SHARE, "narrow": NARROW,
    },
    figure="gained",
    best=math.log(len(VOCAB)),
)  # fmt: skip

if __name__ == "__main__":
    main(EXPERIMENT)

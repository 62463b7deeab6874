"""How much better is a larger model, and can one say so before it is trained? (book: train-your-own-gpt)

GPTs of two layers and six widths read the same number of tokens of Python's standard library, no token twice at 1x and
4x, and are tested on modules that none of them has read. Everything else is alike; each width has the best of five
rates. The page fits a line to all widths but the largest, on logarithmic axes, and looks where the largest falls.
"""

from functools import cache, partial
from itertools import islice
from typing import Any

import numpy as np
import torch
from _runner import Experiment, main
from torch.optim.lr_scheduler import LambdaLR

from attnlib.data import stdlib
from attnlib.data.bpe.tokenizer import Tokenizer, train_tokenizer
from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT, n_parameters
from attnlib.reference.optim import BROWN_2020
from attnlib.reference.schedules import cosine
from attnlib.shapes import Array
from attnlib.train.fit import fit
from attnlib.train.optim import decay_groups
from attnlib.train.pretraining import END, loss
from attnlib.train.rows import TokenRows, packed_tokens

WIDTHS = (16, 24, 32, 48, 64, 128)
MERGES, N, BATCH, LAYERS, ASKED = 255, 64, 8, 2, 500  # the last in rows
TOKENS = 250_000  # of training text


@cache
def tokenizer() -> Tokenizer:
    """512 tokens, learned from 40 modules."""
    return train_tokenizer([text for _, text in islice(stdlib.texts("train"), 40)], MERGES, [END])


@cache
def tokens(split: stdlib.Split, most: int) -> Array:
    """The first tokens of all modules of a split, one after the other."""
    by, rows, n = tokenizer(), [], 0
    for _, text in stdlib.texts(split):
        rows.append(by.encode_ordinary(text))
        n += len(rows[-1]) + 1
        if n >= most:
            break
    return packed_tokens(rows, end=by.numbers[END])[:most]


@torch.no_grad()
def held_out(model: GPT) -> float:
    """Nats a token on modules that were not trained on."""
    text = tokens("held out", ASKED * N + 1)
    rows = torch.from_numpy(np.stack([text[i * N : (i + 1) * N + 1] for i in range(ASKED)]).astype(np.int64))
    found = [loss(model.eval(), some) for some in rows.split(50)]
    return float(sum(value for value, _ in found)) / sum(count for _, count in found)


def config(width: int) -> ModelConfig:
    return ModelConfig(
        len(tokenizer()),
        context=N,
        d_model=width,
        n_heads=width // 8,
        n_layers=LAYERS,
        positions="rotary",
        layout="halves",
    )


def trial(seed: int, steps: int, lr: float, *, width: int, most: int = TOKENS) -> dict[str, Any]:
    """Train one model; its loss on modules that it has not read."""
    torch.manual_seed(seed)
    model = GPT(config(width))
    optimizer = torch.optim.AdamW(decay_groups(model, 0.1), lr=lr, betas=BROWN_2020[:2], eps=BROWN_2020.eps)
    schedule = LambdaLR(optimizer, partial(cosine, steps=steps, warmup=steps // 10))
    rows = TokenRows(tokens("train", most), n=N, batch=BATCH, seed=seed)
    fit(model, loss, rows, steps=steps, optimizer=optimizer, schedule=schedule)
    nats = held_out(model)
    return {"gain": -nats, "nats": nats, "parameters": n_parameters(config(width))}


EXPERIMENT = Experiment(
    name="scaling_curve",
    question="how much better is a larger model, and can one say so before it is trained?",
    trial=trial,
    arms={"widths": {str(width): {"width": width} for width in WIDTHS}},
    steps=100,
    rates=(6e-4, 2e-3, 6e-3, 2e-2, 6e-2),
    settings={"n": N, "batch": BATCH, "layers": LAYERS, "merges": MERGES, "tokens": TOKENS, "asked": ASKED},
    figure="gain",
    best=0.0,
)

if __name__ == "__main__":
    main(EXPERIMENT)

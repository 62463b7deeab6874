"""Six ways to tell the distance, within the trained length and beyond it, on two tasks. (book: positions-compared)

Two blocks, a causal mask, a start token, as in `where_am_i`, but 64 wide and with eight heads, so that ALiBi has all
its eight slopes; trained on texts of 32 tokens and tested on 128. Heads that narrow have four pairs of numbers to
rotate, so rotary positions are tried with four heads, too, and only so in "longer".

    "three back"     say the symbol three places before: one distance is wanted, whatever stands there
    "latest mark"    say the symbol that last carried a mark: what is near goes before what is far
    "longer"         latest mark again: a model with rotary positions is carried to texts four times as long, as it is
                     or with places divided by four, with or without a tenth more steps on such texts

The figure is the share of right answers among the first 64; half of them stand where a training text had tokens. The
rate is chosen at each number of steps, by those among the first 32 alone.
"""

from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
import torch
from _runner import Experiment, main
from torch import Tensor, nn

from attnlib.data.tasks import latest_mark, look_back
from attnlib.models.stack import Stack, stack_config
from attnlib.nn.positional import rotary
from attnlib.train.fit import fit
from attnlib.train.toy import TEST_SEED

SYMBOLS, OFFSET, SHARE, TRAINED, LONGEST = 8, 3, 0.15, 32, 128
WIDTH, HEADS, LAYERS, BATCH, SIZE, BIN = 64, 8, 2, 32, 200, 8
START = 2 * SYMBOLS  # a token of its own, in front of every text
Batch = tuple[Tensor, Tensor, Tensor]


# What a config calls them; "t5 near": from which distance on all share the last row.
TOLD = {
    "offsets": {"score_bias": "offsets", "farthest": 16},
    "t5": {"score_bias": "t5", "farthest": 128},
    "t5 near": {"score_bias": "t5", "farthest": 24},
    "alibi": {"score_bias": "alibi"},
    "rotary": {},
    "none": {},
}


class Paced(nn.Module):
    """Rotary positions that are counted by `pace`, which may be changed after a training."""

    def __init__(self) -> None:
        super().__init__()
        self.pace = 1.0

    def forward(self, X: Tensor, first: int) -> Tensor:
        return rotary(X, self.pace * torch.arange(first, first + X.shape[-2], dtype=X.dtype))


def model_of(positions: str, heads: int) -> Stack:
    """Tokens in, scores of the symbol that is asked for out."""
    sizes = {"d_model": WIDTH, "n_heads": heads, "n_layers": LAYERS, "d_hidden": 4 * WIDTH}
    config = stack_config(
        START + 1, SYMBOLS, **sizes, norm=True, causal=True, positions="none", **TOLD[positions]
    )
    model = Stack(config)
    model.blocks.rotate = Paced() if positions == "rotary" else None
    return model


def texts(task: str, size: int, length: int, seed: int) -> Batch:
    """Tokens behind a start, what is asked for at each, and where something is."""
    if task == "three back":
        made = look_back(size, length - 1, SYMBOLS, OFFSET, seed=seed)
    else:
        made = latest_mark(size, length - 1, SYMBOLS, SHARE, seed=seed)
    tokens = np.concatenate([np.full((size, 1), START), made.source], axis=1)
    return torch.from_numpy(tokens), torch.from_numpy(made.target), torch.from_numpy(made.mask)


def loss(model: nn.Module, batch: Batch) -> Tensor:
    tokens, right, asked = batch
    return nn.functional.cross_entropy(model(tokens)[:, 1:][asked], right[asked])


def batches(task: str, length: int, seed: int) -> Iterator[Batch]:
    rng = np.random.default_rng(seed)
    while True:
        yield texts(task, BATCH, length, int(rng.integers(TEST_SEED)))


@torch.no_grad()
def right_by_place(model: nn.Module, task: str) -> np.ndarray:
    """The share of right answers at each place of long texts, of those that are asked for."""
    tokens, right, asked = texts(task, SIZE, LONGEST, TEST_SEED)
    hits = (model.eval()(tokens)[:, 1:].argmax(-1) == right) & asked
    counted = asked.sum(0).double()
    share = torch.where(counted > 0, hits.sum(0) / counted, torch.nan).numpy()
    return np.concatenate([[np.nan], share])


def measured(model: nn.Module, task: str) -> dict[str, Any]:
    """How often it is right within the trained length, up to twice and up to four times that."""
    share = right_by_place(model, task)
    return {
        "accuracy": np.nanmean(share[: 2 * TRAINED]),
        "inside": np.nanmean(share[:TRAINED]),
        "beyond": share[TRAINED : 2 * TRAINED].mean(),
        "far": share[2 * TRAINED :].mean(),
        "by_place": np.nanmean(share.reshape(-1, BIN), axis=1),
    }


@cache
def trained(seed: int, steps: int, lr: float, positions: str, task: str, heads: int) -> Stack:
    """One model after its training on short texts; the arms of "longer" begin with the same ones."""
    torch.manual_seed(seed)
    model = model_of(positions, heads)
    fit(model, loss, batches(task, TRAINED, seed), steps=steps, lr=lr)
    return model


def trial(
    seed: int,
    steps: int,
    lr: float,
    *,
    positions: str,
    task: str,
    heads: int = HEADS,
    pace: float = 1.0,
    more: float = 0.0,
) -> dict[str, Any]:
    """Train one model and test it; `more` is the share of steps on long texts behind it, at the pace of the test."""
    model = deepcopy(trained(seed, steps, lr, positions, task, heads))
    if pace != 1.0:
        model.blocks.rotate.pace = pace
    if more:
        fit(model, loss, batches(task, LONGEST, seed + 10**6), steps=round(more * steps), lr=lr / 3)
    return measured(model, task)


WAYS = {
    "a number for each offset": "offsets",
    "T5": "t5",
    "T5, shared from 24 on": "t5 near",
    "ALiBi": "alibi",
    "rotary": "rotary",
    "none": "none",
}
WIDE = {"positions": "rotary", "heads": 4}  # 16 wide: eight pairs to rotate, with eight heads four
LONGER = {**WIDE, "task": "latest mark"}
EXPERIMENT = Experiment(
    name="positions_compared",
    question="which ways of telling the distance hold beyond the trained length, and for which task?",
    trial=trial,
    arms={
        **{
            task: {
                **{name: {"positions": way, "task": task} for name, way in WAYS.items()},
                "rotary, 4 heads": {**WIDE, "task": task},
            }
            for task in ("three back", "latest mark")
        },
        "longer": {
            "as it is": LONGER,
            "divided places": {**LONGER, "pace": 0.25},
            "as it is, more steps": {**LONGER, "more": 0.1},
            "divided places, more steps": {**LONGER, "pace": 0.25, "more": 0.1},
        },
    },
    steps=100,
    rates=(1e-3, 3e-3, 1e-2, 3e-2, 1e-1),
    at_each=True,
    chosen_by="inside",  # what comes beyond the trained length decides nothing
    tie=0.002,
    longest=4,
    settings={
        "symbols": SYMBOLS,
        "offset": OFFSET,
        "marked": SHARE,
        "trained": TRAINED,
        "longest": LONGEST,
        "width": WIDTH,
        "heads": HEADS,
        "layers": LAYERS,
        "batch": BATCH,
        "tested": SIZE,
        "bin": BIN,
    },
    once=lambda: {"chance": 1 / SYMBOLS},
)

if __name__ == "__main__":
    main(EXPERIMENT)

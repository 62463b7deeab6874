"""Saying what stood three tokens before, told the positions in four ways, within the trained length and beyond it.
(book: where-am-i)

The model has two blocks and a causal mask; a start token stands in front of random symbols. It trains on texts of 32
tokens and is tested on texts of 128. The figure is the share of right answers among the first 64: half of them stand
where a training text had tokens, half do not. "Anywhere" arms train on texts that begin at a random place, so that
every place up to 128 has been seen; what such a model has not seen is a text longer than 32.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from _runner import Experiment, main
from torch import Tensor, nn

from attnlib.data.tasks import look_back
from attnlib.models.stack import Stack, stack_config
from attnlib.train.fit import fit
from attnlib.train.toy import TEST_SEED

SYMBOLS, OFFSET, TRAINED, LONGEST = 8, 3, 32, 128
WIDTH, HEADS, LAYERS, BATCH, SIZE, BIN = 32, 2, 2, 32, 200, 8
START = SYMBOLS  # a token of its own, in front of every text


def model_of(positions: str) -> Stack:
    """Tokens in, scores of the symbol three positions back out."""
    sizes = {"d_model": WIDTH, "n_heads": HEADS, "n_layers": LAYERS, "d_hidden": 4 * WIDTH}
    told = {"positions": positions, "context": LONGEST, "layout": "neighbours"}
    return Stack(stack_config(SYMBOLS + 1, SYMBOLS, **sizes, norm=True, causal=True, **told))


def loss_of(anywhere: bool) -> Callable[[nn.Module, tuple[Tensor, Tensor]], Tensor]:
    """The loss of a text that begins at the first position, or anywhere."""

    def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        tokens, right = batch
        first = [int(torch.randint(LONGEST - tokens.shape[1] + 1, ()))] if anywhere else []
        scores = answers(model, tokens, *first)
        return nn.functional.cross_entropy(scores.flatten(0, 1), right.flatten())

    return loss


def texts(size: int, length: int, seed: int) -> tuple[Tensor, Tensor]:
    """Tokens, and the symbol that stood three before each of those that have one."""
    task = look_back(size, length - 1, SYMBOLS, OFFSET, seed=seed)
    tokens = np.concatenate([np.full((size, 1), START), task.source], axis=1)
    return torch.from_numpy(tokens), torch.from_numpy(task.target[:, OFFSET:])


def answers(model: nn.Module, tokens: Tensor, *first: int) -> Tensor:
    """The scores where three symbols stand before; the text begins at the first position, or at `first`."""
    return model(tokens, *first)[:, OFFSET + 1 :]


def batches(seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    rng = np.random.default_rng(seed)
    while True:
        yield texts(BATCH, TRAINED, int(rng.integers(TEST_SEED)))


@torch.no_grad()
def right_by_place(model: nn.Module) -> np.ndarray:
    """The share of right answers at each place of long texts; there is none at the first four."""
    tokens, right = texts(SIZE, LONGEST, TEST_SEED)
    share = (answers(model.eval(), tokens).argmax(-1) == right).double().mean(dim=0).numpy()
    return np.concatenate([np.full(OFFSET + 1, np.nan), share])


def trial(seed: int, steps: int, lr: float, *, positions: str, anywhere: bool = False) -> dict[str, Any]:
    """Train one model; how often it is right within the trained length, up to twice and four times that."""
    torch.manual_seed(seed)
    model = model_of(positions)
    fit(model, loss_of(anywhere), batches(seed), steps=steps, lr=lr)
    share = right_by_place(model)
    return {
        "accuracy": np.nanmean(share[: 2 * TRAINED]),
        "inside": np.nanmean(share[:TRAINED]),
        "beyond": share[TRAINED : 2 * TRAINED].mean(),
        "far": share[2 * TRAINED :].mean(),
        "by_place": np.nanmean(share.reshape(-1, BIN), axis=1),
    }


EXPERIMENT = Experiment(
    name="where_am_i",
    question="which ways of telling the position find the third token before, within the trained length and beyond it?",
    trial=trial,
    arms={
        "positions": {
            "learned": {"positions": "learned"},
            "sinusoids": {"positions": "sinusoids"},
            "rotary": {"positions": "rotary"},
            "none": {"positions": "none"},
            "learned, anywhere": {"positions": "learned", "anywhere": True},
            "sinusoids, anywhere": {"positions": "sinusoids", "anywhere": True},
        }
    },
    steps=60,
    rates=(1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1),
    at_each=True,
    chosen_by="inside",  # what comes beyond the trained length decides nothing
    tie=0.002,
    longest=4,
    settings={
        "symbols": SYMBOLS,
        "offset": OFFSET,
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

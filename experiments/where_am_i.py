"""Saying what stood three tokens before, told the positions in four ways, within the trained length and beyond it.
(book: where-am-i)

The model has two blocks and a causal mask; a start token stands in front of random symbols. It trains on texts of 32
tokens and is tested on texts of 128. The figure is the share of right answers among the first 64: half of them stand
where a training text had tokens, half do not. "Anywhere" arms train on texts that begin at a random place, so that
every place up to 128 has been seen; what such a model has not seen is a text longer than 32.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from _runner import Experiment, main
from torch import Tensor, nn

from attnlib.data.tasks import look_back
from attnlib.models.gpt import GPTConfig, block_of
from attnlib.nn.positional import Rotary, sinusoids
from attnlib.train.fit import fit
from attnlib.train.toy import TEST_SEED

SYMBOLS, OFFSET, TRAINED, LONGEST = 8, 3, 32, 128
WIDTH, HEADS, LAYERS, BATCH, SIZE, BIN = 32, 2, 2, 32, 200, 8
START = SYMBOLS  # a token of its own, in front of every text


class Model(nn.Module):
    """Tokens in, scores of the symbol three places back out."""

    def __init__(self, positions: str, anywhere: bool) -> None:
        super().__init__()
        self.anywhere = anywhere
        config = GPTConfig(vocab=SYMBOLS + 1, d_model=WIDTH, n_heads=HEADS, activation="relu")
        self.embed = nn.Embedding(SYMBOLS + 1, WIDTH)
        self.places, self.turn = None, None
        if positions == "learned":
            self.places = nn.Parameter(torch.randn(LONGEST, WIDTH))
        if positions == "sinusoids":
            self.places = sinusoids(LONGEST, WIDTH)
        if positions == "rotary":
            self.turn = Rotary(WIDTH // HEADS, longest=LONGEST)
        self.blocks = nn.ModuleList(block_of(config) for _ in range(LAYERS))
        self.norm, self.scores = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, SYMBOLS)

    def forward(self, tokens: Tensor) -> Tensor:
        X, n = self.embed(tokens), tokens.shape[1]
        if self.places is not None:
            room = LONGEST - n if self.anywhere and self.training else 0
            first = int(torch.randint(room + 1, ()))
            X = X + self.places[first : first + n]
        for block in self.blocks:
            X = block(X, positions=self.turn)
        return self.scores(self.norm(X))


def texts(size: int, length: int, seed: int) -> tuple[Tensor, Tensor]:
    """Tokens, and the symbol that stood three before each of those that have one."""
    task = look_back(size, length - 1, SYMBOLS, OFFSET, seed=seed)
    tokens = np.concatenate([np.full((size, 1), START), task.source], axis=1)
    return torch.from_numpy(tokens), torch.from_numpy(task.target[:, OFFSET:])


def answers(model: nn.Module, tokens: Tensor) -> Tensor:
    """The scores where three symbols stand before."""
    return model(tokens)[:, OFFSET + 1 :]


def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    tokens, right = batch
    return nn.functional.cross_entropy(answers(model, tokens).flatten(0, 1), right.flatten())


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
    model = Model(positions, anywhere)
    fit(model, loss, batches(seed), steps=steps, lr=lr)
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
    rates=(1e-3, 3e-3, 1e-2),
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

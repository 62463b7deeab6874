"""Additive or dot product, scaled or not: who learns a lookup, as the width grows? (book: scoring-functions)

Up to 16 pairs of a key and a value, and one key: say its value. What is looked up are symbols, whose vectors are
learned, so every score may shape them as it likes; they start with entries of variance one. Batches hold lists of
different lengths, padded. The figure is the share of right answers; `vote` is that of always predicting the most
frequent value of the list.

The loss is minus the logarithm of the weight on the right value, computed from the scores. In one arm it is computed
from the weight itself, with 1e-9 added to it so that the logarithm stays finite, as one often sees.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from _runner import Experiment, main
from torch import Tensor, nn

from attnlib.data import tasks
from attnlib.train.fit import fit
from attnlib.train.toy import TEST_SEED

PAIRS, KEYS, VALUES, BATCH, SIZE = 16, 32, 8, 64, 2000
WIDTHS = (4, 32, 128, 512)


class Lookup(nn.Module):
    """Attention from one symbol to a padded list of symbols, with a score of one's choice."""

    def __init__(self, score: str, d_k: int) -> None:
        super().__init__()
        self.ask, self.hold = nn.Embedding(KEYS, d_k), nn.Embedding(KEYS, d_k)
        self.shift = nn.Parameter(torch.zeros(d_k))
        self.v = nn.Parameter(torch.randn(d_k) / math.sqrt(d_k))
        self.score = score

    def scores(self, Q: Tensor, K: Tensor) -> Tensor:
        if self.score == "additive":
            return torch.tanh(Q[:, :, None] + K[:, None] + self.shift) @ self.v
        return Q @ K.mT / (math.sqrt(Q.shape[-1]) if self.score == "scaled" else 1)

    def masked(self, query: Tensor, keys: Tensor, real: Tensor) -> Tensor:
        """The scores, (batch, 1, pairs), and -inf at the padding."""
        S = self.scores(self.ask(query), self.hold(keys))
        return S.masked_fill(~real, -torch.inf)

    def forward(self, query: Tensor, keys: Tensor, V: Tensor, real: Tensor) -> Tensor:
        return torch.softmax(self.masked(query, keys, real), dim=-1) @ V

    def log_weight(self, query: Tensor, keys: Tensor, V: Tensor, real: Tensor, target: Tensor) -> Tensor:
        """The logarithm of the weight on the right value, from the scores: exact, however small the weight is."""
        S = self.masked(query, keys, real)[:, 0]
        right = V.argmax(dim=-1) == target[:, None]
        return torch.logsumexp(S.masked_fill(~right, -torch.inf), dim=-1) - torch.logsumexp(S, dim=-1)


def padded(size: int, seed: int) -> tuple[Tensor, ...]:
    """Queries, keys, values as one-hot vectors, the mask of the pairs that are not padding, and the answers."""
    data = tasks.lookup(size, n_pairs=PAIRS, n_keys=KEYS, n_values=VALUES, seed=seed)
    right = data.weights[:, 0].argmax(-1)
    lengths = np.random.default_rng(seed).integers(right + 1, PAIRS + 1)
    real = np.arange(PAIRS) < lengths[:, None]
    query, keys, values, target = map(torch.from_numpy, (data.query, data.keys, data.values, data.target))
    V = nn.functional.one_hot(values, VALUES).float()
    return query[:, None], keys, V, torch.from_numpy(real)[:, None], target


def batches(seed: int, steps: int) -> Iterator[tuple[Tensor, ...]]:
    for step in range(steps):
        yield padded(BATCH, TEST_SEED + 1 + seed * 10**6 + step)


def trial(
    *, seed: int, steps: int, lr: float, score: str, d_k: int, guard: float | None = None
) -> dict[str, Any]:
    """Train one model; with a guard, that number is added to the weight before the logarithm."""
    torch.manual_seed(seed)
    model = Lookup(score, d_k)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def loss(model: Lookup, batch: tuple[Tensor, ...]) -> Tensor:
        if guard is None:
            return -model.log_weight(*batch).mean()
        weight = model(*batch[:-1])[:, 0].gather(1, batch[-1][:, None])
        return -torch.log(weight + guard).mean()

    fit(model, loss, batches(seed, steps), steps=steps, optimizer=optimizer, clip=math.inf)
    *batch, target = padded(SIZE, TEST_SEED)
    with torch.no_grad():
        O = model(*batch)[:, 0]
    weight = O.gather(1, target[:, None]).mean()
    return {"accuracy": (O.argmax(-1) == target).float().mean().item(), "weight": weight.item()}


def vote() -> dict[str, Any]:
    """The share of right answers of always predicting the most frequent value of the list."""
    _, _, V, real, target = padded(SIZE, TEST_SEED)
    counts = (real.float() @ V)[:, 0]
    return {"vote": round((counts.argmax(-1) == target).float().mean().item(), 4)}


EXPERIMENT = Experiment(
    name="scores",
    question=str(__doc__).splitlines()[0].split(" (book")[0],
    trial=trial,
    arms={
        f"d_k = {d_k}": {
            **{score: {"score": score, "d_k": d_k} for score in ("dot", "scaled", "additive")},
            "dot, 1e-9 added": {"score": "dot", "d_k": d_k, "guard": 1e-9},
        }
        for d_k in WIDTHS
    },
    steps=100,
    rates=(0.01, 0.03, 0.1),
    settings={"pairs": PAIRS, "keys": KEYS, "values": VALUES, "batch": BATCH, "size": SIZE},
    once=vote,
)

if __name__ == "__main__":
    main(EXPERIMENT)

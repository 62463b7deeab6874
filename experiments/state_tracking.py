"""Can one layer keep a flag that is flipped again and again, and for how long? (book: what-a-state-can-keep)

A text is a start token and random bits; at each bit the model says whether the number of ones until there is odd, which
is parity. One block of each kind is trained on 32 bits and tested on up to 2,048. The arms of the delta rule differ in
how large a step may become (1 or 2), and in a decay; softmax attention with rotary positions is the layer that they
would replace, and a GRU shows that the task can be learned. Steps at a one are measured for each head: only with a step
of two does a flip lose nothing.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from _runner import Experiment, main
from torch import Tensor, nn

from attnlib.nn.block import BlockStack
from attnlib.nn.delta_rule import DeltaRule
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.nn.positional import Rotary
from attnlib.nn.transformer import Block, FeedForward
from attnlib.train.fit import fit
from attnlib.train.toy import TEST_SEED

TRAINED, LONGEST, WIDTH, HEADS, BATCH, SIZE = 32, 2048, 32, 2, 32, 64
ENDS = (0, 32, 64, 128, 256, 512, 1024, 2048)  # accuracy is measured between them
CHOSEN = 4  # the rate is chosen by the first four of these: up to eight times the trained length
START, ONE = 2, 1


class GRU(nn.Module):
    """PyTorch's GRU, called as a block calls attention."""

    d_model = WIDTH

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRU(WIDTH, WIDTH, batch_first=True)

    def forward(self, X: Tensor, **_: Any) -> Tensor:
        return self.cell(X)[0]


class Model(nn.Module):
    """Bits in, two scores at each bit out: one block between an embedding and a map."""

    def __init__(self, mixer: nn.Module, rotate: Rotary | None) -> None:
        super().__init__()
        self.embed = nn.Embedding(3, WIDTH)
        network = FeedForward(d_model=WIDTH, d_hidden=4 * WIDTH, activation="gelu_tanh")
        self.block = Block(attention=mixer, feed_forward=network)
        self.stack = BlockStack([self.block], rotate=rotate)
        self.norm, self.scores = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 2)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.scores(self.norm(self.stack(self.embed(tokens))))[:, 1:]


def model_of(kind: str, largest_step: float, decay: str | None) -> Model:
    if kind == "gru":
        return Model(GRU(), None)
    if kind == "softmax":
        rotate = Rotary(WIDTH // HEADS, context=LONGEST + 1, layout="halves")
        return Model(MultiHeadAttention(d_model=WIDTH, n_heads=HEADS, causal=True), rotate)
    norm = partial(nn.RMSNorm, eps=1e-5)
    return Model(
        DeltaRule(d_model=WIDTH, n_heads=HEADS, largest_step=largest_step, decay=decay, norm=norm), None
    )


def texts(size: int, length: int, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """A start token and random bits, and for each bit whether the number of ones so far is odd."""
    bits = rng.integers(2, size=(size, length))
    tokens = np.concatenate([np.full((size, 1), START), bits], axis=1)
    return torch.from_numpy(tokens), torch.from_numpy(bits.cumsum(axis=1) % 2)


def batches(seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    rng = np.random.default_rng(seed)
    while True:
        yield texts(BATCH, TRAINED, rng)


def loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    tokens, right = batch
    return nn.functional.cross_entropy(model(tokens).flatten(0, 1), right.flatten())


@torch.no_grad()
def tested(model: nn.Module, length: int, seed: int) -> tuple[list[float], float]:
    """The share of right answers between the lengths of ENDS, and the loss within the trained length."""
    tokens, right = texts(SIZE, length, np.random.default_rng(seed))
    scores = model(tokens)
    share = (scores.argmax(-1) == right).double().mean(dim=0)
    inside = nn.functional.cross_entropy(scores[:, :TRAINED].flatten(0, 1), right[:, :TRAINED].flatten())
    by_length = [float(share[a:b].mean()) for a, b in zip(ENDS, ENDS[1:], strict=False) if b <= length]
    return by_length, float(inside)


@torch.no_grad()
def steps_at_a_one(model: Model) -> list[float]:
    """For each head of the delta rule, the step with which it writes when a one is read."""
    layer = model.block.attention
    if not isinstance(layer, DeltaRule):
        return []
    Z = model.block.get_submodule("norm_1")(model.embed.weight[ONE])
    return (layer.largest_step * torch.sigmoid(layer.W_step(Z))).tolist()


def trial(
    seed: int,
    steps: int,
    lr: float,
    *,
    kind: str = "delta",
    largest_step: float = 1.0,
    decay: str | None = None,
) -> dict[str, Any]:
    """Train one model; how often it is right, by length, and its steps at a one."""
    torch.manual_seed(seed)
    model = model_of(kind, largest_step, decay)
    fit(model, loss, batches(seed), steps=steps, lr=lr)
    model.eval()
    by_length, _ = tested(model, LONGEST, TEST_SEED)
    other, inside = tested(model, ENDS[CHOSEN], TEST_SEED + 1)
    return {
        "accuracy": np.mean(by_length[:CHOSEN]),
        "validated": np.mean(other) - inside / 10,
        "by_length": by_length,
        "steps_at_a_one": steps_at_a_one(model),
    }


EXPERIMENT = Experiment(
    name="state_tracking",
    question="which single layers learn parity, and up to which length are they right?",
    trial=trial,
    arms={
        "parity": {
            "steps to 1": {"largest_step": 1.0},
            "steps to 1, decay": {"largest_step": 1.0, "decay": "learned"},
            "steps to 2": {"largest_step": 2.0},
            "softmax": {"kind": "softmax"},
            "GRU": {"kind": "gru"},
        }
    },
    steps=200,
    rates=(3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1),
    at_each=True,
    chosen_by="validated",  # accuracy over four ranges of length, on other texts; of equal ones the smallest loss
    longest=4,
    settings={
        "trained": TRAINED,
        "ends": ENDS,
        "width": WIDTH,
        "heads": HEADS,
        "batch": BATCH,
        "tested": SIZE,
    },
    once=lambda: {"chance": 0.5},
)

if __name__ == "__main__":
    main(EXPERIMENT)

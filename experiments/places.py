"""Does a layer without positions know where it is? (book: permutation)

Tokens are random, there is no positional encoding, and a model of one layer must predict at each position its index.
With a causal mask row i averages over i tokens. Whether that is enough to count them depends on there being a token
that can be told from the others, and stands at the start.
"""

from collections.abc import Iterator
from typing import Any

import torch
from _runner import Experiment, main

from attnlib.models.stack import Stack, stack_config
from attnlib.train.fit import fit
from attnlib.train.toy import TEST_SEED, Examples, answer_accuracy, answer_loss

LENGTH, SYMBOLS, WIDTH, BATCH, SIZE = 12, 8, 32, 64, 1000
START = SYMBOLS  # a token that no other position has


def batches(seed: int, start: bool, size: int = BATCH) -> Iterator[Examples]:
    """Endless random sequences; the answer at each position is its index."""
    draw = torch.Generator().manual_seed(seed)
    everywhere = torch.ones(size, LENGTH, dtype=torch.bool)
    while True:
        tokens = torch.randint(SYMBOLS, (size, LENGTH), generator=draw)
        if start:
            tokens[:, 0] = START
        yield Examples(tokens, torch.arange(LENGTH).repeat(size), everywhere)


def trial(seed: int, steps: int, lr: float, *, causal: bool, start: bool, size: int = SIZE) -> dict[str, Any]:
    """Train one model; how often it predicts the position, on average and for each position."""
    torch.manual_seed(seed)
    model = Stack(
        stack_config(
            SYMBOLS + 1, LENGTH, d_model=WIDTH, n_heads=2, positions="none", causal=causal, d_hidden=2 * WIDTH
        )
    )
    fit(model, answer_loss, batches(seed, start), steps=steps, lr=lr)
    test = next(batches(TEST_SEED, start, size))
    with torch.no_grad():
        right = (model.eval()(test.tokens).argmax(-1) == torch.arange(LENGTH)).double().mean(dim=0)
    return {"accuracy": answer_accuracy(model, test), "by_place": right.numpy()}


EXPERIMENT = Experiment(
    name="places",
    question="does a layer without positions know where it is?",
    trial=trial,
    arms={
        "one layer": {
            "causal, start token": {"causal": True, "start": True},
            "causal, no start token": {"causal": True, "start": False},
            "no mask, start token": {"causal": False, "start": True},
        }
    },
    steps=300,
    rates=(3e-3, 1e-2, 3e-2, 1e-1),
    settings={"length": LENGTH, "symbols": SYMBOLS, "width": WIDTH, "batch": BATCH, "tested": SIZE},
    once=lambda: {"chance": 1 / LENGTH, "first place only": (1 + 11 / 11) / LENGTH},
)

if __name__ == "__main__":
    main(EXPERIMENT)

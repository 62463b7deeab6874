"""A text that is small enough to be learned by heart: what keeps a model from it? (book: not-too-well)

The language is that of `block`: the next letter depends on the last two. A GPT reads a few thousand letters of it over
and over. A gap is the cross-entropy of a letter beyond that of the true probabilities; on the text that was trained on
it may become negative, and that much was learned by heart. The text goes on with letters that are held out. They decide
when to stop; the test is on new letters.

Every arm has a dial in place of the rates, chosen anew at each budget by the held-out letters. It is the learning rate
of an arm that has no other dial.

    "two blocks"    the cures: dropout at its four points together, and its rivals
    "points"        dropout at each of the four points alone
"""

import math
from functools import cache
from typing import Any

import block as base
import numpy as np
import torch
import torch.nn.functional as F
from _runner import SEEDS, Experiment, main
from torch import Tensor, nn

from attnlib.data.pairs import text
from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.models.ngrams import NGrams
from attnlib.nn.depth import StochasticDepth
from attnlib.train.fit import fit
from attnlib.train.held_out import HeldOut
from attnlib.train.optim import decay_groups
from attnlib.train.rows import TokenRows
from attnlib.train.toy import TEST_SEED

LANGUAGE, VOCAB = base.LANGUAGE, len(base.LANGUAGE.pairs)
LETTERS, HELD_OUT, JUDGED = 3000, 1000, 200
N, BATCH, WIDTH, RATE, EVERY, PATIENCE = 16, 32, 48, 3e-3, 25, 6
POINTS = ("embedding", "weights", "attention", "network")
TRUE = torch.from_numpy(LANGUAGE.next).float()
JUDGES = torch.from_numpy(text(LANGUAGE, JUDGED, N + 1, seed=TEST_SEED))


def only_in(model: GPT, point: str) -> None:
    """Keep the dropout of one point only: the embedding, the attention weights, or the output of a sublayer."""
    if point != "embedding":
        model.dropout = nn.Identity()
    blocks: Any = model.blocks
    for block in blocks:
        if point != "weights":
            block.attention.dropout = 0.0
        if point != "attention":
            block.dropout = nn.Identity()
        if point != "network":
            block.feed_forward.dropout = nn.Identity()


def model_of(dropped: float, skipped: float) -> GPT:
    """A GPT of two blocks with dropout at its four points, and stochastic depth."""
    model = GPT(ModelConfig(VOCAB, context=N, d_model=WIDTH, n_heads=2, n_layers=2, dropout=dropped))
    for block in model.blocks:
        block.depth = StochasticDepth(skipped)
    return model


def loss(model: nn.Module, rows: Tensor) -> Tensor:
    """The mean cross-entropy, from the second letter on."""
    return F.cross_entropy(model(rows[:, :-1])[:, 1:].flatten(0, 1), rows[:, 2:].flatten())


@torch.no_grad()
def gaps(model: nn.Module, rows: Tensor) -> tuple[float, float]:
    """Bits a letter beyond the true probabilities: for the letters that came, and for all that might have come."""
    log_P = model(rows[:, :-1])[:, 1:].log_softmax(-1) / math.log(2)
    true = TRUE[rows[:, :-2], rows[:, 1:-1]]
    beyond = true.log2() - log_P
    came = beyond.gather(-1, rows[:, 2:, None]).mean()
    return float(came), float((true * beyond).sum(-1).mean())


def trial(
    seed: int,
    steps: int,
    lr: float,
    *,
    turns: str,
    dial: list[float],
    stop: bool = False,
    letters: int = LETTERS,
    point: str = "",
) -> dict[str, Any]:
    """Train one model with its dial in one position; its gaps at the end, and where it would have been stopped."""
    torch.manual_seed(seed)
    set_to = {turns: dial[int(lr) - 1]}
    model = model_of(set_to.get("dropped", 0.0), set_to.get("skipped", 0.0))
    if point:
        only_in(model, point)
    whole = text(LANGUAGE, 1, letters + HELD_OUT, seed=TEST_SEED + 1 + seed)[0]
    own, held = (torch.from_numpy(part).unfold(0, N + 1, N) for part in (whole[:letters], whole[letters:]))
    curve: list[tuple[float, float, float]] = []  # on its text, held out, judged

    def measure(model: nn.Module) -> float:
        curve.append((gaps(model, own)[0], gaps(model, held)[0], gaps(model, JUDGES)[1]))
        return curve[-1][1]

    every = EVERY if stop else max(EVERY, steps // 40)
    optimizer = torch.optim.AdamW(decay_groups(model, set_to.get("decay", 0.0)), lr=set_to.get("rate", RATE))
    fit(
        model, loss, TokenRows(whole[:letters], n=N, batch=BATCH, seed=seed), steps=steps, optimizer=optimizer,
        schedule=torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, 2 - 2 * step / steps)),
        held_out=HeldOut(measure, every=every, patience=PATIENCE if stop else None),
    )  # fmt: skip
    best = min(range(len(curve)), key=lambda i: curve[i][1])
    end = best if stop else -1  # early stopping restores the best model
    return {
        "known": base.share(curve[end][2]),
        "held": -curve[end][1],
        "gap": curve[end][2],
        "on its text": curve[end][0],
        "best gap": curve[best][2],
        "every": every,
        "curve": [list(one) for one in curve],
    }


@cache
def counted(letters: int) -> list[float]:
    """The gap of counting what has followed each pair, mixed with what has followed each letter; no training at all."""
    found = []
    for seed in SEEDS:
        model = NGrams(text(LANGUAGE, 1, letters, seed=TEST_SEED + 1 + seed)[0], vocab=VOCAB, order=3)
        after = np.array([[model.after((a, b)) for b in range(VOCAB)] for a in range(VOCAB)])
        cost = (LANGUAGE.next * np.log2(LANGUAGE.next / after)).sum(-1)
        found.append(round(float((LANGUAGE.pairs * cost).sum()), 4))
    return found


RATES = {"turns": "rate", "dial": [1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1]}
SHARES = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]

EXPERIMENT = Experiment(
    name="overfit",
    question="what keeps a model from learning its text by heart?",
    trial=trial,
    arms={
        "two blocks": {
            "early stop": {**RATES, "stop": True},
            "dropout": {"turns": "dropped", "dial": SHARES},
            "stochastic depth": {"turns": "skipped", "dial": SHARES},
            "nothing": RATES,
            "same rate": {"turns": "rate", "dial": [RATE] * len(SHARES)},  # nothing, at the rate of those with a dial
            "twice the text": {**RATES, "letters": 2 * LETTERS},
            "weight decay": {"turns": "decay", "dial": [0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0]},
        },
        "points": {point: {"turns": "dropped", "dial": SHARES, "point": point} for point in POINTS},
    },
    steps=250,
    rates=tuple(float(i + 1) for i in range(len(SHARES))),
    at_each=True,
    chosen_by="held",
    tie=0.02,  # two texts do not tell smaller differences
    longest=4,
    settings={
        "symbols": VOCAB, "letters": LETTERS, "held out": HELD_OUT, "judged": JUDGED, "length": N, "width": WIDTH,
        "batch": BATCH, "rate": RATE, "every": EVERY, "patience": PATIENCE, "rates are": "positions of the dial",
    },
    figure="known",
    once=lambda: {"floors": base.KNOWN, "counted": {str(n): counted(n) for n in (LETTERS, 2 * LETTERS)}},
)  # fmt: skip

if __name__ == "__main__":
    main(EXPERIMENT)

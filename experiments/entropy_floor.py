"""How near does a training come to the smallest possible loss? (book: train-your-own-gpt)

The language is known: the next symbol depends on the last one and on the one four positions back, so the entropy rate
is exact. The course's GPT reads fresh samples and is given none of this. The n-grams of order 1 to 5 count the very
symbols that the GPT was trained on, each with the best of three discounts; "two places" counts what followed the two
symbols that matter. What is compared is one minus the excess over the entropy rate, as a share of it, so that 0.98 is
"within 2 %". The excess is exact for each context: the KL divergence between the true distribution and the predicted
one.
"""

from functools import partial
from typing import Any

import numpy as np
import torch
from _runner import Experiment, main
from torch.optim.lr_scheduler import LambdaLR

from attnlib.data.distant import distant_language, entropy_rate, floor, text
from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.reference.optim import BROWN_2020
from attnlib.reference.schedules import cosine
from attnlib.shapes import Array
from attnlib.train.fit import fit
from attnlib.train.optim import decay_groups
from attnlib.train.pretraining import loss
from attnlib.train.toy import TEST_SEED

LANGUAGE = distant_language(n_symbols=12, back=4)
V, BACK, RATE = 12, LANGUAGE.back, entropy_rate(LANGUAGE)
LENGTH, BATCH, TESTED, WIDTH, LAYERS = 32, 32, 1000, 64, 2
DISCOUNTS, ORDERS = (0.1, 0.4, 0.75), (1, 2, 3, 4, 5)


def excess(symbols: Array, log_guess: Array) -> float:
    """Nats a symbol above the true distribution, where enough symbols stand before it; log_guess (rows, n, v)."""
    true = LANGUAGE.next[
        symbols[:, : -BACK + 1], symbols[:, BACK - 1 :]
    ]  # of the symbol after each position from the fourth on
    return float((true * (np.log(true) - log_guess[:, BACK - 1 :])).sum(-1).mean())


def counted(contexts: Array, targets: Array) -> Array:
    """How often each symbol followed each context, as a table (contexts, v)."""
    n = int(contexts.max()) + 1
    return np.bincount(contexts * V + targets, minlength=n * V).reshape(n, V)


def mixed(counts: Array, shorter: Array, discount: float) -> Array:
    """Discounted counts; the rest, or for an unseen context all, goes to the probabilities of the shorter context."""
    total = counts.sum(-1, keepdims=True)
    left = discount * (counts > 0).sum(-1, keepdims=True)
    found = (np.maximum(counts - discount, 0) + left * shorter) / np.maximum(total, 1)
    return np.where(total > 0, found, shorter)


def coded(symbols: Array, n: int) -> Array:
    """The number of the n symbols that end at each position from the BACK-th on; (rows, positions)."""
    places = range(BACK - n, BACK)
    stop = symbols.shape[1] - BACK + 1
    return sum(
        (symbols[:, i : i + stop] * V ** (BACK - 1 - i) for i in places),
        start=np.zeros_like(symbols[:, :stop]),
    )


def n_grams(read: Array, asked: Array) -> dict[str, float]:
    """The excess of each rival that has counted `read`, on `asked`."""
    found: dict[str, list[float]] = {}
    targets = read[:, BACK:].ravel()
    two = partial(np.multiply, V)
    for discount in DISCOUNTS:
        P: Array = np.full((1, V), 1 / V)
        for order in ORDERS:
            n = order - 1
            table = np.zeros((V**n, V))
            some = counted(coded(read[:, :-1], n).ravel(), targets)
            table[: len(some)] = some
            shorter = P[np.arange(V**n) % len(P)]  # the context without its oldest symbol
            P = mixed(table, shorter, discount)
            said = np.log(P[coded(asked, n)])
            found.setdefault(f"order {order}", []).append(of_places(asked, said))
        pairs = two(read[:, :-BACK]) + read[:, BACK - 1 : -1]
        P = mixed(counted(pairs.ravel(), targets), np.full((1, V), 1 / V), discount)
        said = np.log(P[two(asked[:, : -BACK + 1]) + asked[:, BACK - 1 :]])
        found.setdefault("two places", []).append(of_places(asked, said))
    return {name: min(values) for name, values in found.items()}


def of_places(symbols: Array, said: Array) -> float:
    """`excess` of predictions that begin at the BACK-th position."""
    ahead = np.zeros((len(symbols), BACK - 1, V))
    return excess(symbols, np.concatenate([ahead, said], axis=1))


@torch.no_grad()
def measured(model: GPT, symbols: Array) -> tuple[float, float]:
    """The excess of a model, and its loss on the symbols that came."""
    model.eval()
    said = model(torch.from_numpy(symbols)).log_softmax(-1).double().numpy()
    came = said[:, BACK - 1 : -1][
        np.arange(len(symbols))[:, None], np.arange(symbols.shape[1] - BACK), symbols[:, BACK:]
    ]
    return excess(symbols, said), float(-came.mean())


def trial(seed: int, steps: int, lr: float) -> dict[str, Any]:
    """Train one GPT on fresh samples, and count the same samples."""
    torch.manual_seed(seed)
    read = text(LANGUAGE, steps * BATCH, LENGTH + 1, seed=TEST_SEED + 1 + seed)
    asked = text(LANGUAGE, TESTED, LENGTH, seed=TEST_SEED)
    model = GPT(
        ModelConfig(
            V, context=LENGTH, d_model=WIDTH, n_heads=4, n_layers=LAYERS, positions="rotary", layout="halves"
        )
    )
    optimizer = torch.optim.AdamW(decay_groups(model, 0.1), lr=lr, betas=BROWN_2020[:2], eps=BROWN_2020.eps)
    schedule = LambdaLR(optimizer, partial(cosine, steps=steps, warmup=steps // 20))
    fit(model, loss, torch.from_numpy(read).split(BATCH), steps=steps, optimizer=optimizer, schedule=schedule)
    above, heard = measured(model, asked)
    return {
        "near": 1 - above / RATE,
        "excess": above,
        "loss": heard,
        "symbols": steps * BATCH * LENGTH,
        "counted": n_grams(read, asked),
    }


EXPERIMENT = Experiment(
    name="entropy_floor",
    question="how near does a training come to what nobody can beat?",
    trial=trial,
    arms={"a known language": {"GPT": {}}},
    steps=400,
    rates=(1e-3, 3e-3, 1e-2, 3e-2),
    settings={
        "symbols": V,
        "back": BACK,
        "length": LENGTH,
        "batch": BATCH,
        "width": WIDTH,
        "layers": LAYERS,
        "tested": TESTED,
    },
    figure="near",
    once=lambda: {"entropy": RATE, "floors": {f"order {n}": floor(LANGUAGE, n - 1) for n in ORDERS}},
)

if __name__ == "__main__":
    main(EXPERIMENT)

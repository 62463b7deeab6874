"""What do duplicates, leaked test lines and a bad source do to a model? And removing them? (book: what-to-train-on)

A small GPT reads functions of Python's standard library among which these things are planted. Every arm reads the same
number of tokens, so a duplicate takes the place of a text that would have been new. The figure is the loss on new
functions of modules that nobody has trained on, and of which no line has leaked; the rate is chosen at each budget on
functions of yet other modules.

    clean                  the originals alone
    duplicates             and 1,210 edited copies of 121 of them
    deduplicated           what MinHash keeps of that
    half, read twice       a control: as many tokens repeated as there can be, but every text the same number of times
    leaked                 originals, and originals with lines of the test inside
    bad source             originals, and text in disorder, and tables of numbers
    filtered               what a classifier keeps of that, whose trusted part is drawn from all modules
    filtered, narrow       the same with a trusted part from two packages
"""

from functools import cache, partial
from itertools import islice
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from _runner import Experiment, main
from torch.optim.lr_scheduler import LambdaLR

from attnlib.data import planted, quality, stdlib
from attnlib.data.bpe.tokenizer import Tokenizer, train_tokenizer
from attnlib.data.duplicates import first_of_each, near_duplicates, shingles
from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.reference.optim import BROWN_2020
from attnlib.reference.schedules import cosine
from attnlib.shapes import Array, Bool
from attnlib.train.fit import fit
from attnlib.train.optim import decay_groups
from attnlib.train.pretraining import END, loss
from attnlib.train.rows import TokenRows, packed_tokens

MERGES, N, BATCH, WIDTH, LAYERS = 255, 64, 8, 64, 2
THRESHOLD, NARROW, PASSED = 0.5, ("asyncio", "email"), 0.95
MANY = 20  # copies of an original that is asked for


@cache
def tokenizer() -> Tokenizer:
    """512 tokens, learned from 40 modules."""
    return train_tokenizer([text for _, text in islice(stdlib.texts("train"), 40)], MERGES, [END])


@cache
def encoded(text: str) -> tuple[int, ...]:
    return tuple(tokenizer().encode_ordinary(text))


def kinds() -> Array:
    return np.array([one.kind for one in planted.planted()])


@cache
def kept_by_minhash() -> Bool[Array, "n"]:
    documents = planted.planted()
    pairs, _ = near_duplicates([shingles(one.text) for one in documents], THRESHOLD)
    return first_of_each(len(documents), pairs)


@cache
def passed(packages: tuple[str, ...]) -> Bool[Array, "n"]:
    """What the filter keeps of originals and bad text: what scores above the lowest of other trusted functions."""
    good = planted.trusted(packages)
    fitted, others = good[::2], good[1::2]
    documents = planted.planted()
    asked = np.isin(kinds(), ("original", "bad"))
    X = quality.hashed_pairs([*fitted, *(one.text for one, yes in zip(documents, asked, strict=True) if yes)])
    by = quality.fit_filter(X, np.arange(len(X)) < len(fitted))
    cut = np.quantile(quality.trusted_score(quality.hashed_pairs(others), by), 1 - PASSED)
    kept = np.zeros(len(documents), dtype=bool)
    kept[asked] = quality.trusted_score(X[len(fitted) :], by) >= cut
    return kept


@cache
def tokens(arm: str) -> Array:
    """All that an arm may read, one document after the other."""
    kind = kinds()
    original = kind == "original"
    chosen = {
        "clean": lambda: original,
        "half, read twice": lambda: original,
        "duplicates": lambda: original | (kind == "copy"),
        "deduplicated": lambda: (original | (kind == "copy")) & kept_by_minhash(),
        "leaked": lambda: original | (kind == "leaked"),
        "bad source": lambda: original | (kind == "bad"),
        "filtered": lambda: (original | (kind == "bad")) & passed(()),
        "filtered, narrow": lambda: (original | (kind == "bad")) & passed(NARROW),
    }[arm]()
    texts = [encoded(one.text) for one, yes in zip(planted.planted(), chosen, strict=True) if yes]
    return packed_tokens(texts, end=tokenizer().numbers[END])


@torch.no_grad()
def losses(model: GPT, texts: list[str]) -> Array:
    """Nats a token of each text, in windows of N tokens; what fills up the last window does not count."""
    end = tokenizer().numbers[END]
    found = np.zeros((len(texts), 2))  # nats and tokens of each text
    windows, of = [], []
    for i, text in enumerate(texts):
        row = [end, *encoded(text)]
        for begin in range(0, len(row) - 1, N):
            piece = row[begin : begin + N + 1]
            windows.append(piece + [-1] * (N + 1 - len(piece)))
            of.append(i)
    for rows, at in zip(torch.tensor(windows).split(64), torch.tensor(of).split(64), strict=True):
        scores = model(rows[:, :-1].clamp(min=0))
        nats = F.cross_entropy(scores.transpose(1, 2), rows[:, 1:], reduction="none", ignore_index=-1)
        np.add.at(
            found, at.numpy(), torch.stack([nats.sum(1), (rows[:, 1:] >= 0).sum(1)], dim=1).double().numpy()
        )
    return found[:, 0] / found[:, 1]


@cache
def originals() -> tuple[list[str], list[str]]:
    """Originals with at least MANY copies, and as many without any."""
    documents = planted.planted()
    copies = np.bincount([one.of for one in documents if one.kind == "copy"], minlength=len(documents))
    many = [one.text for one, n in zip(documents, copies, strict=True) if n >= MANY]
    none = [one.text for one, n in zip(documents, copies, strict=True) if n == 0 and one.kind == "original"]
    return many, none[: len(many)]


def trial(seed: int, steps: int, lr: float, *, arm: str) -> dict[str, Any]:
    """Train one model; its losses on the test, on new functions, and on what it may have learned by heart."""
    torch.manual_seed(seed)
    model = GPT(
        ModelConfig(
            len(tokenizer()),
            context=N,
            d_model=WIDTH,
            n_heads=8,
            n_layers=LAYERS,
            positions="rotary",
            layout="halves",
        )
    )
    optimizer = torch.optim.AdamW(decay_groups(model, 0.1), lr=lr, betas=BROWN_2020[:2], eps=BROWN_2020.eps)
    schedule = LambdaLR(optimizer, partial(cosine, steps=steps, warmup=steps // 10))
    text = tokens(arm)
    if arm == "half, read twice":
        text = text[: steps * BATCH * N // 2]
    fit(
        model,
        loss,
        TokenRows(text, n=N, batch=BATCH, seed=seed),
        steps=steps,
        optimizer=optimizer,
        schedule=schedule,
    )
    model.eval()
    test, new, other = planted.held_out()
    many, none = originals()
    of_test = losses(model, test)
    leaked = of_test[: planted.TEST // 2]
    return {
        "gain": -losses(model, new).mean(),
        "choice": -losses(model, other).mean(),
        "test": of_test.mean(),
        "test, leaked": leaked.mean(),
        "test, not leaked": of_test[planted.TEST // 2 :].mean(),
        "by copies": [leaked[k :: len(planted.LEAKED)].mean() for k in range(len(planted.LEAKED))],
        "many copies": losses(model, many).mean(),
        "no copies": losses(model, none).mean(),
    }


ARMS = (
    "clean",
    "duplicates",
    "deduplicated",
    "half, read twice",
    "leaked",
    "bad source",
    "filtered",
    "filtered, narrow",
)


@cache
def counts() -> dict[str, Any]:
    """Tokens that each arm may read."""
    return {"tokens": {arm: len(tokens(arm)) for arm in ARMS}}


EXPERIMENT = Experiment(
    name="what_to_train_on",
    question="what do duplicates, leaked test lines and a bad source do, and what does removing them?",
    trial=trial,
    arms={"text": {arm: {"arm": arm} for arm in ARMS}},
    steps=100,
    rates=(1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2, 3.2e-2, 6.4e-2),
    at_each=True,
    chosen_by="choice",
    settings={
        "n": N, "batch": BATCH, "width": WIDTH, "layers": LAYERS, "merges": MERGES, "threshold": THRESHOLD,
        "trusted": NARROW, "passed": PASSED, "many": MANY, "copies": planted.COPIES,
    },
    figure="gain",
    best=0.0,
    longest=4,
    once=counts,
)  # fmt: skip

if __name__ == "__main__":
    main(EXPERIMENT)

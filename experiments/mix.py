"""Few full layers among cheap ones: what does a stack recall, copy and predict, and what does it keep of each token?

Book: *The mix* (Chapter 6). All stacks have four layers and equally many parameters; they differ in the mixers of their
layers. Layers with a state have the form of Qwen3-Next: gated delta rule, short convolution, gate, norm. Softmax layers
have rotary positions, unless the arm is without.

    "recall"    pairs of a key and a value, and then the keys again, in another order: which value? (Arora and others,
                2023.) From 4 to 128 pairs while training; the figure is the accuracy at 128
    "copy"      a random string, and then the same again: 8 to 64 symbols while training, 64 and 128 in the test
    "text"      the course's own text, in bits a byte of modules that are held out

In the first two every stack reads its tokens through a filter of two: the vector of a token contains the one before it.
Otherwise softmax layers would have to find by training what the convolution gives to layers with a state, and the
comparison would be one of that.

Rates are chosen anew at each budget, on examples that are not reported. Run by `_many`; the text of CPython 3.11 is
read by `python experiments/mix.py --prepare`, before another Python trains on it.
"""

import hashlib
import json
import math
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from _many import main
from _runner import Experiment
from _together import Together
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from attnlib.data import stdlib
from attnlib.models import costs
from attnlib.models.config import ModelConfig
from attnlib.models.course import END, course_tokenizer
from attnlib.models.gpt import GPT
from attnlib.models.start import initialise

TOKENS = 2048  # of a step of one model, in recall and copy
KEYS, VALUES, PAIRS = 256, 32, (4, 8, 16, 32, 64, 128)
SYMBOLS, LENGTHS = 64, (8, 16, 32, 64)
TEST, CHOICE = 1_000_003, 1_000_033  # of examples that are reported, and of those by which a rate is chosen
JUDGED = 16_384  # tokens of each test
VOCAB, CONTEXT, BATCH, PREPARED = 2048, 256, 16, Path("_build/mix")
Example = tuple[np.ndarray, np.ndarray]  # tokens (b, n) and, for the last k positions, targets (b, k)

ARMS: dict[str, dict[str, Any]] = {
    "delta": {"mixer": "delta"},
    "delta and full": {"mixer": ("delta", "delta", "delta", "full")},
    "linear": {"mixer": "linear"},
    "window and full": {"mixer": ("window", "window", "window", "full")},
    "window": {"mixer": "window"},
    "full": {"mixer": "full"},
}
WITHOUT = {"delta and full, without positions": {**ARMS["delta and full"], "positions": "none"}}


class Task(NamedTuple):
    """What is learned: sizes while training and in the test, and an example of any size."""

    vocab: int
    context: int
    width: int
    window: int  # neighbours that a layer with a window sees beside the token itself
    sizes: tuple[int, ...]
    tests: tuple[int, ...]  # the first one is the figure
    tokens: Callable[[int], int]  # of an example
    example: Callable[[Sequence[int], int, int], Example]  # of a seed, how many, and a size


def recall(seed: Sequence[int], count: int, pairs: int) -> Example:
    """k1 v1 k2 v2 ... and then all keys in another order; targets are their values.

    >>> tokens, targets = recall([0], 1, 2)
    >>> held = dict(zip(tokens[0, :4:2].tolist(), tokens[0, 1:4:2].tolist()))
    >>> [held[key] for key in tokens[0, 4:].tolist()] == targets[0].tolist()
    True
    """
    rng = np.random.default_rng(seed)
    keys = rng.random((count, KEYS)).argsort(axis=1)[:, :pairs]
    values = KEYS + rng.integers(VALUES, size=(count, pairs))
    order = rng.random((count, pairs)).argsort(axis=1)
    written = np.stack([keys, values], axis=-1).reshape(count, 2 * pairs)
    asked, answers = (np.take_along_axis(one, order, axis=1) for one in (keys, values))
    return np.concatenate([written, asked], axis=1), answers


def copying(seed: Sequence[int], count: int, length: int) -> Example:
    """A string, a mark, and the string again without its end; targets are the string.

    >>> tokens, targets = copying([0], 1, 3)
    >>> tokens[0].tolist() == [*targets[0].tolist(), SYMBOLS, *targets[0, :-1].tolist()]
    True
    """
    string = np.random.default_rng(seed).integers(SYMBOLS, size=(count, length))
    mark = np.full((count, 1), SYMBOLS)
    return np.concatenate([string, mark, string[:, :-1]], axis=1), string


TASKS = {
    "recall": Task(KEYS + VALUES, 3 * PAIRS[-1], 64, 15, PAIRS, PAIRS[::-1], lambda pairs: 3 * pairs, recall),
    "copy": Task(
        SYMBOLS + 1, 4 * LENGTHS[-1], 64, 15, LENGTHS, (LENGTHS[-1], 2 * LENGTHS[-1]), lambda length: 2 * length,
        copying,
    ),
}  # fmt: skip


# ---- Models ----------------------------------------------------------------------------------------------------------


def config_of(
    vocab: int,
    context: int,
    width: int,
    window: int,
    mixer: str | tuple[str, ...],
    positions: str = "rotary",
) -> ModelConfig:
    """Four layers with as many parameters as four full ones, whose feed-forward networks are four times as wide."""
    base = ModelConfig(
        vocab, context=context, d_model=width, n_heads=4, n_layers=4, positions=positions, layout="halves",
        bias=False, mixer="full",
    )  # fmt: skip
    mixed = replace(base, mixer=mixer, window=window if "window" in mixer else None)
    wanted, one_more = costs.parameters(base), 2 * width * base.n_layers
    hidden = 4 * width + round((wanted - costs.parameters(mixed)) / one_more)
    return replace(mixed, d_hidden=hidden)


def config_of_task(task: str, **options: Any) -> ModelConfig:
    one = TASKS[task]
    return config_of(one.vocab, one.context, one.width, one.window, **options)


class TwoTokens(nn.Module):
    """In place of positions that are added: to each vector its own share of that of the token before it."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.before = nn.Parameter(torch.randn(d_model))

    def forward(self, X: Tensor, first: int = 0) -> Tensor:
        return X + self.before * F.pad(X, (0, 0, 1, 0))[..., :-1, :]


class Answers(nn.Module):
    """A GPT whose scores are computed for the last positions only; `answers` says for how many."""

    def __init__(self, config: ModelConfig, two_tokens: bool) -> None:
        super().__init__()
        self.model, self.answers = GPT(config), 0
        if two_tokens:
            initialise(self.model, spread=config.d_model**-0.5)  # GPT-2's spread is that for a width of 2,500
            self.model.places = TwoTokens(config.d_model)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.model.unembed(self.model.hidden(tokens)[..., -self.answers :, :])


def loss(scores: Tensor, targets: Tensor) -> Tensor:
    """Mean nats of one model."""
    return F.cross_entropy(scores.flatten(0, 1), targets.flatten())


@cache
def attention_by(device: str) -> Callable[[], AbstractContextManager[Any]]:
    """PyTorch's choice of an operator; on a GPU that one which works for several models at once."""
    if device == "cpu":
        return nullcontext
    config = config_of(8, 48, 64, 3, ("window", "full"))
    try:
        models = Together(lambda: Answers(config, True), [0, 1], [1e-3, 1e-3], device=device)
        models.model.answers = 2
        tokens = torch.zeros(2, 3, 48, dtype=torch.long, device=device)
        models.train(tokens, tokens[..., -2:], loss, 0.5)
    except (RuntimeError, NotImplementedError) as error:
        print(f"attention by PyTorch's plain operator, because: {error}", file=sys.stderr, flush=True)
        return lambda: sdpa_kernel(SDPBackend.MATH)
    return nullcontext


# ---- Recall and copy -------------------------------------------------------------------------------------------------


def on(device: str, examples: Sequence[Example], rows: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Tokens and targets of different examples, one for each model."""
    tokens, targets = (
        torch.from_numpy(np.stack([one[i] for one in examples])).to(device, non_blocking=True)[list(rows)]
        for i in (0, 1)
    )
    return tokens, targets


def of_a_task(
    seeds: Sequence[int],
    rates: Sequence[float],
    steps: int,
    *,
    task: str,
    device: str = "cpu",
    ended: Callable[[int], bool] | None = None,
    **options: Any,
) -> list[dict[str, Any]]:
    """Train models of one arm together, and measure each on examples that are reported and on some that are not."""
    one, config = TASKS[task], config_of_task(task, **options)
    different = sorted(set(seeds))
    rows = [different.index(seed) for seed in seeds]
    with attention_by(device)():
        models = Together(lambda: Answers(config, True), seeds, rates, device=device)
        for step in range(steps):
            if ended is not None and ended(step):
                return []
            size = one.sizes[step % len(one.sizes)]
            models.model.answers = size
            examples = [one.example([seed, step], TOKENS // one.tokens(size), size) for seed in different]
            models.train(*on(device, examples, rows), loss, step / steps)
        right = {size: accuracy(models, one, size, TEST, device) for size in one.tests}
        choice = accuracy(models, one, one.tests[0], CHOICE, device)
    return [
        {
            "accuracy": right[one.tests[0]][i],
            "choice": choice[i],
            "by size": {str(size): found[i] for size, found in sorted(right.items())},
        }
        for i in range(len(seeds))
    ]


@torch.no_grad()
def accuracy(models: Together, task: Task, size: int, seed: int, device: str) -> list[float]:
    """The share of right answers of each model; -inf for one that has broken."""
    models.model.answers = size
    tokens, targets = task.example([seed], max(1, JUDGED // task.tokens(size)), size)
    right, whole = 0, torch.ones(len(models.rates), dtype=torch.bool, device=device)
    for some in np.array_split(np.arange(len(tokens)), max(1, JUDGED // (2 * TOKENS))):
        if len(some):
            inputs, wanted = on(device, [(tokens[some], targets[some])], [0] * len(models.rates))
            scores = models.scores(inputs)
            right = right + (scores.argmax(-1) == wanted).sum((1, 2))
            whole &= scores.isfinite().flatten(1).all(1)
    share = (right / targets.size).double()  # type: ignore[operator]
    return share.masked_fill(~whole, -math.inf).tolist()


# ---- Text ------------------------------------------------------------------------------------------------------------


class Text(NamedTuple):
    """The course's own text as tokens."""

    train: np.ndarray
    held: np.ndarray
    a_byte: float  # tokens of the held-out text for each of its bytes
    digest: str  # of all tokens


@cache
def text(folder: Path = PREPARED) -> Text:
    """The text that was prepared, or else that of the Python that runs here."""
    if not (folder / "about.json").is_file():
        return read()
    about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    return Text(np.load(folder / "train.npy"), np.load(folder / "held.npy"), **about)


def read() -> Text:
    """The modules of the standard library as the course's own model reads them: END before each."""
    by, rows, n_bytes = course_tokenizer(), {}, 0
    for split in ("train", "held out"):
        files = [one for _, one in stdlib.texts(split)]
        end = by.encode(END)
        rows[split] = np.concatenate([np.array(end + by.encode_ordinary(one), np.uint16) for one in files])
        n_bytes = sum(len(one.encode()) for one in files)
    digest = hashlib.sha256(rows["train"].tobytes() + rows["held out"].tobytes()).hexdigest()[:12]
    return Text(rows["train"], rows["held out"], len(rows["held out"]) / n_bytes, digest)


def prepare(folder: Path = PREPARED) -> None:
    """Store the tokens for a machine with another Python, whose library differs."""
    found = read()
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "train.npy", found.train)
    np.save(folder / "held.npy", found.held)
    about = {"a_byte": found.a_byte, "digest": found.digest}
    (folder / "about.json").write_text(json.dumps(about), encoding="utf-8")
    print(f"{folder}: {len(found.train)} and {len(found.held)} tokens, digest {found.digest}")


def of_text(
    seeds: Sequence[int],
    rates: Sequence[float],
    steps: int,
    *,
    device: str = "cpu",
    ended: Callable[[int], bool] | None = None,
    **options: Any,
) -> list[dict[str, Any]]:
    """Train language models of one arm together; bits a byte of every second held-out row are reported."""
    found, config = text(), text_config(**options)
    tokens, reach = (
        torch.from_numpy(found.train.astype(np.int32)).to(device),
        torch.arange(CONTEXT + 1, device=device),
    )
    with attention_by(device)():
        models = Together(lambda: Answers(config, False), seeds, rates, decay=0.1, device=device)
        models.model.answers = CONTEXT
        for step in range(steps):
            if ended is not None and ended(step):
                return []
            begins = [
                np.random.default_rng([seed, step]).integers(len(found.train) - CONTEXT, size=BATCH)
                for seed in seeds
            ]
            rows = tokens[torch.from_numpy(np.stack(begins)).to(device)[..., None] + reach].long()
            models.train(rows[..., :-1], rows[..., 1:], loss, step / steps)
        n_rows = (len(found.held) - 1) // CONTEXT
        held = np.stack([found.held[i * CONTEXT : (i + 1) * CONTEXT + 1] for i in range(n_rows)]).astype(
            np.int64
        )
        bits = [found.a_byte / math.log(2) * nats(models, held[half::2], device) for half in (0, 1)]
    return [
        {"score": -float(bits[1][i]), "bits a byte": float(bits[1][i]), "choice": -float(bits[0][i])}
        for i in range(len(seeds))
    ]


def text_config(**options: Any) -> ModelConfig:
    return config_of(VOCAB, CONTEXT, 128, 31, **options)


@torch.no_grad()
def nats(models: Together, rows: np.ndarray, device: str) -> np.ndarray:
    """Mean nats a token of each model."""
    total = torch.zeros(len(models.rates), dtype=torch.float64, device=device)
    for some in np.array_split(rows, max(1, len(rows) // BATCH)):
        one = torch.from_numpy(some).to(device).expand(len(models.rates), -1, -1)
        total += torch.func.vmap(loss)(models.scores(one[..., :-1]), one[..., 1:]).double() * len(some)
    return (total / len(rows)).cpu().numpy()


# ---- What is compared ------------------------------------------------------------------------------------------------


def costs_of(config: ModelConfig, two_tokens: bool) -> dict[str, Any]:
    """Parameters, and what inference keeps with numbers of two bytes; a state has four."""
    return {
        "parameters": costs.parameters(config) + two_tokens * config.d_model,
        "bytes a token": costs.bytes_a_token(config),
        "fixed bytes": costs.fixed_bytes(config),
        "width": config.d_model,
        "hidden width": config.d_hidden,
    }


def costs_of_tasks() -> dict[str, Any]:
    return {
        "costs": {
            task: {arm: costs_of(config_of_task(**options), True) for arm, options in arms.items()}
            for task, arms in MIX.arms.items()
        }
    }


def costs_of_text() -> dict[str, Any]:
    return {
        "costs": {
            "text": {arm: costs_of(text_config(**one), False) for arm, one in TEXT.arms["text"].items()}
        },
        "text": {
            "digest": text().digest,
            "tokens": [len(text().train), len(text().held)],
            "a byte": text().a_byte,
        },
    }


def alone(
    together: Callable[..., list[dict[str, Any]]], seed: int, steps: int, lr: float, **options: Any
) -> dict[str, Any]:
    """One trial by itself."""
    return together([seed], [lr], steps, **options)[0]


ARITHMETIC = "float32; on a GPU products of matrices in TF32"
MIX = Experiment(
    name="mix",
    question="what do few full layers among cheap ones recall and copy?",
    trial=partial(alone, of_a_task),
    together=of_a_task,
    arms={
        "recall": {arm: {"task": "recall", **one} for arm, one in ARMS.items()},
        "copy": {arm: {"task": "copy", **one} for arm, one in {**ARMS, **WITHOUT}.items() if arm != "linear"},
    },
    steps=125,
    rates=(3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1),
    at_each=True,
    chosen_by="choice",
    always=(*ARMS, *WITHOUT),
    settings={
        "layers": 4, "heads": 4, "width": TASKS["recall"].width, "window": TASKS["recall"].window + 1,
        "tokens a step": TOKENS, "keys": KEYS, "values": VALUES, "pairs": PAIRS, "symbols": SYMBOLS,
        "lengths": LENGTHS, "arithmetic": ARITHMETIC,
    },
    once=costs_of_tasks,
)  # fmt: skip

TEXT = Experiment(
    name="mix_text",
    question="what do few full layers among cheap ones predict of a text?",
    trial=partial(alone, of_text),
    together=of_text,
    arms={"text": {arm: ARMS[arm] for arm in ("delta", "delta and full", "window", "full")}},
    steps=250,
    rates=(2.5e-4, 5e-4, 1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2, 3.2e-2),
    at_each=True,
    chosen_by="choice",
    figure="score",
    best=math.inf,
    longest=4,
    seeds=(0, 1, 2),
    rate_seeds=(10,),
    settings={
        "layers": 4, "heads": 4, "width": 128, "window": 32, "context": CONTEXT, "batch": BATCH, "vocab": VOCAB,
        "arithmetic": ARITHMETIC,
    },
    once=costs_of_text,
)  # fmt: skip

if __name__ == "__main__":
    if sys.argv[1:] == ["--prepare"]:
        prepare()
    else:
        main([MIX, TEXT])

"""A model of one's own text: what `python -m attnlib.train` reads, how large it makes the model, and what it stores.

Chapter 5 uses it. One dial, the depth, decides the rest: a layer more is a head more and 64 more in width. In the
folder stand the tokenizer, the tokens, the settings and the checkpoints; `attnlib.generate` reads them.
"""

import hashlib
import json
import os
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.optim.lr_scheduler import LambdaLR

from attnlib import rules
from attnlib.data.bpe.files import load_tokenizer, save_tokenizer
from attnlib.data.bpe.tokenizer import Tokenizer, train_tokenizer
from attnlib.models.config import ModelConfig, stored_config
from attnlib.models.gpt import GPT
from attnlib.reference.optim import BROWN_2020
from attnlib.reference.schedules import cosine
from attnlib.shapes import Array, Int
from attnlib.train.checkpoint import CheckpointError, load_checkpoint
from attnlib.train.crew import Alone, Crew
from attnlib.train.device import device
from attnlib.train.fit import fit
from attnlib.train.held_out import HeldOut
from attnlib.train.memory import recompute
from attnlib.train.optim import decay_groups
from attnlib.train.rows import TokenRows, load_tokens, packed_tokens, save_tokens
from attnlib.train.training import TrainingStopped
from attnlib.train.workers import joined

END, READ, KEPT = "<|endoftext|>", (".txt", ".md", ".py"), "held-out.npy"
LEAST, HELD_OUT = 10_000, 0.1  # bytes that a text must have; the share at its end that is not trained on
N, BATCH, MERGES, LOOKS, DECAY = 128, 16, 1791, 20, 0.1


class Plan(NamedTuple):
    """What a folder was begun with."""

    depth: int
    steps: int
    text: str  # the checksum of all that was read


def text_of(file: Path) -> str:
    """The text of a file; one that is no text is named."""
    data = file.read_bytes()
    rules.must(len(data) > 0, "train", f"a text must not be empty; got {file}.")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    then = "Is it binary? Else save it as UTF-8."
    rules.must("\0" not in text, "train", f"a text must be UTF-8; got {file}, which is not. {then}")
    return text


def files_of(path: Path) -> list[Path]:
    """The texts of a folder, without hidden ones and without what a training has written there."""
    return sorted(
        one
        for one in path.rglob("*")
        if one.suffix in READ
        and not any(part.startswith(".") for part in one.relative_to(path).parts)
        and not (one.parent / KEPT).is_file()
        and one.is_file()
        and one.stat().st_size
    )


def texts_of(path: Path) -> list[str]:
    """The text of a file, or of all files in a folder that end in .txt, .md or .py; at least 10,000 bytes."""
    rules.must(path.exists(), "train", f"there must be a file or a folder; got {path}, which is not there.")
    files = files_of(path) if path.is_dir() else [path]
    came = f"got {path}, where there is none."
    rules.must(len(files) > 0, "train", f"a folder must have files that end in {', '.join(READ)}; {came}")
    texts = [text_of(file) for file in files]
    n_bytes = sum(len(text.encode()) for text in texts)
    came = f"got {n_bytes:,} in {path}. Take more text."
    rules.must(n_bytes >= LEAST, "train", f"there must be {LEAST:,} bytes of text or more; {came}")
    return texts


def config_of(depth: int, vocab: int) -> ModelConfig:
    """The model of a depth.

    >>> config_of(2, 500).d_model, config_of(2, 500).n_heads
    (128, 2)
    """
    return ModelConfig(
        vocab, context=N, d_model=64 * depth, n_heads=depth, n_layers=depth, positions="rotary", dropout=0.1
    )


def prepare(path: Path, folder: Path, depth: int, steps: int) -> Plan:
    """Read the text, learn its tokenizer, and store both in the folder; or find that it was done before."""
    texts = texts_of(path)
    plan = Plan(depth, steps, hashlib.sha256("\0".join(texts).encode()).hexdigest())
    file = folder / "settings.json"
    if file.is_file():
        before = Plan(**json.loads(file.read_text())["plan"])
        other = ", ".join(key for key in Plan._fields if getattr(before, key) != getattr(plan, key))
        then = "Repeat what it was begun with, or choose another --folder."
        rules.must(not other, "train", f"{folder} must go on as it was begun; got another {other}. {then}")
        return plan
    size = sum(map(len, texts))
    by = train_tokenizer(texts, min(MERGES, size // 100), [END])
    tokens = packed_tokens((by.encode_ordinary(text) for text in texts), end=by.numbers[END])
    came = f"got {len(tokens)} of {path}, which repeats itself. Take another text."
    rules.must(len(tokens) >= 4 * N, "train", f"there must be {4 * N} tokens or more; {came}")
    folder.mkdir(parents=True, exist_ok=True)
    save_tokenizer(by, folder)
    cut = len(tokens) - max(2 * N, round(HELD_OUT * len(tokens)))
    save_tokens(folder / "train.npy", tokens[:cut])
    save_tokens(folder / KEPT, tokens[cut:])
    config = asdict(config_of(depth, len(by)))
    half = file.with_suffix(".part")
    half.write_text(json.dumps({"plan": plan._asdict(), "config": config}))
    half.replace(file)  # last: a folder with settings has all the rest
    return plan


def loss(model: GPT, rows: Int[Tensor, "b m"]) -> tuple[Tensor, int]:
    """The sum of the surprise at each next token, and how many there are."""
    rows = rows.to(next(model.parameters()).device)
    scores = model(rows[:, :-1]).flatten(0, 1)
    return torch.nn.functional.cross_entropy(scores, rows[:, 1:].flatten(), reduction="sum"), rows[
        :, 1:
    ].numel()


def mean_loss(model: GPT, tokens: Int[Array, "n"], most: int = 20 * BATCH) -> float:
    """Nats a token, over the first rows of a text that was not trained on."""
    begins = range(0, min(len(tokens) - N, most * N), N)
    rows = torch.from_numpy(np.stack([tokens[i : i + N + 1] for i in begins]).astype(np.int64))
    found = [loss(model, some) for some in rows.split(BATCH)]
    return sum(float(value) for value, _ in found) / sum(count for _, count in found)


def train(
    folder: Path,
    plan: Plan,
    *,
    progress: bool = True,
    autocast: torch.dtype | None = None,
    recomputed: bool = False,
    crew: Alone | None = None,
) -> HeldOut:
    """All steps that are left; the model with the best look at what was held out is in the last checkpoint.

    autocast      the format in which matrices are multiplied
    recomputed    each block keeps only what enters it, and runs twice
    crew          workers who share each batch; by default this process is alone
    """
    torch.manual_seed(0)
    model = GPT(stored_config(json.loads((folder / "settings.json").read_text())["config"])).to(
        device().where
    )
    if recomputed:
        recompute(model.blocks)
    rate = 3e-3 * min(1.0, 4 / plan.depth)
    optimizer = torch.optim.AdamW(
        decay_groups(model, DECAY), lr=rate, betas=BROWN_2020[:2], eps=BROWN_2020.eps
    )
    factor = partial(cosine, steps=plan.steps, warmup=plan.steps // 20, last=0.1)
    kept = load_tokens(folder / KEPT)
    every = max(1, plan.steps // LOOKS)
    crew = crew or Alone()
    held_out = HeldOut(lambda model: crew.mean(mean_loss(model, kept))[0], every=every, patience=5)
    if crew.rank:  # who drops what the others drop adds nothing
        torch.manual_seed(crew.rank)
    fit(
        model, loss, TokenRows(load_tokens(folder / "train.npy"), n=N, batch=BATCH), steps=plan.steps,
        optimizer=optimizer, schedule=LambdaLR(optimizer, factor), held_out=held_out,
        folder=folder / "checkpoints", keep_every=every, progress=progress and crew.rank == 0,
        autocast=autocast, crew=crew,
    )  # fmt: skip
    return held_out


def train_in_a_crew(folder: Path, plan: Plan, how: dict[str, Any]) -> str | None:
    """One of the workers of `attnlib.train.elastic`: what it cannot do is what it returns, for all find the same."""
    again = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    with joined():
        crew = Crew()
        if again and crew.rank == 0:
            found = load_checkpoint(folder / "checkpoints")
            print(f"All {crew.size} go on from step {found.step if found else 0}.", flush=True)
        try:
            train(folder, plan, crew=crew, **how)
        except (ValueError, OSError, CheckpointError, TrainingStopped) as error:
            return str(error)
    return None


def looks(folder: Path) -> list[tuple[int, float]]:
    """What a training of this folder has found on what was held out, step by step."""
    found = load_checkpoint(folder / "checkpoints")
    return [] if found is None else found.state["held_out"]["curve"]


def trained(folder: Path) -> tuple[GPT, Tokenizer]:
    """The model of a folder, with the best parameters so far, and its tokenizer."""
    file = folder / "settings.json"
    then = "`python -m attnlib.train TEXT` makes one."
    rules.must(
        file.is_file(), "generate", f"there must be a folder with a trained model; got {folder}. {then}"
    )
    found = load_checkpoint(folder / "checkpoints")
    if found is None:
        raise ValueError(
            f"generate: a training must have come to its first checkpoint; got none in {folder}."
        )
    settings: dict[str, Any] = json.loads(file.read_text())
    model = GPT(stored_config(settings["config"]))
    model.load_state_dict(found.state["held_out"]["best"] or found.state["model"])
    return model.to(device().where).eval(), load_tokenizer(folder)

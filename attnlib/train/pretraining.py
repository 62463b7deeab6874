"""Pretraining a GPT on any text: what `python -m attnlib.train` reads, how large a model it makes, what it stores.

Chapter 5 uses it. The depth, its number of layers, decides the rest: there are as many heads, each 64 wide. The folder
holds the tokenizer, the tokens, the settings and the checkpoints; `attnlib.generate` reads them.
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
from attnlib.data.bpe.counting import train_tokenizer_of_files
from attnlib.data.bpe.files import load_tokenizer, save_tokenizer
from attnlib.data.bpe.tokenizer import Tokenizer
from attnlib.models.config import ModelConfig, stored_config
from attnlib.models.gpt import GPT
from attnlib.reference.optim import BROWN_2020
from attnlib.reference.schedules import cosine
from attnlib.shapes import Array, Int
from attnlib.train.checkpoint import CheckpointError, load_checkpoint
from attnlib.train.device import device
from attnlib.train.fit import fit
from attnlib.train.held_out import HeldOut
from attnlib.train.memory import recompute
from attnlib.train.optim import decay_groups
from attnlib.train.products import multiply_by_onednn
from attnlib.train.rows import TokenRows, load_tokens, packed_tokens, save_tokens
from attnlib.train.training import TrainingStopped
from attnlib.train.worker_group import SingleWorker, WorkerGroup, Workers
from attnlib.train.workers import joined

END, SUFFIXES, HELD_OUT_FILE = "<|endoftext|>", (".txt", ".md", ".py"), "held-out.npy"
LEAST, HELD_OUT = 10_000, 0.1  # bytes that a text must have; the share at its end that is not trained on
LARGE = 20_000_000  # characters from which on the words of a text are counted on all cores
N, BATCH, MERGES, LOOKS, DECAY = 128, 16, 1791, 20, 0.1  # LOOKS: how often the held-out loss is measured


class Plan(NamedTuple):
    """What the training of a folder was started with."""

    depth: int
    steps: int
    text: str  # the checksum of all that was read


def text_of(file: str | Path) -> str:
    """The text of a file; the error for a file that is not text names it."""
    data = Path(file).read_bytes()
    rules.must(len(data) > 0, "train", f"a text must not be empty; got {file}.")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    then = "Is it binary? Else save it as UTF-8."
    rules.must("\0" not in text, "train", f"a text must be UTF-8; got {file}, which is not. {then}")
    return text


def files_of(path: str | Path) -> list[Path]:
    """The text files of a folder, without hidden ones and without those that a training has written there."""
    path = Path(path)
    return sorted(
        one
        for one in path.rglob("*")
        if one.suffix in SUFFIXES
        and not any(part.startswith(".") for part in one.relative_to(path).parts)
        and not (one.parent / HELD_OUT_FILE).is_file()
        and one.is_file()
        and one.stat().st_size
    )


def read_files(path: str | Path) -> list[Path]:
    """The file, or all text files of a folder."""
    path = Path(path)
    return files_of(path) if path.is_dir() else [path]


def texts_of(path: str | Path) -> list[str]:
    """The text of a file, or of all files in a folder that end in .txt, .md or .py; at least 10,000 bytes."""
    path = Path(path)
    rules.must(path.exists(), "train", f"there must be a file or a folder; got {path}, which is not there.")
    files = read_files(path)
    came = f"got {path}, where there is none."
    rules.must(len(files) > 0, "train", f"a folder must have files that end in {', '.join(SUFFIXES)}; {came}")
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
        vocab,
        context=N,
        d_model=64 * depth,
        n_heads=depth,
        n_layers=depth,
        positions="rotary",
        layout="halves",
        dropout=0.1,
    )


def prepare(path: str | Path, folder: str | Path, depth: int, steps: int) -> Plan:
    """Read the text, learn its tokenizer and store both in the folder, unless this was done before."""
    texts, folder = texts_of(path), Path(folder)
    plan = Plan(depth, steps, hashlib.sha256("\0".join(texts).encode()).hexdigest())
    file = folder / "settings.json"
    if file.is_file():
        before = Plan(**json.loads(file.read_text())["plan"])
        other = ", ".join(key for key in Plan._fields if getattr(before, key) != getattr(plan, key))
        then = "Repeat what it was begun with, or choose another --folder."
        rules.must(not other, "train", f"{folder} must go on as it was begun; got another {other}. {then}")
        return plan
    size = sum(map(len, texts))
    cores = (os.cpu_count() or 1) if size >= LARGE else 1
    tokenizer = train_tokenizer_of_files(read_files(path), min(MERGES, size // 100), [END], processes=cores)
    tokens = packed_tokens((tokenizer.encode_ordinary(text) for text in texts), end=tokenizer.numbers[END])
    came = f"got {len(tokens)} of {path}, which repeats itself. Take another text."
    rules.must(len(tokens) >= 4 * N, "train", f"there must be {4 * N} tokens or more; {came}")
    folder.mkdir(parents=True, exist_ok=True)
    save_tokenizer(tokenizer, folder)
    cut = len(tokens) - max(2 * N, round(HELD_OUT * len(tokens)))
    save_tokens(folder / "train.npy", tokens[:cut])
    save_tokens(folder / HELD_OUT_FILE, tokens[cut:])
    config = asdict(config_of(depth, len(tokenizer)))
    part = file.with_suffix(".part")
    part.write_text(json.dumps({"plan": plan._asdict(), "config": config}))
    part.replace(file)  # last, so that a folder with settings has everything else
    return plan


def loss(model: GPT, rows: Int[Tensor, "b m"]) -> tuple[Tensor, int]:
    """The cross-entropy of the next tokens, summed, and how many there are."""
    rows = rows.to(next(model.parameters()).device)
    scores, targets = model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten()
    return torch.nn.functional.cross_entropy(scores, targets, reduction="sum"), targets.numel()


def mean_loss(model: GPT, tokens: Int[Array, "n"], most: int = 20 * BATCH) -> float:
    """Nats a token, over the first rows of a text that was not trained on."""
    begins = range(0, min(len(tokens) - N, most * N), N)
    rows = torch.from_numpy(np.stack([tokens[i : i + N + 1] for i in begins]).astype(np.int64))
    found = [loss(model, some) for some in rows.split(BATCH)]
    return sum(float(value) for value, _ in found) / sum(count for _, count in found)


def train(
    folder: str | Path,
    plan: Plan,
    *,
    progress: bool = True,
    autocast: torch.dtype | None = None,
    recompute_blocks: bool = False,
    onednn: bool = False,
    workers: Workers | None = None,
) -> HeldOut:
    """All steps that are left; the last checkpoint also holds the parameters with the smallest held-out loss.

    autocast            the format in which matrices are multiplied
    recompute_blocks    activation checkpointing: each block keeps only its input, and runs again in the backward pass
    onednn              on a CPU, large products are computed by oneDNN; results may differ in their last bits
    workers             processes that share each batch; by default this process is the only one
    """
    torch.manual_seed(0)
    folder = Path(folder)
    config = json.loads((folder / "settings.json").read_text())["config"]
    model = GPT(stored_config(config)).to(device().type)
    if recompute_blocks:
        recompute(model.blocks)
    if onednn:
        multiply_by_onednn(model)
    rate = 3e-3 * min(1.0, 4 / plan.depth)
    optimizer = torch.optim.AdamW(
        decay_groups(model, DECAY), lr=rate, betas=BROWN_2020[:2], eps=BROWN_2020.eps
    )
    factor = partial(cosine, steps=plan.steps, warmup=plan.steps // 20, last=0.1)
    unseen = load_tokens(folder / HELD_OUT_FILE)
    every = max(1, plan.steps // LOOKS)
    workers = workers or SingleWorker()
    held_out = HeldOut(lambda model: workers.mean(mean_loss(model, unseen))[0], every=every, patience=5)
    if workers.rank:  # the same start on all workers, but each draws its own dropout masks
        torch.manual_seed(workers.rank)
    fit(
        model, loss, TokenRows(load_tokens(folder / "train.npy"), n=N, batch=BATCH), steps=plan.steps,
        optimizer=optimizer, schedule=LambdaLR(optimizer, factor), held_out=held_out,
        folder=folder / "checkpoints", keep_every=every, progress=progress and workers.rank == 0,
        autocast=autocast, workers=workers,
    )  # fmt: skip
    return held_out


def train_as_worker(folder: str | Path, plan: Plan, options: dict[str, Any]) -> str | None:
    """`train` in one of the processes of `attnlib.train.elastic`; returns the sentence of an error that all meet."""
    restarts = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    with joined():
        workers = WorkerGroup()
        if restarts and workers.rank == 0:
            found = load_checkpoint(Path(folder) / "checkpoints")
            print(f"All {workers.world_size} go on from step {found.step if found else 0}.", flush=True)
        try:
            train(folder, plan, workers=workers, **options)
        except (ValueError, OSError, CheckpointError, TrainingStopped) as error:
            return str(error)
    return None


def held_out_curve(folder: str | Path) -> list[tuple[int, float]]:
    """The held-out loss of the training in this folder, as pairs of a step and a loss."""
    found = load_checkpoint(Path(folder) / "checkpoints")
    return [] if found is None else found.state["held_out"]["curve"]


def load_trained(folder: str | Path) -> tuple[GPT, Tokenizer]:
    """The model of a folder, with the best parameters so far, and its tokenizer."""
    folder = Path(folder)
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
    return model.to(device().type).eval(), load_tokenizer(folder)

"""Pretraining a GPT on any text: what `attnlib train` prepares, trains and stores in its folder.

Chapter 5 uses it. The depth, its number of layers, decides the sizes: there are as many heads, each 64 wide. The folder
holds the tokenizer, the tokens, the settings, the checkpoints, a log and, as one file, the best model; `attnlib
generate` reads it.
"""

import os
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.optim.lr_scheduler import LambdaLR

from attnlib import rules
from attnlib.data.bpe.counting import train_tokenizer_of_files
from attnlib.data.bpe.files import load_tokenizer, save_tokenizer
from attnlib.data.bpe.tokenizer import Tokenizer
from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.reference.optim import BROWN_2020
from attnlib.reference.schedules import cosine
from attnlib.shapes import Array, Int
from attnlib.train.alone import MODEL, save_alone
from attnlib.train.checkpoint import CheckpointError, load_checkpoint
from attnlib.train.device import device
from attnlib.train.fit import fit
from attnlib.train.held_out import HeldOut
from attnlib.train.memory import recompute
from attnlib.train.optim import decay_groups
from attnlib.train.plan import (
    BATCH,
    BYTES_AND_END,
    N,
    Plan,
    config_of,
    must_go_on,
    rate_of,
    read_settings,
    write_settings,
)  # fmt: skip
from attnlib.train.products import multiply_by_onednn
from attnlib.train.reporting import reports
from attnlib.train.rows import TokenRows, load_tokens, save_tokens
from attnlib.train.sources import load_model, of_training
from attnlib.train.stopping import StopWhenAsked
from attnlib.train.texts import END, HELD_OUT_FILE, Texts, pieces_of, texts_of
from attnlib.train.training import TrainingStopped
from attnlib.train.worker_group import SingleWorker, WorkerGroup, Workers
from attnlib.train.workers import joined

HELD_OUT = 0.1  # the share at the end of a text that is not trained on
LARGE = 20_000_000  # characters from which on the words of a text are counted on all cores
LOOKS, DECAY = 20, 0.1  # LOOKS: how often the held-out loss is measured
MINUTE = 60.0  # seconds after which a checkpoint is due, whatever the step


class Start(NamedTuple):
    """The model that a training starts from, its tokenizer, and where both were found."""

    config: ModelConfig
    tokenizer: Tokenizer
    place: str


def start_of(source: str | Path) -> Start:
    """What `--from` names."""
    model, by = load_model(source)
    return Start(model.config, by, str(Path(source).resolve()))


def write_tokens(texts: Texts, tokenizer: Tokenizer, to: IO[bytes]) -> Int[Array, "n"]:
    """All texts as one row of tokens with END before each, written piece by piece into a file, where it stays."""
    kind = np.uint16 if len(tokenizer) <= 2**16 else np.uint32
    for file in texts.files:
        to.write(np.array(tokenizer.numbers[END], kind).tobytes())
        for text in pieces_of(file):
            to.write(np.array(tokenizer.encode_ordinary(text), kind).tobytes())
    to.flush()
    return np.memmap(to, kind, "r")


def plan_of(texts: Texts, depth: int, steps: int, start: Start | None = None, **options: Any) -> Plan:
    """The plan that follows from the options; those that are None have their defaults."""
    asked = {name: value for name, value in options.items() if value is not None}
    if start is not None:
        asked |= {"vocab": len(start.tokenizer), "start": start.place}
        asked.setdefault("context", start.config.context)
        came = f"got {asked['context']} for one that reads {start.config.context} tokens."
        rules.must(
            asked["context"] <= start.config.context, "train", f"--context must be the model's; {came}"
        )
        depth = start.config.n_layers
    asked.setdefault("rate", rate_of(depth))
    return Plan(depth, steps, texts.checksum, **asked)


def prepare(
    path: str | Path,
    folder: str | Path,
    depth: int,
    steps: int,
    *,
    texts: Texts | None = None,
    start: Start | None = None,
    exclude: Sequence[str] = (),
    **options: Any,
) -> Plan:
    """Read the text, learn its tokenizer and store both in the folder, unless it goes on.

    texts      what `texts_of(path, exclude)` has found, where it was called before
    start      the model to start from, whose sizes and tokenizer are taken
    options    `context`, `batch`, `rate`, `vocab` and `seed` of the plan
    """
    texts, folder = texts or texts_of(path, exclude), Path(folder)
    plan = plan_of(texts, depth, steps, start, **options)
    before, done = read_settings(folder), steps_done(folder)
    if before is not None and done:
        must_go_on(folder, before["plan"], plan, done)
        write_settings(folder, plan, before["config"])
        return plan
    if before is not None and before["plan"] == plan:
        return plan
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tokenizer = tokenizer_of(texts, plan, start)
        store_tokens(texts, tokenizer, folder, plan.context, path)
        config = start.config if start else config_of(depth, len(tokenizer), plan.context)
        write_settings(folder, plan, config)  # last, so that a folder with settings has everything else
    except OSError as error:
        then = "Make room, or choose another --folder."
        raise ValueError(
            f"train: {folder} must take the text's tokens; got '{error.strerror or error}'. {then}"
        ) from error
    return plan


def tokenizer_of(texts: Texts, plan: Plan, start: Start | None) -> Tokenizer:
    """The tokenizer of the model to start from, or one that is learned from the texts."""
    if start is not None:
        return start.tokenizer
    cores = (os.cpu_count() or 1) if texts.characters >= LARGE else 1
    merges = min(plan.vocab - BYTES_AND_END, texts.characters // 100)
    return train_tokenizer_of_files(texts.files, merges, [END], processes=cores)


def store_tokens(texts: Texts, tokenizer: Tokenizer, folder: str | Path, n: int, path: str | Path) -> None:
    """The tokenizer and the tokens in the folder: those that are trained on, and those at the end that are not."""
    folder = Path(folder)
    with tempfile.TemporaryFile(dir=folder) as file_of_tokens:
        tokens = write_tokens(texts, tokenizer, file_of_tokens)
        came = f"got {len(tokens)} of {path}. Take more text, or one that repeats itself less, or a smaller --context."
        rules.must(len(tokens) >= 4 * n, "train", f"there must be {4 * n} tokens or more; {came}")
        save_tokenizer(tokenizer, folder)
        cut = len(tokens) - max(2 * n, round(HELD_OUT * len(tokens)))
        save_tokens(folder / "train.npy", tokens[:cut])
        save_tokens(folder / HELD_OUT_FILE, tokens[cut:])


def steps_done(folder: str | Path) -> int:
    """The step of the newest checkpoint; 0 if there is none."""
    found = load_checkpoint(Path(folder) / "checkpoints")
    return found.step if found else 0


def loss(model: GPT, rows: Int[Tensor, "b m"]) -> tuple[Tensor, int]:
    """The cross-entropy of the next tokens, summed, and how many there are."""
    rows = rows.to(next(model.parameters()).device)
    scores, targets = model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten()
    return torch.nn.functional.cross_entropy(scores, targets, reduction="sum"), targets.numel()


def mean_loss(model: GPT, tokens: Int[Array, "n"], n: int = N, batch: int = BATCH) -> float:
    """Nats a token, over the first twenty batches of rows of a text that was not trained on."""
    begins = range(0, min(len(tokens) - n, 20 * batch * n), n)
    read = torch.from_numpy(np.stack([tokens[i : i + n + 1] for i in begins]).astype(np.int64))
    found = [loss(model, some) for some in read.split(batch)]
    return sum(float(value) for value, _ in found) / sum(count for _, count in found)


def train(
    folder: str | Path,
    plan: Plan,
    *,
    progress: bool = True,
    autocast: torch.dtype | None = None,
    recompute_blocks: bool = False,
    onednn: bool = False,
    sample: str = "",
    workers: Workers | None = None,
    stop: StopWhenAsked | None = None,
) -> HeldOut:
    """All steps that are left; the last checkpoint also holds the parameters with the smallest held-out loss.

    autocast            the format in which matrices are multiplied
    recompute_blocks    activation checkpointing: each block keeps only its input, and runs again in the backward pass
    onednn              on a CPU, large products are computed by oneDNN; results may differ in their last bits
    sample              how the texts begin that the model writes now and then
    workers             processes that share each batch; by default this process is the only one
    stop                who ends the training when a signal comes
    """
    torch.manual_seed(plan.seed)
    folder, workers = Path(folder), workers or SingleWorker()
    model, tokenizer = model_of(folder, plan).to(device().type), load_tokenizer(folder)
    if recompute_blocks:
        recompute(model.blocks)
    if onednn:
        multiply_by_onednn(model)
    groups = decay_groups(model, DECAY)
    optimizer = torch.optim.AdamW(groups, lr=plan.rate, betas=BROWN_2020[:2], eps=BROWN_2020.eps)
    factor = partial(cosine, steps=plan.steps, warmup=plan.steps // 20, last=0.1)
    unseen, every = load_tokens(folder / HELD_OUT_FILE), max(1, plan.steps // LOOKS)
    measure = partial(mean_loss, tokens=unseen, n=plan.context, batch=plan.batch)
    held_out = HeldOut(lambda model: workers.mean(measure(model))[0], every=every, patience=5)
    first = workers.rank == 0
    if not first:  # the same start on all workers, but each draws its own dropout masks
        torch.manual_seed(plan.seed + workers.rank)
    rows = TokenRows(load_tokens(folder / "train.npy"), n=plan.context, batch=plan.batch, seed=plan.seed)
    reported = reports(folder, held_out, tokenizer, sample=sample, shown=progress) if first else []
    fit(
        model, loss, rows, steps=plan.steps, optimizer=optimizer, schedule=LambdaLR(optimizer, factor),
        held_out=held_out, callbacks=[*([stop] if stop else []), *reported], folder=folder / "checkpoints",
        keep_every=every, keep_seconds=MINUTE, autocast=autocast, workers=workers,
    )  # fmt: skip
    if first:
        save_alone(folder / MODEL, model, tokenizer)
    return held_out


def model_of(folder: str | Path, plan: Plan) -> GPT:
    """A new model of the folder's config; where nothing was trained yet, with the parameters that it starts from."""
    settings = read_settings(folder)
    assert settings is not None
    model = GPT(settings["config"])
    if plan.start and not steps_done(folder):
        model.load_state_dict(load_model(plan.start)[0].state_dict())
    return model


def train_as_worker(folder: str | Path, plan: Plan, options: dict[str, Any]) -> str | None:
    """`train` in one of the processes of `attnlib.train.elastic`; returns the sentence of an error that all meet."""
    restarts, stop = int(os.environ["TORCHELASTIC_RESTART_COUNT"]), StopWhenAsked(patient=True)
    with joined(), stop.listening():
        workers = WorkerGroup()
        if restarts and workers.rank == 0:
            print(f"All {workers.world_size} go on from step {steps_done(folder)}.", flush=True)
        try:
            train(folder, plan, workers=workers, stop=stop, **options)
        except (ValueError, OSError, CheckpointError, TrainingStopped) as error:
            return str(error)
    return None


def held_out_curve(folder: str | Path) -> list[tuple[int, float]]:
    """The held-out loss of the training in this folder, as pairs of a step and a loss."""
    found = load_checkpoint(Path(folder) / "checkpoints")
    return [] if found is None else found.state["held_out"]["curve"]


def load_trained(folder: str | Path) -> tuple[GPT, Tokenizer]:
    """The model of a folder, with the best parameters so far, and its tokenizer."""
    model, by = of_training(Path(folder))
    return model.to(device().type), by

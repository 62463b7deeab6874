"""Train the course's own model: a small GPT that has read the standard library of CPython 3.11 (book: Chapter 4).

The tokenizer's merges are learned first, then the model's parameters; both are stored in `attnlib/data/course/`, with
the curve of the held-out modules in `attnlib/data/results/course_model.json`. The same command goes on from the newest
checkpoint.

    python experiments/course_model.py                # all of it
    python experiments/course_model.py --steps 300    # a shorter schedule, for trying; stores nothing in the package
"""

import argparse
import json
import math
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.optim.lr_scheduler import LambdaLR

from attnlib.data import stdlib
from attnlib.data.bpe.files import load_tokenizer, save_tokenizer
from attnlib.data.bpe.tokenizer import Tokenizer
from attnlib.data.bpe.training import count_words, learn_merges
from attnlib.data.results import save_result
from attnlib.models.course import CONFIG, END, FOLDER
from attnlib.models.gpt import GPT
from attnlib.train.callbacks import Callback
from attnlib.train.fit import fit
from attnlib.train.replay import Replay
from attnlib.train.training import Training

STEPS, BATCH, WARMUP, SEED = 10_000, 16, 200, 0
RATE, DECAY, CLIP, BETAS = 3e-3, 0.1, 1.0, (0.9, 0.95)
EVERY = 50  # steps between checkpoints
PART = 20  # batches of the held-out text that the curve is measured on; the end is measured on all of it
N = CONFIG.context


def tokenizer() -> Tokenizer:
    """The stored one, or one learned now from the modules that are trained on."""
    if (FOLDER / "merges.txt").is_file():
        return load_tokenizer(FOLDER)
    words = count_words(text for _, text in stdlib.texts("train"))
    made = Tokenizer(learn_merges(words, CONFIG.vocab - 257), special=[END])
    save_tokenizer(made, FOLDER)
    return made


def numbers(split: stdlib.Split, work: Path, by: Tokenizer) -> np.ndarray:
    """All texts of a split as one row of tokens, `END` before each; kept in the folder of the work."""
    file = work / f"{split.replace(' ', '-')}.npy"
    if not file.is_file():
        end = by.encode(END)
        rows = [np.array(end + by.encode_ordinary(text), np.uint16) for _, text in stdlib.texts(split)]
        np.save(file, np.concatenate(rows))
    return np.load(file)


def batch(tokens: np.ndarray, step: int) -> Tensor:
    """The rows of a step, N + 1 tokens each; where they begin depends on the seed and the step alone."""
    begins = np.random.default_rng([SEED, step]).integers(0, len(tokens) - N - 1, BATCH)
    return torch.from_numpy(np.stack([tokens[i : i + N + 1] for i in begins]).astype(np.int64))


def rate(step: int, steps: int) -> float:
    """Up on a line, down on a cosine to a tenth."""
    if step < WARMUP:
        return RATE * (step + 1) / WARMUP
    done = (step - WARMUP) / max(1, steps - WARMUP)
    return RATE * (0.1 + 0.45 * (1 + math.cos(math.pi * done)))


def loss(model: GPT, rows: Tensor) -> Tensor:
    """Mean nats a token: each position predicts the next token."""
    scores = model(rows[:, :-1]).flatten(0, 1)
    return torch.nn.functional.cross_entropy(scores.float(), rows[:, 1:].flatten())


def held_out_rows(tokens: np.ndarray) -> Iterator[Tensor]:
    """The held-out text from beginning to end, in rows of N + 1 that share their last token with the next."""
    whole = (len(tokens) - 1) // N
    rows = np.stack([tokens[i * N : (i + 1) * N + 1] for i in range(whole)]).astype(np.int64)
    yield from torch.from_numpy(rows).split(BATCH)


@torch.no_grad()
def nats(model: GPT, rows: list[Tensor]) -> float:
    """Mean nats a token over rows."""
    model.eval()
    with torch.autocast("cpu", torch.bfloat16):
        total = sum(float(loss(model, some)) * len(some) for some in rows)
    model.train()
    return total / sum(len(some) for some in rows)


def optimizer_of(model: GPT) -> torch.optim.AdamW:
    """Matrices and embeddings decay; biases and norms do not. The schedule multiplies a rate of one."""
    wide = [parameter for parameter in model.parameters() if parameter.ndim > 1]
    thin = [parameter for parameter in model.parameters() if parameter.ndim == 1]
    groups = [{"params": wide, "weight_decay": DECAY}, {"params": thin, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=1.0, betas=BETAS)


def looked_at(steps: int) -> set[int]:
    """The steps after which the held-out loss is measured: closer at the beginning."""
    return {round(steps * (i / 24) ** 2) for i in range(25)}


class Curve(Callback):
    """The held-out loss at some steps, with a line on the screen for each."""

    state_key = "curve"

    def __init__(self, rows: list[Tensor], steps: int, a_byte: float) -> None:
        self.rows, self.a_byte, self.due = rows[:PART], a_byte, looked_at(steps)
        self.points: list[dict[str, float]] = []
        self.mean = math.log(CONFIG.vocab)  # of the training loss, over the last steps
        self.seconds = 0.0

    def on_train_begin(self, training: Training) -> None:
        self.look(training)

    def on_step_end(self, training: Training) -> None:
        self.mean = 0.98 * self.mean + 0.02 * training.losses[-1]
        self.look(training)

    def look(self, training: Training) -> None:
        self.seconds, step, model = training.seconds, training.step, training.model
        if step not in self.due or step in {one["step"] for one in self.points}:
            return
        assert isinstance(model, GPT)
        bits = nats(model, self.rows) / math.log(2) * self.a_byte
        self.points.append(
            {"step": step, "bits_per_byte": round(bits, 4), "training_nats": round(self.mean, 4)}
        )
        speed = step * BATCH * N / max(self.seconds, 1e-9)
        left = (training.steps - step) * BATCH * N / max(speed, 1e-9) / 60
        print(f"step {step} of {training.steps}: {bits:.3f} bits a byte held out, {self.mean:.3f} nats, "
              f"{speed:.0f} tokens/s, {left:.0f} min to go", flush=True)  # fmt: skip

    def state_dict(self) -> dict[str, Any]:
        return {"points": self.points, "mean": self.mean}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.points, self.mean = state["points"], state["mean"]


def train(folder: Path, tokens: np.ndarray, steps: int, curve: Curve) -> GPT:
    """All steps that are left; the folder holds the checkpoints."""
    torch.manual_seed(SEED)
    model = GPT(CONFIG)
    optimizer = optimizer_of(model)
    fit(
        model, loss, Replay(batch(tokens, step) for step in count()), steps=steps, optimizer=optimizer,
        schedule=LambdaLR(optimizer, lambda step: rate(step, steps)), clip=CLIP, autocast=torch.bfloat16,
        folder=folder, keep_every=EVERY, callbacks=[curve],
    )  # fmt: skip
    return model


def store(model: GPT, curve: Curve, rows: list[Tensor], a_byte: float, counts: dict[str, Any]) -> None:
    """Parameters in bfloat16, and the curve with the loss of the rounded parameters."""
    from safetensors.torch import save_file

    rounded = {key: value.to(torch.bfloat16) for key, value in model.state_dict().items()}
    rounded.pop("unembed.weight")  # tied: the embedding's own table
    save_file({key: value.contiguous() for key, value in rounded.items()}, FOLDER / "model.safetensors")
    model.load_state_dict(rounded, strict=False)
    data = {
        "settings": {"steps": STEPS, "batch": BATCH, "n": N, "rate": RATE, "warmup": WARMUP, "decay": DECAY,
                     "betas": BETAS, "clip": CLIP,
                     "curve_on": f"the first {PART * BATCH} of {sum(map(len, rows))} held-out rows",
                     "arithmetic": "bfloat16 where autocast uses it"},
        "counts": counts,
        "curve": curve.points,
        "held_out_bits_per_byte": round(nats(model, rows) / math.log(2) * a_byte, 4),
    }  # fmt: skip
    save_result(
        "course_model",
        data,
        seeds=[SEED],
        command="python experiments/course_model.py",
        seconds=curve.seconds,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--work", type=Path, default=Path("_build/course-model"), help="folder of checkpoints and tokens"
    )
    parser.add_argument("--steps", type=int, default=STEPS, help="length of the schedule")
    parser.add_argument("--threads", type=int, default=2)
    asked = parser.parse_args()
    torch.set_num_threads(asked.threads)
    asked.work.mkdir(parents=True, exist_ok=True)
    by = tokenizer()
    tokens = {split: numbers(split, asked.work, by) for split in ("train", "held out")}
    n_bytes = {split: sum(len(text.encode()) for _, text in stdlib.texts(split)) for split in tokens}
    a_byte = len(tokens["held out"]) / n_bytes["held out"]
    counts = {split: {"bytes": n_bytes[split], "tokens": len(tokens[split])} for split in tokens}
    print(json.dumps(counts))
    rows = list(held_out_rows(tokens["held out"]))
    curve = Curve(rows, asked.steps, a_byte)
    model = train(asked.work / f"steps-{asked.steps}", tokens["train"], asked.steps, curve)
    if asked.steps == STEPS:
        store(model, curve, rows, a_byte, counts)


if __name__ == "__main__":
    main()

"""Train the course's own model: a small GPT that has read the standard library of CPython 3.11 (book: Chapter 4).

The tokenizer's merges are learned first, then the model's parameters; both are stored in `attnlib/data/course/`, with
the curve of the held-out modules in `attnlib/data/results/course_model.json`. A checkpoint a minute: the same command
goes on where it was stopped.

    python experiments/course_model.py                # all of it
    python experiments/course_model.py --steps 300    # a shorter schedule, for trying; stores nothing in the package
"""

import argparse
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attnlib.data import stdlib
from attnlib.data.bpe.files import load_tokenizer, save_tokenizer
from attnlib.data.bpe.tokenizer import Tokenizer
from attnlib.data.bpe.training import count_words, learn_merges
from attnlib.data.results import save_result
from attnlib.models.course import CONFIG, END, FOLDER
from attnlib.models.gpt import GPT

STEPS, BATCH, WARMUP, SEED = 10_000, 16, 200, 0
RATE, DECAY, CLIP, BETAS = 3e-3, 0.1, 1.0, (0.9, 0.95)
EVERY = 60.0  # seconds between checkpoints
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
    """The rows of a step, N + 1 tokens each, from places that only the seed and the step decide."""
    places = np.random.default_rng([SEED, step]).integers(0, len(tokens) - N - 1, BATCH)
    return torch.from_numpy(np.stack([tokens[i : i + N + 1] for i in places]).astype(np.int64))


def rate(step: int, steps: int) -> float:
    """Up on a line, down on a cosine to a tenth."""
    if step < WARMUP:
        return RATE * (step + 1) / WARMUP
    done = (step - WARMUP) / max(1, steps - WARMUP)
    return RATE * (0.1 + 0.45 * (1 + math.cos(math.pi * done)))


def loss(model: GPT, rows: Tensor) -> Tensor:
    """Mean nats a token: each position guesses the next."""
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
    """Maps and tables decay; biases and norms do not."""
    wide = [parameter for parameter in model.parameters() if parameter.ndim > 1]
    thin = [parameter for parameter in model.parameters() if parameter.ndim == 1]
    groups = [{"params": wide, "weight_decay": DECAY}, {"params": thin, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=RATE, betas=BETAS)


def looked_at(steps: int) -> set[int]:
    """When the held-out loss is measured: closer at the beginning."""
    return {round(steps * (i / 24) ** 2) for i in range(25)}


class Training:
    """A model on its way, which a file can hold."""

    def __init__(self, file: Path) -> None:
        torch.manual_seed(SEED)
        self.file, self.model = file, GPT(CONFIG)
        self.optimizer = optimizer_of(self.model)
        self.step, self.seconds, self.curve = 0, 0.0, list[dict[str, float]]()
        self.mean = math.log(CONFIG.vocab)  # of the training loss, over the last steps
        if file.is_file():
            kept = torch.load(file, weights_only=True)
            self.model.load_state_dict(kept["model"])
            self.optimizer.load_state_dict(kept["optimizer"])
            self.step, self.seconds, self.curve = kept["step"], kept["seconds"], kept["curve"]
            self.mean = kept["mean"]

    def keep(self) -> None:
        """Write the file at once, so that who is stopped here keeps the one before."""
        half = self.file.with_suffix(".part")
        state = {key: getattr(self, key).state_dict() for key in ("model", "optimizer")}
        numbers = {key: getattr(self, key) for key in ("step", "seconds", "curve", "mean")}
        torch.save(state | numbers, half)
        half.replace(self.file)

    def one_step(self, rows: Tensor, lr: float) -> float:
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        self.optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            value = loss(self.model, rows)
        value.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self.optimizer.step()
        self.step += 1
        return value.item()


def train(training: Training, tokens: np.ndarray, rows: list[Tensor], steps: int, a_byte: float) -> None:
    """All steps that are left, with a line each time the held-out text is read."""
    kept = time.monotonic()
    while True:
        begun = time.monotonic()
        if training.step in looked_at(steps) and training.step not in {one["step"] for one in training.curve}:
            bits = nats(training.model, rows[:PART]) / math.log(2) * a_byte
            training.curve.append(
                {
                    "step": training.step,
                    "bits_per_byte": round(bits, 4),
                    "training_nats": round(training.mean, 4),
                }
            )
            speed = training.step * BATCH * N / max(training.seconds, 1e-9)
            left = (steps - training.step) * BATCH * N / max(speed, 1e-9) / 60
            print(f"step {training.step} of {steps}: {bits:.3f} bits a byte held out, {training.mean:.3f} nats, "
                  f"{speed:.0f} tokens/s, {left:.0f} min to go", flush=True)  # fmt: skip
        if training.step == steps:
            break
        value = training.one_step(batch(tokens, training.step), rate(training.step, steps))
        training.mean = 0.98 * training.mean + 0.02 * value
        training.seconds += time.monotonic() - begun
        if time.monotonic() - kept > EVERY:
            training.keep()
            kept = time.monotonic()
    training.keep()


def store(training: Training, rows: list[Tensor], a_byte: float, counts: dict[str, Any]) -> None:
    """Parameters in bfloat16, and the curve with what the rounded parameters reach."""
    from safetensors.torch import save_file

    rounded = {key: value.to(torch.bfloat16) for key, value in training.model.state_dict().items()}
    rounded.pop("unembed.weight")  # tied: the embedding's own table
    save_file({key: value.contiguous() for key, value in rounded.items()}, FOLDER / "model.safetensors")
    training.model.load_state_dict(rounded, strict=False)
    data = {
        "settings": {"steps": STEPS, "batch": BATCH, "n": N, "rate": RATE, "warmup": WARMUP, "decay": DECAY,
                     "betas": BETAS, "clip": CLIP,
                     "curve_on": f"the first {PART * BATCH} of {sum(map(len, rows))} held-out rows",
                     "arithmetic": "bfloat16 where autocast uses it"},
        "counts": counts,
        "curve": training.curve,
        "held_out_bits_per_byte": round(nats(training.model, rows) / math.log(2) * a_byte, 4),
    }  # fmt: skip
    save_result(
        "course_model",
        data,
        seeds=[SEED],
        command="python experiments/course_model.py",
        seconds=training.seconds,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--work", type=Path, default=Path("_build/course-model"), help="checkpoint and tokens"
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
    training = Training(asked.work / f"steps-{asked.steps}.pt")
    train(training, tokens["train"], rows, asked.steps, a_byte)
    if asked.steps == STEPS:
        store(training, rows, a_byte, counts)


if __name__ == "__main__":
    main()

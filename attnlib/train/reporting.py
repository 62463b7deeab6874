"""What `attnlib train` tells while it works: a line on the screen, a log of the curve, and texts that the model writes.

On a terminal the line is written anew after each step. Elsewhere, in a file or a pipe, there is a line for each
measurement and one each minute. `log.csv` and `samples.txt` lie in the folder; after a training was killed, both lose
what came after its last checkpoint.
"""

import csv
import re
import sys
import time
from pathlib import Path

import numpy as np
import torch

from attnlib import decode
from attnlib.data.bpe.tokenizer import Tokenizer
from attnlib.train.callbacks import Callback, progress_line, time_left
from attnlib.train.held_out import HeldOut
from attnlib.train.texts import END
from attnlib.train.training import Training

LOG, SAMPLES = "log.csv", "samples.txt"
COLUMNS = ("step", "tokens", "seconds", "rate", "loss", "held_out")
ROWS = 200  # of the log
KNOWN = 5  # steps after which the time of all of them is known
OFTEN = 4  # measurements for each sample
WRITTEN, WIDE, PAUSE = (
    60,
    100,
    60.0,
)  # tokens of a sample, characters of it on the screen, seconds between two lines


class Log(Callback):
    """A row of `log.csv` for every measurement, and about 200 in all; the loss is the mean since the row before."""

    def __init__(self, folder: str | Path, held_out: HeldOut) -> None:
        self.file, self.held_out, self.last = Path(folder) / LOG, held_out, 0

    def on_train_begin(self, training: Training) -> None:
        rows = []
        if self.file.is_file() and training.step:
            with self.file.open(newline="", encoding="utf-8") as file:
                rows = [
                    row for row in csv.reader(file) if row[0].isdecimal() and int(row[0]) <= training.step
                ]
        part = self.file.with_name(f"{LOG}.part")
        with part.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([COLUMNS, *rows])
        part.replace(self.file)
        self.last = int(rows[-1][0]) if rows else training.step

    def on_step_end(self, training: Training) -> None:
        curve = self.held_out.curve
        measured = bool(curve) and curve[-1][0] == training.step
        due = training.step % max(1, training.steps // ROWS) == 0 or training.step == training.steps
        if not (measured or due or training.should_stop):
            return
        loss = np.mean(training.losses[self.last :])
        seen = f"{curve[-1][1]:.5f}" if measured else ""
        rate = f"{training.optimizer.param_groups[0]['lr']:.6g}"
        row = (training.step, training.tokens, f"{training.seconds:.1f}", rate, f"{loss:.5f}", seen)
        with self.file.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file).writerow(row)
        self.last = training.step


class Samples(Callback):
    """What the model writes after each fourth measurement, always after the same beginning and with the same draws."""

    def __init__(
        self, folder: str | Path, held_out: HeldOut, tokenizer: Tokenizer, begin: str, shown: bool
    ) -> None:
        self.file, self.held_out, self.tokenizer = Path(folder) / SAMPLES, held_out, tokenizer
        self.begin, self.shown = begin, shown

    def on_train_begin(self, training: Training) -> None:
        text = self.file.read_text(encoding="utf-8") if self.file.is_file() and training.step else ""
        known = [one for one in re.split(r"(?m)^(?=--- step \d+ ---$)", text) if one.startswith("--- step ")]
        kept = [one for one in known if int(one.split(" ", 3)[2]) <= training.step]
        self.file.write_text("".join(kept), encoding="utf-8")

    def on_step_end(self, training: Training) -> None:
        curve = self.held_out.curve
        measured = bool(curve) and curve[-1][0] == training.step
        if not measured or (len(curve) % OFTEN and training.step != training.steps):
            return
        text = written(training.model, self.tokenizer, self.begin)
        with self.file.open("a", encoding="utf-8") as file:
            file.write(f"--- step {training.step} ---\n{text}\n")
        if self.shown:
            line = " ".join(text.split())
            begin = "\n" if sys.stdout.isatty() else ""  # below the line of progress
            print(f"{begin}  it writes: {line[:WIDE]}{' ...' * (len(line) > WIDE)}", flush=True)


def written(model: torch.nn.Module, by: Tokenizer, begin: str) -> str:
    """A beginning and what the model writes after it."""
    config = model.config
    assert not isinstance(config, torch.Tensor | torch.nn.Module)
    read = [by.numbers[END], *by.encode_ordinary(begin)][-(config.context // 2) :]
    prefix = torch.tensor([read], device=next(model.parameters()).device)
    choose = decode.sampler(np.random.default_rng(0), temperature=0.8)
    room = min(WRITTEN, config.context - len(read))
    new = model.generate(prefix, max_new_tokens=room, choose=choose, stop=[by.numbers[END]])  # type: ignore[operator]
    return begin + by.decode(number for number in new[0].tolist() if number != by.numbers[END])


class Lines(Callback):
    """The line of progress; a reader that has gone, as `head` does, ends the training, which is kept."""

    def __init__(self, held_out: HeldOut) -> None:
        self.held_out, self.terminal = held_out, sys.stdout.isatty()
        self.begun, self.last = 0, 0.0

    def on_train_begin(self, training: Training) -> None:
        self.begun, self.before, self.last = training.step, training.seconds, time.monotonic()
        if training.step:
            print(f"It goes on from step {training.step}.", flush=True)

    def on_step_end(self, training: Training) -> None:
        try:
            self.tell(training)
        except BrokenPipeError:
            training.should_stop = True

    def tell(self, training: Training) -> None:
        made = training.step - self.begun
        if made == KNOWN and training.step < training.steps:
            whole = (training.seconds - self.before) / made * (training.steps - self.begun)
            line = f"It takes about {time_left(whole)} in all, by the first {KNOWN} steps."
            print(f"\r{line:<90}" if self.terminal else line, flush=True)
        line = progress_line(training, self.held_out)
        if self.terminal:
            print(f"\r{line:<90}", end="", flush=True)
            return
        curve, now = self.held_out.curve, time.monotonic()
        last = training.step == training.steps or training.should_stop
        if (curve and curve[-1][0] == training.step) or last or now - self.last >= PAUSE:
            print(line, flush=True)
            self.last = now

    def on_train_end(self, training: Training) -> None:
        if self.terminal:
            print()


def reports(
    folder: str | Path, held_out: HeldOut, tokenizer: Tokenizer, *, sample: str, shown: bool
) -> list[Callback]:
    """All three, of which the first two write files; `shown` on the screen as well."""
    files = [Log(folder, held_out), Samples(folder, held_out, tokenizer, sample, shown)]
    return [*([Lines(held_out)] if shown else []), *files]

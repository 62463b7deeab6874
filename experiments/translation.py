"""Train the course's translator: a small encoder-decoder for the English-French corpus (book: translation).

Its parameters are stored in `attnlib/data/translation/`, and what it can do in `attnlib/data/results/translation.json`.
A checkpoint a minute: the same command goes on where it was stopped.

    python experiments/translation.py                # all of it
    python experiments/translation.py --others       # as well from three other starts; stores what these can do
    python experiments/translation.py --steps 300    # a shorter schedule, for trying; stores nothing in the package
"""

import argparse
import math
import time
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from attnlib.data.bilingual import Pair, corpus, source_vocab, target_vocab
from attnlib.data.results import save_result
from attnlib.data.vocab import Batch, batch, batches
from attnlib.models.encoder_decoder import EncoderDecoder
from attnlib.models.translator import FOLDER, LENGTHS, translator_config
from attnlib.train.translation import accuracy, sequence_loss

STEPS, BATCH, SENTENCES, WARMUP, SEED, OTHERS = 6000, 64, 100_000, 200, 0, (1, 2, 3)
RATE, CLIP, BETAS = 4e-3, 1.0, (0.9, 0.98)
EVERY = 60.0  # seconds between checkpoints
LOOK = 200  # steps between measurements of the curve
BEYOND = (17, 18, 19, 20, 22, 24)  # words: longer than any sentence that it is trained on


def rate(step: int, steps: int) -> float:
    """Up on a line, down on a cosine to a fiftieth."""
    if step < WARMUP:
        return RATE * (step + 1) / WARMUP
    done = (step - WARMUP) / max(1, steps - WARMUP)
    return RATE * (0.02 + 0.49 * (1 + math.cos(math.pi * done)))


def encoded(pairs: list[Pair]) -> Batch:
    return batch(pairs, source_vocab(), target_vocab())


class Training:
    """A model on its way, which a file can hold."""

    def __init__(self, file: Path, seed: int = SEED) -> None:
        torch.manual_seed(seed)
        self.file, self.seed, self.model = file, seed, EncoderDecoder(translator_config())
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=RATE, betas=BETAS)
        self.step, self.seconds, self.curve = 0, 0.0, list[dict[str, float]]()
        if file.is_file():
            kept = torch.load(file, weights_only=True)
            self.model.load_state_dict(kept["model"])
            self.optimizer.load_state_dict(kept["optimizer"])
            self.step, self.seconds, self.curve = kept["step"], kept["seconds"], kept["curve"]

    def keep(self) -> None:
        """Write the file at once, so that who is stopped here keeps the one before."""
        half = self.file.with_suffix(".part")
        state = {key: getattr(self, key).state_dict() for key in ("model", "optimizer")}
        torch.save(state | {key: getattr(self, key) for key in ("step", "seconds", "curve")}, half)
        half.replace(self.file)

    def one_step(self, data: Batch, lr: float) -> float:
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        self.model.train()
        self.optimizer.zero_grad()
        value = sequence_loss(self.model, data)
        value.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self.optimizer.step()
        self.step += 1
        return value.item()


def train(training: Training, steps: int) -> None:
    """All steps that are left."""
    source, target = source_vocab(), target_vocab()
    watched = encoded(corpus(500, lengths=LENGTHS, split="valid", seed=1))
    pairs = corpus(SENTENCES, lengths=LENGTHS, seed=training.seed)
    endless = batches(pairs, source, target, BATCH, seed=training.seed, epochs=None)
    kept = time.monotonic()
    for data in islice(endless, training.step, steps):
        begun = time.process_time()
        loss = training.one_step(data, rate(training.step, steps))
        training.seconds += time.process_time() - begun
        if training.step % LOOK == 0:
            now = {key: round(value, 4) for key, value in accuracy(training.model, watched)._asdict().items()}
            training.curve.append({"step": training.step, "loss": round(loss, 4), **now})
            print(
                f"step {training.step} of {steps}, {training.seconds:.0f} s: loss {loss:.4f}, {now}",
                flush=True,
            )
        if time.monotonic() - kept > EVERY:
            training.keep()
            kept = time.monotonic()
    training.keep()


def by_length(model: EncoderDecoder, size: int) -> dict[str, Any]:
    """The share of sentences said without a wrong word, for each length, held out."""
    lengths = [*range(LENGTHS[0], LENGTHS[1] + 1), *BEYOND]
    tests = [encoded(corpus(size, lengths=(n, n), split="test", seed=2)) for n in lengths]
    return {"lengths": lengths, "exact": [round(accuracy(model, data).exact, 4) for data in tests]}


def reached(model: EncoderDecoder) -> dict[str, Any]:
    """What a model can do with sentences that it was never trained on."""
    held_out = accuracy(model, encoded(corpus(2000, lengths=LENGTHS, split="test", seed=3)))
    return {
        "held_out": {key: round(value, 4) for key, value in held_out._asdict().items()},
        "by_length": by_length(model, 500),
    }


def rounded(model: EncoderDecoder) -> dict[str, torch.Tensor]:
    """The parameters in bfloat16; from now on they are the model's, too."""
    values = {key: value.to(torch.bfloat16) for key, value in model.state_dict().items()}
    values.pop("unembed.weight")  # tied: the table of the French words
    model.load_state_dict(values, strict=False)
    return values


def store(training: Training) -> None:
    """The rounded parameters, and what they reach."""
    from safetensors.torch import save_file

    FOLDER.mkdir(exist_ok=True)
    values = rounded(training.model)
    save_file({key: value.contiguous() for key, value in values.items()}, FOLDER / "model.safetensors")
    data = {
        "settings": {"steps": STEPS, "batch": BATCH, "sentences": SENTENCES, "lengths": LENGTHS, "rate": RATE,
                     "warmup": WARMUP, "betas": BETAS, "clip": CLIP},
        "curve": training.curve,
        **reached(training.model),
    }  # fmt: skip
    print(data["held_out"], data["by_length"])
    command = "python experiments/translation.py"
    save_result("translation", data, seeds=[SEED], command=command, seconds=training.seconds)


def store_others(work: Path) -> None:
    """Train from other starts, on other sentences; what these models reach."""
    found, seconds = [], 0.0
    for seed in OTHERS:
        training = Training(work / f"steps-{STEPS}-seed-{seed}.pt", seed)
        train(training, STEPS)
        rounded(training.model)
        found.append(reached(training.model))
        seconds += training.seconds
        print(seed, found[-1], flush=True)
    command = "python experiments/translation.py --others"
    save_result("translation_others", {"starts": found}, seeds=OTHERS, command=command, seconds=seconds)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--work", type=Path, default=Path("_build/translation"), help="where the checkpoint is"
    )
    parser.add_argument("--steps", type=int, default=STEPS, help="length of the schedule")
    parser.add_argument("--others", action="store_true", help="train from three other starts")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    asked.work.mkdir(parents=True, exist_ok=True)
    if asked.others:
        store_others(asked.work)
        return
    training = Training(asked.work / f"steps-{asked.steps}.pt")
    train(training, asked.steps)
    if asked.steps == STEPS:
        store(training)


if __name__ == "__main__":
    main()

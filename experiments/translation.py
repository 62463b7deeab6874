"""Train the course's translator: a small encoder-decoder for the English-French corpus.

Book: encoder-decoder-translation. Its parameters are stored in `attnlib/data/translation/`, and what it can do in
`attnlib/data/results/translation.json`. The same command goes on from the newest checkpoint.

    python experiments/translation.py                # all of it
    python experiments/translation.py --others       # three more models from other seeds; stores what they can do
    python experiments/translation.py --steps 300    # a shorter schedule, for trying; stores nothing in the package
"""

import argparse
import math
from pathlib import Path
from typing import Any

import torch
from torch.optim.lr_scheduler import LambdaLR

from attnlib.data.bilingual import Pair, corpus, source_vocab, target_vocab
from attnlib.data.results import save_result
from attnlib.data.vocab import Batch, batch, batches
from attnlib.models.encoder_decoder import EncoderDecoder
from attnlib.models.translator import FOLDER, LENGTHS, translator_config
from attnlib.train.callbacks import Callback
from attnlib.train.fit import fit
from attnlib.train.replay import Replay
from attnlib.train.training import Training
from attnlib.train.translation import accuracy, sequence_loss

STEPS, BATCH, SENTENCES, WARMUP, SEED, OTHERS = 6000, 64, 100_000, 200, 0, (1, 2, 3)
RATE, CLIP, BETAS = 4e-3, 1.0, (0.9, 0.98)
EVERY = 200  # steps between checkpoints, and between measurements of the curve
BEYOND = (17, 18, 19, 20, 22, 24)  # words: longer than any sentence that it is trained on


def rate(step: int, steps: int) -> float:
    """Up on a line, down on a cosine to a fiftieth."""
    if step < WARMUP:
        return RATE * (step + 1) / WARMUP
    done = (step - WARMUP) / max(1, steps - WARMUP)
    return RATE * (0.02 + 0.49 * (1 + math.cos(math.pi * done)))


def encoded(pairs: list[Pair]) -> Batch:
    return batch(pairs, source_vocab(), target_vocab())


class Curve(Callback):
    """The accuracy on held-out sentences every so many steps, with a line on the screen for each."""

    state_key = "curve"

    def __init__(self) -> None:
        self.watched = encoded(corpus(500, lengths=LENGTHS, split="valid", seed=1))
        self.points: list[dict[str, float]] = []
        self.seconds = 0.0

    def on_train_begin(self, training: Training) -> None:
        self.seconds = training.seconds

    def on_step_end(self, training: Training) -> None:
        step, loss, self.seconds, model = training.step, training.losses[-1], training.seconds, training.model
        if step % EVERY:
            return
        assert isinstance(model, EncoderDecoder)
        now = {key: round(value, 4) for key, value in accuracy(model, self.watched)._asdict().items()}
        self.points.append({"step": step, "loss": round(loss, 4), **now})
        print(f"step {step} of {training.steps}, {self.seconds:.0f} s: loss {loss:.4f}, {now}", flush=True)

    def state_dict(self) -> dict[str, Any]:
        return {"points": self.points}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.points = state["points"]


def train(folder: Path, steps: int, curve: Curve, seed: int = SEED) -> EncoderDecoder:
    """All steps that are left; the folder holds the checkpoints."""
    torch.manual_seed(seed)
    model = EncoderDecoder(translator_config())
    # The schedule multiplies a rate of one.
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0, betas=BETAS)
    pairs = corpus(SENTENCES, lengths=LENGTHS, seed=seed)
    endless = batches(pairs, source_vocab(), target_vocab(), BATCH, seed=seed, epochs=None)
    fit(
        model, sequence_loss, Replay(endless), steps=steps, optimizer=optimizer, clip=CLIP,
        schedule=LambdaLR(optimizer, lambda step: rate(step, steps)), folder=folder, keep_every=EVERY,
        callbacks=[curve],
    )  # fmt: skip
    return model


def by_length(model: EncoderDecoder, size: int) -> dict[str, Any]:
    """The share of held-out sentences that are translated without a wrong word, for each length."""
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


def store(model: EncoderDecoder, curve: Curve) -> None:
    """The rounded parameters, and what they reach."""
    from safetensors.torch import save_file

    FOLDER.mkdir(exist_ok=True)
    values = rounded(model)
    save_file({key: value.contiguous() for key, value in values.items()}, FOLDER / "model.safetensors")
    data = {
        "settings": {"steps": STEPS, "batch": BATCH, "sentences": SENTENCES, "lengths": LENGTHS, "rate": RATE,
                     "warmup": WARMUP, "betas": BETAS, "clip": CLIP},
        "curve": curve.points,
        **reached(model),
    }  # fmt: skip
    print(data["held_out"], data["by_length"])
    command = "python experiments/translation.py"
    save_result("translation", data, seeds=[SEED], command=command, seconds=curve.seconds)


def store_others(work: Path) -> None:
    """Train models from other seeds, on other sentences; what they reach."""
    found, seconds = [], 0.0
    for seed in OTHERS:
        curve = Curve()
        model = train(work / f"steps-{STEPS}-seed-{seed}", STEPS, curve, seed)
        rounded(model)
        found.append(reached(model))
        seconds += curve.seconds
        print(seed, found[-1], flush=True)
    command = "python experiments/translation.py --others"
    save_result("translation_others", {"starts": found}, seeds=OTHERS, command=command, seconds=seconds)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--work", type=Path, default=Path("_build/translation"), help="folder of the checkpoints"
    )
    parser.add_argument("--steps", type=int, default=STEPS, help="length of the schedule")
    parser.add_argument("--others", action="store_true", help="train from three other seeds")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    asked.work.mkdir(parents=True, exist_ok=True)
    if asked.others:
        store_others(asked.work)
        return
    curve = Curve()
    model = train(asked.work / f"steps-{asked.steps}", asked.steps, curve)
    if asked.steps == STEPS:
        store(model, curve)


if __name__ == "__main__":
    main()

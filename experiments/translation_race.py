"""A transformer and Chapter 1's recurrent translator, trained for the same time (book: encoder-decoder-translation).

The budget is processor time on one core, in seconds, because a step of the one costs more than a step of the other. So
the number of steps depends on the machine, and no result can be repeated to the last digit.
Both read the same sentences in batches of one size. Stores attnlib/data/results/translation_race.json.

    python experiments/translation_race.py              # everything that is missing
    python experiments/translation_race.py --hours 0.2  # starts no trial after twelve minutes of processor time
"""

import sys
import time
from functools import cache
from typing import Any

import torch
from _runner import Experiment, main
from torch.optim.lr_scheduler import LambdaLR

from attnlib.data.bilingual import Pair, corpus, source_vocab, target_vocab
from attnlib.data.vocab import batch, batches
from attnlib.models.encoder_decoder import EncoderDecoder
from attnlib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from attnlib.models.translator import LENGTHS, translator_config
from attnlib.train.callbacks import Callback
from attnlib.train.fit import fit
from attnlib.train.training import Training
from attnlib.train.translation import accuracy, sequence_loss

SECONDS, BATCH, SENTENCES, WIDTH = 5, 32, 30_000, 64


@cache
def sentences(seed: int) -> list[Pair]:
    """What both models read."""
    return corpus(SENTENCES, lengths=LENGTHS, seed=seed)


def model_of(kind: str) -> EncoderDecoder | Seq2Seq:
    """The translator of this page, or one of Chapter 1 with attention by dot products, as wide."""
    if kind == "transformer":
        return EncoderDecoder(translator_config())
    sizes = len(source_vocab()), len(target_vocab())
    return Seq2Seq(Seq2SeqConfig(*sizes, attention=kind, d_embedding=WIDTH, d_hidden=WIDTH))


class Clock(Callback):
    """Ends the training after some seconds of processor time."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.started = seconds, time.process_time()

    def share(self) -> float:
        """Of the time, what is over."""
        return (time.process_time() - self.started) / self.seconds

    def factor(self, step: int) -> float:
        """The learning rate as a share of its peak; it depends on the time, not on the step."""
        share = self.share()
        return min(share / 0.05 + 0.01, 1, 2 - 2 * share)

    def on_step_end(self, training: Training) -> None:
        training.should_stop = self.share() >= 1


def trial(seed: int, steps: int, lr: float, kind: str) -> dict[str, Any]:
    """Train for `steps` seconds; the rate rises at first, stays until half of the time, and falls to zero."""
    torch.manual_seed(seed)
    model = model_of(kind)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    endless = batches(sentences(seed), source_vocab(), target_vocab(), BATCH, seed=seed, epochs=None)
    clock = Clock(steps)
    losses = fit(
        model, sequence_loss, endless, steps=sys.maxsize, optimizer=optimizer,
        schedule=LambdaLR(optimizer, clock.factor), callbacks=[clock],
    )  # fmt: skip
    unseen = batch(corpus(500, lengths=LENGTHS, split="test", seed=5), source_vocab(), target_vocab())
    return {**accuracy(model, unseen)._asdict(), "training_steps": len(losses)}


EXPERIMENT = Experiment(
    name="translation_race",
    question="which of two models translates more sentences exactly after the same time of training?",
    trial=trial,
    arms={"equal time": {"transformer": {"kind": "transformer"}, "recurrent": {"kind": "dot"}}},
    steps=SECONDS,
    rates=(1.5e-3, 3e-3, 6e-3, 1.2e-2),
    settings={"unit": "seconds", "batch": BATCH, "sentences": SENTENCES, "width": WIDTH, "lengths": LENGTHS},
    figure="exact",
)

if __name__ == "__main__":
    main(EXPERIMENT)

"""A transformer and Chapter 1's recurrent translator, trained for the same time (book: translation).

The budget is processor time on one core, in seconds, because a step of the one costs more than a step of the other.
Both read the same sentences in batches of one size. Stores attnlib/data/results/translation_race.json.

    python experiments/translation_race.py              # everything that is missing
    python experiments/translation_race.py --hours 0.2  # starts no trial after twelve minutes of processor time
"""

import time
from functools import cache
from typing import Any

import torch
from _runner import Experiment, main

from attnlib.data.bilingual import Pair, corpus, source_vocab, target_vocab
from attnlib.data.vocab import batch, batches
from attnlib.models.encoder_decoder import EncoderDecoder
from attnlib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from attnlib.models.translator import LENGTHS, translator_config
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


def trial(seed: int, steps: int, lr: float, kind: str) -> dict[str, Any]:
    """Train for `steps` seconds; the rate rises at first, stays until half of the time, and falls to zero."""
    torch.manual_seed(seed)
    model = model_of(kind)
    optimizer = torch.optim.Adam(model.parameters())
    endless = batches(sentences(seed), source_vocab(), target_vocab(), BATCH, seed=seed, epochs=None)
    started = time.process_time()
    done = 0
    while (share := (time.process_time() - started) / steps) < 1:
        done += 1
        optimizer.param_groups[0]["lr"] = lr * min(share / 0.05 + 0.01, 1, 2 - 2 * share)
        model.train()
        loss = sequence_loss(model, next(endless))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    unseen = batch(corpus(500, lengths=LENGTHS, split="test", seed=5), source_vocab(), target_vocab())
    return {**accuracy(model, unseen)._asdict(), "training_steps": done}


EXPERIMENT = Experiment(
    name="translation_race",
    question="which of two models translates more sentences exactly after the same time of training?",
    trial=trial,
    arms={"equal time": {"transformer": {"kind": "transformer"}, "recurrent": {"kind": "dot"}}},
    steps=SECONDS,
    rates=(3e-3, 6e-3, 1.2e-2),
    settings={"unit": "seconds", "batch": BATCH, "sentences": SENTENCES, "width": WIDTH, "lengths": LENGTHS},
    figure="exact",
)

if __name__ == "__main__":
    main(EXPERIMENT)

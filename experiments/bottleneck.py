"""Translation with one vector and with attention: how many steps, and up to which length? (book: the-bottleneck)

Small GRU encoder-decoders learn to translate the synthetic English-French corpus. Measured on sentences that no model
has seen: the share of right words while it learns and at the end, right words and sentences by length (also longer ones
than in training), and how close attention comes to the true alignment.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
from _runner import Experiment, main

from attnlib.data.bilingual import Pair, corpus, economic_area, source_vocab, target_vocab
from attnlib.data.vocab import EOS, Batch, batch
from attnlib.metrics.alignment import alignment_error_rate, diagonal_links, links_from_weights
from attnlib.models.seq2seq import Seq2Seq
from attnlib.train.translation import accuracy, tensors, train_translator, translate, weights_of

TRAINED = (3, 20)  # source lengths in training; the tests go beyond
LENGTHS = tuple(range(4, 41, 2))  # source lengths in the test, one group each
STEPS, LOOKS, WIDTH, BATCH, TRAIN, TEST = 1500, 30, 64, 64, 100_000, 200


def encoded(pairs: Sequence[Pair]) -> Batch:
    return batch(pairs, source_vocab(), target_vocab())


@lru_cache(maxsize=7)
def sentences(size: int, seed: int) -> list[Pair]:
    """What one seed is trained on."""
    return corpus(size, lengths=TRAINED, seed=seed)


def trial(
    seed: int, steps: int, lr: float, *, attention: str, train_size: int = TRAIN, test_size: int = TEST
) -> dict[str, Any]:
    """Train one model; how it came to be right, and how right it is by length."""
    watched = encoded(corpus(300, lengths=TRAINED, split="valid", seed=1))
    curve: dict[str, list[float]] = {"step": [], "right": []}
    every = max(steps // LOOKS, 1)

    def look(model: Seq2Seq, step: int, _: float) -> None:
        if step % every == 0:
            curve["step"].append(step)
            curve["right"].append(accuracy(model, watched).token)

    sizes = {"d_hidden": WIDTH, "d_embedding": WIDTH, "d_attention": WIDTH}
    model = train_translator(
        sentences(train_size, seed), attention, steps=steps, seed=seed, lr=lr, batch_size=BATCH,
        after_step=look, **sizes,
    )  # fmt: skip
    return {
        "right": curve["right"][-1],
        "curve": curve,
        **by_length(model, test_size),
        "said": document_sentence(model),
        **({} if attention == "none" else looks(model, test_size)),
    }


def by_length(model: Seq2Seq, size: int) -> dict[str, list[float]]:
    """Right words and right sentences among unseen ones of each length."""
    tests = [encoded(corpus(size, lengths=(n, n), split="test", seed=2)) for n in LENGTHS]
    measured = [accuracy(model, data) for data in tests]
    return {"token": [one.token for one in measured], "exact": [one.exact for one in measured]}


def document_sentence(model: Seq2Seq) -> list[str]:
    """The model's translation of the documents' sentence, word by word."""
    t = tensors(encoded([economic_area()]))
    said, _ = translate(model.eval(), t.source, t.source_mask)
    numbers = said[0].tolist()
    return [*target_vocab().decode(numbers), *(["<end>"] if EOS in numbers else [])]


# --- where it looks --------------------------------------------------------------------------------------------------


def looks(model: Seq2Seq, size: int) -> dict[str, Any]:
    """The alignment error rate of the largest weights, and the weights for the documents' sentence."""
    pairs = aligned(size)
    links = [links_from_weights(P) for P in weights_of(model, pairs)]
    return {
        "error_rate": error_rate(links, pairs),
        "map": weights_of(model, [economic_area()], end=True)[0],
    }


def aligned(size: int) -> list[Pair]:
    """The sentences whose alignment is measured."""
    return corpus(2 * size, lengths=TRAINED, split="test", seed=4)


def error_rate(links: list[set[tuple[int, int]]], pairs: list[Pair]) -> float:
    """The alignment error rate over a whole corpus."""
    A = {(k, *link) for k, mine in enumerate(links) for link in mine}
    S = {(k, *link) for k, pair in enumerate(pairs) for link in pair.sure}
    P = {(k, *link) for k, pair in enumerate(pairs) for link in pair.possible}
    return round(alignment_error_rate(A, S, P), 4)


def baselines(size: int = TEST) -> dict[str, float]:
    """The alignment error rate of two baselines: along the diagonal, and at random."""
    pairs, rng = aligned(size), np.random.default_rng(5)
    diagonal = [diagonal_links(len(pair.source), len(pair.target)) for pair in pairs]
    blind = [{(int(rng.integers(len(pair.source))), i) for i in range(len(pair.target))} for pair in pairs]
    return {"diagonal": error_rate(diagonal, pairs), "random": error_rate(blind, pairs)}


@cache
def beside() -> dict[str, Any]:
    sentence = economic_area()
    return {
        "lengths": LENGTHS,
        "baselines": baselines(),
        "sentence": {"source": sentence.source, "target": sentence.target, "sure": sentence.sure},
    }


EXPERIMENT = Experiment(
    name="bottleneck",
    question="how soon does a translator learn with one vector and with attention, and up to which length?",
    trial=trial,
    arms={
        "translation": {
            "one vector": {"attention": "none"},  # the same context at every step (Cho)
            "attention, additive": {"attention": "additive"},  # with the state before the step (Bahdanau)
            "attention, dot product": {"attention": "dot"},  # with the state of the step (Luong)
        }
    },
    steps=STEPS,
    rates=(5e-3, 1e-2, 2e-2),
    settings={
        "width": WIDTH, "batch": BATCH, "trained_lengths": TRAINED, "sentences": TRAIN, "tested": TEST,
    },
    figure="right",
    once=beside,
)  # fmt: skip

if __name__ == "__main__":
    main(EXPERIMENT)

"""Does a head find the subject of a verb, though it is not trained to? (book: heads-at-work)

Small causal models learn to predict the next word of the corpus's English sentences. At the word before a finite verb
they must know the number of the subject, which may stand several words back, behind a noun of the other number (the
"hard" sentences). Measured there: how often the verb's number is right, how much weight each head has on the subject
and on the noun between, and what happens without the head that looks at the subject most. What a fixed distance would
find needs no training.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from _runner import SEEDS, Experiment, main

from attnlib.data.agreement import Agreement, agreements, finite_forms
from attnlib.data.bilingual import Pair, corpus, source_vocab
from attnlib.data.vocab import pad
from attnlib.interpret.capture import capture
from attnlib.interpret.distance import mean_distance
from attnlib.interpret.importance import all_gated
from attnlib.interpret.patterns import evenness
from attnlib.models.stack import Stack, stack_config
from attnlib.train.fit import fit
from attnlib.train.toy import Examples, answer_loss

LENGTHS, WIDTH, LAYERS, HEADS, BATCH = (3, 12), 64, 3, 4, 64
TRAIN, TEST = 50_000, 1500  # sentences


class Places(NamedTuple):
    """For each finite verb: its sentence, the word before it, and the noun that it agrees with."""

    sentence: int
    row: int
    verb: Agreement


def next_words(pairs: Sequence[Pair]) -> Examples:
    """Every word but the last goes in; the answer at each position is the next word."""
    tokens, mask = pad([source_vocab().encode(pair.source) for pair in pairs])
    tokens, mask = torch.from_numpy(tokens), torch.from_numpy(mask)
    return Examples(tokens[:, :-1], tokens[:, 1:][mask[:, 1:]], mask[:, 1:])


@lru_cache(maxsize=7)
def sentences(size: int, seed: int) -> list[Pair]:
    """What one seed is trained on."""
    return corpus(size, lengths=LENGTHS, seed=seed)


@cache
def unseen(size: int) -> list[Pair]:
    return corpus(size, lengths=LENGTHS, split="test", seed=5)


def batches(pairs: Sequence[Pair], seed: int) -> Iterator[Examples]:
    rng = np.random.default_rng(seed)
    while True:
        yield next_words([pairs[i] for i in rng.integers(len(pairs), size=BATCH)])


def places(pairs: Sequence[Pair]) -> list[Places]:
    return [Places(b, verb.verb - 1, verb) for b, pair in enumerate(pairs) for verb in agreements(pair)]


@torch.no_grad()
def right_number(model: Stack, data: Examples, where: Sequence[Places]) -> np.ndarray:
    """For each verb, whether the forms of its number are together likelier than the others."""
    P = model.eval()(data.tokens).softmax(-1)
    singular, plural = (source_vocab().encode(sorted(forms)) for forms in finite_forms())
    rows = P[[one.sentence for one in where], [one.row for one in where]]
    says_plural = rows[:, plural].sum(-1) > rows[:, singular].sum(-1)
    return says_plural.numpy() == np.array([one.verb.plural for one in where])


def weights(model: Stack, data: Examples) -> np.ndarray:
    """(layers, inputs, heads, n, n)."""
    with capture(model) as seen, torch.no_grad():
        model(data.tokens)
    return np.stack([seen[f"blocks.{l}.attention.P"].numpy() for l in range(LAYERS)])


def weight_at(P: np.ndarray, where: Sequence[Places], who: str) -> np.ndarray:
    """The mean weight (layers, heads) on the "subject" or the noun "between", seen from the word before the verb."""
    return np.mean([P[:, one.sentence, :, one.row, getattr(one.verb, who)] for one in where], axis=0)


def fixed_distance(where: Sequence[Places]) -> float:
    """The share of verbs whose subject stands at the commonest distance: what a positional head could get."""
    return Counter(one.row - one.verb.subject for one in where).most_common(1)[0][1] / len(where)


def model_of(seed: int) -> Stack:
    """A model before its training."""
    torch.manual_seed(seed)
    words = len(source_vocab())
    return Stack(
        stack_config(
            words, words, d_model=WIDTH, n_heads=HEADS, n_layers=LAYERS, causal=True, d_hidden=2 * WIDTH, norm=True,
            context=LENGTHS[1],
        )
    )  # fmt: skip


def trial(
    seed: int, steps: int, lr: float, *, train_size: int = TRAIN, test_size: int = TEST
) -> dict[str, Any]:
    """Train one model; whether it knows the number of its verbs, and where its heads look for it."""
    model = model_of(seed)
    fit(model, answer_loss, batches(sentences(train_size, seed), seed), steps=steps, lr=lr)
    test = unseen(test_size)
    data, hard = next_words(test), hard_places(test)
    P = weights(model, data)
    at_subject = weight_at(P, hard, "subject")
    best = np.unravel_index(at_subject.argmax(), at_subject.shape)
    without = torch.ones(LAYERS, HEADS)
    without[best] = 0
    with all_gated(model, without):
        blind = right_number(model, data, hard).mean()
    full = [n for n, pair in enumerate(test) if len(pair.source) == LENGTHS[1]]  # no padding in the longest
    mask = np.tril(np.ones(P.shape[-2:], dtype=bool))
    return {
        "right": right_number(model, data, places(test)).mean(),
        "right_hard": right_number(model, data, hard).mean(),
        "right_hard_without_best": blind,
        "at_subject": at_subject,
        "at_noun_between": weight_at(P, hard, "between"),
        "best": best,
        "evenness": np.nanmean(evenness(P[:, full], mask), axis=(1, 3)),
        "distance": mean_distance(P[:, full].astype(float)).mean(axis=1),
    }


def hard_places(pairs: Sequence[Pair]) -> list[Places]:
    """The verbs with a noun of the other number between them and their subject."""
    return [one for one in places(pairs) if one.verb.between is not None]


@cache
def beside() -> dict[str, Any]:
    test = unseen(TEST)
    hard, data = hard_places(test), next_words(test)
    untrained = [weight_at(weights(model_of(seed), data), hard, "subject") for seed in SEEDS]
    return {
        "verbs": {"all": len(places(test)), "hard": len(hard)},
        "fixed_distance": {"all": fixed_distance(places(test)), "hard": fixed_distance(hard)},
        "at_subject_untrained": np.round(untrained, 4).tolist(),
    }


EXPERIMENT = Experiment(
    name="agreement",
    question="does a head of a language model find the subject of a verb?",
    trial=trial,
    arms={"next word": {"three layers": {}}},
    steps=1000,
    rates=(1.5e-3, 3e-3, 6e-3),
    tie=0.005,
    settings={
        "lengths": LENGTHS, "width": WIDTH, "layers": LAYERS, "heads": HEADS, "batch": BATCH, "sentences": TRAIN,
        "tested": TEST,
    },
    figure="right_hard",
    once=beside,
)  # fmt: skip

if __name__ == "__main__":
    main(EXPERIMENT)

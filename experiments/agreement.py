"""Does a head find the subject of a verb, though nobody told it to? (book: heads-at-work)

Small causal models learn to predict the next word of the corpus's English sentences. At the word before a finite verb
they must know the number of the subject, which may stand several words back, behind a noun of the other number.
Measured there: how often the verb's number is right, how much weight each head has on the subject beside what a fixed
distance would get, and what happens without the head that looks there most. Stores
attnlib/data/results/agreement.json.

    python experiments/agreement.py            # about 3 minutes on one thread
    python experiments/agreement.py --quick    # about 20 seconds, prints, stores nothing
"""

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch

from attnlib.data.agreement import Agreement, agreements, finite_forms
from attnlib.data.bilingual import Pair, corpus, source_vocab
from attnlib.data.results import save_result
from attnlib.data.vocab import pad
from attnlib.interpret.capture import capture
from attnlib.interpret.distance import mean_distance
from attnlib.interpret.importance import all_gated, importance_by_ablation
from attnlib.interpret.patterns import evenness
from attnlib.metrics.spread import spread
from attnlib.models.stack import Stack, StackConfig
from attnlib.train.fit import fit
from attnlib.train.toy import Examples, answer_loss

SEEDS = (0, 1, 2, 3, 4)
LENGTHS, WIDTH, LAYERS, HEADS, BATCH, STEPS, LR = (3, 12), 64, 3, 4, 64, 1000, 3e-3


class Places(NamedTuple):
    """For each finite verb: its sentence, the word before it, and who it agrees with."""

    sentence: int
    row: int
    verb: Agreement


def next_words(pairs: Sequence[Pair]) -> Examples:
    """Every word but the last goes in; the answer at each place is the next word."""
    tokens, mask = pad([source_vocab().encode(pair.source) for pair in pairs])
    tokens, mask = torch.from_numpy(tokens), torch.from_numpy(mask)
    return Examples(tokens[:, :-1], tokens[:, 1:][mask[:, 1:]], mask[:, 1:])


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


def trial(seed: int, test: Sequence[Pair], *, steps: int = STEPS, train_size: int = 20_000) -> dict[str, Any]:
    """Train one model and measure it."""
    vocab = source_vocab()
    torch.manual_seed(seed)
    model = Stack(
        StackConfig(
            len(vocab), len(vocab), d_model=WIDTH, n_heads=HEADS, n_layers=LAYERS, causal=True,
            d_hidden=2 * WIDTH, norm=True, longest=LENGTHS[1],
        )
    )  # fmt: skip
    data, all_verbs = next_words(test), places(test)
    hard = [one for one in all_verbs if one.verb.between is not None]
    untrained = weight_at(weights(model, data), hard, "subject")
    train = corpus(train_size, lengths=LENGTHS, seed=seed)
    losses = fit(model, answer_loss, batches(train, seed), steps=steps, lr=LR)
    P = weights(model, data)
    at_subject = weight_at(P, hard, "subject")
    best = np.unravel_index(at_subject.argmax(), at_subject.shape)
    without = torch.ones(LAYERS, HEADS)
    without[best] = 0
    with all_gated(model, without):
        blind = right_number(model, data, hard).mean()
    real = [n for n, pair in enumerate(test) if len(pair.source) == LENGTHS[1]]  # no padding in the longest
    mask = np.tril(np.ones(P.shape[-2:], dtype=bool))
    return {
        "loss": float(np.mean(losses[-50:])),
        "right_number": right_number(model, data, all_verbs).mean(),
        "right_number_hard": right_number(model, data, hard).mean(),
        "right_number_hard_without_best": blind,
        "at_subject": weight_at(P, all_verbs, "subject"),
        "at_subject_hard": at_subject,
        "at_subject_hard_untrained": untrained,
        "at_noun_between_hard": weight_at(P, hard, "between"),
        "best": best,
        "evenness": np.nanmean(evenness(P[:, real], mask), axis=(1, 3)),
        "distance": mean_distance(P[:, real].astype(float)).mean(axis=1),
        "importance": importance_by_ablation(model, lambda: answer_loss(model, data)).numpy(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few steps, one model; stores nothing")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    started = time.process_time()
    test = corpus(1500, lengths=LENGTHS, split="test", seed=5)
    if arguments.quick:
        print(trial(0, test, steps=60, train_size=2000))
        return
    trials = []
    for seed in SEEDS:
        trials.append(trial(seed, test))
        print(f"{time.process_time() - started:5.0f} s  {trials[-1]}", flush=True)
    hard = [one for one in places(test) if one.verb.between is not None]
    data = {
        "question": "does a head of a language model find the subject of a verb?",
        "settings": {
            "lengths": LENGTHS, "width": WIDTH, "layers": LAYERS, "heads": HEADS, "batch": BATCH,
            "steps": STEPS, "lr": LR,
        },
        "verbs": {"all": len(places(test)), "hard": len(hard)},
        "fixed_distance": {"all": fixed_distance(places(test)), "hard": fixed_distance(hard)},
        **{key: spread([one[key] for one in trials]) for key in trials[0]},
    }  # fmt: skip
    print({key: value["mean"] for key, value in data.items() if isinstance(value, dict) and "mean" in value})
    command, seconds = "python experiments/agreement.py", time.process_time() - started
    save_result("agreement", data, seeds=SEEDS, command=command, seconds=seconds)


if __name__ == "__main__":
    main()

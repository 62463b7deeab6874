"""Translation with a fixed context and with attention, by sentence length (book: the-bottleneck).

Trains small GRU encoder-decoders on the synthetic English-French corpus, several seeds each, and measures on sentences
that no model has seen: accuracy by length, steps to 90 %, and how close attention comes to the gold alignment. Stores
attnlib/data/results/bottleneck.json.

    python experiments/bottleneck.py            # about 15 minutes on 2 threads
    python experiments/bottleneck.py --quick    # about 15 seconds, prints, stores nothing
"""

import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import torch
from _by_length import arguments, summary

from attnlib.data.bilingual import Pair, corpus, economic_area, source_vocab, target_vocab
from attnlib.data.results import save_result
from attnlib.data.vocab import EOS, batch
from attnlib.metrics.alignment import alignment_error_rate, diagonal_links, links_from_weights
from attnlib.metrics.curves import first_reached
from attnlib.models.seq2seq import Seq2Seq
from attnlib.train.device import device
from attnlib.train.translation import (
    accuracy,
    said_tokens,
    tensors,
    train_translator,
    translate,
    weights_of,
)

TRAINED = (3, 20)  # source lengths in training; the tests go beyond
LENGTHS = tuple(range(4, 41, 2))  # source lengths in the test, one group each
SEEDS = (0, 1, 2, 3, 4)
STEPS, EVERY, LR, WIDTH, BATCH = 1500, 50, 1e-2, 64, 64
MODELS: dict[str, dict[str, Any]] = {
    "initial": {
        "attention": "none",
        "context_every_step": False,
    },  # the context starts the decoder (Sutskever)
    "fixed": {"attention": "none"},  # the same context at every step (Cho)
    "additive": {"attention": "additive"},  # attention with the previous state (Bahdanau)
    "dot": {"attention": "dot"},  # attention with the current state (Luong)
    "additive, one direction": {"attention": "additive", "bidirectional": False},
    "fixed, four times the steps": {"attention": "none"},
}
PLAN = [(name, seed) for seed in SEEDS for name in ("additive", "initial", "fixed", "dot")]
PLAN = [("fixed, four times the steps", 0), *PLAN, *(("additive, one direction", seed) for seed in (0, 1, 2))]


def encoded(pairs: list[Pair]):
    return batch(pairs, source_vocab(), target_vocab())


def trial(
    name: str, seed: int, *, steps: int = STEPS, train_size: int = 30_000, test_size: int = 200
) -> dict[str, Any]:
    """Train one model and measure it."""
    torch.set_num_threads(1)
    started = time.perf_counter()
    steps = 4 * steps if "four times" in name else steps
    watched = encoded(corpus(300, lengths=TRAINED, split="valid", seed=1))
    curve: dict[str, list[float]] = {"step": [], "loss": [], "token": [], "exact": []}
    recent: list[float] = []

    def look(model: Seq2Seq, step: int, loss: float) -> None:
        recent.append(loss)
        if step % EVERY == 0:
            now = {"loss": np.mean(recent[-EVERY:]), **accuracy(model, watched)._asdict()}
            curve["step"].append(step)
            for key, value in now.items():
                curve[key].append(round(float(value), 4))

    pairs = corpus(train_size, lengths=TRAINED, seed=seed)
    options = {"d_hidden": WIDTH, "d_embedding": WIDTH, "d_attention": WIDTH, **MODELS[name]}
    model = train_translator(
        pairs, steps=steps, seed=seed, lr=LR, batch_size=BATCH, after_step=look, **options
    )
    measured: dict[str, Any] = {
        "seed": seed,
        "parameters": sum(p.numel() for p in model.parameters()),
        "curve": curve,
        "steps_to_90": {key: first_reached(curve["step"], curve[key]) for key in ("token", "exact")},
        **by_length(model, test_size),
        "errors": errors_by_kind(model, test_size),
        "said": document_sentence(model),
    }
    if model.config.attention != "none":
        measured["alignment"] = alignment(model, test_size)
        P = weights_of(model, [economic_area()], end=True)[0]
        measured["map"] = np.round(P, 4).tolist()
    return {**measured, "seconds": round(time.perf_counter() - started, 1)}


def by_length(model: Seq2Seq, size: int) -> dict[str, list[float]]:
    """Accuracy on unseen sentences of each length."""
    tests = [encoded(corpus(size, lengths=(n, n), split="test", seed=2)) for n in LENGTHS]
    measured = [accuracy(model, data) for data in tests]
    return {"token": [round(a.token, 4) for a in measured], "exact": [round(a.exact, 4) for a in measured]}


def errors_by_kind(model: Seq2Seq, size: int) -> dict[str, list[int]]:
    """For each class of source word: how many of its French words are wrong, and how many there are."""
    pairs = corpus(5 * size, lengths=TRAINED, split="test", seed=3)
    data = encoded(pairs)
    wrong = said_tokens(model, data) != data.target_out
    errors, total = Counter(), Counter()
    for k, pair in enumerate(pairs):
        kind_of = {i: pair.kinds[j] for j, i in pair.sure} | {len(pair.target): "end"}
        total.update(kind_of.values())
        errors.update(kind_of[i] for i in kind_of if wrong[k, i])
    return {kind: [errors[kind], total[kind]] for kind in sorted(total)}


def alignment(model: Seq2Seq, size: int) -> dict[str, Any]:
    """Alignment error rate of the largest weights, and for each class of source word the share of links found."""
    pairs = corpus(2 * size, lengths=TRAINED, split="test", seed=4)
    links = [links_from_weights(P) for P in weights_of(model, pairs)]
    found, total = Counter(), Counter()
    for mine, pair in zip(links, pairs, strict=True):
        total.update(pair.kinds[j] for j, _ in pair.sure)
        found.update(pair.kinds[j] for j, i in pair.sure if (j, i) in mine)
    recall = {kind: round(found[kind] / total[kind], 4) for kind in sorted(total)}
    return {"error_rate": error_rate(links, pairs), "found": recall}


def error_rate(links: list[set[tuple[int, int]]], pairs: list[Pair]) -> float:
    """The alignment error rate over a whole corpus."""
    A = {(k, *link) for k, mine in enumerate(links) for link in mine}
    S = {(k, *link) for k, pair in enumerate(pairs) for link in pair.sure}
    P = {(k, *link) for k, pair in enumerate(pairs) for link in pair.possible}
    return round(alignment_error_rate(A, S, P), 4)


def baselines(size: int) -> dict[str, float]:
    """The error rate of two readers who know nothing: along the diagonal, and at random."""
    pairs = corpus(2 * size, lengths=TRAINED, split="test", seed=4)
    rng = np.random.default_rng(5)
    diagonal = [diagonal_links(len(pair.source), len(pair.target)) for pair in pairs]
    blind = [{(int(rng.integers(len(pair.source))), i) for i in range(len(pair.target))} for pair in pairs]
    return {"diagonal": error_rate(diagonal, pairs), "random": error_rate(blind, pairs)}


def document_sentence(model: Seq2Seq) -> list[str]:
    """What the model says for the documents' sentence, word by word."""
    t = tensors(encoded([economic_area()]))
    said, _ = translate(model.eval(), t.source, t.source_mask)
    numbers = said[0].tolist()
    return [*target_vocab().decode(numbers), *(["<end>"] if EOS in numbers else [])]


def report(models: dict[str, Any]) -> None:
    for name, model in models.items():
        below, steps = model["below_90_at"], [one["steps_to_90"]["token"] for one in model["trials"]]
        print(f"{name}: below 90 % at {below}; steps to 90 % of tokens {steps}")
        print("  token", model["mean"]["token"], "\n  exact", model["mean"]["exact"])
        for one in model["trials"]:
            if "alignment" in one:
                print(
                    f"  seed {one['seed']}: alignment error {one['alignment']['error_rate']}: {' '.join(one['said'])}"
                )


def main() -> None:
    asked = arguments(__doc__)
    started = time.perf_counter()
    if asked.quick:
        report(
            {
                name: summary(LENGTHS, [trial(name, 0, steps=150, train_size=8000, test_size=20)])
                for name in ("fixed", "dot")
            }
        )
        return
    with ProcessPoolExecutor(asked.workers) as pool:
        waiting = [(name, pool.submit(trial, name, seed)) for name, seed in PLAN]
        done: dict[str, list[dict[str, Any]]] = {name: [] for name in MODELS}
        for name, result in waiting:
            done[name].append(result.result())
            print(
                f"{time.perf_counter() - started:6.0f} s  {name}, seed {done[name][-1]['seed']}", flush=True
            )
    models = {name: summary(LENGTHS, trials) for name, trials in done.items()}
    report(models)
    sentence = economic_area()
    data = {
        "question": "how does accuracy depend on sentence length, with a fixed context and with attention?",
        "settings": {"steps": STEPS, "lr": LR, "width": WIDTH, "batch": BATCH, "trained_lengths": TRAINED},
        "lengths": LENGTHS,
        "models": models,
        "baselines": baselines(200),
        "sentence": {"source": sentence.source, "target": sentence.target, "sure": sentence.sure},
    }
    seconds = time.perf_counter() - started
    file = save_result(
        "bottleneck",
        data,
        seeds=SEEDS,
        command="python experiments/bottleneck.py",
        seconds=seconds,
        device=device().label,
    )
    print(f"{file.name}: {file.stat().st_size} bytes, {seconds:.0f} s")


if __name__ == "__main__":
    main()

"""Can one layer of attention complete a pattern, and what does it do instead? (book: a-circuit)

Attention-only models, without norms or biases, learn to predict what comes next where a text repeats itself, for 1, 4
and 16 times the steps.

    "a piece returns"      noise, a piece, noise, the piece again: both places and the length are drawn
    "the whole returns"    different symbols, then the same again: here the answer is the symbol that has not been seen
                           for longest, a rule that does not look for a pattern

The rivals need no training: rules that look at which symbols have stood in the text, and not at what followed what.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from _runner import Experiment, main
from torch import Tensor, nn

from attnlib.data.recall import induction, returning_piece
from attnlib.data.tasks import SequenceTask
from attnlib.interpret.capture import capture
from attnlib.interpret.circuits import prefix_matching, previous_token
from attnlib.interpret.patch import patched_head
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.train.fit import fit
from attnlib.train.toy import TEST_SEED, Examples, answer_accuracy, answer_loss, examples, fresh

LENGTH, SYMBOLS, SHORTEST, LONGEST, WIDTH, BATCH, SIZE = 24, 26, 4, 8, 32, 32, 500
TASKS: dict[str, Callable[[int, int], SequenceTask]] = {
    "a piece returns": lambda size, seed: returning_piece(
        size, LENGTH, SYMBOLS, shortest=SHORTEST, longest=LONGEST, seed=seed
    ),
    "the whole returns": lambda size, seed: induction(size, LENGTH // 2, SYMBOLS, seed=seed),
}

ARMS: dict[str, dict[str, int]] = {
    "two layers of 2 heads": {"layers": 2, "n_heads": 2},
    "one layer of 4 heads": {"layers": 1, "n_heads": 4},
    "one layer of 4 heads, twice as wide": {"layers": 1, "n_heads": 4, "d": 2 * WIDTH},
}
ASKED = {"a piece returns": tuple(ARMS), "the whole returns": tuple(ARMS)[:2]}


class Model(nn.Module):
    """Attention and nothing else: embedding, layers on a residual stream, scores. The page shows it, too."""

    def __init__(self, *, layers: int, n_heads: int, d: int = WIDTH) -> None:
        super().__init__()
        self.embed, self.places = nn.Embedding(SYMBOLS, d), nn.Embedding(LENGTH, d)
        self.layers = nn.ModuleList(
            MultiHeadAttention(d_model=d, n_heads=n_heads, causal=True, bias=False) for _ in range(layers)
        )
        self.scores = nn.Linear(d, SYMBOLS, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        X = self.embed(tokens) + self.places.weight[: tokens.shape[1]]
        for layer in self.layers:
            X = X + layer(X)
        return self.scores(X)


def trial(
    seed: int,
    steps: int,
    lr: float,
    *,
    task: str,
    layers: int,
    n_heads: int,
    d: int = WIDTH,
    size: int = SIZE,
) -> dict[str, Any]:
    """Train one model; how often it is right, the scores of its heads, and how often without each."""
    torch.manual_seed(seed)
    model = Model(layers=layers, n_heads=n_heads, d=d)
    fit(model, answer_loss, fresh(lambda s: TASKS[task](BATCH, s), seed), steps=steps, lr=lr)
    data = examples(TASKS[task](size, TEST_SEED))
    with capture(model) as seen:
        accuracy = answer_accuracy(model, data)
    P = [seen[f"layers.{l}.P"].double().numpy() for l in range(layers)]
    return {
        "accuracy": accuracy,
        "previous_token": [previous_token(one) for one in P],
        "prefix_matching": [prefix_matching(one, data.tokens.numpy()) for one in P],
        "without": [
            [without(model, l, h, seen[f"layers.{l}.heads"], data) for h in range(n_heads)]
            for l in range(layers)
        ],
    }


def without(model: Model, layer: int, head: int, said: Tensor, data: Examples) -> float:
    """The accuracy when the output of a head is replaced, at each position, by its mean over the texts."""
    with patched_head(model.layers[layer], head, said[:, head].mean(dim=0)):  # type: ignore[arg-type]
        return answer_accuracy(model, data)


def rivals(task: SequenceTask, known: SequenceTask) -> dict[str, float]:
    """How often rules are right that know which symbols have stood where, and not what followed what.

    Where the answer is likely to stand, seen from each place, they have from other texts, the `known` ones.
    """
    likely = known.weights.sum(axis=0)
    said: dict[str, list[float]] = {}
    for b, i in zip(*task.mask.nonzero(), strict=True):
        row, answer = task.source[b, : i + 1].tolist(), task.target[b, i]
        counts = {symbol: row.count(symbol) for symbol in row}
        last = {symbol: place for place, symbol in enumerate(row)}
        once = [symbol for symbol in counts if counts[symbol] == 1] or list(counts)
        rules = {
            "any symbol of the text": list(counts),
            "the most frequent": [symbol for symbol in counts if counts[symbol] == max(counts.values())],
            "any that stood once": once,
            "not seen for longest": [min(last, key=last.__getitem__)],
            "at the likeliest place": [row[likely[i, : i + 1].argmax()]],
            "once, at the likeliest place": [max(once, key=lambda symbol: likely[i, row.index(symbol)])],
        }
        for rule, among in rules.items():
            said.setdefault(rule, []).append((answer in among) / len(among))
    return {rule: float(np.mean(found)) for rule, found in said.items()}


EXPERIMENT = Experiment(
    name="circuit",
    question="can one layer of attention complete a pattern, and what does it do instead?",
    trial=trial,
    arms={
        task: {name: {"task": task, **ARMS[name]} for name in asked} for task, asked in ASKED.items()
    },
    steps=500,
    rates=(3e-3, 1e-2, 3e-2),
    always=("one layer of 4 heads",),
    settings={
        "length": LENGTH, "symbols": SYMBOLS, "shortest": SHORTEST, "longest": LONGEST, "width": WIDTH, "batch": BATCH,
        "tested": SIZE,
    },
    once=lambda: {
        "rivals": {task: rivals(make(SIZE, TEST_SEED), make(20 * SIZE, 1)) for task, make in TASKS.items()}
    },
)  # fmt: skip

if __name__ == "__main__":
    main(EXPERIMENT)

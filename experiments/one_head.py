"""Does a single head find the attention that is known to be best, and is its answer right? (book: patterns-and-entropy)

Four tasks with one head in a layer: the token before, the first token, three neighbours at once, and induction, which
needs two layers. Measured are the right answers, the pattern of each head, and its weight at the true place beside what
even weights would have there. Three neighbours are also tried with two heads.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from _runner import Experiment, main

from attnlib.data import tasks
from attnlib.data.offsets import OffsetsTask, retrieve_offsets
from attnlib.data.recall import induction
from attnlib.data.tasks import SequenceTask
from attnlib.interpret.capture import capture
from attnlib.interpret.patterns import mass_on, measure_pattern, name_pattern
from attnlib.models.stack import Stack, stack_config
from attnlib.train.toy import TEST_SEED, answer_accuracy, examples, train_stack

LENGTH, SYMBOLS, WIDTH, BATCH, SIZE = 12, 16, 32, 64, 300
NEIGHBOURS = (-1, 0, 1)
MAKE: dict[str, Callable[[int, int], SequenceTask | OffsetsTask]] = {
    "previous": lambda size, seed: tasks.look_back(size, LENGTH, SYMBOLS, 1, seed=seed),
    "first": lambda size, seed: tasks.repeat_first(size, LENGTH, SYMBOLS, seed=seed),
    "neighbours": lambda size, seed: retrieve_offsets(size, LENGTH, SYMBOLS, NEIGHBOURS, seed=seed),
    "induction": lambda size, seed: induction(size, LENGTH, SYMBOLS, seed=seed),
}


def trial(
    seed: int, steps: int, lr: float, *, task: str, n_heads: int = 1, size: int = SIZE
) -> dict[str, Any]:
    """Train one model; right answers, and for each layer of single heads what its head does."""
    two = task == "induction"
    config = stack_config(
        SYMBOLS, SYMBOLS * (len(NEIGHBOURS) if task == "neighbours" else 1), d_model=WIDTH, context=LENGTH,
        n_heads=n_heads, n_layers=1 + two, causal=two,
    )  # fmt: skip
    model = train_stack(config, lambda s: MAKE[task](BATCH, s), steps=steps, seed=seed, lr=lr)
    unseen = MAKE[task](size, TEST_SEED)
    looked = heads(model, unseen, task) if n_heads == 1 else []
    return {"accuracy": answer_accuracy(model, examples(unseen)), "heads": looked}


@torch.no_grad()
def heads(model: Stack, task: SequenceTask | OffsetsTask, name: str) -> list[dict[str, Any]]:
    """The pattern of each layer's head, and its weight at the true position, beside that of even weights."""
    with capture(model) as seen:
        model(torch.from_numpy(task.source))
    layers = [seen[f"blocks.{l}.attention.P"][:, 0].double().numpy() for l in range(model.config.n_layers)]
    layers[-1] = layers[-1] * task.mask[:, :, None]  # rows that are not asked may look anywhere
    mask = np.tril(np.ones((LENGTH, LENGTH), dtype=bool)) if model.config.causal else None
    may = np.ones((LENGTH, LENGTH)) if mask is None else mask
    even = may / may.sum(axis=1, keepdims=True)
    last = task.weights.max(axis=0) if name == "neighbours" else task.weights
    truths = [np.eye(LENGTH, k=-1), last][-len(layers) :]  # the first of two layers must look one back
    found = []
    for P, truth in zip(layers, truths, strict=True):
        pattern = measure_pattern(P, mask)
        mass = {"true_mass": mass_on(P, truth), "even_mass": mass_on(even + 0 * P, truth)}
        found.append({"name": name_pattern(pattern), **pattern._asdict(), **mass})
    return found


EXPERIMENT = Experiment(
    name="one-head",
    question="does a single head find the attention that is known to be best, and is its answer right?",
    trial=trial,
    arms={
        "neighbours": {f"{h} head{'s' * (h > 1)}": {"task": "neighbours", "n_heads": h} for h in (1, 2)},
        "previous": {"1 head": {"task": "previous"}},
        "first": {"1 head": {"task": "first"}},
        "induction": {"1 head": {"task": "induction"}},
    },
    steps=200,
    rates=(2.5e-3, 5e-3, 1e-2),
    always=("1 head",),  # at 4x it has hardly moved, and then it does
    tie=0.005,
    settings={"length": LENGTH, "symbols": SYMBOLS, "width": WIDTH, "batch": BATCH, "tested": SIZE},
)

if __name__ == "__main__":
    main(EXPERIMENT)

"""Train a `Stack` on a task with known attention, and measure it.

Book: permutation, patterns-and-entropy, why-several-heads. A task has tokens, right answers and a mask of the answers
that count; `make(seed)` makes a batch of it.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from attnlib.data.offsets import OffsetsTask
from attnlib.data.tasks import MarkedTask, SequenceTask
from attnlib.models.config import ModelConfig
from attnlib.models.stack import Stack
from attnlib.shapes import Bool, Float, Int
from attnlib.train.fit import fit

Task = SequenceTask | OffsetsTask | MarkedTask
TEST_SEED = 2**31  # training draws its seeds below


class Examples(NamedTuple):
    """A task as tensors: the tokens, the right answers in one row, and the positions that they belong to."""

    tokens: Int[torch.Tensor, "b n"]
    answers: Int[torch.Tensor, "answers"]
    counts: Bool[torch.Tensor, "b n"] | None  # None: one answer for each set, namely which of its items


def examples(task: Task) -> Examples:
    """The tensors of a task.

    >>> from attnlib.data.tasks import look_back
    >>> data = examples(look_back(2, 5, 10, offset=3))
    >>> data.tokens.shape, data.answers.shape, data.counts[0]
    (torch.Size([2, 5]), torch.Size([4]), tensor([False, False, False,  True,  True]))
    """
    if isinstance(task, MarkedTask):
        return Examples(torch.from_numpy(task.symbols), torch.from_numpy(task.marks.argmax(1)), None)
    answers = task.target[task.mask].reshape(-1)
    return Examples(torch.from_numpy(task.source), torch.from_numpy(answers), torch.from_numpy(task.mask))


def answer_scores(model: nn.Module, data: Examples) -> Float[torch.Tensor, "answers choices"]:
    """One row of scores for each answer: over the symbols, or over the items of a set."""
    scores = model(data.tokens)
    if data.counts is None:
        return scores[..., 0]
    counted = scores[data.counts]
    return counted.reshape(len(data.answers), -1)


def answer_loss(model: nn.Module, data: Examples) -> Float[torch.Tensor, ""]:
    """Mean cross-entropy of the right answers."""
    return nn.functional.cross_entropy(answer_scores(model, data), data.answers)


@torch.no_grad()
def answer_accuracy(model: nn.Module, data: Examples) -> float:
    """The share of right answers."""
    model.eval()
    return float((answer_scores(model, data).argmax(-1) == data.answers).float().mean())


def fresh(make: Callable[[int], Task], seed: int) -> Iterator[Examples]:
    """Endless batches, each from another seed."""
    rng = np.random.default_rng(seed)
    while True:
        yield examples(make(int(rng.integers(TEST_SEED))))


def train_stack(
    config: ModelConfig,
    make: Callable[[int], Task],
    *,
    steps: int,
    seed: int = 0,
    lr: float = 5e-3,
    **options: Any,
) -> Stack:
    """A `Stack` trained on fresh batches; `seed` fixes its first parameters and the data. `options` go to `fit`."""
    torch.manual_seed(seed)
    model = Stack(config)
    fit(model, answer_loss, fresh(make, seed), steps=steps, lr=lr, **options)
    return model

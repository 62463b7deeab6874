"""Who trains: this process alone, or several that share each batch and stay one model.

Chapter 5 uses it, by way of `attnlib.train.fit`. The rule is that of eq-weighted-mean: each worker sums over the tokens
of its rows, and sums and numbers of tokens are averaged over the workers before one is divided by the other.
"""

from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from attnlib import rules


class Alone:
    """Nobody else: everything stays as it is."""

    rank, size = 0, 1

    def spread(self, model: nn.Module) -> nn.Module:
        """What the loss is asked of; behind its backward pass, the gradients are the means over the workers."""
        return model

    def mean(self, *numbers: float) -> list[float]:
        """Each number, averaged over the workers."""
        return list(numbers)

    def everyones(self, value: Any) -> list[Any]:
        """The value of each worker."""
        return [value]

    def share(self, batches: Iterator[Any]) -> Iterator[Any]:
        """This worker's rows of each batch."""
        return batches


class Crew(Alone):
    """All processes of the group that this one has joined."""

    def __init__(self) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

    def spread(self, model: nn.Module) -> nn.Module:
        return DistributedDataParallel(model)

    def mean(self, *numbers: float) -> list[float]:
        where = "cuda" if dist.get_backend() == "nccl" else "cpu"
        sums = torch.tensor(numbers, dtype=torch.float64, device=where)
        dist.all_reduce(sums)
        return (sums / self.size).tolist()

    def everyones(self, value: Any) -> list[Any]:
        values: list[Any] = [None] * self.size
        dist.all_gather_object(values, value)
        return values

    def share(self, batches: Iterator[Any]) -> Iterator[Any]:
        return SharedRows(batches, self)


class SharedRows(Iterator[Tensor]):
    """Of each batch every p-th row: all rows are seen, none twice, and the position is that of the whole batches."""

    def __init__(self, batches: Iterator[Tensor], crew: Alone) -> None:
        self.batches, self.crew = batches, crew

    def __next__(self) -> Tensor:
        rows = next(self.batches)
        came = f"got {len(rows)} for {self.crew.size}. Take fewer workers, or a larger batch."
        rules.must(len(rows) >= self.crew.size, "fit", f"a batch must have a row for each worker; {came}")
        return rows[self.crew.rank :: self.crew.size]

    def state_dict(self) -> Any:
        return self.batches.state_dict()  # type: ignore[attr-defined]

    def load_state_dict(self, state: Any) -> None:
        self.batches.load_state_dict(state)  # type: ignore[attr-defined]

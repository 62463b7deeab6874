"""Data parallelism for `fit`: this process as the only worker, or as one of several that train replicas of one model.

Chapter 5 uses it. Each worker reads its own rows of every batch. By eq-weighted-mean the sums of the losses and the
numbers of tokens are averaged over the workers, and then one is divided by the other.
"""

from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from attnlib import rules


class SingleWorker:
    """One process trains alone: it has the whole batch, and every mean is its own value."""

    rank, world_size = 0, 1

    def replica(self, model: nn.Module) -> nn.Module:
        """The model that computes the loss; after its backward pass, gradients are averaged over the workers."""
        return model

    def mean(self, *numbers: float) -> list[float]:
        """Each number, averaged over the workers."""
        return list(numbers)

    def gather(self, value: Any) -> list[Any]:
        """The value of each worker, in the order of their ranks."""
        return [value]

    def shard(self, batches: Iterator[Any]) -> Iterator[Any]:
        """This worker's rows of each batch."""
        return batches


class WorkerGroup:
    """All processes of the process group that this one has joined; the methods are those of `SingleWorker`."""

    def __init__(self) -> None:
        self.rank, self.world_size = dist.get_rank(), dist.get_world_size()

    def replica(self, model: nn.Module) -> nn.Module:
        return DistributedDataParallel(model)

    def mean(self, *numbers: float) -> list[float]:
        device = "cuda" if dist.get_backend() == "nccl" else "cpu"
        sums = torch.tensor(numbers, dtype=torch.float64, device=device)
        dist.all_reduce(sums)
        return (sums / self.world_size).tolist()

    def gather(self, value: Any) -> list[Any]:
        values: list[Any] = [None] * self.world_size
        dist.all_gather_object(values, value)
        return values

    def shard(self, batches: Iterator[Any]) -> Iterator[Any]:
        return WorkerRows(batches, self.rank, self.world_size)


Workers = SingleWorker | WorkerGroup


class WorkerRows(Iterator[Tensor]):
    """Of each batch the rows rank, rank + world_size, ...: every row goes to exactly one worker.

    The position is that of the whole batches, so that any number of workers can resume from it.
    """

    def __init__(self, batches: Iterator[Tensor], rank: int, world_size: int) -> None:
        self.batches, self.rank, self.world_size = batches, rank, world_size

    def __next__(self) -> Tensor:
        rows = next(self.batches)
        came = f"got {len(rows)} for {self.world_size}. Take fewer workers, or a larger batch."
        rules.must(len(rows) >= self.world_size, "fit", f"a batch must have a row for each worker; {came}")
        return rows[self.rank :: self.world_size]

    def state_dict(self) -> Any:
        return self.batches.state_dict()  # type: ignore[attr-defined]

    def load_state_dict(self, state: Any) -> None:
        self.batches.load_state_dict(state)  # type: ignore[attr-defined]

"""Several processes that form a process group, each on one thread or one GPU.

Chapter 5 uses it. `together(4, work)` calls `work` in four processes of this machine. They find each other through a
file, so no port has to be free. Under `torchrun`, also across machines, each process joins its group by `joined`.
"""

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous
from torch.multiprocessing.spawn import spawn


def backend() -> str:
    """The backend of the communication: nccl between GPUs, gloo between CPUs."""
    enough = torch.cuda.is_available() and torch.cuda.device_count() >= int(
        os.environ.get("LOCAL_WORLD_SIZE", 1)
    )
    return "nccl" if enough and os.environ.get("ATTNLIB_DEVICE", "") == "" else "gloo"


def from_torchrun() -> dict[str, Any]:
    """Rank, world size, and the store for the addresses of all workers: a new one after each restart."""
    store, rank, n = next(rendezvous("env://"))
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return {"store": PrefixStore(f"attempt {attempt}", store), "rank": rank, "world_size": n}


@contextlib.contextmanager
def joined(**options: Any) -> Iterator[None]:
    """Join the process group for a `with` block; without options, rank and world size are those that torchrun set."""
    torch.set_num_threads(1)
    if backend() == "nccl":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
    dist.init_process_group(options.pop("backend", None) or backend(), **(options or from_torchrun()))
    try:
        yield
    finally:
        dist.destroy_process_group()


def _work(rank: int, n: int, file: str, work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    with joined(backend="gloo", init_method=f"file://{file}", rank=rank, world_size=n):
        work(*arguments)


def together(n: int, work: Callable[..., None], *arguments: Any) -> None:
    """Call `work(*arguments)` in n new processes and wait for all; `work` must stand in a file that can be imported."""
    with tempfile.TemporaryDirectory() as folder:
        spawn(_work, (n, str(Path(folder) / "meeting"), work, arguments), nprocs=n)

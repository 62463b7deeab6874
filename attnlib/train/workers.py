"""Several processes that compute together, each on one thread or one GPU: started here, and ended together.

Chapter 5 uses it. `together(4, work)` calls `work` in four processes of this machine. They find each other through a
file, so no port has to be free. Under `torchrun`, across machines too, `joined` is what each process begins with.
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
    """What the messages go by: nccl between GPUs, gloo between processors."""
    enough = torch.cuda.is_available() and torch.cuda.device_count() >= int(
        os.environ.get("LOCAL_WORLD_SIZE", 1)
    )
    return "nccl" if enough and os.environ.get("ATTNLIB_DEVICE", "") == "" else "gloo"


def told_by_torchrun() -> dict[str, Any]:
    """Who this process is, and the place where all leave their addresses: a new one each time that all begin again."""
    store, rank, n = next(rendezvous("env://"))
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return {"store": PrefixStore(f"attempt {attempt}", store), "rank": rank, "world_size": n}


@contextlib.contextmanager
def joined(**how: Any) -> Iterator[None]:
    """This process as one of the workers; without arguments torchrun has said which."""
    torch.set_num_threads(1)
    if backend() == "nccl":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
    dist.init_process_group(how.pop("backend", None) or backend(), **(how or told_by_torchrun()))
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

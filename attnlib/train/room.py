"""Memory: how much of it this process may still take, and how much a training needs.

What is left is the least that any limit leaves: the machine's free memory, the limit of a container, and that of the
process (`ulimit -v`).
"""

import os
from dataclasses import replace
from pathlib import Path

from attnlib.models.config import ModelConfig
from attnlib.models.costs import ADAM, activations, parameters

EACH = 4  # bytes of a number
KEPT = (
    12  # numbers for each parameter while a checkpoint is written: four, as tensors, as bytes and as a file
)
BEST = 1  # the best parameters so far
BUFFERS = 200_000_000  # bytes that PyTorch takes at its first step, whatever the model (measured)


def _sizes(file: str) -> dict[str, int]:
    """The lines of a file that are a name and a size; kB become bytes; empty if there is no such file."""
    try:
        lines = [line.replace(":", " ").split() for line in Path(file).read_text().splitlines()]
    except OSError:
        return {}
    return {
        one[0]: int(one[1]) * (1024 if len(one) > 2 else 1)
        for one in lines
        if one[1:2] and one[1].isdecimal()
    }


def _number(file: str) -> int | None:
    try:
        return int(Path(file).read_text())
    except (OSError, ValueError):  # no such file, or "max"
        return None


def of_machine() -> int | None:
    """Free memory, with what the system gives back when it is needed."""
    free = _sizes("/proc/meminfo").get("MemAvailable")
    if free is not None:
        return free
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2  # macOS: half of what there is
    except (ValueError, OSError, AttributeError):
        return None


def of_container(root: str = "/sys/fs/cgroup") -> int | None:
    """What the limit of a container leaves, where there is one; files that are cached do not count as taken."""
    limit, taken = _number(f"{root}/memory.max"), _number(f"{root}/memory.current")
    if limit is None or taken is None:
        return None
    return limit - taken + _sizes(f"{root}/memory.stat").get("inactive_file", 0)


def of_process() -> int | None:
    """What the limit of the process leaves, as `ulimit -v` sets it."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    taken = _sizes("/proc/self/status").get("VmSize", 0)
    return None if limit == resource.RLIM_INFINITY else limit - taken


def left() -> float:
    """Bytes that this process may still take; infinity where nothing says how many."""
    known = [one for one in (of_machine(), of_container(), of_process()) if one is not None]
    return float(max(0, min(known))) if known else float("inf")


def of_gpu() -> float:
    """Bytes that are free on the GPU."""
    import torch

    return float(torch.cuda.mem_get_info()[0])


def needed(config: ModelConfig, batch: int, context: int, *, recompute: bool = False) -> tuple[int, int]:
    """Bytes for a training with Adam: where it computes, and in main memory while a checkpoint is written.

    >>> from attnlib.train.plan import config_of
    >>> step, kept = needed(config_of(2, 500), batch=16, context=128)
    >>> step > kept
    True
    """
    kept = activations(config, batch, context)
    if recompute:  # the input of each block, and the inside of one
        kept = activations(replace(config, n_layers=1), batch, context)
        kept += config.n_layers * batch * context * config.d_model
    learned = parameters(config)
    held = (ADAM + BEST) * learned
    return BUFFERS + EACH * (held + max(learned, kept)), EACH * KEPT * learned

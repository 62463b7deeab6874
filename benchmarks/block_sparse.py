"""Attention that leaves tiles out beside attention that does not: `python -m benchmarks.block_sparse`.

One head of 64 numbers, float32, forward only, on one thread. Two programs go through tiles of 128 by 128 and leave the
empty ones out: PyTorch's FlexAttention, compiled once for each length with a rule whose numbers are data, so that all
patterns run the same kernel, and `attnlib.nn.flash`. PyTorch's fused attention, causal and with a mask of all pairs,
leaves no tile of a window out. All take turns; the least processor time of each counts.

Two fits for each program and length: time = a + b tiles, over the causal mask and the windows; and over all patterns
with a rate of its own for tiles that are partly masked. Then the largest resident size beyond what it was before, its
exponent as in `benchmarks.flash_memory`: FlexAttention forward, ours forward and backward, both with a window of 512,
and the mask of all pairs. `python -m benchmarks.block_sparse memory` measures the memory alone and keeps the times.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is loaded

import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, flex_attention

from attnlib.data.results import load_result, save_result
from attnlib.nn import patterns
from attnlib.nn.flash import flash_attention
from attnlib.nn.tiles import Tiles, block_mask
from benchmarks.interleaved import Work, digits, in_turns

WIDTH, SIDE, ROUNDS, SEED = 64, 128, 5, 0
LENGTHS = (4096, 8192, 16384)
WINDOWS = (32, 16, 8, 4, 2)  # a window is this part of the text
FITTED = ("causal", *(f"window n/{part}" for part in WINDOWS), "window n/16 and first 4")
PROGRAMS = ("FlexAttention", "attnlib")
MEMORY = {
    "FlexAttention, window": 32768,
    "attnlib, window": 32768,
    "mask of all pairs": 16384,
}  # the longest text
SIZES = (4096, 8192, 16384, 32768)
STATUS = Path("/proc/self/status")  # only Linux says how much memory was held since a given moment
NO_REUSE = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "0"}  # what is freed is given back


def settings(n: int) -> dict[str, tuple[int, int, int]]:
    """Of each pattern: the window, the stride (n: none) and how many first keys."""
    windows = {f"window n/{part}": (n // part, n, 0) for part in WINDOWS}
    return {
        "causal": (n, n, 0),
        **windows,
        "window n/16 and first 4": (n // 16, n, 4),
        "strided": (128, 128, 0),
    }


def pattern(window: int, stride: int, first: int) -> patterns.Pattern:
    """The rule, for `block_mask`."""
    near = patterns.either(patterns.strided_local(window), patterns.strided_summary(stride))
    return patterns.both(patterns.causal(), patterns.either(near, patterns.first(first)))


def flex_mask(tiles: Tiles, window: int, stride: int, first: int) -> BlockMask:
    """The same tiles for FlexAttention: for each row a count and a list of columns, of partial tiles and of full ones.

    The numbers of the rule are tensors, so that another pattern is no reason to compile again.
    """
    w, s, f = (torch.tensor(x) for x in (window, stride, first))

    def rule(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return (j <= i) & ((i - j < w) | ((i - j) % s == 0) | (j < f))

    lists = []
    for chosen in (tiles.partial, tiles.full):
        columns = chosen.int().argsort(dim=1, descending=True, stable=True)
        lists += [X.int()[None, None].contiguous() for X in (chosen.sum(dim=1), columns)]
    n = SIDE * len(tiles.number)
    return BlockMask.from_kv_blocks(*lists, BLOCK_SIZE=SIDE, mask_mod=rule, seq_lengths=(n, n))


def inputs(n: int) -> list[Tensor]:
    return list(torch.randn(3, 1, 1, n, WIDTH, generator=torch.Generator().manual_seed(SEED)))


def contestants(n: int, flex: Callable[..., Tensor]) -> tuple[dict[str, Work], dict[str, dict[str, int]]]:
    """What is timed, each returning outputs (1, 1, n, WIDTH), and how many tiles each pattern has."""
    Q, K, V = inputs(n)
    work: dict[str, Work] = {
        "fused, causal": lambda: F.scaled_dot_product_attention(Q, K, V, is_causal=True),
        "fused, all pairs": lambda: F.scaled_dot_product_attention(Q, K, V),
    }
    mask = patterns.dense_mask(pattern(n // 16, n, 0), n)
    work["fused, mask of window n/16"] = lambda: F.scaled_dot_product_attention(Q, K, V, attn_mask=mask)
    counts = {}
    for name, numbers in settings(n).items():
        tiles = block_mask(pattern(*numbers), n, SIDE)
        listed = flex_mask(tiles, *numbers)
        counts[name] = {"full": int(tiles.full.sum()), "partial": int(tiles.partial.sum())}
        work[f"FlexAttention, {name}"] = lambda listed=listed: flex(Q, K, V, block_mask=listed)
        work[f"attnlib, {name}"] = lambda tiles=tiles: flash_attention(Q, K, V, tiles=tiles)
    return work, counts


def fit(columns: list[list[float]], times: list[float]) -> tuple[list[float], float]:
    """The coefficients of a constant and these columns by least squares, and R squared."""
    A = np.column_stack([np.ones(len(times)), *columns])
    found, *_ = np.linalg.lstsq(A, np.array(times), rcond=None)
    off = np.array(times) - A @ found
    return [digits(float(x)) for x in found], float(1 - off @ off / np.var(times) / len(times))


def fits(milliseconds: dict[str, float], counts: dict[str, dict[str, int]], program: str) -> dict[str, Any]:
    """Both fits of one program at one length, in microseconds."""
    times = {name: 1e3 * milliseconds[f"{program}, {name}"] for name in counts}
    total = {name: float(sum(counts[name].values())) for name in counts}
    line, r2 = fit([[total[name] for name in FITTED]], [times[name] for name in FITTED])
    all_line, all_r2 = fit([list(total.values())], list(times.values()))
    two, two_r2 = fit(
        [[float(one[kind]) for one in counts.values()] for kind in ("full", "partial")], list(times.values())
    )
    return {
        "tiles": {"a b": line, "r2": round(r2, 4)},
        "tiles, all patterns": {"a b": all_line, "r2": round(all_r2, 4)},
        "full and partial, all patterns": {"a b c": two, "r2": round(two_r2, 4)},
    }


# ---- Memory ---------------------------------------------------------------------------------------------------------


def work_of(kind: str, n: int, flex: Callable[..., Tensor]) -> None:
    """One pass; the lists of tiles are made in it, too."""
    Q, K, V = inputs(n)
    if kind == "mask of all pairs":
        F.scaled_dot_product_attention(Q, K, V, attn_mask=patterns.dense_mask(patterns.window(512), n))
        return
    tiles = block_mask(patterns.window(512), n, SIDE)
    if kind == "FlexAttention, window":
        flex(Q, K, V, block_mask=flex_mask(tiles, 512, n, 0))
        return
    leaves = [X.requires_grad_() for X in (Q, K, V)]
    flash_attention(*leaves, tiles=tiles).backward(torch.ones_like(V))


def resident(which: str) -> int:
    """Bytes of this process that are in memory: VmRSS now, VmHWM at most since the last call of `forget_the_peak`."""
    (line,) = [line for line in STATUS.read_text().splitlines() if line.startswith(which)]
    return 1024 * int(line.split()[1])


def forget_the_peak() -> None:
    """From now on the largest resident size counts from here: compiling needs more memory than a text."""
    STATUS.with_name("clear_refs").write_text("5")


def measure(kind: str) -> list[int]:
    """For each length the bytes above what is held without a text, the median of three; compiled for any length."""
    flex = torch.compile(flex_attention, dynamic=True)
    found = []
    with torch.set_grad_enabled(kind == "attnlib, window"):
        for short in (1024, 1536):
            work_of(kind, short, flex)  # libraries, and the compiled kernel, are in memory now
        for n in [n for n in SIZES if n <= MEMORY[kind]]:
            risen = []
            for _ in range(3):
                gc.collect()
                forget_the_peak()
                before = resident("VmRSS")
                work_of(kind, n, flex)
                risen.append(resident("VmHWM") - before)
            found.append(sorted(risen)[1])
    return found


def in_a_process(kind: str) -> dict[int, int]:
    """The peaks of one kind by length, from a process in which freed memory is given back at once."""
    command = [sys.executable, "-m", "benchmarks.block_sparse", kind]
    environment = {**os.environ, **NO_REUSE}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return dict(zip(SIZES, json.loads(done.stdout), strict=False))


def exponent(peaks: dict[int, int]) -> float:
    """p in peak ~ n^p."""
    p, _ = np.polyfit(np.log([int(n) for n in peaks]), np.log(list(peaks.values())), 1)
    return round(float(p), 2)


def times() -> dict[str, Any]:
    """All contestants in turns at each length, how many tiles each pattern has, and the fits."""
    milliseconds, counts, fitted = {}, {}, {}
    with torch.no_grad():
        for n in LENGTHS:
            work, counts[n] = contestants(n, torch.compile(flex_attention, dynamic=False))
            taken = in_turns(work, ROUNDS, time.process_time)
            milliseconds[n] = {name: digits(1e3 * min(found)) for name, found in taken.items()}
            fitted[n] = {program: fits(milliseconds[n], counts[n], program) for program in PROGRAMS}
    return {"tiles": counts, "milliseconds": milliseconds, "microseconds": fitted}


def main(only_memory: bool) -> None:
    """Both; or the memory alone, beside the times that are stored."""
    started = time.perf_counter()
    torch.set_num_threads(1)
    stored = load_result("block-sparse") if only_memory else {"provenance": {"seconds": 0.0}, **times()}
    peaks = {kind: in_a_process(kind) for kind in MEMORY}
    before = stored.pop("provenance")["seconds"]
    file = save_result(
        "block-sparse",
        {
            **stored,
            "width side": [WIDTH, SIDE],
            "peak_bytes": peaks,
            "exponent": {kind: exponent(found) for kind, found in peaks.items()},
        },
        seeds=[SEED],
        command="python -m benchmarks.block_sparse",
        seconds=before + time.perf_counter() - started,
        device="cpu, 1 thread, processor time; one process for each kind of memory",
    )
    print(file.read_text(encoding="utf-8"))


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1] in MEMORY:
        print(json.dumps(measure(sys.argv[1])))
    else:
        main(only_memory=sys.argv[1:] == ["memory"])

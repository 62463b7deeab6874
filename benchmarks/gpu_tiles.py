"""Triton's attention over lists of tiles on a GPU: `python -m benchmarks.gpu_tiles`, in under a minute.

First the kernels of `attnlib.nn.flash_triton` against the reference in float64: output and gradients for a window, a
strided and the causal pattern, in each kind of number. Then the time of forward, and of forward and backward, against
the number of tiles, in turns with PyTorch's fused attention. Where there is no GPU, it says so, writes nothing and ends
with success. Stores attnlib/data/results/gpu-tiles.json.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from attnlib.data.results import FOLDER, save_result
from attnlib.nn import patterns
from attnlib.nn.flash import flash_attention
from attnlib.nn.tiles import Tiles, block_mask
from attnlib.reference import flash as reference
from attnlib.reference.tiles import Tiles as NumPyTiles
from attnlib.testing import tolerance
from attnlib.train.device import Device, device
from benchmarks.block_sparse import fit
from benchmarks.gpu import KINDS, commit, drawn, wait
from benchmarks.interleaved import Work, digits, in_turns

SEED, HEADS, WIDTH, SIDE, ROUNDS = 0, 8, 64, 128, 20
LENGTH, WINDOWS = 16384, (32, 16, 8, 4, 2)  # a window is this part of the text
CHECKED = {"window": patterns.window(100), "strided": patterns.strided(24), "causal": patterns.causal()}
NONE = "benchmarks.gpu_tiles: torch sees no GPU here, so nothing was measured and nothing was written."


def on(here: Device, tiles: Tiles) -> Tiles:
    """The masks on the GPU; the numbers stay on the CPU."""
    return Tiles(tiles.number, tiles.masks.to(here.type))


def error(here: Device, name: str, kind: str, n: int = 496) -> dict[str, Any]:
    """The largest error of the output and of the gradients, from the same inputs; n is no multiple of a tile."""
    torch.backends.cuda.matmul.allow_tf32 = False
    leaves = [X.requires_grad_() for X in drawn((2, n, WIDTH), kind, SEED, here.type)]
    dO = drawn((2, n, WIDTH), kind, SEED + 1, here.type)[0]
    tiles = on(here, block_mask(CHECKED[name], n, SIDE))
    O = flash_attention(*leaves, tiles=tiles)
    found = [O, *torch.autograd.grad(O, leaves, dO)]
    exact, cache = reference.flash_attention(
        *(X.detach().double().cpu().numpy() for X in leaves),
        tiles=NumPyTiles(tiles.number.numpy(), tiles.masks.cpu().numpy()),
    )
    right = [exact, *reference.flash_attention_backward(dO.double().cpu().numpy(), cache)]
    scales = [max(1.0, float(np.abs(X).max())) for X in right]
    errors = [
        float(np.abs(X.detach().double().cpu().numpy() - Y).max() / scale)
        for X, Y, scale in zip(found, right, scales, strict=True)
    ]
    rtol, atol = tolerance(kind)
    names = ("output", "dQ", "dK", "dV")
    return {
        "pattern": name,
        "kind": kind,
        "largest_error": {one: digits(e) for one, e in zip(names, errors, strict=True)},
        "within": max(errors) <= atol + rtol,
    }


def listed(n: int, here: Device) -> dict[str, Tiles]:
    """The patterns that are timed, in tiles, made on the CPU."""
    rules = {"causal": patterns.causal()} | {
        f"window n/{part}": patterns.window(n // part) for part in WINDOWS
    }
    rules |= {"strided": patterns.strided(SIDE), "all pairs": lambda i, j: (i >= 0) & (j >= 0)}
    return {name: on(here, block_mask(rule, n, SIDE)) for name, rule in rules.items()}


def timed(
    here: Device, cut: dict[str, Tiles], n: int, backward: bool, rounds: int = ROUNDS
) -> dict[str, Any]:
    """Milliseconds of each pattern, in turns, and two fits of them by the numbers of full and of partial tiles."""
    Q, K, V = (X.requires_grad_(backward) for X in drawn((1, HEADS, n, WIDTH), "bfloat16", SEED, here.type))
    dO = torch.ones_like(V)

    def run(attention: Callable[[], torch.Tensor]) -> None:
        O = attention()
        if backward:
            torch.autograd.grad(O, (Q, K, V), dO)
        wait(here)

    ways: dict[str, Callable[[], torch.Tensor]] = {
        name: lambda tiles=tiles: flash_attention(Q, K, V, tiles=tiles) for name, tiles in cut.items()
    }
    ways["fused, all pairs"] = lambda: F.scaled_dot_product_attention(Q, K, V)
    ways["fused, causal"] = lambda: F.scaled_dot_product_attention(Q, K, V, is_causal=True)
    work: dict[str, Work] = {name: lambda way=way: run(way) for name, way in ways.items()}
    ms = {name: digits(1e3 * float(np.median(one))) for name, one in in_turns(work, rounds).items()}
    counts = {name: {"full": int(t.full.sum()), "partial": int(t.partial.sum())} for name, t in cut.items()}
    times = [1e3 * ms[name] for name in counts]
    line, r2 = fit([[float(sum(one.values())) for one in counts.values()]], times)
    two, two_r2 = fit([[float(one[kind]) for one in counts.values()] for kind in ("full", "partial")], times)
    return {
        "tiles": counts,
        "milliseconds": ms,
        "microseconds": {
            "a b": line,
            "r2": round(r2, 4),
            "a full partial": two,
            "r2 of it": round(two_r2, 4),
        },
    }


def measure(
    folder: Path, here: Device, n: int = LENGTH, rounds: int = ROUNDS, kinds: tuple[str, ...] = tuple(KINDS)
) -> Path:
    """Everything, stored."""
    started = time.perf_counter()
    cut = listed(n, here)
    data = {
        "commit": commit(),
        "gpu": {"name": here.label, "gigabytes": here.gigabytes, "cuda": torch.version.cuda},
        "n heads width side": [n, HEADS, WIDTH, SIDE],
        "errors": [error(here, name, kind) for name in CHECKED for kind in kinds],
        "forward": timed(here, cut, n, backward=False, rounds=rounds),
        "forward and backward": timed(here, cut, n, backward=True, rounds=rounds),
    }
    return save_result(
        "gpu-tiles",
        data,
        seeds=[SEED],
        command="python -m benchmarks.gpu_tiles",
        seconds=time.perf_counter() - started,
        device=here.label,
        folder=folder,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="Lists of tiles on a GPU.")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where gpu-tiles.json is stored")
    chosen, here = parser.parse_args(), device()
    print(measure(chosen.folder, here).read_text(encoding="utf-8") if here.is_gpu else NONE)
    return 0


if __name__ == "__main__":
    sys.exit(main())

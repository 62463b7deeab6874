"""Memory of attention with all weights and in tiles as a text grows: `python -m benchmarks.flash_memory`.

Each measurement is a process of its own, which reports how far its largest resident size rose above what it was before
the work, as in `benchmarks.multihead_memory`: the output and the gradients of 2 heads of width 64, with all weights,
or in tiles, in PyTorch and in NumPy. Beside it stand the bytes that PyTorch keeps between forward and backward. The
exponents are slopes of straight lines through the logarithms.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is loaded

import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from attnlib.data.results import save_result
from attnlib.nn.attention import attend
from attnlib.nn.flash import flash_attention
from attnlib.nn.scores import scaled_dot_scores
from attnlib.reference import flash
from benchmarks.multihead_memory import peak_bytes

SEED, HEADS, WIDTH = 0, 2, 64
SIZES = (512, 1024, 2048, 4096)


def all_weights(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
    """Attention that keeps an array with a number for each pair of tokens."""
    return attend(scaled_dot_scores(Q, K), V)


def causal(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
    """Tiles up to the diagonal."""
    return flash_attention(Q, K, V, causal=True)


PROGRAMS = {"all weights": all_weights, "tiles": flash_attention, "tiles, causal": causal}
KINDS = (*PROGRAMS, "tiles in NumPy")


def inputs(n: int) -> list[Tensor]:
    draw = torch.Generator().manual_seed(SEED)
    return [torch.randn(1, HEADS, n, WIDTH, generator=draw, requires_grad=True) for _ in range(3)]


def kept_bytes(program: Callable[..., Tensor], n: int) -> int:
    """Bytes that are held between forward and backward, the inputs among them; what shares memory counts once."""
    memory: dict[int, int] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        memory[storage.data_ptr()] = storage.nbytes()
        return tensor

    with saved_tensors_hooks(note, lambda tensor: tensor):
        output = program(*inputs(n))  # alive until it has been counted
    assert output.requires_grad
    return sum(memory.values())


def work(kind: str, n: int) -> None:
    """The output and the gradients of queries, keys and values."""
    Q, K, V = inputs(n)
    if kind in PROGRAMS:
        PROGRAMS[kind](Q, K, V).backward(torch.ones(V.shape))
        return
    O, cache = flash.flash_attention(*(X.detach().numpy() for X in (Q, K, V)))
    flash.flash_attention_backward(np.ones_like(O), cache)


def measure(kind: str, n: int) -> int:
    """Bytes above what a short text needs."""
    work(kind, 64)  # libraries and threads are in memory now
    before = peak_bytes()
    work(kind, n)
    return peak_bytes() - before


def in_a_process(kind: str, n: int) -> int:
    """The median of three processes, each of which measures once."""
    command = [sys.executable, "-m", "benchmarks.flash_memory", kind, str(n)]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(3)]
    return sorted(map(int, runs))[1]


def exponent(peaks: list[int]) -> float:
    """p in peak ~ n^p."""
    slope, _ = np.polyfit(np.log(SIZES), np.log(peaks), 1)
    return round(float(slope), 2)


def main() -> None:
    started = time.perf_counter()
    peaks = {kind: [in_a_process(kind, n) for n in SIZES] for kind in KINDS}
    kept = {kind: [kept_bytes(program, n) for n in SIZES] for kind, program in PROGRAMS.items()}
    file = save_result(
        "flash-memory",
        {
            "n": SIZES,
            "h": HEADS,
            "d_k": WIDTH,
            "bytes_of_the_weights": [4 * HEADS * n**2 for n in SIZES],
            "peak_bytes": peaks,
            "kept_bytes": kept,
            "exponent": {kind: exponent(found) for kind, found in peaks.items()},
            "exponent_of_kept": {kind: exponent(found) for kind, found in kept.items()},
        },
        seeds=[SEED],
        command="python -m benchmarks.flash_memory",
        seconds=time.perf_counter() - started,
        device="cpu, 1 thread, one process for each measurement",
    )
    print(file.read_text(encoding="utf-8"))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(measure(sys.argv[1], int(sys.argv[2])))
    else:
        main()

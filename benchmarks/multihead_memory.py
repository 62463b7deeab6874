"""Peak memory of multi-head attention as the sequence grows: `python -m benchmarks.multihead_memory`.

Each measurement is a process of its own, which reports how far its largest resident size rose above what it was before
the work: a training step of `MultiHeadAttention` when nobody asks for the weights, without and with causality, the
forward alone, and `attention_weights`, which forms them. The exponents are slopes of straight lines through the
logarithms.
"""

import os

os.environ["OMP_NUM_THREADS"] = "2"  # before torch is loaded

import resource
import subprocess
import sys
import time

import numpy as np
import torch

from attnlib.data.results import save_result
from attnlib.nn.multihead import MultiHeadAttention

SEED, WIDTH, HEADS = 0, 256, 4
SIZES = (1024, 2048, 4096, 8192)
KINDS = ("forward and backward", "causal, forward and backward", "forward", "asked for the weights")


def peak_bytes() -> int:
    """The largest resident size of this process so far."""
    largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return largest if sys.platform == "darwin" else 1024 * largest  # Linux counts in KiB


def measure(kind: str, n: int) -> int:
    """Bytes above what a short sequence of the same kind needs."""
    torch.manual_seed(SEED)
    layer = MultiHeadAttention(d_model=WIDTH, n_heads=HEADS, causal="causal" in kind)

    def work(X: torch.Tensor) -> None:
        if "backward" in kind:
            layer(X.requires_grad_()).backward(torch.ones_like(X))
            return
        with torch.no_grad():
            layer(X) if kind == "forward" else layer.attention_weights(X)

    work(torch.randn(1, 64, WIDTH))  # libraries and threads are in memory now
    before = peak_bytes()
    work(torch.randn(1, n, WIDTH))
    return peak_bytes() - before


def in_a_process(kind: str, n: int) -> int:
    """The median of three processes, each of which measures once."""
    command = [sys.executable, "-m", "benchmarks.multihead_memory", kind, str(n)]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(3)]
    return sorted(map(int, runs))[1]


def exponent(peaks: list[int]) -> float:
    """p in peak ~ n^p."""
    slope, _ = np.polyfit(np.log(SIZES), np.log(peaks), 1)
    return round(float(slope), 2)


def main() -> None:
    started = time.perf_counter()
    peaks = {kind: [in_a_process(kind, n) for n in SIZES] for kind in KINDS}
    file = save_result(
        "multihead-memory",
        {
            "n": SIZES,
            "d_model": WIDTH,
            "h": HEADS,
            "bytes_of_the_weights": [4 * HEADS * n**2 for n in SIZES],
            "peak_bytes": peaks,
            "exponent": {kind: exponent(found) for kind, found in peaks.items()},
        },
        seeds=[SEED],
        command="python -m benchmarks.multihead_memory",
        seconds=time.perf_counter() - started,
        device="cpu, 2 threads, one process for each measurement",
    )
    print(file.read_text(encoding="utf-8"))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(measure(sys.argv[1], int(sys.argv[2])))
    else:
        main()

"""How time and memory of attention grow: `python -m experiments.cost_of_attention` (book: in-matrices).

Measures the triple loop against the matrix form, and the matrix form alone up to 4,096 queries and keys. Time is the
processor's, on one thread, and of several runs the fastest counts: what else the machine does can only add to it.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

from attnlib.data.results import save_result
from attnlib.reference.attention import attention_by_loops, scaled_dot_product_attention

SEED, LOOP_WIDTH, WIDTH = 0, 32, 64
LOOP_SIZES, SIZES = (8, 16, 32, 64, 128), (64, 128, 256, 512, 1024, 2048, 4096)


def fastest(work: Callable[[], Any], runs: int) -> float:
    """Seconds of processor time of the fastest of several runs, to three digits."""
    times = []
    for _ in range(runs):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return float(f"{min(times):.3g}")


def peak_bytes(work: Callable[[], Any]) -> int:
    """The most memory that was held at one time, beyond what was there before."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def main() -> None:
    started = time.perf_counter()
    rng = np.random.default_rng(SEED)
    loops, matrices, seconds, peaks = [], [], [], []
    for n in LOOP_SIZES:
        Q, K, V = rng.normal(size=(3, n, LOOP_WIDTH))
        loops.append(fastest(lambda Q=Q, K=K, V=V: attention_by_loops(Q, K, V), 5))
        matrices.append(fastest(lambda Q=Q, K=K, V=V: scaled_dot_product_attention(Q, K, V), 200))
    for n in SIZES:
        Q, K, V = rng.normal(size=(3, n, WIDTH))
        seconds.append(fastest(lambda Q=Q, K=K, V=V: scaled_dot_product_attention(Q, K, V), 9 + 4096 // n))
        peaks.append(peak_bytes(lambda Q=Q, K=K, V=V: scaled_dot_product_attention(Q, K, V)))
    file = save_result(
        "cost-of-attention",
        {
            "loops": {"n": LOOP_SIZES, "d": LOOP_WIDTH, "loop_seconds": loops, "matrix_seconds": matrices},
            "growth": {"n": SIZES, "d": WIDTH, "seconds": seconds, "peak_bytes": peaks},
        },
        seeds=[SEED],
        command="python -m experiments.cost_of_attention",
        seconds=time.perf_counter() - started,
        device="cpu, one thread",
    )
    print(file.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()

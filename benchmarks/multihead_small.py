"""A small layer without gradients beside `torch.nn.MultiheadAttention`: `python -m benchmarks.multihead_small`.

Two texts of 16 vectors of 64 numbers, 4 heads: so little work that the time is that of calling. Each is called CALLS
times in a turn, while training and in evaluation, where PyTorch's module is one operator, under `torch.no_grad`.
Processor time on one thread.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy and torch are loaded

import time

import torch
from torch import nn

from attnlib.data.results import save_result
from attnlib.nn.multihead import MultiHeadAttention
from benchmarks.interleaved import Work, in_turns, ratio, summary

SEED, ROUNDS, CALLS = 0, 100, 20
SHAPE, HEADS = (2, 16, 64), 4
OURS, THEIRS = "attnlib", "torch.nn.MultiheadAttention"


def contestants(training: bool) -> dict[str, Work]:
    torch.manual_seed(SEED)
    X, d = torch.randn(SHAPE), SHAPE[-1]
    ours = MultiHeadAttention(d_model=d, n_heads=HEADS).train(training)
    theirs = nn.MultiheadAttention(d, HEADS, batch_first=True).train(training)

    def of_attnlib() -> None:
        for _ in range(CALLS):
            ours(X)

    def of_pytorch() -> None:
        for _ in range(CALLS):
            theirs(X, X, X, need_weights=False)

    return {OURS: of_attnlib, THEIRS: of_pytorch}


@torch.no_grad()
def measured(training: bool) -> dict:
    seconds = in_turns(contestants(training), ROUNDS, time.process_time)
    seconds = {name: [one / CALLS for one in times] for name, times in seconds.items()}
    return {"times_as_long": ratio(seconds, OURS, THEIRS), "times": summary(seconds)}


def main() -> None:
    started = time.perf_counter()
    torch.set_num_threads(1)
    result = {
        "b n d_model": SHAPE,
        "h": HEADS,
        "rounds": ROUNDS,
        "calls": CALLS,
        "training": measured(True),
        "evaluation": measured(False),
    }
    file = save_result(
        "multihead-small",
        result,
        seeds=[SEED],
        command="python -m benchmarks.multihead_small",
        seconds=time.perf_counter() - started,
        device="cpu, 1 thread, processor time",
    )
    print(file.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()

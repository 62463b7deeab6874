"""Forward and backward of multi-head attention beside its peers: `python -m benchmarks.multihead_time`.

Four forms of self-attention with the same weights at (b 8, n 512, d_model 512, h 8) and, the last left out, at
(8, 256, 256, 4) in float32: `MultiHeadAttention`;
`torch.nn.MultiheadAttention`, asked for no weights; the bare pipeline of one fused projection and PyTorch's fused
operator, without a check; the formula as it is written, with all weights formed. Then the NumPy reference beside the
formula in PyTorch at (4, 256, 256, 4). Wall time on two threads, and processor time on one, which other work on the
machine disturbs less.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "2"  # before NumPy and torch are loaded

import math
import time
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

from attnlib.data.results import save_result
from attnlib.nn.heads import merge_heads, split_heads
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.reference.multihead import (
    MultiHeadParameters,
    multi_head_attention,
    multi_head_attention_backward,
)
from benchmarks.interleaved import Work, in_turns, ratio, summary

SEED, ROUNDS = 0, 20
LAYER, NARROW, SMALL = (8, 512, 512, 8), (8, 256, 256, 4), (4, 256, 256, 4)  # b, n, d_model, h


class Bare(nn.Module):
    """One fused projection, PyTorch's fused operator, one projection: the least that PyTorch can do."""

    def __init__(self, d: int, h: int) -> None:
        super().__init__()
        self.h, self.W_QKV, self.W_O = h, nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, X: Tensor) -> Tensor:
        Q, K, V = (A.unflatten(-1, (self.h, -1)).transpose(1, 2) for A in self.W_QKV(X).chunk(3, dim=-1))
        return self.W_O(F.scaled_dot_product_attention(Q, K, V).transpose(1, 2).flatten(-2))


class Naive(nn.Module):
    """The formula as it is written: three projections, all weights formed."""

    def __init__(self, d: int, h: int) -> None:
        super().__init__()
        self.h = h
        self.W_Q, self.W_K, self.W_V, self.W_O = (nn.Linear(d, d) for _ in range(4))

    def forward(self, X: Tensor) -> Tensor:
        Q, K, V = (split_heads(W(X), self.h) for W in (self.W_Q, self.W_K, self.W_V))
        P = torch.softmax(Q @ K.mT / math.sqrt(Q.shape[-1]), dim=-1)
        return self.W_O(merge_heads(P @ V))


class PyTorch(nn.Module):
    """`torch.nn.MultiheadAttention`, asked for no weights."""

    def __init__(self, d: int, h: int) -> None:
        super().__init__()
        self.layer = nn.MultiheadAttention(d, h, batch_first=True)

    def forward(self, X: Tensor) -> Tensor:
        return self.layer(X, X, X, need_weights=False)[0]


def step(module: nn.Module, X: Tensor, dY: Tensor) -> Work:
    """Forward and backward, gradients of the input included."""

    def work() -> None:
        X.grad = None
        module.zero_grad()
        module(X).backward(dY)

    return work


def layers(size: tuple[int, int, int, int]) -> dict[str, Work]:
    b, n, d, h = size
    X, dY = torch.randn(b, n, d, requires_grad=True), torch.randn(b, n, d)
    modules = {
        "attnlib": MultiHeadAttention(d_model=d, n_heads=h),
        "torch.nn.MultiheadAttention": PyTorch(d, h),
        "bare": Bare(d, h),
    }
    if size == LAYER:
        modules["naive"] = Naive(d, h)
    return {name: step(module, X, dY) for name, module in modules.items()}


def numpy_and_eager() -> dict[str, Work]:
    b, n, d, h = SMALL
    rng = np.random.default_rng(SEED)
    X, dY = rng.normal(size=(2, b, n, d)).astype(np.float32)
    W = rng.normal(size=(4, d, d)).astype(np.float32) / np.float32(math.sqrt(d))
    parameters = MultiHeadParameters(*W, *np.zeros((4, d), dtype=np.float32))

    def reference() -> None:
        _, cache = multi_head_attention(X, X, parameters, h)
        multi_head_attention_backward(dY, cache)

    return {
        "numpy": reference,
        "eager": step(Naive(d, h), torch.tensor(X, requires_grad=True), torch.tensor(dY)),
    }


def measured(contestants: dict[str, Work], pairs: list[tuple[str, str]], clock: Callable[[], float]) -> dict:
    seconds = in_turns(contestants, ROUNDS, clock)
    ratios = {f"{one} / {other}": ratio(seconds, one, other) for one, other in pairs}
    return {"ratios": ratios, "times": summary(seconds)}


def both(contestants: dict[str, Work], pairs: list[tuple[str, str]]) -> dict:
    """Wall time on two threads and processor time on one."""
    torch.set_num_threads(2)
    with threadpool_limits(2):
        wall = measured(contestants, pairs, time.perf_counter)
    torch.set_num_threads(1)
    with threadpool_limits(1):
        return {
            "two_threads_wall": wall,
            "one_thread_processor": measured(contestants, pairs, time.process_time),
        }


def main() -> None:
    started = time.perf_counter()
    torch.manual_seed(SEED)
    peers = [("attnlib", other) for other in ("torch.nn.MultiheadAttention", "bare", "naive")]
    narrow = [pair for pair in peers if "naive" not in pair]
    result = {
        "layer": {"b n d_model h": LAYER, "rounds": ROUNDS} | both(layers(LAYER), peers),
        "narrow layer": {"b n d_model h": NARROW, "rounds": ROUNDS} | both(layers(NARROW), narrow),
        "reference": {"b n d_model h": SMALL, "rounds": ROUNDS}
        | both(numpy_and_eager(), [("numpy", "eager")]),
    }
    file = save_result(
        "multihead-time",
        result,
        seeds=[SEED],
        command="python -m benchmarks.multihead_time",
        seconds=time.perf_counter() - started,
        device=f"cpu, {os.cpu_count()} cores",
    )
    print(file.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()

"""One token of a decoder beside the least that PyTorch can do: `python -m benchmarks.multihead_step`.

Width 256, 4 heads, 1,024 positions in the cache, float32, no gradients, batch 1. `MultiHeadAttention` with its cache,
growing and fixed, beside the bare pipeline: one fused projection, the new key and value written into memory that was
made before, PyTorch's fused operator, one projection. Each is called CALLS times in a turn; the cache is cropped after
each call, so that every call meets 1,024 positions. Wall time on two threads, and processor time on one.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "2"  # before NumPy and torch are loaded

import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlib.data.results import save_result
from attnlib.nn.cache import KVCache
from attnlib.nn.multihead import MultiHeadAttention
from benchmarks.interleaved import Work, in_turns, ratio, summary

SEED, ROUNDS, CALLS = 0, 200, 20
WIDTH, HEADS, HELD = 256, 4, 1024
PAIRS = [("attnlib, growing", "bare"), ("attnlib, fixed", "bare")]


class BareStep(nn.Module):
    """One fused projection, a cache of one tensor each, PyTorch's fused operator, one projection."""

    def __init__(self, d: int, h: int, longest: int) -> None:
        super().__init__()
        self.h, self.W_QKV, self.W_O = h, nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.K, self.V = torch.empty(2, 1, h, longest, d // h)
        self.length = 0

    def forward(self, X: Tensor) -> Tensor:
        Q, K, V = (A.unflatten(-1, (self.h, -1)).transpose(1, 2) for A in self.W_QKV(X).chunk(3, dim=-1))
        old, self.length = self.length, self.length + X.shape[1]
        self.K[:, :, old : self.length], self.V[:, :, old : self.length] = K, V
        K, V = self.K[:, :, : self.length], self.V[:, :, : self.length]
        causal = old == 0 and X.shape[1] > 1
        return self.W_O(F.scaled_dot_product_attention(Q, K, V, is_causal=causal).transpose(1, 2).flatten(-2))


def of_attnlib(layer: MultiHeadAttention, text: Tensor, cache: KVCache) -> Work:
    layer(text[:, :-1], kv_cache=cache)
    held = len(cache)

    def work() -> None:
        for _ in range(CALLS):
            layer(text[:, -1:], kv_cache=cache)
            cache.crop(held)

    return work


def of_bare(layer: BareStep, text: Tensor) -> Work:
    layer(text[:, :-1])
    held = layer.length

    def work() -> None:
        for _ in range(CALLS):
            layer(text[:, -1:])
            layer.length = held

    return work


def contestants() -> dict[str, Work]:
    torch.manual_seed(SEED)
    text = torch.randn(1, HELD + 1, WIDTH)
    layer = MultiHeadAttention(d_model=WIDTH, n_heads=HEADS, causal=True).eval()
    bare = BareStep(WIDTH, HEADS, HELD + 1).eval()
    return {
        "attnlib, growing": of_attnlib(layer, text, KVCache()),
        "attnlib, fixed": of_attnlib(layer, text, KVCache(capacity=HELD + 1)),
        "bare": of_bare(bare, text),
    }


@torch.no_grad()
def measured(threads: int, clock: Callable[[], float]) -> dict:
    torch.set_num_threads(threads)
    seconds = in_turns(contestants(), ROUNDS, clock)
    seconds = {name: [time / CALLS for time in times] for name, times in seconds.items()}
    ratios = {f"{one} / {other}": ratio(seconds, one, other) for one, other in PAIRS}
    return {"ratios": ratios, "times": summary(seconds)}


def main() -> None:
    started = time.perf_counter()
    result = {
        "d_model h held": (WIDTH, HEADS, HELD),
        "rounds": ROUNDS,
        "calls": CALLS,
        "two_threads_wall": measured(2, time.perf_counter),
        "one_thread_processor": measured(1, time.process_time),
    }
    file = save_result(
        "multihead-step",
        result,
        seeds=[SEED],
        command="python -m benchmarks.multihead_step",
        seconds=time.perf_counter() - started,
        device=f"cpu, {os.cpu_count()} cores",
    )
    print(file.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()

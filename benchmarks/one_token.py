"""One token more after a short and after a long text: `python -m benchmarks.one_token`.

Each kind of layer alone, of width WIDTH with 4 heads, in float32 on one thread: it reads one token after HELD others,
whose keys and values, or whose state, are in its cache. Then models of LAYERS layers, of which some see all tokens and
the others are of the gated delta rule: a + b · (full layers) · n is fitted to their times, and R² says how well. All
take turns in one run; the least processor time of a round counts. The layers whose cache has one size have more rounds,
because they differ by less than the noise of a busy machine. A cache is brought to its length without reading the
text: keys, values and states of random numbers cost the same.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is loaded

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attnlib.data.results import save_result
from attnlib.models.config import ModelConfig
from attnlib.models.costs import cache_bytes
from attnlib.models.gpt import GPT
from attnlib.models.parts import block_of, rotation
from attnlib.nn.transformer import Given
from benchmarks.interleaved import Work, digits, in_turns

WIDTH, WINDOW, LAYERS, CALLS, SEED = 256, 255, 4, 8, 0
ROUNDS, MORE = 15, 150  # of everything, and then of the layers whose cache has one size
HELD = (1024, 4096, 16384, 65536)
KINDS = ("full", "window", "linear", "delta")
FULL = (0, 1, 2, 4)  # full layers of the models
CONTEXT = HELD[-1] + CALLS * (ROUNDS + MORE + 9)  # positions that rotations are made for


def config(mixer: str | tuple[str, ...]) -> ModelConfig:
    """Sizes that all have in common."""
    return ModelConfig(
        vocab=256, context=CONTEXT, d_model=WIDTH, n_heads=4, n_layers=LAYERS, positions="rotary", layout="halves",
        norm="rms", bias=False, mixer=mixer, window=WINDOW if "window" in mixer else None,
    )  # fmt: skip


def pattern(full: int) -> tuple[str, ...]:
    """So many full layers after others with a state."""
    return ("delta",) * (LAYERS - full) + ("full",) * full


def filled(cache: Any, n: int) -> Any:
    """A cache that holds a few tokens, as it is after n: a state has its size already."""
    numbers = torch.Generator().manual_seed(SEED)
    while hasattr(cache, "append") and len(cache) < n:
        rows = min(n - len(cache), 8192)
        cache.append(*torch.randn(2, 1, 4, rows, WIDTH // 4, generator=numbers))
    cache.length = n
    return cache


def of_layer(kind: str, n: int) -> tuple[Work, Any]:
    """One more token for one layer, CALLS times, and its cache."""
    torch.manual_seed(SEED)
    one = config(kind)
    block, rotate = block_of(one), rotation(one)
    layer = block.steps[0][1]
    cache = block.new_cache(n + CALLS)
    X = torch.randn(1, 1, WIDTH)

    def token() -> Tensor:
        return layer(block, X, Given(rotate=rotate, kv_cache=cache))

    for _ in range(3):  # as many as the convolution remembers
        token()
    filled(cache, n)

    def work() -> Tensor:
        return [token() for _ in range(CALLS) if back([cache], n)][-1]

    return work, cache


def of_model(full: int, n: int) -> tuple[Work, list[Any]]:
    """One more token for a model with so many full layers, CALLS times."""
    torch.manual_seed(SEED)
    model = GPT(config(pattern(full))).eval()
    caches, tokens = model.new_kv_cache(n + CALLS), torch.zeros(1, 1, dtype=torch.long)
    model(tokens.expand(1, 3), caches)
    for cache in caches:
        filled(cache, n)

    def work() -> Tensor:
        return [model.next_scores(tokens, caches) for _ in range(CALLS) if back(caches, n)][-1]

    return work, caches


def back(caches: Sequence[Any], n: int) -> bool:
    """A cache that grows forgets the token of the last call; the others keep their size."""
    for cache in caches:
        if cache.earliest <= n:
            cache.crop(n)
    return True


def bytes_of(caches: Sequence[Any]) -> int:
    return sum(cache.nbytes for cache in caches)


def fitted(microseconds: dict[tuple[int, int], float]) -> dict[str, float]:
    """a and b of t = a + b · (full layers) · n by least squares, and R²."""
    x = np.array([full * n for full, n in microseconds], dtype=float)
    t = np.array(list(microseconds.values()))
    b, a = np.polyfit(x, t, 1)
    left = ((t - a - b * x) ** 2).sum() / ((t - t.mean()) ** 2).sum()
    return {"a": digits(a), "b": float(f"{b:.4g}"), "R2": round(float(1 - left), 4)}


def least(work: dict[str, Work], rounds: int) -> dict[str, float]:
    """Microseconds a token of each, the least of the rounds, all in turn."""
    return {
        name: digits(1e6 * float(np.min(taken)) / CALLS)
        for name, taken in in_turns(work, rounds, time.process_time).items()
    }


def main() -> None:
    started = time.process_time()
    torch.set_num_threads(1)
    with torch.inference_mode():
        layers = {(kind, n): of_layer(kind, n) for n in HELD for kind in KINDS}  # after another kind each
        models = {(full, n): of_model(full, n) for full in FULL for n in HELD}
        sizes = {key: bytes_of([cache]) for key, (_, cache) in layers.items()}
        for (full, n), (_, caches) in models.items():
            assert bytes_of(caches) == cache_bytes(config(pattern(full)), n, bytes_each=4)
        work = {f"{kind} {n}": one for (kind, n), (one, _) in layers.items()}
        found = least({**work, **{f"{full} full {n}": one for (full, n), (one, _) in models.items()}}, ROUNDS)
        constant = {name: one for name, one in work.items() if not name.startswith("full")}
        found |= {name: min(found[name], again) for name, again in least(constant, MORE).items()}
    times = {(full, n): found[f"{full} full {n}"] for full in FULL for n in HELD}
    data = {
        "width window layers": [WIDTH, WINDOW + 1, LAYERS],
        "tokens so far": HELD,
        "microseconds of a layer": {kind: [found[f"{kind} {n}"] for n in HELD] for kind in KINDS},
        "bytes of a layer": {kind: [sizes[kind, n] for n in HELD] for kind in KINDS},
        "full layers": FULL,
        "microseconds of a model": {str(full): [times[full, n] for n in HELD] for full in FULL},
        "bytes of a model": {
            str(full): [cache_bytes(config(pattern(full)), n, bytes_each=4) for n in HELD] for full in FULL
        },
        "fit": fitted(times),
    }
    print(data)
    save_result(
        "one-token",
        data,
        seeds=[SEED],
        command="python -m benchmarks.one_token",
        seconds=time.process_time() - started,
        device="cpu, 1 thread, processor time",
    )


if __name__ == "__main__":
    main()

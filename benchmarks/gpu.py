"""What only a GPU can show: `make gpu`. Where there is none it says so, writes nothing and ends with success.

Half precision against the reference, time and memory of fused and of plain attention, one training at the size that a
GPU gets, and a step of GPT-2 on each rung of the ladder: kinds of number, compiled, with a fused optimiser. Stores
attnlib/data/results/gpu.json: figures, seeds, versions, device, date and commit.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from attnlib.data.bilingual import corpus, source_vocab, target_vocab
from attnlib.data.results import FOLDER, save_result
from attnlib.data.vocab import batch
from attnlib.models import costs
from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT, gpt2_small
from attnlib.nn.attention import attention_weights
from attnlib.nn.attention import scaled_dot_product_attention as fused
from attnlib.nn.flash import flash_attention
from attnlib.reference.attention import scaled_dot_product_attention as reference
from attnlib.testing import tolerance
from attnlib.train.device import Device, device, scale
from attnlib.train.translation import accuracy, train_translator

ROOT = Path(__file__).resolve().parent.parent
SEEDS = (0, 1, 2)
KINDS = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
SIZES = (512, 1024, 2048, 4096, 8192, 16384)
RUNGS: dict[str, tuple[str, bool, bool]] = {  # products in this kind of number, compiled, fused optimiser
    "float32": ("float32", False, False),
    "tf32": ("tf32", False, False),
    "bfloat16": ("bfloat16", False, False),
    "bfloat16, compiled": ("bfloat16", True, False),
    "bfloat16, compiled, fused": ("bfloat16", True, True),
}
NONE = "make gpu: torch sees no GPU here, so nothing was measured and nothing was written."


def drawn(shape: tuple[int, ...], kind: str, seed: int, device: str) -> tuple[torch.Tensor, ...]:
    """Three normal arrays, rounded to a kind of number."""
    rng = np.random.default_rng(seed)
    return tuple(torch.tensor(rng.normal(size=shape)).to(device, KINDS[kind]) for _ in range(3))


def precision(here: Device, kind: str, seed: int, shape: tuple[int, ...] = (2, 3, 512, 64)) -> dict[str, Any]:
    """The largest error of fused attention against the reference in float64, from the same rounded inputs."""
    torch.backends.cuda.matmul.allow_tf32 = False
    Q, K, V = drawn(shape, kind, seed, here.type)
    right, _ = reference(*(X.double().cpu().numpy() for X in (Q, K, V)))
    error = np.abs(fused(Q, K, V).double().cpu().numpy() - right)
    rtol, atol = tolerance(kind)
    within = bool((error <= atol + rtol * np.abs(right)).all())
    return {"kind": kind, "seed": seed, "largest_error": float(f"{error.max():.3g}"), "within": within}


def plain(Q: torch.Tensor, K: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
    """Attention with its weights written out."""
    return attention_weights(Q, K) @ V


def milliseconds(work: Callable[[], Any], here: Device, runs: int = 9) -> float:
    """The median time of one run, the first not counted; a GPU is waited for."""
    taken = []
    for _ in range(runs + 1):
        wait(here)
        started = time.perf_counter()
        work()
        wait(here)
        taken.append(1e3 * (time.perf_counter() - started))
    return float(f"{np.median(taken[1:]):.3g}")


def wait(here: Device) -> None:
    if here.type == "cuda":
        torch.cuda.synchronize()


def megabytes(work: Callable[[], Any], here: Device) -> float | None:
    """The most memory of the GPU that was held at a time, beyond what was held before; None without a real GPU."""
    if here.type != "cuda":
        return None
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    work()
    wait(here)
    return float(f"{(torch.cuda.max_memory_allocated() - before) / 1e6:.4g}")


def cost(here: Device, n: int) -> dict[str, Any]:
    """Time and memory of a forward and backward pass at n queries and n keys in half precision.

    PyTorch's fused program, all weights written out, and the book's own tiles, which are Triton programs here.
    """
    arrays = [X.requires_grad_() for X in drawn((1, 8, n, 64), "bfloat16", 0, here.type)]
    row: dict[str, Any] = {"n": n}
    for name, attention in (("fused", fused), ("plain", plain), ("tiles", flash_attention)):

        def pass_(attention: Callable[..., torch.Tensor] = attention) -> None:
            torch.autograd.grad(attention(*arrays).float().square().sum(), arrays)

        row |= {f"{name}_ms": milliseconds(pass_, here), f"{name}_mb": megabytes(pass_, here)}
    return row


def training(here: Device, seed: int, steps: int) -> dict[str, Any]:
    """A small translator with attention, trained for `steps` steps."""
    pairs = corpus(min(30_000, 64 * steps), lengths=(3, 20), seed=seed)
    started = time.perf_counter()
    model = train_translator(pairs, "dot", steps=steps, seed=seed, lr=1e-2, d_hidden=64, d_embedding=64)
    wait(here)
    seconds = round(time.perf_counter() - started, 1)
    unseen = batch(corpus(200, lengths=(3, 20), split="test", seed=2), source_vocab(), target_vocab())
    right = accuracy(model, unseen)
    return {
        "seed": seed,
        "steps": steps,
        "seconds": seconds,
        "token": round(right.token, 4),
        "exact": round(right.exact, 4),
    }


def step_of(
    here: Device, config: ModelConfig, texts: int, kind: str, compiled: bool, fused_step: bool
) -> Callable[[], None]:
    """One step of training on random tokens, with everything that a rung changes."""
    torch.manual_seed(0)
    model = GPT(config).to(here.type)
    run = torch.compile(model) if compiled else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=fused_step, foreach=not fused_step)
    tokens = torch.randint(config.vocab, (texts, config.context + 1), device=here.type)

    def work() -> None:
        torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
        with torch.autocast(here.type, torch.bfloat16, enabled=kind == "bfloat16"):
            scores = run(tokens[:, :-1]).flatten(0, 1)
            loss = torch.nn.functional.cross_entropy(scores, tokens[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return work


def matrix_rate(here: Device, kind: str, n: int) -> float:
    """Operations a second of one large product in this kind of number: what the machine can do."""
    torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
    A = torch.randn(n, n, device=here.type, dtype=torch.bfloat16 if kind == "bfloat16" else torch.float32)
    return 2 * n**3 / (1e-3 * milliseconds(lambda: A @ A, here))


def ladder(here: Device, config: ModelConfig, texts: int, n: int) -> list[dict[str, Any]]:
    """A step on each rung: tokens a second, and its products' share of what one large product reaches."""
    rows = []
    flops = 6 * texts * costs.multiplications(config, config.context)  # backward is twice forward
    for rung, (kind, compiled, fused_step) in RUNGS.items():
        ms = milliseconds(step_of(here, config, texts, kind, compiled, fused_step), here)
        share = flops / (1e-3 * ms) / matrix_rate(here, kind, n)
        told = {"rung": rung, "ms": ms, "tokens_per_second": round(1e3 * texts * config.context / ms)}
        rows.append(told | {"share_of_matrix_rate": float(f"{share:.3g}")})
    return rows


def commit() -> str | None:
    """The commit that is measured: as COMMIT says, where a copy without its history is; else as git says."""
    if "COMMIT" in os.environ:
        return os.environ["COMMIT"]
    told = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True
    )
    return told.stdout.strip() or None


def measure(
    folder: Path,
    sizes: tuple[int, ...] = SIZES,
    steps: int | None = None,
    model: ModelConfig | None = None,
    texts: int = 16,
    n: int = 8192,
) -> Path | None:
    """Measure everything and store it; without a GPU do nothing."""
    here = device()
    if not here.is_gpu:
        return None
    started = time.perf_counter()
    steps = steps or scale("training steps", cpu=1500, gpu=15_000, minutes=30)
    data = {
        "commit": commit(),
        "gpu": {"name": here.label, "gigabytes": here.gigabytes, "cuda": torch.version.cuda},
        "precision": [precision(here, kind, seed) for kind in KINDS for seed in SEEDS],
        "cost": [cost(here, n) for n in sizes],
        "training": [training(here, seed, steps) for seed in SEEDS],
        "ladder": ladder(here, model or gpt2_small(), texts, n),
    }
    seconds = time.perf_counter() - started
    command = "python benchmarks/gpu.py"
    return save_result(
        "gpu", data, seeds=SEEDS, command=command, seconds=seconds, device=here.label, folder=folder
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="What only a GPU can show.")
    parser.add_argument(
        "--steps", type=int, help="of each training; by default as many as a notebook takes on a GPU"
    )
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where gpu.json is stored")
    asked = parser.parse_args()
    file = measure(asked.folder, steps=asked.steps)
    print(NONE if file is None else file.read_text(encoding="utf-8"))
    return 0


if __name__ == "__main__":
    sys.exit(main())

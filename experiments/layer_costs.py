"""How long layers take against the length of a sequence: `python -m experiments.layer_costs` (book: what-it-costs).

Attention in its two parts, two recurrent layers and a convolution, forward and with the backward pass, for one sequence
and for eight at a time. In each round all layers take their turn, so that a slow minute of the machine hits all alike.
Time is the processor's, on one thread. Stores attnlib/data/results/layer-costs.json, seconds of every round.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"  # before torch is loaded

import math
import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from attnlib.data.results import save_result

SEED, WIDTH, KERNEL, ROUNDS = 0, 128, 3, 7
LENGTHS, BATCHES = (32, 64, 128, 256, 512, 1024), (1, 8)


class Projections(nn.Module):
    """The four linear maps of attention, and nothing else."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.maps = nn.ModuleList(nn.Linear(d, d, bias=False) for _ in range(4))

    def forward(self, X: Tensor) -> Tensor:
        return sum((W(X) for W in self.maps), start=torch.zeros(()))


class Mixing(nn.Module):
    """Scores, softmax and average, with the input as queries, keys and values."""

    def forward(self, X: Tensor) -> Tensor:
        return torch.softmax(X @ X.transpose(-1, -2) / math.sqrt(X.shape[-1]), dim=-1) @ X


class Attention(Projections):
    """Self-attention with an output map, every step written out (eq-attention-cost)."""

    def forward(self, X: Tensor) -> Tensor:
        Q, K, V = (W(X) for W in self.maps[:3])
        P = torch.softmax(Q @ K.transpose(-1, -2) / math.sqrt(X.shape[-1]), dim=-1)
        return self.maps[3](P @ V)


class Recurrent(nn.Module):
    """PyTorch's own recurrent layer, step after step in C++; only the states are returned."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, X: Tensor) -> Tensor:
        return self.layer(X)[0]


class Convolution(nn.Conv1d):
    """A convolution along the rows of X."""

    def forward(self, X: Tensor) -> Tensor:  # type: ignore[override]
        return super().forward(X.transpose(-1, -2)).transpose(-1, -2)


def layers(d: int) -> dict[str, nn.Module]:
    """One of each kind, of width d."""
    return {
        "attention": Attention(d),
        "projections": Projections(d),
        "mixing": Mixing(),
        "rnn": Recurrent(nn.RNN(d, d, bias=False, batch_first=True)),
        "lstm": Recurrent(nn.LSTM(d, d, bias=False, batch_first=True)),
        "convolution": Convolution(d, d, KERNEL, padding=KERNEL // 2, bias=False),
    }


def seconds(work: Callable[[], Any]) -> float:
    """Seconds of processor time of one call, to three digits; short calls are repeated for at least 20 ms."""
    started, calls = time.process_time(), 0
    while time.process_time() - started < 0.02:
        work()
        calls += 1
    return float(f"{(time.process_time() - started) / calls:.3g}")


def measure(layer: nn.Module, X: Tensor, dO: Tensor) -> tuple[float, float]:
    """Seconds without gradients, and with forward and backward pass."""

    def forward() -> None:
        with torch.no_grad():
            layer(X)

    def both() -> None:
        layer(X).backward(dO)

    forward()  # the first call of each is slower and not timed
    both()
    return seconds(forward), seconds(both)


def main() -> None:
    started = time.perf_counter()
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    kinds = layers(WIDTH)
    times: dict[str, Any] = {
        str(batch): {name: {"forward": [], "both": []} for name in kinds} for batch in BATCHES
    }
    for batch in BATCHES:
        for n in LENGTHS:
            X = torch.randn(batch, n, WIDTH, requires_grad=True)
            dO = torch.randn(batch, n, WIDTH)
            rounds = [{name: measure(layer, X, dO) for name, layer in kinds.items()} for _ in range(ROUNDS)]
            for name in kinds:
                for which, kind in enumerate(("forward", "both")):
                    times[str(batch)][name][kind].append([one[name][which] for one in rounds])
    file = save_result(
        "layer-costs",
        {"d": WIDTH, "kernel": KERNEL, "n": LENGTHS, "rounds": ROUNDS, "seconds": times},
        seeds=[SEED],
        command="python -m experiments.layer_costs",
        seconds=time.perf_counter() - started,
        device="cpu, one thread",
    )
    print(file.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()

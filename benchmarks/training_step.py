"""One step of training beside Hugging Face's GPT-2, in time and memory: `python -m benchmarks.training_step`.

One GPT of 4 layers, 256 wide, vocabulary 512, with the same parameters in both; 8 texts of 256 tokens, float32: scores,
loss, backward, and a step of fused AdamW. Processor time on one thread, which other work on the machine disturbs less.
Peak memory is what PyTorch's profiler saw allocated at once, the parameters and what the optimiser keeps included;
beside it stands what `attnlib.models.costs` predicts. Ours stands there also with its products by oneDNN, as
`python -m attnlib.train` computes them, and compiled, where there is a compiler.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is loaded

import shutil
import time
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.profiler import profile

from attnlib.data.results import save_result
from attnlib.models import costs
from attnlib.models.config import ModelConfig
from attnlib.train.products import multiply_by_onednn
from benchmarks.gpt_peers import HEADS, LAYERS, SEED, WIDTH, peers
from benchmarks.interleaved import in_turns, ratio, summary

TEXTS, LENGTH, VOCAB, ROUNDS = 8, 256, 512, 20
OURS, ONEDNN, COMPILED, THEIRS = "attnlib", "attnlib, oneDNN", "attnlib, compiled", "Hugging Face"
Loss = Callable[[], Tensor]


def losses() -> tuple[Any, dict[str, tuple[nn.Module, Loss]]]:
    """Whose parameters are trained, and the loss of the same texts."""
    ours, theirs = peers(VOCAB, longest=LENGTH)
    by_onednn, _ = peers(VOCAB, longest=LENGTH)
    multiply_by_onednn(by_onednn)
    tokens = torch.randint(VOCAB, (TEXTS, LENGTH))

    def of(model: Callable[[Tensor], Tensor]) -> Loss:
        return lambda: F.cross_entropy(model(tokens)[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())

    arms: dict[str, tuple[nn.Module, Loss]] = {
        OURS: (ours, of(ours)),
        ONEDNN: (by_onednn, of(by_onednn)),
        THEIRS: (theirs, of(lambda t: theirs(t).logits)),
    }
    if shutil.which("c++") or shutil.which("g++"):
        arms[COMPILED] = ours, of(torch.compile(ours))  # type: ignore[arg-type]
    return ours.config, arms


def step(model: nn.Module, loss: Loss) -> Callable[[], float]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.0, fused=True)  # the loss stays what it was

    def work() -> float:
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        return value.item()

    return work


def peak_bytes(model: nn.Module, work: Callable[[], float]) -> int:
    """The most that was allocated at once within a step, with what was held before: parameters and Adam's averages."""
    work()
    with profile(profile_memory=True) as seen:
        work()
    events: list[Any] = seen.profiler.kineto_results.events()  # type: ignore[union-attr]
    memory = sorted((one for one in events if one.name() == "[memory]"), key=lambda one: one.start_ns())
    most = max(accumulate(one.nbytes() for one in memory))
    return most + 3 * sum(W.nbytes for W in model.parameters())


def predicted_bytes(config: ModelConfig) -> int:
    """What is held at most, in float32."""
    return 4 * costs.training_numbers(config, TEXTS, LENGTH)


def main() -> None:
    started = time.perf_counter()
    torch.set_num_threads(1)
    config, arms = losses()
    work = {name: step(model, loss) for name, (model, loss) in arms.items()}
    said = {name: work[name]() for name in arms}
    seconds = in_turns(work, ROUNDS, time.process_time)
    result = {
        "layers d_model h": (LAYERS, WIDTH, HEADS),
        "texts length vocab": (TEXTS, LENGTH, VOCAB),
        "rounds": ROUNDS,
        "loss": said,
        "times_as_fast": {name: ratio(seconds, THEIRS, name) for name in arms if name != THEIRS},
        "tokens_per_second": {name: round(TEXTS * LENGTH / min(times)) for name, times in seconds.items()},
        "times": summary(seconds),
        "peak_bytes": {name: peak_bytes(arms[name][0], work[name]) for name in (OURS, THEIRS)},
        "predicted_bytes": predicted_bytes(config),
    }
    file = save_result(
        "training-step",
        result,
        seeds=[SEED],
        command="python -m benchmarks.training_step",
        seconds=time.perf_counter() - started,
        device="cpu, 1 thread, processor time",
    )
    print(file.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()

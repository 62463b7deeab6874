"""What a training will do, printed before it begins; and what cannot come to an end or into memory, refused.

Refusing comes first, before the tokenizer is learned: it needs the sizes alone.
"""

import sys
from typing import NamedTuple

import numpy as np
import torch

from attnlib import rules
from attnlib.data.bpe.tokenizer import Tokenizer
from attnlib.metrics.surprise import bits_per_byte
from attnlib.models.config import ModelConfig
from attnlib.models.costs import multiplications, parameters
from attnlib.shapes import Array, Int
from attnlib.train import room
from attnlib.train.counting import cost_by_counting
from attnlib.train.device import device
from attnlib.train.plan import Plan
from attnlib.train.texts import END

CPU_SPEED, GPU_SPEED = (
    1e12,
    1e15,
)  # operations a second: more than a processor of a few dozen cores, or a GPU, reaches
YEAR = 365 * 86_400
MANY_ROUNDS = 40  # readings of the text from which on a model rather learns it by heart


class Measured(NamedTuple):
    """What counting alone says of a text."""

    nats: float  # of a token
    bits: float  # of a byte


def gigabytes(n: float) -> str:
    """
    >>> gigabytes(2.5e8), gigabytes(3.2e13)
    ('0.25 GB', '32,000 GB')
    """
    return f"{n / 1e9:,.0f} GB" if n >= 1e10 else f"{n / 1e9:.2g} GB"


def must_end(config: ModelConfig, plan: Plan) -> None:
    """All steps can be made within a year on a fast machine."""
    speed = GPU_SPEED if device().is_gpu else CPU_SPEED
    each = 6 * multiplications(config, plan.context) * plan.batch
    seconds = each * plan.steps / speed
    most = int(YEAR * speed / each)
    came = f"got {plan.steps:,} steps of {each:.1e} operations. Take {most:,} steps or fewer, or a smaller model."
    rules.must(
        seconds <= YEAR,
        "train",
        f"a training must end within a year at {speed:g} operations a second; {came}",
    )


def must_fit(config: ModelConfig, plan: Plan, *, recompute: bool = False, workers: int = 1) -> None:
    """The training finds room in memory."""
    rows = -(-plan.batch // workers)
    step, kept = room.needed(config, rows, plan.context, recompute=recompute)
    learned = f"{parameters(config):,} parameters at depth {config.n_layers}"
    then = "Take a smaller --depth, --batch or --context, or --recompute."
    on_gpu = torch.cuda.is_available() and device().is_gpu
    if on_gpu:
        free = room.of_gpu()
        came = f"got about {gigabytes(step)} for {learned}, where {gigabytes(free)} are free. {then}"
        rules.must(step <= free, "train", f"a training must fit into the memory of the GPU; {came}")
    wanted = kept if on_gpu else workers * step + kept
    free = room.left()
    came = f"got about {gigabytes(wanted)} for {learned}, where {gigabytes(free)} are free. {then}"
    rules.must(wanted <= free, "train", f"a training must fit into memory; {came}")


def bytes_of(tokens: Int[Array, "n"], tokenizer: Tokenizer) -> int:
    """How many bytes of text the tokens are."""
    counts = np.bincount(tokens, minlength=len(tokenizer)).tolist()
    end = tokenizer.numbers[END]
    return sum(n * len(tokenizer.token(token)) for token, n in enumerate(counts) if n and token != end)


def counted(train: Int[Array, "n"], unseen: Int[Array, "m"], tokenizer: Tokenizer) -> Measured:
    """What the unseen text costs by counting alone."""
    nats = cost_by_counting(train, unseen, len(tokenizer))
    return Measured(nats, bits_per_byte(nats, len(unseen), bytes_of(unseen, tokenizer)))


def outlook(
    config: ModelConfig,
    plan: Plan,
    train: Int[Array, "n"],
    unseen: Int[Array, "m"],
    tokenizer: Tokenizer,
    *,
    recompute: bool = False,
    workers: int = 1,
) -> list[str]:
    """The lines that are printed before the first step."""
    here, read = device(), plan.steps * plan.batch * plan.context
    threads = f", {torch.get_num_threads()} threads" if not here.is_gpu and workers == 1 else ""
    step, kept = room.needed(config, -(-plan.batch // workers), plan.context, recompute=recompute)
    memory = gigabytes(step if here.is_gpu else workers * step + kept)
    rounds = read / len(train)
    counts = counted(train, unseen, tokenizer)
    lines = [
        f"Text: {len(train):,} tokens to train on, {len(unseen):,} held out, {len(tokenizer):,} different ones. "
        f"By counting pairs alone it costs {counts.nats:.2f} nats a token, or {counts.bits:.2f} bits a byte.",
        f"Model: {parameters(config):,} parameters, depth {config.n_layers}, width {config.d_model}, "
        f"context {config.context}; on {here.label}{threads}; about {memory} of memory at most.",
        f"Training: {plan.steps:,} steps of {plan.batch} rows of {plan.context} tokens, "
        f"{rounds:,.3g} rounds through the text.",
    ]
    if rounds > MANY_ROUNDS:
        lines.append(
            f"Warning: a text that is read {rounds:,.0f} times is learned by heart. When the held-out loss no longer "
            "falls, the training ends. More text is better, or fewer --steps."
        )
    return lines


def say(lines: list[str]) -> None:
    """Print them, at once."""
    print("\n".join(lines), flush=True, file=sys.stdout)

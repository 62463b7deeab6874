"""What a training was started with: the sizes of its model, how long, on which text; kept in the folder's settings.

A folder goes on as it was begun: only the number of steps may grow. Settings of a folder in which nothing has been
trained yet are replaced.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from attnlib import rules
from attnlib.models.config import ModelConfig, stored_config

SETTINGS = "settings.json"
N, BATCH, VOCAB = (
    128,
    16,
    2048,
)  # context, rows of a step, and tokens of a vocabulary, by default
BYTES_AND_END = 257  # tokens that no merge makes
READ_AS = {"text": "text", "start": "model to start from"}


class Plan(NamedTuple):
    """What the training of a folder was started with."""

    depth: int
    steps: int
    text: str  # the checksum of all that was read
    context: int = N  # tokens of a row that is read at once
    batch: int = BATCH
    rate: float = 0.0
    vocab: int = VOCAB  # the most; a short text has fewer tokens
    seed: int = 0
    start: str = ""  # the folder or file of the model that it started from


def rate_of(depth: int) -> float:
    """The largest rate of the schedule, smaller for deep models.

    >>> rate_of(2), rate_of(8)
    (0.003, 0.0015)
    """
    return 3e-3 * min(1.0, 4 / depth)


def config_of(depth: int, vocab: int, context: int = N) -> ModelConfig:
    """The model of a depth.

    >>> config_of(2, 500).d_model, config_of(2, 500).n_heads
    (128, 2)
    """
    return ModelConfig(
        vocab,
        context=context,
        d_model=64 * depth,
        n_heads=depth,
        n_layers=depth,
        positions="rotary",
        layout="halves",
        dropout=0.1,
    )


def damaged(file: str | Path) -> str:
    """The sentence for settings that cannot be read."""
    return f"train: {file} must be the settings that a training wrote; got something else. Choose another folder."


def read_settings(folder: str | Path) -> dict[str, Any] | None:
    """The plan and the config of a folder; None if it has none."""
    file = Path(folder) / SETTINGS
    if not file.is_file():
        return None
    try:
        stored = json.loads(file.read_text(encoding="utf-8"))
        plan = Plan(**stored["plan"])
        plan = plan if plan.rate else plan._replace(rate=rate_of(plan.depth))  # older settings do not name it
        return {"plan": plan, "config": stored_config(stored["config"])}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(damaged(file)) from error


def write_settings(folder: str | Path, plan: Plan, config: ModelConfig) -> None:
    """Write them whole or not at all."""
    file = Path(folder) / SETTINGS
    part = file.with_suffix(".part")
    part.write_text(json.dumps({"plan": plan._asdict(), "config": asdict(config)}), encoding="utf-8")
    part.replace(file)


def must_go_on(folder: str | Path, before: Plan, plan: Plan, done: int) -> None:
    """The folder's training, which is at step `done`, can go on by this plan."""
    other = [key for key in Plan._fields if key != "steps" and getattr(before, key) != getattr(plan, key)]
    came = ", ".join(
        READ_AS[key] if key in READ_AS else f"{key} {getattr(plan, key):g} after {getattr(before, key):g}"
        for key in other
    )
    then = "Repeat what it was begun with, or choose another --folder."
    rules.must(not other, "train", f"{folder} must go on as it was begun; got another {came}. {then}")
    came = f"got {plan.steps} where {done} are done. Take more, or choose another --folder."
    rules.must(plan.steps >= done, "train", f"--steps must not be fewer than were made; {came}")

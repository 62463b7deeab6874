"""A model in a folder: its parameters as one safetensors file, and beside it its config (book: Chapter 4).

Both are numbers and words, so that loading runs no code. What a training needs to go on is more: see
`attnlib.train.checkpoint`.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torch import nn

from attnlib import rules
from attnlib.models.config import ModelConfig, stored_config

PARAMETERS, CONFIG = "model.safetensors", "config.json"


def save_model(model: Any, folder: str | Path) -> None:
    """Write both files; an interruption leaves the earlier ones. A table that has two names is stored once."""
    from safetensors.torch import save_file

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    parts = {name: folder / f"{name}.part" for name in (PARAMETERS, CONFIG)}
    tensors = {name: one.detach().contiguous() for name, one in _stored(model)}
    save_file(tensors, parts[PARAMETERS])
    parts[CONFIG].write_text(json.dumps(asdict(model.config), indent=1), encoding="utf-8")
    for name, part in parts.items():
        part.replace(folder / name)


def saved_config(folder: str | Path) -> ModelConfig:
    """The config that lies in the folder."""
    file = Path(folder) / CONFIG
    rules.must(file.is_file(), "load", f"the folder must have {CONFIG}, which `save` writes; got {folder}.")
    return stored_config(json.loads(file.read_text(encoding="utf-8")))


def load_parameters(model: nn.Module, folder: str | Path) -> None:
    """Put the stored parameters into a model of the stored config, in the dtype in which they were stored."""
    from safetensors.torch import load_file

    tensors = load_file(Path(folder) / PARAMETERS)
    model.to(next(iter(tensors.values())).dtype)
    wanted = {name for name, _ in _stored(model)}
    missing = ", ".join(sorted(wanted ^ tensors.keys()))
    rules.must(
        not missing, "load", f"{PARAMETERS} must have the parameters of {CONFIG}; they differ in {missing}."
    )
    model.load_state_dict(tensors, strict=False)  # a table with two names was stored under the first


def _stored(model: nn.Module) -> list[tuple[str, Any]]:
    """Each parameter once, and the buffers that belong to the state."""
    names = {name for name, _ in (*model.named_parameters(), *model.named_buffers())}
    return [(name, one) for name, one in model.state_dict().items() if name in names]

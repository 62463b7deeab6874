"""A model in a folder: its parameters as one safetensors file, and beside it its config (book: Chapter 4).

In an open file the config is part of the safetensors file, in its metadata. Both are numbers and words, so that loading
runs no code. What a training needs to go on is more: see `attnlib.train.checkpoint`.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from torch import Tensor, nn

from attnlib import rules
from attnlib.extras import must_be_there
from attnlib.models.config import ModelConfig, stored_config

PARAMETERS, CONFIG = "model.safetensors", "config.json"
Tensors = dict[str, Tensor]


def save_model(model: Any, to: str | Path | IO[bytes]) -> None:
    """Write both files, or one to an open file. An interruption leaves the earlier ones in the folder.

    A table that has two names is stored once.
    """
    must_be_there("save", "train", but=("regex",))
    from safetensors.torch import save, save_file

    tensors = {name: one.detach().contiguous() for name, one in stored_parameters(model)}
    config = json.dumps(asdict(model.config), indent=1)
    if not isinstance(to, str | Path):
        to.write(save(tensors, metadata={CONFIG: config}))
        return
    folder = Path(to)
    folder.mkdir(parents=True, exist_ok=True)
    parts = {name: folder / f"{name}.part" for name in (PARAMETERS, CONFIG)}
    save_file(tensors, parts[PARAMETERS])
    parts[CONFIG].write_text(config, encoding="utf-8")
    for name, part in parts.items():
        part.replace(folder / name)


def saved_model(source: str | Path | IO[bytes]) -> tuple[ModelConfig, Tensors]:
    """The config and the parameters that `save_model` wrote."""
    from safetensors.torch import load, load_file

    if not isinstance(source, str | Path):
        data = source.read()
        text = metadata_of(data).get(CONFIG)
        then = "`save` writes one."
        rules.must(
            text is not None, "load", f"an open file must have a model with its config; got none. {then}"
        )
        return stored_config(json.loads(str(text))), load(data)
    file = Path(source) / CONFIG
    rules.must(file.is_file(), "load", f"the folder must have {CONFIG}, which `save` writes; got {source}.")
    config = stored_config(json.loads(file.read_text(encoding="utf-8")))
    return config, load_file(Path(source) / PARAMETERS)


def metadata_of(data: bytes) -> dict[str, str]:
    """What stands beside the tensors in a safetensors file, which begins with its table of contents and its length."""
    try:
        table = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        return table.get("__metadata__", {})
    except (ValueError, AttributeError):
        return {}


def take_parameters(model: nn.Module, tensors: Tensors) -> None:
    """Put the stored parameters into a model of the stored config, in the dtype in which they were stored."""
    model.to(next(iter(tensors.values())).dtype)
    wanted = {name for name, _ in stored_parameters(model)}
    missing = ", ".join(sorted(wanted ^ tensors.keys()))
    rules.must(
        not missing, "load", f"{PARAMETERS} must have the parameters of {CONFIG}; they differ in {missing}."
    )
    model.load_state_dict(tensors, strict=False)  # a table with two names was stored under the first


def stored_parameters(model: nn.Module) -> list[tuple[str, Any]]:
    """Each parameter once, and the buffers that belong to the state."""
    names = {name for name, _ in (*model.named_parameters(), *model.named_buffers())}
    return [(name, one) for name, one in model.state_dict().items() if name in names]

"""Checkpoints on the disk: whole files or none, verified by checksums, and safe to read.

Chapter 5 uses it. A checkpoint is two files: the tensors as safetensors, and, written after them, a JSON file with all
else and the checksums of both. Each file is written under another name, flushed to the disk, and renamed; a training
killed at any moment still has the checkpoint before. In an open file the two follow one another. Unlike a pickle, a
checkpoint runs no code when it is read.
"""

import contextlib
import hashlib
import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NamedTuple

import torch
from torch import Tensor

from attnlib.extras import must_be_there
from attnlib.shapes import Number, checked

PLAIN = (str, int, float, bool, type(None))
Tensors = dict[str, Tensor]


class CheckpointError(RuntimeError):
    """A checkpoint cannot be written or read; the message says which ones are left."""


class Checkpoint(NamedTuple):
    """A state, and the step after which it was saved."""

    step: int
    state: Any


def packed(value: Any, tensors: Tensors, known: dict[Any, str] | None = None) -> Any:
    """`value` for JSON: each tensor in it is moved to `tensors`, a shared one once, and replaced by its name there.

    >>> tensors = {}
    >>> packed({0: (torch.zeros(2), 0.1)}, tensors), list(tensors)
    ({'dict': [[0, {'tuple': [{'tensor': '0'}, 0.1]}]]}, ['0'])
    """
    known = {} if known is None else known
    if isinstance(value, Tensor):
        memory = (value.data_ptr(), value.shape, value.stride(), value.dtype) if value.numel() else id(value)
        if memory not in known:
            known[memory] = str(len(tensors))
            tensors[known[memory]] = value.detach().cpu().clone(memory_format=torch.contiguous_format)
        return {"tensor": known[memory]}
    if isinstance(value, dict):
        return {"dict": [[key, packed(one, tensors, known)] for key, one in value.items()]}
    if isinstance(value, list | tuple):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [packed(one, tensors, known) for one in value]}
    if type(value) not in PLAIN:
        raise TypeError(
            f"packed: a state must hold tensors, numbers, strings, lists and dictionaries; got {type(value).__name__}."
        )
    return value


def unpacked(value: Any, tensors: Tensors) -> Any:
    """The inverse of `packed`.

    >>> tensors = {}
    >>> unpacked(packed({0: (1, [2.5])}, tensors), tensors)
    {0: (1, [2.5])}
    """
    if not isinstance(value, dict):
        return value
    ((kind, inside),) = value.items()
    if kind == "tensor":
        return tensors[inside]
    if kind == "dict":
        return {key: unpacked(one, tensors) for key, one in inside}
    return {"list": list, "tuple": tuple}[kind](unpacked(one, tensors) for one in inside)


def _checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _write(file: Path, data: bytes) -> None:
    """Write the whole file or nothing: under another name first, and renamed when it is on the disk."""
    part = file.with_name(f"{file.name}.part")
    with part.open("wb") as handle:
        handle.write(data)
        handle.flush()
        os.fsync(handle.fileno())
    part.replace(file)
    if hasattr(os, "O_DIRECTORY"):  # the new name has to reach the disk as well
        folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _heads(folder: Path) -> list[Path]:
    """The JSON files of a folder, the newest first; a checkpoint without one is not complete."""
    return sorted(folder.glob("step-*.json"), reverse=True)


def _tidy(folder: Path, last: Path, keep: int) -> None:
    """Delete all but the newest `keep` checkpoints up to the `last`, and files that a killed training left unfinished.

    Checkpoints of later steps are damaged, because the training would have resumed from them otherwise.
    """
    known = [head for head in _heads(folder) if head <= last][:keep]
    for head in _heads(folder):
        if head not in known:
            head.unlink(missing_ok=True)
    left = {head.stem for head in _heads(folder)}
    for file in [*folder.glob("step-*.safetensors"), *folder.glob("step-*.part")]:
        if file.suffix == ".part" or file.stem not in left:
            file.unlink(missing_ok=True)


def _described(step: int, state: object) -> tuple[bytes, bytes]:
    """What the two files of a checkpoint hold: in JSON all that is no tensor, and the tensors."""
    must_be_there("save_checkpoint", "train", but=("regex",))
    from safetensors.torch import save

    tensors: Tensors = {}
    described = packed(state, tensors)
    data = save(tensors)
    text = json.dumps({"step": step, "bytes": len(data), "sha256": _checksum(data), "state": described})
    return json.dumps({"sha256": _checksum(text.encode()), "body": text}).encode(), data


@checked
def save_checkpoint(
    folder: Path | str | IO[bytes], step: Number[int, "0.."], state: object, keep: Number[int, "1.."] = 2
) -> Path | None:
    """Save a state, such as `{"model": model.state_dict()}`, and of those before it keep the newest `keep` - 1.

    If it cannot be written, the error says why, and the earlier checkpoints stay as they are. Returns the file that was
    written last.

    folder    also a file that is open for bytes, which gets this one checkpoint

    >>> import io
    >>> file = io.BytesIO()
    >>> save_checkpoint(file, 3, {"W": torch.ones(2)})
    >>> load_checkpoint(io.BytesIO(file.getvalue()))
    Checkpoint(step=3, state={'W': tensor([1., 1.])})
    """
    described, data = _described(step, state)
    if not isinstance(folder, str | Path):
        folder.write(len(described).to_bytes(8, "little") + described + data)
        return None
    folder = Path(folder)
    name, head = folder / f"step-{step:09d}.safetensors", folder / f"step-{step:09d}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write(name, data)
        _write(head, described)
        _tidy(folder, head, keep)
    except OSError as error:
        raise CheckpointError(_sentence(folder, len(data), error)) from error
    return head


def _sentence(folder: Path, size: int, error: OSError) -> str:
    """The message of a failed write. The unfinished files are deleted, because they take room."""
    for part in folder.glob("step-*.part"):
        with contextlib.suppress(OSError):
            part.unlink()
    kept = _heads(folder)
    left = f"The state of step {int(kept[0].stem[5:])} is kept." if kept else "No state is kept there yet."
    return (
        f"save_checkpoint: {size / 1e6:.1f} MB must be written to {folder}; got '{error.strerror}'. {left} "
        "Make room, or choose another folder, and run the same command again."
    )


def _read(head: Path) -> Checkpoint:
    """A checkpoint, if both of its files have their checksums."""
    name = head.with_suffix(".safetensors")
    try:
        return _whole(head.read_bytes(), lambda n: name.read_bytes(), head.name, name.name)
    except FileNotFoundError as error:
        raise CheckpointError(f"{name.name} is not there") from error
    except OSError as error:
        raise CheckpointError(f"{Path(str(error.filename)).name}: {error.strerror}") from error


def _read_open(file: IO[bytes]) -> Checkpoint:
    """The checkpoint that begins where the open file stands."""
    described = file.read(int.from_bytes(file.read(8), "little"))
    return _whole(described, file.read, "its description", "the file")


def _whole(described: bytes, tensors: Callable[[int], bytes], head: str, name: str) -> Checkpoint:
    """A checkpoint, if its two parts, which an error calls `head` and `name`, have their checksums."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        whole = json.loads(described)
        if _checksum(whole["body"].encode()) != whole["sha256"]:
            raise CheckpointError(f"{head} has changed")
        body = json.loads(whole["body"])
        data = tensors(body["bytes"])
        if len(data) != body["bytes"]:
            raise CheckpointError(f"{name} has {len(data)} bytes of {body['bytes']}")
        if _checksum(data) != body["sha256"]:
            raise CheckpointError(f"{name} has changed")
        return Checkpoint(body["step"], unpacked(body["state"], load(data)))
    except (ValueError, KeyError, TypeError, AttributeError, SafetensorError) as error:
        raise CheckpointError(f"{head.removesuffix('.json')} is no checkpoint") from error


@checked
def load_checkpoint(folder: Path | str | IO[bytes]) -> Checkpoint | None:
    """The newest undamaged checkpoint; None if the folder has no checkpoint at all.

    For a damaged one there is a warning, and the one before it is read. An open file has one checkpoint.
    """
    if not isinstance(folder, str | Path):
        try:
            return _read_open(folder)
        except CheckpointError as error:
            raise CheckpointError(
                f"load_checkpoint: a file must hold a whole checkpoint; got {error}."
            ) from error
    folder, damaged = Path(folder), []
    for head in _heads(folder):
        try:
            found = _read(head)
        except CheckpointError as error:
            damaged.append(str(error))
            continue
        if damaged:
            warnings.warn(
                f"load_checkpoint: a checkpoint must be as it was written; got {'; '.join(damaged)}. "
                f"The one of step {found.step} is used.",
                stacklevel=2,
            )
        return found
    if damaged:
        raise CheckpointError(
            f"load_checkpoint: a checkpoint must be as it was written; got {'; '.join(damaged)}. "
            f"None is left in {folder}: choose another folder to begin anew."
        )
    return None

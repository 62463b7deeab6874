"""What a player sends to the grader: JSON that can hold arrays, and nothing that could run.

A submission shares its process with the player and may send what it likes, so what comes is read as numbers and texts
alone. Whatever makes no sense is `Nonsense`.
"""

import base64
import contextlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from attnlib.exercises.engine.errors import Raised
from attnlib.exercises.engine.outcomes import Outcome, from_tensor, is_tensor

KINDS = "biufc"  # kinds of numbers
LONGEST_TEXT = 4000


class Nonsense(ValueError):
    """A player sent what no player sends."""


@contextlib.contextmanager
def read_with_care() -> Iterator[None]:
    """Whatever goes wrong while something sent is read is the sender's."""
    try:
        yield
    except Exception as error:
        raise Nonsense(f"{type(error).__name__}: {error}") from None


class Foreign:
    """Stands for an object that cannot be sent: it has a type, and nothing else is known of it."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __repr__(self) -> str:
        return f"an object of type {self.kind}"


def encoded(value: Any) -> Any:
    """A value as JSON: numbers, texts, arrays, and lists and tuples of these.

    >>> decoded(encoded([1, (2.5, np.arange(2))]))
    [1, (2.5, array([0, 1]))]
    """
    if is_tensor(value):
        value = from_tensor(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value[:LONGEST_TEXT])
    if type(value) in (int, float) and math.isfinite(value):
        return value
    if isinstance(value, float | complex | np.generic | np.ndarray):
        return encoded_array(np.asarray(value), isinstance(value, np.ndarray))
    if isinstance(value, list | tuple):
        return {"tuple" if isinstance(value, tuple) else "list": [encoded(part) for part in value]}
    return {"type": type(value).__name__}


def encoded_array(array: np.ndarray, is_array: bool = True) -> Any:
    if array.dtype.kind not in KINDS:
        return {"type": f"array of {array.dtype}"}
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return {"array" if is_array else "number": [array.dtype.str, list(array.shape), data]}


def decoded(data: Any) -> Any:
    """The value that was sent."""
    if data is None or isinstance(data, bool | int | float | str):
        return data
    with read_with_care():
        ((form, inner),) = data.items()
        if form in ("list", "tuple"):
            parts = [decoded(part) for part in inner]
            return parts if form == "list" else tuple(parts)
        if form in ("array", "number"):
            array = decoded_array(inner)
            return array if form == "array" else array[()]
        return Foreign(text(inner))


def decoded_array(inner: Any) -> np.ndarray:
    dtype, shape, data = inner
    kind = np.dtype(text(dtype))
    if kind.kind not in KINDS:
        raise Nonsense(f"wire: an array must hold numbers; got {kind}")
    return np.frombuffer(base64.b64decode(data), kind).reshape([int(size) for size in shape]).copy()


def encoded_outcome(outcome: Outcome) -> dict[str, Any]:
    """What a function did; `value` is sent where it may be taken for arrays."""
    return {
        "kind": outcome.kind,
        "arrays": [encoded_array(array) for array in outcome.arrays],
        "error": outcome.error,
        "changed": outcome.changed,
        "value": encoded(outcome.value),
    }


def decoded_outcome(data: Any) -> Outcome:
    """What a function did, as a player reports it."""
    with read_with_care():
        error = Raised(*(text(part) for part in data["error"])) if data["error"] else None
        arrays = tuple(decoded_array(one["array"]) for one in data["arrays"])
        kind = text(data["kind"])
        if (kind == "error") != (error is not None) or (kind in ("array", "tensor") and len(arrays) != 1):
            raise Nonsense("wire: an outcome must hold what its kind says")
        value = decoded(data["value"])
        loose = value if isinstance(value, list | tuple | np.ndarray) else None
        return Outcome(kind, arrays, error, tuple(int(i) for i in data["changed"]), value=loose)


def text(value: Any) -> str:
    """A text, not too long; anything else is an error."""
    if not isinstance(value, str):
        raise Nonsense(f"wire: a text was expected; got {type(value).__name__}")
    return value[:LONGEST_TEXT]

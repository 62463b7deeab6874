"""What a function did with one case, in a form that can be compared: arrays, or an error, and changed arguments."""

import copy
import math
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attnlib.exercises.engine.errors import Raised, raised
from attnlib.exercises.engine.running import Halt


@dataclass(frozen=True, eq=False)
class Outcome:
    """`kind` is "array", "tensor", "tuple", "error", or the name of a type that is none of these."""

    kind: str
    arrays: tuple[np.ndarray, ...] = ()
    error: Raised | None = None
    changed: tuple[int, ...] = ()  # which arguments were changed in place
    notes: tuple[str, ...] = ()  # what was made of it before it was compared
    value: Any = None  # what came, where it is neither an array nor a tensor

    @property
    def finite(self) -> bool:
        """Whether there are numbers, and all of them are finite."""
        return bool(self.arrays) and all(
            one.size > 0 and bool(np.isfinite(one.astype(float)).all()) for one in self.arrays
        )


def observe(function: Callable[..., Any], arguments: Sequence[Any], traced: bool = True) -> Outcome:
    """Call the function on copies of the arguments and note all that can be seen from outside.

    `traced`: an error is noted with its lines, which takes longer than most answers.
    """
    mine = [copy.deepcopy(argument) for argument in arguments]
    try:
        value = function(*mine)
    except Halt:
        raise
    except BaseException as error:  # also SystemExit: a learner's exit() must not end the session
        seen = raised(error) if traced else Raised(type(error).__name__)
        return Outcome("error", error=seen, changed=changes(arguments, mine))
    kind, arrays = taken_apart(value)
    loose = value if isinstance(value, list | tuple) or (kind == "array" and np.ndim(value)) else None
    return Outcome(kind, arrays, changed=changes(arguments, mine), value=loose)


def taken_apart(value: Any) -> tuple[str, tuple[np.ndarray, ...]]:
    """The kind of a result and copies of its arrays.

    >>> taken_apart((1.0, np.zeros(2)))
    ('tuple', (array(1.), array([0., 0.])))
    >>> taken_apart([1.0, 2.0])
    ('list', ())
    """
    if isinstance(value, tuple):
        parts = [taken_apart(part) for part in value]
        nested = [kind for kind, _ in parts if kind not in ("array", "tensor")]
        if nested:
            return f"tuple with a {nested[0]} in it", ()
        return "tuple", tuple(arrays[0] for _, arrays in parts)
    if is_tensor(value):
        return "tensor", (from_tensor(value),)
    if isinstance(value, np.ndarray | np.generic | numbers.Number):
        array = np.array(value)
        return ("array", (array,)) if array.dtype.kind in "biufc" else (f"array of {array.dtype}", ())
    return type(value).__name__ if value is not None else "None", ()


def is_tensor(value: Any) -> bool:
    """A torch tensor, recognised without importing torch."""
    return type(value).__module__.startswith("torch") and hasattr(value, "detach")


def from_tensor(value: Any) -> np.ndarray:
    value = value.detach().cpu()
    if str(value.dtype) == "torch.bfloat16":  # NumPy has no such type
        value = value.float()
    return value.numpy().copy()


def changes(before: Any, after: Any) -> tuple[int, ...]:
    """The positions of the arguments that differ, bit by bit."""
    pairs = zip(before, after, strict=True)
    return tuple(i for i, (old, new) in enumerate(pairs) if fingerprint(old) != fingerprint(new))


def fingerprint(value: Any) -> Any:
    """All arrays in an argument as bytes; what holds no arrays (a random generator) may change."""
    if isinstance(value, tuple | list):
        return [fingerprint(part) for part in value]
    if is_tensor(value):
        value = from_tensor(value)
    return (value.shape, value.dtype.str, value.tobytes()) if isinstance(value, np.ndarray) else None


def same(one: Outcome, other: Outcome, rtol: float, atol: float) -> bool:
    """Whether two outcomes agree in kind, shapes, types and values; for errors, in the type of the error."""
    if one.kind != other.kind or len(one.arrays) != len(other.arrays):
        return False
    if one.kind == "error":
        return one.error is not None and other.error is not None and one.error.kind == other.error.kind
    return all(
        a.shape == b.shape and same_type(a, b) and bool(close(a, b, rtol, atol).all())
        for a, b in zip(one.arrays, other.arrays, strict=True)
    )


def same_type(got: np.ndarray, want: np.ndarray) -> bool:
    """Whether a type of numbers will do: any width, whole numbers for floats, 2.0 for 2."""
    kinds = got.dtype.kind + want.dtype.kind
    return got.dtype == want.dtype or kinds in ("ff", "ii", "iu", "ui", "if", "uf", "fi", "fu", "cc")


def adapted(got: Outcome, want: Outcome) -> Outcome:
    """The outcome with a tensor, a list or a tuple taken for an array, or for several, where these are wanted."""
    if (got.kind, want.kind) == ("tensor", "array"):
        return replace(got, kind="array", notes=("An array was expected; your tensor does as well.",))
    if got.kind == want.kind or got.value is None:
        return replace(got, value=None)
    try:
        if want.kind == "tuple" and len(got.value) == len(want.arrays):
            kind, arrays = taken_apart(
                tuple(np.asarray(part) if isinstance(part, list) else part for part in got.value)
            )
            note = f"A tuple of {several(want.arrays)} was expected; your {got.kind} does as well."
        elif want.kind == "array" and isinstance(got.value, list | tuple):
            kind, arrays = taken_apart(np.array(got.value))
            note = f"An array was expected; your {got.kind} of numbers does as well."
        else:
            return replace(got, value=None)
    except (ValueError, TypeError):
        return replace(got, value=None)
    if kind != want.kind:
        return replace(got, value=None)
    return Outcome(kind, arrays, changed=got.changed, notes=(note,))


def several(arrays: Sequence[np.ndarray]) -> str:
    """How many results there are, and what they are called.

    >>> several((np.zeros(2), np.array(1.0))), several((np.array(3), np.array(1)))
    ('2 arrays', '2 numbers')
    """
    return f"{len(arrays)} {'arrays' if any(one.ndim for one in arrays) else 'numbers'}"


def close(a: np.ndarray, b: np.ndarray, rtol: float, atol: float) -> np.ndarray:
    """Where two arrays of one shape agree, within what their type can tell; NaN agrees with NaN."""
    if a.dtype.kind in "biu" and b.dtype.kind in "biu":
        return np.asarray(a == b)
    if np.float32 in (a.dtype, b.dtype):
        rtol, atol = max(rtol, 1e-4), max(atol, 1e-5)
    if np.float16 in (a.dtype, b.dtype):
        rtol, atol = max(rtol, 2e-3), max(atol, 2e-3)
    with np.errstate(invalid="ignore", over="ignore"):
        near = abs(a - b) <= atol + rtol * abs(b)  # what np.isclose says, at a fifth of its cost: NaN and
        near &= abs(b) < math.inf  #                 infinity are equal to themselves and near to nothing
        return np.asarray(near | (a == b) | ((a != a) & (b != b)))

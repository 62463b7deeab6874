"""Cases that catch: made from the cases of an exercise by rule, wherever all right answers agree on them.

Numbers of a row far apart, rows far apart, ties, parallel and zero rows, two scales in one array, axes of length one.
A case is made only from arrays of free numbers: weights, masks, indices and sizes stay as they are. Numbers stay
moderate: large ones, where an exercise needs them, are in a case of its file.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from attnlib.exercises.engine.model import CodeExercise
from attnlib.exercises.engine.outcomes import observe, same

PREFIX = "trap: "
LARGEST = 4000  # numbers in a case that a trap is made from


def far_in_a_row(x: np.ndarray) -> np.ndarray:
    return x * 6.0


def far_rows(x: np.ndarray) -> np.ndarray:
    return x + 5.0 * np.arange(x.shape[-2])[:, None]


def tied(x: np.ndarray) -> np.ndarray:
    return np.round(x)


def parallel(x: np.ndarray) -> np.ndarray:
    y = x.copy()
    y[..., 1:, :] = y[..., :1, :] * (1 + np.arange(1, y.shape[-2]))[:, None]
    return y


def zero_row(x: np.ndarray) -> np.ndarray:
    y = x.copy()
    y[..., -1, :] = 0
    return y


def two_scales(x: np.ndarray) -> np.ndarray:
    y = x.copy()
    y[..., ::2] *= 1e-3
    return y


TRAPS: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "numbers of a row far apart": far_in_a_row,
    "rows far apart": far_rows,
    "ties": tied,
    "parallel rows": parallel,
    "a row of zeros": zero_row,
    "two scales in one array": two_scales,
}


def made(
    exercise: CodeExercise, rights: Sequence[Callable[..., Any]], written: Mapping[str, tuple]
) -> dict[str, tuple]:
    """The traps of an exercise by name, each with its arguments; those on which right answers part are left out."""
    plain = [arguments for arguments in written.values() if small(arguments)][:2]
    found: dict[str, tuple] = {}
    for name, arguments in [*changed(plain), *cut_down(plain)]:
        if name not in found and agreed(exercise, rights, arguments):
            found[name] = arguments
    return found


def changed(plain: list[tuple]) -> Iterator[tuple[str, tuple]]:
    """The cases with other numbers."""
    for name, change in TRAPS.items():
        for arguments in plain:
            others = tuple(change(one) if free(one) else one for one in arguments)
            if differs(others, arguments):
                yield PREFIX + name, others


def cut_down(plain: list[tuple]) -> Iterator[tuple[str, tuple]]:
    """The cases with all axes of one length cut down."""
    for arguments in plain:
        for size in sizes(arguments):
            yield (
                f"{PREFIX}an axis of length {size} cut down to one",
                tuple(cut(one, size) for one in arguments),
            )


def free(one: Any) -> bool:
    """Whether an argument is an array of free numbers: floats with rows, not weights and nothing infinite."""
    if not isinstance(one, np.ndarray) or one.dtype != np.float64 or one.ndim < 2 or one.shape[-2] < 2:
        return False
    return bool(np.isfinite(one).all()) and not (one >= 0).all() and abs(one).max() < 50


def small(arguments: tuple) -> bool:
    floats = [one for one in arguments if isinstance(one, np.ndarray)]
    return all(one.dtype != np.float32 for one in floats) and sum(one.size for one in floats) < LARGEST


def sizes(arguments: tuple) -> list[int]:
    """The lengths of axes of which all but the first may be cut off: no length that another is a multiple of."""
    arrays = [one for one in arguments if isinstance(one, np.ndarray)]
    if any(one.dtype.kind in "iu" or is_weights(one) for one in arrays):
        return []  # an index would be out of range, and weights would no longer sum to one
    numbers = {one for one in arguments if type(one) is int}
    lengths = {n for one in arrays for n in one.shape} | numbers
    return sorted(
        n
        for n in lengths - numbers
        if n > 1 and not any(m != n and (m % n == 0 or n % m == 0) for m in lengths - {0, 1})
    )


def is_weights(one: np.ndarray) -> bool:
    """Whether the numbers are shares or probabilities."""
    return one.dtype.kind == "f" and one.size > 0 and bool((one >= 0).all() and (one <= 1).all())


def cut(one: Any, size: int) -> Any:
    """An array with all axes of this length cut down to the first entry; a whole number of that size becomes one."""
    if isinstance(one, np.ndarray):
        return one[tuple(slice(0, 1) if n == size else slice(None) for n in one.shape)].copy()
    return 1 if type(one) is int and one == size else one


def differs(some: tuple, others: tuple) -> bool:
    return any(
        isinstance(a, np.ndarray) and not np.array_equal(a, b) for a, b in zip(some, others, strict=True)
    )


def agreed(exercise: CodeExercise, rights: Sequence[Callable[..., Any]], arguments: tuple) -> bool:
    """Whether all right answers give the same finite numbers."""
    limits = tolerance(exercise, arguments)
    with np.errstate(all="ignore"):
        first, *others = [observe(right, arguments, traced=False) for right in rights]
    return (
        first.finite and all(same(first, other, *limits) for other in others) and obeyed(exercise, arguments)
    )


def obeyed(exercise: CodeExercise, arguments: tuple) -> bool:
    """Whether the laws of the exercise mean something for these arguments."""
    try:
        with np.errstate(all="ignore"):
            return not any(law.test(exercise.solution, *arguments) for law in exercise.properties)
    except (ValueError, IndexError, TypeError):
        return False


def tolerance(exercise: CodeExercise, arguments: tuple) -> tuple[float, float]:
    """rtol and atol of a case: float32 in, no more exact out; at scores of 1e9 the last digit is worth 1e-7."""
    rtol, atol = exercise.rtol, exercise.atol
    arrays = [
        one
        for one in arguments
        if hasattr(one, "dtype") and hasattr(one, "shape") and str(one.dtype)[:1] != "b"
    ]
    if any(str(one.dtype).endswith("float32") for one in arrays):
        rtol, atol = max(rtol, 1e-4), max(atol, 1e-5)
    largest = max(
        (
            float(abs(one[finite(one)]).max())
            for one in arrays
            if isinstance(one, np.ndarray) and finite(one).any()
        ),
        default=0,
    )
    return max(rtol, 8 * np.finfo(float).eps * largest), atol


def finite(one: np.ndarray) -> np.ndarray:
    return np.isfinite(one) if one.dtype.kind in "fiu" else np.zeros(one.shape, dtype=bool)

"""Laws that right answers obey, ready for use in exercises; each says in words where an answer breaks it.

A test gets the learner's function `f`, which takes copies and returns arrays, and the arguments of one case. The
factories take positions of arguments: `attention(Q, K, V)` has Q at 0, K at 1 and V at 2.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from attnlib.exercises.engine.model import Property
from attnlib.exercises.engine.tables import number


def _rows_sum_to_one(f: Callable[..., Any], *arguments: Any) -> str | None:
    sums = np.asarray(f(*arguments)).sum(axis=-1)
    wrong = np.argwhere(~np.isclose(sums, 1.0, rtol=1e-4))
    if not wrong.size:
        return None
    return f"row {index(wrong[0])} sums to {number(sums[tuple(wrong[0])])}"


def _rows_sum_to_one_or_zero(f: Callable[..., Any], S: Any, mask: Any) -> str | None:
    sums = np.asarray(f(S, mask)).sum(axis=-1)
    target = np.broadcast_to(mask, np.shape(S)).any(axis=-1).astype(float)
    wrong = np.argwhere(~np.isclose(sums, target, rtol=1e-4))
    if not wrong.size:
        return None
    where = tuple(wrong[0])
    return f"row {index(where)} sums to {number(sums[where])}, not to {number(target[where])}"


def _never_negative(f: Callable[..., Any], *arguments: Any) -> str | None:
    smallest = np.min(f(*arguments))
    return f"there is a {number(smallest)}" if smallest < 0 else None


rows_sum_to_one = Property("each row sums to one", _rows_sum_to_one)
rows_sum_to_one_or_zero = Property(
    "a row sums to one, and to zero if it may look nowhere", _rows_sum_to_one_or_zero
)
never_negative = Property("no weight is negative", _never_negative)


def unchanged_by_a_constant(position: int = 0, name: str = "scores") -> Property:
    """Adding one number to every entry of an argument changes nothing."""

    def test(f: Callable[..., Any], *arguments: Any) -> str | None:
        shifted = replaced(arguments, {position: arguments[position] + 3})
        return moved(f(*arguments), f(*shifted))

    return Property(f"adding one constant to all {name} changes nothing", test)


def blind_to_order(axes: dict[int, int]) -> Property:
    """Permuting the arguments together, each along its axis (keys and values), changes nothing."""

    def test(f: Callable[..., Any], *arguments: Any) -> str | None:
        first, axis = next(iter(axes.items()))
        order = np.roll(np.arange(arguments[first].shape[axis]), 1)
        permuted = {i: np.take(arguments[i], order, axis=axis) for i, axis in axes.items()}
        return moved(f(*arguments), f(*replaced(arguments, permuted)))

    return Property("the order of the keys (with their values) does not matter", test)


def separate_batches(*positions: int, dimensions: int = 3) -> Property:
    """Changing the last element of a batch leaves the results of all others as they are."""

    def test(f: Callable[..., Any], *arguments: Any) -> str | None:
        batched = [i for i in positions if np.ndim(arguments[i]) >= dimensions and len(arguments[i]) > 1]
        if not batched:
            return None
        other = {i: arguments[i].copy() for i in batched}
        for array in other.values():
            array[-1] = array[-1][..., ::-1] + array.dtype.type(1 if array.dtype.kind == "f" else 0)
        before, after = arrays_of(f(*arguments)), arrays_of(f(*replaced(arguments, other)))
        return moved(tuple(a[:-1] for a in before), tuple(a[:-1] for a in after))

    return Property("the elements of a batch do not see each other", test)


def unread_where_hidden(*positions: int, mask: int) -> Property:
    """Keys that no query may look at can hold anything: changing them changes nothing."""

    def test(f: Callable[..., Any], *arguments: Any) -> str | None:
        hidden = ~np.asarray(arguments[mask]).any(axis=tuple(range(np.ndim(arguments[mask]) - 1)))
        if not hidden.any():
            return None
        other = {i: arguments[i].copy() for i in positions}
        for array in other.values():
            array[..., hidden, :] += array.dtype.type(7)
        return moved(f(*arguments), f(*replaced(arguments, other)))

    return Property("what the mask hides is never read", test)


def causal(*positions: int, axis: int = -2) -> Property:
    """Changing the last position changes no result before it."""

    def test(f: Callable[..., Any], *arguments: Any) -> str | None:
        other = {i: arguments[i].copy() for i in positions}
        for array in other.values():
            np.moveaxis(array, axis, 0)[-1] += array.dtype.type(1)
        before, after = (
            np.moveaxis(np.asarray(f(*a)), axis, 0) for a in (arguments, replaced(arguments, other))
        )
        return moved(before[:-1], after[:-1])

    return Property("no position sees a later one", test)


def replaced(arguments: tuple[Any, ...], changes: dict[int, Any]) -> tuple[Any, ...]:
    return tuple(changes.get(i, argument) for i, argument in enumerate(arguments))


def arrays_of(value: Any) -> tuple[np.ndarray, ...]:
    return value if isinstance(value, tuple) else (value,)


def moved(before: Any, after: Any) -> str | None:
    """In words, the first entry of the result that moved although it should not; None if it stayed."""
    for a, b in zip(arrays_of(before), arrays_of(after), strict=True):
        scale = 1e-4 if a.dtype == np.float32 else 1e-8
        wrong = np.argwhere(~np.isclose(a, b, rtol=scale, atol=scale, equal_nan=True))
        if wrong.size:
            where = tuple(wrong[0])
            place = f"the result at {index(where)}" if where else "the result"
            return f"{place} went from {number(a[where])} to {number(b[where])}"
    return None


def index(at: Any) -> str:
    return f"[{', '.join(str(int(i)) for i in at)}]"

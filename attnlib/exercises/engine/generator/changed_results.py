"""The right function with something done to its result, or to one of its results."""

import itertools
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from attnlib.exercises.engine.generator.changed_arguments import whole
from attnlib.exercises.engine.generator.generated import Generated


def truth(x: Any) -> Any:
    """An array of True and False; anything else is none."""
    if getattr(getattr(x, "dtype", None), "kind", "") != "b":
        raise TypeError("an array of True and False")
    return x


def rounded(x: Any, digits: int) -> Any:
    if getattr(getattr(x, "dtype", None), "kind", "") != "f":
        raise TypeError("numbers that need not be whole")
    return np.round(x, digits)


def ratio(x: Any, axis: int) -> Any:
    return x / x.sum(axis=axis, keepdims=True)


def softmaxed(x: Any) -> Any:
    return ratio(np.exp(x - x.max(axis=-1, keepdims=True)), -1)


RESULTS: tuple[tuple[str, str, Callable[[Any], Any]], ...] = (
    ("the sign of the result", "All numbers have the other sign.", lambda x: -x),
    ("twice the result", "All numbers are twice as large as they should be.", lambda x: 2 * x),
    ("half the result", "All numbers are half as large as they should be.", lambda x: x / 2),
    ("the square of the result", "Each number is the square of the right one.", lambda x: np.square(x, dtype=x.dtype)),
    ("the root of the result", "Each number is the root of the right one.", lambda x: np.sqrt(x, dtype=x.dtype)),
    ("the exponential of the result", "Each number is the exponential of the right one.", lambda x: np.exp(x)),
    ("the logarithm of the result", "Each number is the natural logarithm of the right one.", lambda x: np.log(x)),
    ("in base 10", "All numbers are smaller by ln 10: this is a logarithm to base 10.", lambda x: x / math.log(10)),
    ("in base 2", "All numbers are larger by 1 / ln 2: this is a logarithm to base 2.", lambda x: x / math.log(2)),
    ("absolute values", "The signs are lost.", lambda x: abs(x)),
    ("one minus the result", "Each number is one minus the right one.", lambda x: 1 - x),
    ("one over the result", "Each number is one over the right one.", lambda x: 1 / x),
    ("one too many", "Each number is larger by one.", lambda x: x + 1),
    ("one too few", "Each number is smaller by one.", lambda x: x - 1),
    ("True and False exchanged", "Everything is True that should be False, and the other way round.", lambda x: ~x),
    ("numbers, not True and False", "The pattern is right, but booleans are wanted.", lambda x: truth(x) * 1.0),
    ("an additive mask", "Booleans are wanted.", lambda x: np.where(truth(x), 0.0, -np.inf)),
    ("the result is transposed", "Rows and columns of the result are exchanged.", lambda x: x.swapaxes(-1, -2)),
    ("a softmax of the result", "A softmax over the last axis was taken, which was not wanted.", softmaxed),
    ("rows that sum to one", "Each row was divided by its sum.", lambda x: ratio(x, -1)),
    ("all made to sum to one", "Everything was divided by its sum, which was not wanted.", lambda x: x / x.sum()),
    ("one number for all", "Everything was added up; one number for each row is wanted.", lambda x: x.sum()),
    ("one mean for all", "The mean of everything was taken; each row has its own.", lambda x: x.mean()),
    ("the first row for all", "All rows of the result are like the first.", lambda x: x[..., :1, :] + 0 * x),
    ("an axis too many", "The result has an axis of length one too many.", lambda x: x[..., None]),
    ("an axis too many", "The result has an axis of length one too many.", lambda x: x[None]),
    ("only the first of the result", "Of all rows, or numbers, only the first is here.", lambda x: x[0]),
    ("only the last of the result", "Of all rows, or numbers, only the last is here.", lambda x: x[-1]),
    ("in per cent", "Each number is a hundred times the right one.", lambda x: 100 * x),
    ("bits", "Each number is eight times the right one: bits, not bytes.", lambda x: 8 * x),
    ("in units of 1024", "Each number is the right one over 1024.", lambda x: x / 1024),
    ("in units of 1024²", "Each number is the right one over 1024².", lambda x: x / 1024**2),
    ("the whole result divided by its spread", "Each number was divided by the spread of all.", lambda x: x / x.std()),
)  # fmt: skip

ALONG_AXES = (
    ("the result is reversed", "The numbers are in the opposite order along one axis.", lambda x, a: np.flip(x, a)),
    ("one position too far", "The numbers are one position further along an axis.", lambda x, a: np.roll(x, 1, a)),
    ("one position too early", "The numbers are one position earlier along an axis.", lambda x, a: np.roll(x, -1, a)),
    ("summed over an axis", "One axis of the result was summed over and is gone.", lambda x, a: x.sum(axis=a)),
    ("averaged over an axis", "The mean over one axis of the result was taken.", lambda x, a: x.mean(axis=a)),
    ("the result runs on", "Each number is the sum of the right ones up to there.", lambda x, a: np.cumsum(x, a)),
    ("the last one is missing", "The numbers are right, but one axis is too short.", lambda x, a: np.delete(x, -1, a)),
)  # fmt: skip


VERBS: tuple[tuple[str, Callable[[Any, Any], Any]], ...] = (
    ("added", lambda x, a: x + a),
    ("subtracted", lambda x, a: x - a),
    ("multiplied in", lambda x, a: x * a),
    ("divided out", lambda x, a: x / a),
    ("used as an order", lambda x, a: x[whole(a)]),
)
POWERS = {0.5: "the root of ", 1: "", 2: "the square of "}


def generated(
    f: Callable[..., Any], names: list[str], labels: tuple[str, ...], count: int
) -> Iterator[Generated]:
    """The function with something done to its result, or to one of its `count` results, which have `labels`."""
    if count == 1:
        yield from one_changed(f)
        for i, name in enumerate(names):
            yield from with_an_argument(f, i, f"`{name}`")
    else:
        for k in range(count):
            yield from one_of_several_changed(f, k, label_of(k, labels))
        yield from several_mixed(f, labels, count)
    for i, name in enumerate(names):
        for k in range(count):
            yield from with_a_size(f, i, f"`{name}`", None if count == 1 else k, labels)


def changes() -> Iterator[tuple[str, str, Callable[[Any], Any]]]:
    """What can be done to one result: name, sentence, and how."""
    yield from RESULTS
    for digits in range(7):
        yield "rounded", "The right numbers were rounded.", lambda x, digits=digits: rounded(x, digits)
    for title, sentence, new in ALONG_AXES:
        for axis in (-1, -2, -3, 0):
            yield title, sentence, lambda x, new=new, axis=axis: new(x, axis)


def one_changed(f: Callable[..., Any]) -> Iterator[Generated]:
    for title, sentence, new in changes():
        yield Generated(title, sentence, lambda *some, new=new: new(plain(f(*some))))


def one_of_several_changed(f: Callable[..., Any], k: int, label: str) -> Iterator[Generated]:
    for title, sentence, new in changes():
        name = title.replace("the result", label) if "the result" in title else f"{title}, in {label}"
        yield Generated(name, f"In {label}: {sentence[0].lower()}{sentence[1:]}", changed_at(f, k, new))


def label_of(k: int, labels: tuple[str, ...]) -> str:
    return f"`{labels[k]}`" if labels else f"result {k + 1}"


def plain(x: Any) -> Any:
    return np.asarray(x) if isinstance(x, int | float) else x


def changed_at(f: Callable[..., Any], k: int, new: Callable[[Any], Any]) -> Callable[..., Any]:
    """The function whose result number `k` is changed."""

    def function(*arguments: Any) -> Any:
        found = list(f(*arguments))
        found[k] = new(plain(found[k]))
        return tuple(found)

    return function


def several_mixed(f: Callable[..., Any], labels: tuple[str, ...], count: int) -> Iterator[Generated]:
    """Several results in another order, all changed alike, or put together."""
    for order in itertools.permutations(range(count)) if count < 5 else ():
        text = "The results are right, but not in the order that is wanted."
        yield Generated(
            "the order of the results", text, lambda *some, order=order: tuple(f(*some)[i] for i in order)
        )
    turned = lambda *some: tuple(x.swapaxes(-1, -2) for x in f(*some))  # noqa: E731
    yield Generated("all results transposed", "Each result is transposed.", turned)
    text = "Of each result only the first row, or number, is here."
    yield Generated("only the first of each result", text, lambda *some: tuple(x[0] for x in f(*some)))
    text = "All results were added up; each is wanted by itself."
    yield Generated("one sum of the results", text, lambda *some: sum(f(*some)))
    for chosen in itertools.combinations(range(count), 2) if count > 2 else ():
        names = " and ".join(label_of(k, labels) for k in chosen)

        def two(*some: Any, chosen: tuple[int, ...] = chosen) -> Any:
            return tuple(x.swapaxes(-1, -2) if i in chosen else x for i, x in enumerate(f(*some)))

        yield Generated(f"{names} are transposed", f"{names} came transposed.", two)


def with_an_argument(f: Callable[..., Any], i: int, name: str) -> Iterator[Generated]:
    """The one result with an argument added to it, multiplied in, and so on."""
    for verb, new in VERBS:
        text = f"These are the right numbers with {name} {verb} at the end."
        yield Generated(
            f"{name} is {verb} at the end", text, lambda *some, new=new: new(plain(f(*some)), some[i])
        )


def the_change_alone(
    f: Callable[..., Any], names: list[str], labels: tuple[str, ...], task: str
) -> Iterator[Generated]:
    """Arguments as they came in; or, where the task wants them "after" or "new", what was added to them."""
    if labels and set(labels) <= set(names):
        text = "These are the arguments as they came in."
        yield Generated(
            "nothing was changed", text, lambda *some: tuple(some[names.index(one)] for one in labels)
        )
    for i, name in enumerate(() if labels else names):
        yield Generated(
            f"`{name}` is unchanged", f"That is `{name}` as it came in.", lambda *some, i=i: array(some[i])
        )
    said = f"{task} {f.__doc__}"
    new = [name for name in names if re.search(rf"\b{name}\b(,? \w+){{0,3}} after\b|\bnew {name}\b", said)]
    if labels:
        chosen = [names.index(label) for label in labels if label in new]
        if not chosen or len(chosen) < len(labels):
            return
    else:
        chosen = [names.index(name) for name in new][:1]
    letters = ", ".join(f"`{names[i]}`" for i in chosen)
    name = f"the change of {letters}, not the new value"
    text = "This is how much was added or subtracted. What comes of it is wanted."
    for sign in (1, -1):

        def changed(*some: Any, sign: int = sign) -> Any:
            found = f(*some)
            pairs = zip(found if labels else (found,), chosen, strict=True)
            left = tuple(sign * (plain(x) - same_shape(some[i], x)) for x, i in pairs)
            return left if labels else left[0]

        if chosen:
            yield Generated(name, text, changed)


def array(argument: Any) -> Any:
    """An argument with axes; a number may be a result by chance."""
    if not np.ndim(argument):
        raise TypeError("an array")
    return argument


def same_shape(argument: Any, result: Any) -> Any:
    """The argument; it has the shape of the result, or else the result is no new value of it."""
    if np.shape(argument) != np.shape(result):
        raise TypeError("an argument of the result's shape")
    return argument


def with_a_size(
    f: Callable[..., Any], i: int, name: str, k: int | None, labels: tuple[str, ...]
) -> Iterator[Generated]:
    """A result multiplied with, or divided by, the length of an axis of argument `i`; `k` is one of several results."""
    head, text = ("", "Each number")
    if k is not None:
        which = f"`{labels[k] if labels else f'result {k + 1}'}`"
        head, text = f"{which} ", f"In {which}, each number"
    for axis, power, verb in itertools.product(
        (-1, -2, -3), (0.5, 1, 2, "log"), ("multiplied with", "divided by")
    ):
        if power == "log" and k is not None:
            continue
        said = "the logarithm of " if power == "log" else POWERS[power]
        size = f"{verb} {said}the length of axis {axis} of {name}"

        def scaled(*some: Any, axis: int = axis, power: Any = power, verb: str = verb) -> Any:
            length = some[i].shape[axis]
            factor = math.log(length) if power == "log" else float(length) ** power
            factor = factor if verb == "multiplied with" else 1 / factor
            if k is None:
                return plain(f(*some)) * factor
            return tuple(x * factor if j == k else x for j, x in enumerate(f(*some)))

        yield Generated(f"{head}{size}", f"{text} is the right one {size}.", scaled)

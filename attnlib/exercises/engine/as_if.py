"""Generated mistakes that need no code: the right function with another argument, or with something done to its result.

"Your numbers are those of `b` = 0" is true whatever was typed.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

Named = tuple[str, str, Callable[..., Any]]


def transposed(x: Any) -> Any:
    return x.swapaxes(-1, -2)


def first_only(x: Any) -> Any:
    return x[..., :1, :] + 0 * x


ARGUMENTS: tuple[tuple[str, str, Callable[[Any], Any]], ...] = (
    ("{} counts as zero", "These are the numbers for {} = 0: it was left out.", lambda x: 0 * x),
    ("the sign of {} is turned", "These are the numbers for {} with the other sign.", lambda x: -x),
    ("{} is inverted", "True and False are exchanged in {}.", lambda x: ~x),
    ("{} is not used", "These are the numbers for {} that is True everywhere.", lambda x: x | True),
    ("{} is transposed", "These are the numbers for {} transposed.", transposed),
    ("{} is read backwards", "These are the numbers for {} in the opposite order.", lambda x: x[::-1]),
    ("{} is read backwards", "These are the numbers for {} in the opposite order.", lambda x: x[..., ::-1]),
    ("only the first of {}", "These are the numbers where all rows of {} are like the first.", first_only),
    ("twice {}", "The numbers are those of twice {}.", lambda x: 2 * x),
    ("half of {}", "The numbers are those of half of {}.", lambda x: x / 2),
    ("{} counts as one", "These are the numbers for {} = 1.", lambda x: 0 * x + 1),
    ("the root of {}", "These are the numbers for the root of {}.", lambda x: x**0.5),
    ("the square of {}", "These are the numbers for the square of {}.", lambda x: x**2),
    ("one minus {}", "These are the numbers for 1 - {}.", lambda x: 1 - x if np.ndim(x) else x / 0),
    ("one over {}", "These are the numbers for 1 / {}.", lambda x: 1 / x),
    ("one more than {}", "The numbers are those of one more than {}.", lambda x: x + 1),
    ("one less than {}", "The numbers are those of one less than {}.", lambda x: x - 1),
)


def arguments_changed(f: Callable[..., Any], names: list[str]) -> Iterator[Named]:
    """The right function of other arguments: one changed, two exchanged, one in place of another."""

    def called(change: Callable[[list[Any]], None]) -> Callable[..., Any]:
        def function(*arguments: Any) -> Any:
            mine = list(arguments)
            change(mine)
            return f(*mine)

        return function

    for i, name in enumerate(names):
        for title, sentence, new in ARGUMENTS:

            def one(mine: list[Any], i: int = i, new: Callable[[Any], Any] = new) -> None:
                mine[i] = new(mine[i])

            yield title.format(f"`{name}`"), sentence.format(f"`{name}`"), called(one)
    for i, j in itertools.permutations(range(len(names)), 2):
        a, b = f"`{names[i]}`", f"`{names[j]}`"

        def exchange(mine: list[Any], i: int = i, j: int = j) -> None:
            mine[i], mine[j] = mine[j], mine[i]

        def take(mine: list[Any], i: int = i, j: int = j) -> None:
            mine[i] = mine[j]

        def reorder(mine: list[Any], i: int = i, j: int = j) -> None:
            mine[i] = mine[i][whole(mine[j])]

        yield (
            f"{a} was ordered by {b} once too often",
            f"These are the numbers for {a}[{b}] in place of {a}.",
            called(reorder),
        )
        if i < j:
            yield (
                f"{a} and {b} are exchanged",
                f"These are the numbers with {a} and {b} in each other's place.",
                called(exchange),
            )
        yield f"{b} in place of {a}", f"These are the numbers with {b} where {a} belongs.", called(take)


def whole(x: Any) -> Any:
    """An array of places; anything else is none."""
    if getattr(getattr(x, "dtype", None), "kind", "") != "i":
        raise TypeError("an array of places")
    return x


def truth(x: Any) -> Any:
    """An array of True and False; anything else is none."""
    if getattr(getattr(x, "dtype", None), "kind", "") != "b":
        raise TypeError("an array of True and False")
    return x


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
    ("numbers, not True and False", "The pattern is right, but booleans are asked for.", lambda x: truth(x) * 1.0),
    ("an additive mask", "Booleans are asked for.", lambda x: np.where(truth(x), 0.0, -np.inf)),
    ("the result is transposed", "Rows and columns of the result are exchanged.", transposed),
    ("a softmax of the result", "A softmax over the last axis was taken, which was not asked for.", softmaxed),
    ("rows that sum to one", "Each row was divided by its sum.", lambda x: ratio(x, -1)),
    ("all made to sum to one", "Everything was divided by its sum, which was not asked for.", lambda x: x / x.sum()),
    ("one number for all", "Everything was added up; one number for each row is asked for.", lambda x: x.sum()),
    ("one mean for all", "The mean of everything was taken; each row has its own.", lambda x: x.mean()),
    ("the first row for all", "All rows of the result are like the first.", first_only),
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
    ("the result is turned round", "The numbers are in the opposite order along one axis.", lambda x, a: np.flip(x, a)),
    ("one place too far", "The numbers stand one place further along one axis.", lambda x, a: np.roll(x, 1, a)),
    ("one place too early", "The numbers stand one place earlier along one axis.", lambda x, a: np.roll(x, -1, a)),
    ("summed over an axis", "One axis of the result was summed over and is gone.", lambda x, a: x.sum(axis=a)),
    ("averaged over an axis", "The mean over one axis of the result was taken.", lambda x, a: x.mean(axis=a)),
    ("the result runs on", "Each number is the sum of the right ones up to there.", lambda x, a: np.cumsum(x, a)),
    ("the last one is missing", "The numbers are right, but one axis is too short.", lambda x, a: np.delete(x, -1, a)),
)  # fmt: skip


def results_changed(
    f: Callable[..., Any], names: list[str], several: tuple[str, ...], count: int
) -> Iterator[Named]:
    """The right function with something done to its result, or to one of its results."""
    axes = [(t, s, lambda x, g=g, a=a: g(x, a)) for t, s, g in ALONG_AXES for a in (-1, -2, -3, 0)]
    for title, sentence, new in (*RESULTS, *axes):
        if count == 1:
            yield title, sentence, lambda *some, new=new: new(plain(f(*some)))
        else:
            for k in range(count):
                which = f"`{several[k]}`" if several else f"result {k + 1}"
                name = title.replace("the result", which) if "the result" in title else f"{title}, in {which}"
                yield name, f"In {which}: {sentence[0].lower()}{sentence[1:]}", changed_at(f, k, new)
    if count > 1:
        yield from results_mixed(f, several, count)
    yield from with_arguments(f, names, several, count)


def plain(x: Any) -> Any:
    return np.asarray(x) if isinstance(x, int | float) else x


def changed_at(f: Callable[..., Any], k: int, new: Callable[[Any], Any]) -> Callable[..., Any]:
    def function(*arguments: Any) -> Any:
        found = list(f(*arguments))
        found[k] = new(plain(found[k]))
        return tuple(found)

    return function


def results_mixed(f: Callable[..., Any], several: tuple[str, ...], count: int) -> Iterator[Named]:
    """Several results in another order, all changed alike, or put together."""
    for order in itertools.permutations(range(count)) if count < 5 else ():
        text = "The results are right, but not in the order that was asked for."
        yield "the order of the results", text, lambda *some, order=order: tuple(f(*some)[i] for i in order)
    yield (
        "all results transposed",
        "Each result is transposed.",
        lambda *some: tuple(map(transposed, f(*some))),
    )
    text = "Of each result only the first row, or number, is here."
    yield "only the first of each result", text, lambda *some: tuple(x[0] for x in f(*some))
    text = "All results were added up; each is asked for by itself."
    yield "one sum of the results", text, lambda *some: sum(f(*some))
    for chosen in itertools.combinations(range(count), 2) if count > 2 else ():
        names = " and ".join(f"`{several[k]}`" if several else f"result {k + 1}" for k in chosen)

        def two(*some: Any, chosen: tuple[int, ...] = chosen) -> Any:
            return tuple(transposed(x) if i in chosen else x for i, x in enumerate(f(*some)))

        yield f"{names} are transposed", f"{names} came transposed.", two


def with_arguments(
    f: Callable[..., Any], names: list[str], several: tuple[str, ...], count: int
) -> Iterator[Named]:
    """The result with an argument, or with its size, added or multiplied."""
    for i, name in enumerate(names):
        for verb, g in (
            ("added", lambda x, a: x + a),
            ("subtracted", lambda x, a: x - a),
            ("multiplied in", lambda x, a: x * a),
            ("divided out", lambda x, a: x / a),
            ("used as an order", lambda x, a: x[whole(a)]),
        ):
            text = f"These are the right numbers with `{name}` {verb} at the end."
            if count == 1:
                yield (
                    f"`{name}` is {verb} at the end",
                    text,
                    lambda *some, g=g, i=i: g(plain(f(*some)), some[i]),
                )
        for axis, power, times in itertools.product((-1, -2, -3), (0.5, 1, 2), (True, False)):
            size = f"{ {0.5: 'the root of ', 1: '', 2: 'the square of '}[power] }the length of axis {axis} of `{name}`"
            verb = "multiplied with" if times else "divided by"

            def scaled(
                x: Any,
                some: tuple[Any, ...],
                i: int = i,
                axis: int = axis,
                p: float = power * (1 if times else -1),
            ) -> Any:
                return x * float(some[i].shape[axis]) ** p

            text = f"Each number is the right one {verb} {size}."
            if count == 1 and power == 1:
                log = f"{verb} the logarithm of the length of axis {axis} of `{name}`"
                yield (
                    log,
                    f"Each number is the right one {log}.",
                    lambda *some, i=i, axis=axis, t=times: (
                        plain(f(*some)) * math.log(some[i].shape[axis]) ** (1 if t else -1)
                    ),
                )
            if count == 1:
                yield f"{verb} {size}", text, lambda *some, scaled=scaled: scaled(plain(f(*some)), some)
            for k in range(count) if count > 1 else ():
                which = several[k] if several else f"result {k + 1}"

                def at(*some: Any, k: int = k, scaled: Any = scaled) -> Any:
                    return tuple(scaled(x, some) if j == k else x for j, x in enumerate(f(*some)))

                yield (
                    f"`{which}` {verb} {size}",
                    f"In `{which}`, each number is the right one {verb} {size}.",
                    at,
                )

"""The right function of other arguments: one changed, two exchanged, one in place of another.

"These are the numbers for `b` = 0" is true whatever was typed.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from attnlib.exercises.engine.generator.generated import Generated

ARGUMENTS: tuple[tuple[str, str, Callable[[Any], Any]], ...] = (
    ("{} counts as zero", "These are the numbers for {} = 0: it was left out.", lambda x: 0 * no_list(x)),
    ("the sign of {} is turned", "These are the numbers for {} with the other sign.", lambda x: -x),
    ("{} is inverted", "True and False are exchanged in {}.", lambda x: ~truth(x)),
    ("{} is not used", "These are the numbers for {} that is True everywhere.", lambda x: truth(x) | True),
    ("{} is transposed", "These are the numbers for {} transposed.", lambda x: x.swapaxes(-1, -2)),
    ("{} is read backwards", "These are the numbers for {} in the opposite order.", lambda x: x[::-1]),
    ("{} is read backwards", "These are the numbers for {} in the opposite order.", lambda x: x[..., ::-1]),
    (
        "only the first of {}",
        "These are the numbers where all rows of {} are like the first.",
        lambda x: x[..., :1, :] + 0 * x,
    ),
    ("twice {}", "The numbers are those of twice {}.", lambda x: 2 * no_list(x)),
    ("half of {}", "The numbers are those of half of {}.", lambda x: x / 2),
    ("{} counts as one", "These are the numbers for {} = 1.", lambda x: 0 * -x + 1),
    ("the root of {}", "These are the numbers for the root of {}.", lambda x: x**0.5),
    ("the square of {}", "These are the numbers for the square of {}.", lambda x: x**2),
    ("one minus {}", "These are the numbers for 1 - {}.", lambda x: 1 - x if np.ndim(x) else x / 0),
    ("one over {}", "These are the numbers for 1 / {}.", lambda x: 1 / x),
    ("one more than {}", "The numbers are those of one more than {}.", lambda x: x + 1),
    ("one less than {}", "The numbers are those of one less than {}.", lambda x: x - 1),
    (
        "the inverse of {}",
        "These are the numbers for the order that undoes {}.",
        lambda x: np.argsort(order(x)),
    ),
)


def generated(f: Callable[..., Any], names: list[str]) -> Iterator[Generated]:
    """The function with one argument changed, two exchanged, or one in place of another."""
    for i, name in enumerate(names):
        for title, sentence, new in ARGUMENTS:
            yield Generated(title.format(f"`{name}`"), sentence.format(f"`{name}`"), with_changed(f, i, new))
    for i, j in itertools.permutations(range(len(names)), 2):
        yield from of_two(f, i, j, f"`{names[i]}`", f"`{names[j]}`")


def of_two(f: Callable[..., Any], i: int, j: int, a: str, b: str) -> Iterator[Generated]:
    """What can be mistaken about two arguments, `a` and `b`, at the positions `i` and `j`."""
    title, text = (
        f"{a} was ordered by {b} once too often",
        f"These are the numbers for {a}[{b}] in place of {a}.",
    )
    yield Generated(title, text, with_two_changed(f, i, j, lambda x, y: (x[whole(y)], y)))
    yield Generated(title, text, with_two_changed(f, i, j, lambda x, y: (where_it_fits(x, y), y)))
    if i < j:
        text = f"These are the numbers with {a} and {b} exchanged."
        yield Generated(f"{a} and {b} are exchanged", text, with_two_changed(f, i, j, lambda x, y: (y, x)))
    text = f"These are the numbers with {b} where {a} belongs."
    yield Generated(f"{b} in place of {a}", text, with_two_changed(f, i, j, lambda x, y: (y, y)))


def with_changed(f: Callable[..., Any], i: int, new: Callable[[Any], Any]) -> Callable[..., Any]:
    """The function of its arguments, of which number `i` is changed."""
    return lambda *some: f(*some[:i], new(some[i]), *some[i + 1 :])


def with_two_changed(
    f: Callable[..., Any], i: int, j: int, new: Callable[[Any, Any], tuple[Any, Any]]
) -> Callable[..., Any]:
    """The function of its arguments, of which numbers `i` and `j` are changed together."""

    def function(*arguments: Any) -> Any:
        mine = list(arguments)
        mine[i], mine[j] = new(mine[i], mine[j])
        return f(*mine)

    return function


def no_list(x: Any) -> Any:
    """Anything but a list or a tuple, of which a multiple is a longer one, or nothing."""
    if isinstance(x, list | tuple):
        raise TypeError("a number or an array")
    return x


def truth(x: Any) -> Any:
    """What is True or False, or an array or a tensor of these; anything else has no truth to exchange."""
    if not isinstance(x, bool) and str(getattr(x, "dtype", "")) not in ("bool", "torch.bool"):
        raise TypeError("True and False")
    return np.bool_(x) if isinstance(x, bool) else x


def whole(x: Any) -> Any:
    """An array of indices; anything else is none."""
    if getattr(getattr(x, "dtype", None), "kind", "") != "i":
        raise TypeError("an array of indices")
    return x


def order(x: Any) -> Any:
    """An array of indices in which each stands once; anything else is none."""
    if not np.array_equal(np.sort(whole(x)), np.arange(len(x))):
        raise TypeError("an order")
    return x


def where_it_fits(x: Any, y: Any) -> Any:
    """The rows of an array in an order, where there are as many; else as they are."""
    return x[order(y)] if len(x) == len(y) else x

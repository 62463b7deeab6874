"""Find the one element of a set that does not belong: the order of the set says nothing.

Book: permutation, patterns-and-entropy. Items are the numbers 0 ... n_classes * n_members - 1; the class of an item is
`item // n_members`. All items of a set come from one class, except one.
"""

import numpy as np

from attnlib.data.tasks import MarkedTask
from attnlib.shapes import Array, Int


def set_anomaly(
    size: int, length: int, n_classes: int, n_members: int, *, last: int | None = None, seed: int = 0
) -> MarkedTask:
    """Sets of `length` items; `marks` shows the odd one, `target` is it, `weights` look at it.

    last    the odd item stands among the first `last` places (by default anywhere): a shortcut for a model that is
            told the places, and nothing for one that is not

    >>> task = set_anomaly(1, 5, n_classes=2, n_members=10)
    >>> classes = task.symbols[0] // 10
    >>> odd = classes == task.target[0] // 10
    >>> int(odd.sum()), bool((odd == task.marks[0]).all())
    (1, True)
    """
    last = length if last is None else last
    if length < 3:
        raise ValueError(f"set_anomaly: with fewer than 3 items no one is the odd one; got {length=}.")
    if n_classes < 2 or n_members < 1:
        raise ValueError(
            f"set_anomaly: two classes with a member each are needed; got {n_classes=}, {n_members=}."
        )
    if not 1 <= last <= length:
        raise ValueError(f"set_anomaly: last must be from 1 to length={length}; got {last=}.")
    rng = np.random.default_rng(seed)
    place = rng.integers(last, size=(size, 1))
    marks = place == np.arange(length)
    usual = rng.integers(n_classes, size=(size, 1))
    odd = (usual + rng.integers(1, n_classes, size=(size, 1))) % n_classes
    symbols = np.where(marks, odd, usual) * n_members + rng.integers(n_members, size=(size, length))
    target = np.take_along_axis(symbols, place, 1)[:, 0]
    n_inputs = last * n_classes * (n_classes - 1) * n_members**length
    return MarkedTask(symbols, marks, target, marks[:, None].astype(float), 1 / last, n_inputs)


def odd_one_out(symbols: Int[Array, "b n"], n_members: int) -> Int[Array, "b"]:
    """The place of the item whose class is shared least: what a reader who knows the classes answers.

    >>> odd_one_out(np.array([[10, 13, 4, 11]]), n_members=10).tolist()
    [2]
    """
    classes = symbols // n_members
    return (classes[:, :, None] == classes[:, None]).sum(-1).argmin(-1)

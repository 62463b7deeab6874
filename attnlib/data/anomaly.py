"""Find the one element of a set that does not belong; the order of the elements carries no information.

Book: permutation, patterns-and-entropy. Items are the numbers 0 ... n_classes * n_members - 1; the class of an item is
`item // n_members`. All items of a set come from one class, except one.
"""

import numpy as np

from attnlib.data.tasks import MarkedTask
from attnlib.shapes import Array, Int


def set_anomaly(
    size: int, length: int, n_classes: int, n_members: int, *, last: int | None = None, seed: int = 0
) -> MarkedTask:
    """Sets of `length` items; `marks` is True at the odd one, `target` is its value, `weights` select it.

    last    the odd item is among the first `last` positions (by default all): a shortcut for a model that has position
            information, and no help to one that has none

    >>> task = set_anomaly(1, 5, n_classes=2, n_members=10)
    >>> classes = task.symbols[0] // 10
    >>> odd = classes == task.target[0] // 10
    >>> int(odd.sum()), bool((odd == task.marks[0]).all())
    (1, True)
    """
    last = length if last is None else last
    if length < 3:
        raise ValueError(f"set_anomaly: length must be at least 3, or no item is the odd one; got {length=}.")
    if n_classes < 2 or n_members < 1:
        raise ValueError(
            f"set_anomaly: two classes with a member each are needed; got {n_classes=}, {n_members=}."
        )
    if not 1 <= last <= length:
        raise ValueError(f"set_anomaly: last must be from 1 to length={length}; got {last=}.")
    rng = np.random.default_rng(seed)
    position = rng.integers(last, size=(size, 1))
    marks = position == np.arange(length)
    usual = rng.integers(n_classes, size=(size, 1))
    odd = (usual + rng.integers(1, n_classes, size=(size, 1))) % n_classes
    symbols = np.where(marks, odd, usual) * n_members + rng.integers(n_members, size=(size, length))
    target = np.take_along_axis(symbols, position, 1)[:, 0]
    n_inputs = last * n_classes * (n_classes - 1) * n_members**length
    return MarkedTask(symbols, marks, target, marks[:, None].astype(float), 1 / last, n_inputs)


def odd_one_out(symbols: Int[Array, "b n"], n_members: int) -> Int[Array, "b"]:
    """The position of the item whose class is rarest: the answer if the classes are known.

    >>> odd_one_out(np.array([[10, 13, 4, 11]]), n_members=10).tolist()
    [2]
    """
    classes = symbols // n_members
    return (classes[:, :, None] == classes[:, None]).sum(-1).argmin(-1)

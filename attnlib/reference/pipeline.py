"""Pipeline schedules, tick by tick: p workers with a part of the layers each, and a batch in m micro-batches.

Chapter 5 derives eq-bubble. A table has a row for each worker and a column for each tick: i is the forward pass of
micro-batch i, -i its backward pass, 0 is waiting. Real schedules are in `torch.distributed.pipelining`.
"""

import numpy as np

from attnlib.shapes import Array, Int, Number, checked


def _played(orders: list[list[int]]) -> Int[Array, "p ticks"]:
    """The table of the workers' tasks: each worker does its tasks in order, each as soon as its input is ready."""
    p, done, columns = len(orders), set(), []
    left = [list(order) for order in orders]

    def ready(r: int, task: int) -> bool:
        before = r - 1 if task > 0 else r + 1  # forwards come from the worker before, backwards from the next
        return before in (-1, p) or (before, task) in done

    while any(left):
        now = [order[0] if order and ready(r, order[0]) else 0 for r, order in enumerate(left)]
        for r, task in enumerate(now):
            if task:
                done.add((r, task))
                left[r].pop(0)
        columns.append(now)
    return np.array(columns).T


@checked
def gpipe(p: Number[int, "1.."], m: Number[int, "1.."]) -> Int[Array, "p ticks"]:
    """GPipe: all forward passes, then all backward passes; activations of m micro-batches are kept.

    >>> gpipe(2, 2)
    array([[ 1,  2,  0,  0, -1, -2],
           [ 0,  1,  2, -1, -2,  0]])
    """
    forwards = list(range(1, m + 1))
    return _played([forwards + [-i for i in forwards]] * p)


@checked
def one_f_one_b(p: Number[int, "1.."], m: Number[int, "1.."]) -> Int[Array, "p ticks"]:
    """1F1B: one forward, one backward, in turn as early as possible; at most p micro-batches are kept.

    >>> one_f_one_b(2, 2)
    array([[ 1,  2,  0, -1,  0, -2],
           [ 0,  1, -1,  2, -2,  0]])
    """
    orders = []
    for r in range(p):
        ahead = min(p - 1 - r, m)
        order = list(range(1, ahead + 1))
        for i in range(ahead + 1, m + 1):
            order += [i, ahead - i]
        orders.append(order + [-i for i in range(m - ahead + 1, m + 1)])
    return _played(orders)


@checked
def waiting(table: Int[Array, "p ticks"]) -> float:
    """The share of all ticks in which a worker waits.

    >>> waiting(one_f_one_b(2, 2)), bubble(2, 2)
    (0.3333333333333333, 0.3333333333333333)
    """
    return float((table == 0).mean())


@checked
def kept(table: Int[Array, "p ticks"]) -> Int[Array, "p"]:
    """The largest number of micro-batches whose activations each worker keeps for the backward pass.

    >>> kept(gpipe(3, 5)), kept(one_f_one_b(3, 5))
    (array([5, 5, 5]), array([3, 2, 1]))
    """
    return np.sign(table).cumsum(axis=1).max(axis=1)


@checked
def bubble(p: Number[int, "1.."], m: Number[int, "1.."]) -> float:
    """The share of time that workers wait in either schedule (eq-bubble).

    >>> bubble(4, 1), bubble(4, 12)
    (0.75, 0.2)
    """
    return (p - 1) / (m + p - 1)

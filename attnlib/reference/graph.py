"""The graph of a sparse pattern: its edges are the cost, its paths say what can depend on what.

The book derives them in eq-pattern-edges, eq-pattern-reach and eq-pattern-hops (Chapter 6). A mask is the table of a
graph: entry (i, j) is an edge from query i to key j, and a path of L edges is what L layers can carry.
"""

import numpy as np

from attnlib.reference.patterns import Pattern, _cut, _pairs
from attnlib.shapes import Array, Bool, Int, Number, checked


@checked
def edges(pattern: Pattern, n: Number[int, "1.."]) -> int:
    """The number of pairs in which a query may attend to a key, counted in blocks of rows (eq-pattern-edges).

    A window of w has n w - w (w - 1) / 2, `causal` n (n + 1) / 2, g global tokens 2 n g - g², and blocks of b that
    divide n have n b. `strided(b)` for n = k b has n b - b (b - 1) / 2 + b k (k - 1) / 2, about 1.5 n^1.5 for b = √n.

    >>> from attnlib.reference.patterns import window
    >>> edges(window(3), 10), 10 * 3 - 3
    (27, 27)
    """
    return sum(int(_pairs(pattern, rows, range(n)).sum()) for rows in _cut(range(n), 16))  # eq-pattern-edges


@checked
def reach(mask: Bool[Array, "n n"], layers: Number[int, "0.."]) -> Bool[Array, "n n"]:
    """Which outputs (rows) can depend on which inputs (columns) after so many layers of attention (eq-pattern-reach).

    Where it is False the derivative of the output is exactly zero, whatever the parameters are. A residual connection
    lets each position keep what it has: pass `mask | np.eye(n, dtype=bool)`.

    >>> from attnlib.reference.patterns import dense_mask, window
    >>> reach(dense_mask(window(2), 4), layers=2).astype(int)
    array([[1, 0, 0, 0],
           [1, 1, 0, 0],
           [1, 1, 1, 0],
           [0, 1, 1, 1]])
    """
    reached = np.eye(len(mask), dtype=bool)
    for _ in range(layers):
        reached = mask.astype(np.float32) @ reached.astype(np.float32) > 0  # eq-pattern-reach  (n, n)
    return reached


@checked
def distance(mask: Bool[Array, "n n"]) -> Int[Array, "n n"]:
    """How many layers until the output of a row can depend on the input of a column, -1 for never (eq-pattern-hops).

    >>> from attnlib.reference.patterns import dense_mask, window
    >>> distance(dense_mask(window(2), 4))
    array([[ 0, -1, -1, -1],
           [ 1,  0, -1, -1],
           [ 2,  1,  0, -1],
           [ 3,  2,  1,  0]])
    """
    new = np.eye(len(mask), dtype=bool)
    hops, layers = np.where(new, 0, -1), 0
    while new.any():
        layers += 1
        new = (new.astype(np.float32) @ mask.astype(np.float32) > 0) & (hops < 0)
        hops[new] = layers  # eq-pattern-hops  (n, n)
    return hops


@checked
def diameter(mask: Bool[Array, "n n"]) -> int:
    """The largest distance of all pairs that can meet; `distance` has -1 at those that cannot.

    >>> from attnlib.reference.patterns import dense_mask, strided, window
    >>> diameter(dense_mask(window(2), 16)), diameter(dense_mask(strided(4), 16))
    (15, 2)
    """
    return int(distance(mask).max())

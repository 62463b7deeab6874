"""Patterns of sparse attention: which query may attend to which key, as rules for positions.

The book uses them in *Who attends to whom?* (Chapter 6). The twin is `attnlib.nn.patterns`. A pattern is a function
`pattern(query, key)` of integer positions that broadcast; it is True where the query may attend to the key. Arrays and
tensors are compared alike, so one rule serves both twins. `dense_mask` makes the whole mask, `block_mask` in
`attnlib.reference.tiles` its tiles without ever holding the whole; `attnlib.reference.graph` counts edges and hops.
"""

from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any

import numpy as np

from attnlib import rules
from attnlib.shapes import Array, Bool, Int, Number, checked

Pattern = Callable[[Any, Any], Any]  # (query, key) -> may the query attend to the key?


def _positions(who: str, n_queries: int, n_keys: int | None) -> tuple[range, range]:
    """The positions of the queries, which are the last ones, and of the keys."""
    n_keys = n_queries if n_keys is None else n_keys
    rule = "n_keys must be at least n_queries, because the queries are the last of the positions"
    rules.must(n_keys >= n_queries, who, f"{rule}; got n_queries={n_queries}, n_keys={n_keys}.")
    return range(n_keys - n_queries, n_keys), range(n_keys)


def _made(pattern: Pattern) -> Pattern:
    """Refuse `window` where `window(3)` is needed."""
    name = getattr(pattern, "__name__", "")
    then = f"got the function {name}. Call it: `{name}(...)`."
    rules.must(not hasattr(pattern, "__wrapped__"), "pattern", f"it must be a rule for positions; {then}")
    return pattern


def _pairs(pattern: Pattern, queries: range, keys: range) -> np.ndarray:
    """The pattern for these queries and keys."""
    seen = np.asarray(_made(pattern)(np.array(queries)[:, None], np.array(keys)))
    rules.must(seen.dtype == bool, "pattern", f"it must return booleans, True = may look; got {seen.dtype}.")
    return np.broadcast_to(seen, (len(queries), len(keys)))


def _cut(positions: range, block: int) -> Iterator[range]:
    """The positions in blocks; the last one may be shorter."""
    return (positions[start : start + block] for start in range(0, len(positions), block))


@checked
def dense_mask(
    pattern: Pattern, n_queries: Number[int, "1.."], n_keys: Number[int, "1.."] | None = None
) -> Bool[Array, "{n_queries} n"]:
    """The pattern for all pairs, a mask for attention.

    n_keys    by default as many as queries; of more keys, the queries are the last positions

    >>> dense_mask(lambda query, key: key <= query, 2, 4).astype(int)
    array([[1, 1, 1, 0],
           [1, 1, 1, 1]])
    """
    queries, keys = _positions("dense_mask", n_queries, n_keys)
    return _pairs(pattern, queries, keys).copy()


# ---- Patterns -------------------------------------------------------------------------------------------------------


@checked
def causal() -> Pattern:
    """The position itself and all before it.

    >>> dense_mask(causal(), 3).astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 1]])
    """
    return lambda query, key: key <= query


@checked
def window(width: Number[int, "1.."], causal: bool = True) -> Pattern:
    """The nearest keys: exactly `width` of them, the position itself included.

    causal    if False, `width` keys on either side; the position itself counts on both, so 2 width - 1 in all

    >>> dense_mask(window(2), 4).astype(int)
    array([[1, 0, 0, 0],
           [1, 1, 0, 0],
           [0, 1, 1, 0],
           [0, 0, 1, 1]])
    """
    if causal:
        return lambda query, key: (key <= query) & (query - key < width)
    return lambda query, key: (query - key < width) & (key - query < width)


@checked
def dilated(width: Number[int, "1.."], step: Number[int, "1.."], causal: bool = True) -> Pattern:
    """A window with gaps: `width` keys, each `step` positions from the next, beginning with the position itself.

    causal    if False, `width` keys on either side; the position itself counts on both

    >>> dense_mask(dilated(2, step=2), 4).astype(int)
    array([[1, 0, 0, 0],
           [0, 1, 0, 0],
           [1, 0, 1, 0],
           [0, 1, 0, 1]])
    """
    near = window((width - 1) * step + 1, causal)
    return lambda query, key: near(query, key) & ((query - key) % step == 0)


@checked
def strided_summary(stride: Number[int, "1.."]) -> Pattern:
    """Every `stride`-th position up to the position itself: one of two heads of the Sparse Transformer.

    >>> dense_mask(strided_summary(2), 4).astype(int)
    array([[1, 0, 0, 0],
           [0, 1, 0, 0],
           [1, 0, 1, 0],
           [0, 1, 0, 1]])
    """
    return lambda query, key: (key <= query) & ((query - key) % stride == 0)


@checked
def strided_local(stride: Number[int, "1.."]) -> Pattern:
    """The last `stride` positions, as `window(stride)`: the other head of the Sparse Transformer.

    >>> dense_mask(strided_local(2), 3).astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [0, 1, 1]])
    """
    return window(stride)


@checked
def strided(stride: Number[int, "1.."]) -> Pattern:
    """Both heads of the Sparse Transformer in one: the last `stride` positions, and every `stride`-th before them.

    >>> dense_mask(strided(2), 4).astype(int)
    array([[1, 0, 0, 0],
           [1, 1, 0, 0],
           [1, 1, 1, 0],
           [0, 1, 1, 1]])
    """
    return either(strided_local(stride), strided_summary(stride))


@checked
def first(s: Number[int, "0.."]) -> Pattern:
    """The first `s` keys. With a window and `causal` they are the attention sinks that a cut text keeps.

    >>> dense_mask(both(causal(), either(window(1), first(1))), 4).astype(int)
    array([[1, 0, 0, 0],
           [1, 1, 0, 0],
           [1, 0, 1, 0],
           [1, 0, 0, 1]])
    """
    return lambda query, key: key < s


@checked
def global_tokens(indices: tuple[int, ...]) -> Pattern:
    """Positions that attend to all and that all attend to: their rows and their columns.

    >>> dense_mask(global_tokens((1,)), 3).astype(int)
    array([[0, 1, 0],
           [1, 1, 1],
           [0, 1, 0]])
    >>> dense_mask(both(causal(), global_tokens((1,))), 3).astype(int)
    array([[0, 0, 0],
           [1, 1, 0],
           [0, 1, 0]])
    """
    whole = all(isinstance(one, Integral) and not isinstance(one, bool) for one in indices)
    rules.must(whole, "global_tokens", f"indices must be integers; got {indices!r}.")

    def rule(query: Any, key: Any) -> Any:
        seen = (query < 0) & (key < 0)  # none
        for one in indices:
            seen = seen | (query == one) | (key == one)
        return seen

    return rule


@checked
def blocks(size: Number[int, "1.."]) -> Pattern:
    """The positions of the same block of `size`.

    >>> dense_mask(blocks(2), 4).astype(int)
    array([[1, 1, 0, 0],
           [1, 1, 0, 0],
           [0, 0, 1, 1],
           [0, 0, 1, 1]])
    """
    return lambda query, key: query // size == key // size


@checked
def documents(ids: Int[Array, "n"]) -> Pattern:
    """The positions of the same document, of several that are packed in one row.

    ids    the number of the document of each position

    >>> dense_mask(both(causal(), documents(np.array([0, 0, 1]))), 3).astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [0, 0, 1]])
    """
    return lambda query, key: ids[query] == ids[key]


@checked
def block_table(table: Bool[Array, "rows columns"], block: Number[int, "1.."]) -> Pattern:
    """Whole blocks of keys for each block of queries, as a table says.

    table    True where the queries of a block may attend to the keys of a block

    >>> dense_mask(block_table(np.array([[True, False], [True, True]]), block=2), 4).astype(int)
    array([[1, 1, 0, 0],
           [1, 1, 0, 0],
           [1, 1, 1, 1],
           [1, 1, 1, 1]])
    """
    return lambda query, key: table[query // block, key // block]


def _random_table(block: int, per_row: int, seed: int, n: int) -> np.ndarray:
    """True at `per_row` different blocks of keys for each block of queries."""
    count = -(-n // block)
    rule = f"per_row must be at most the number of blocks, {count}"
    rules.must(per_row <= count, "random_blocks", f"{rule}; got per_row={per_row}.")
    order = np.random.default_rng(seed).random((count, count)).argsort(axis=1)
    return order < per_row


@checked
def random_blocks(
    block: Number[int, "1.."], per_row: Number[int, "0.."], seed: Number[int, "0.."], n: Number[int, "1.."]
) -> Pattern:
    """For each block of queries `per_row` blocks of keys, drawn once from all blocks of n positions.

    >>> dense_mask(random_blocks(2, per_row=1, seed=0, n=4), 4).astype(int)
    array([[0, 0, 1, 1],
           [0, 0, 1, 1],
           [0, 0, 1, 1],
           [0, 0, 1, 1]])
    """
    return block_table(_random_table(block, per_row, seed, n), block)


@checked
def both(a: Pattern, b: Pattern) -> Pattern:
    """Where both patterns are True.

    >>> dense_mask(both(causal(), blocks(2)), 3).astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [0, 0, 1]])
    """
    return lambda query, key: a(query, key) & b(query, key)


@checked
def either(a: Pattern, b: Pattern) -> Pattern:
    """Where one pattern is True, or both.

    >>> dense_mask(either(window(1), first(1)), 3).astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 0, 1]])
    """
    return lambda query, key: a(query, key) | b(query, key)

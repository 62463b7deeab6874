"""Find where a bad value comes in: inside `checked_values()` the functions and layers of `attnlib.nn` look at values.

The book says in its chapter on masks what NaN does inside attention (2.3). Outside the block nothing here looks at a
value, because a look waits for the device, and neither a compiler nor `vmap` can take it. `attnlib.reference` always
looks, and its sentences are these.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from attnlib.nn import _values


@contextmanager
def checked_values() -> Iterator[None]:
    """Inside the block, values that a function cannot compute with are refused with one sentence.

    >>> import math
    >>> import torch
    >>> from attnlib.nn.ops import softmax
    >>> with checked_values():
    ...     softmax(torch.tensor([0.0, math.nan]))
    Traceback (most recent call last):
    ValueError: softmax: scores must be finite or -inf; got 1 NaN or +inf entries in S (2,).
    """
    before, _values.looking = _values.looking, True
    try:
        yield
    finally:
        _values.looking = before

"""Shape annotations such as `Float[Array, "*b n d_k"]`, and `checked`, which makes them the rules of a function.

    Float Bool Int    an array of numbers, truth values, integers, with the names of its axes: `*b` any number of them,
                      `#m` of size m or one, `{n}` as large as the argument n says, `3d` three times as large as d
    Number            a number and its range: `Number[int, "1..n"]`, `Number[float, "0<.."]` (more than zero)

`attnlib.checking` reads them, and writes the sentence for an argument that breaks one.
"""

import functools
import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import numpy as np

from attnlib.checking import Rules

Array = np.ndarray
F = TypeVar("F", bound=Callable[..., Any])


class Said(NamedTuple):
    """What stands in the brackets behind the type."""

    kind: str
    text: str


class _Kind:
    """`Float[Array, "n d"]` is an Array to Python, and keeps what was said of it."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __getitem__(self, item: tuple[Any, str]) -> Any:
        return Annotated[item[0], Said(self.kind, item[1])]


if TYPE_CHECKING:
    from typing import Annotated as Bool
    from typing import Annotated as Float
    from typing import Annotated as Int
    from typing import Annotated as Number
else:
    Bool, Float, Int, Number = map(_Kind, ("bool", "float", "int", "number"))

AROUND: Callable[..., Any] | None = None  # who looks closer makes each call, also those behind another's door
_inside: ContextVar[bool] = ContextVar("inside a checked function", default=False)


def checked(function: F) -> F:
    """The function behind a door: its arguments keep what their annotations say, or one sentence says what is wrong.

    Only the outermost call is checked. A call like one that has passed (types, dtypes, shapes, numbers) passes again.
    PyTorch's compiler sees no door. A function that calls back what it was given leaves the inner calls checked.

    >>> @checked
    ... def scores(Q: Float[Array, "m d_k"], K: Float[Array, "n d_k"]): return Q @ K.T
    >>> scores(np.ones((3, 7)), np.ones((5, 6)))
    Traceback (most recent call last):
    ValueError: scores: queries and keys must have the same width d_k; got Q (3, 7) with d_k=7 and K (5, 6) with d_k=6.
    """
    rules = functools.cache(lambda: Rules(function))
    passed: set[Any] = set()
    compiling = sys.modules["torch"].compiler.is_compiling if "torch" in sys.modules else lambda: False
    calls_back = any("Callable" in str(said) for said in function.__annotations__.values())

    @functools.wraps(function)
    def door(*args: Any, **named: Any) -> Any:
        if compiling() or (_inside.get() and not AROUND):
            return function(*args, **named)
        like = (*map(_sign, args), *named, *map(_sign, named.values()))
        if like not in passed:
            rules().arguments(args, named)
            passed.clear() if len(passed) > 1000 else passed.add(like)
        token = _inside.set(not calls_back)
        try:
            return AROUND(function, args, named) if AROUND else function(*args, **named)
        finally:
            _inside.reset(token)

    return door  # type: ignore[return-value]


def where(**same: str) -> Callable[[F], F]:
    """Below `checked`: two names for one size, because parameters know it by another, `where(d_source="d_model")`."""

    def marked(function: F) -> F:
        function.same = same  # type: ignore[attr-defined]
        return function

    return marked


def _sign(value: Any) -> Any:
    """What two arguments have in common that keep the same rules."""
    kind = type(value)
    if kind is Array:
        return value.dtype.char, value.shape
    if value is None or isinstance(value, (int, float)):
        return kind, value  # 1 is not True
    if isinstance(value, tuple):
        return kind, *map(_sign, value)
    shape = getattr(value, "shape", None)
    return kind if shape is None else (kind, value.dtype, shape)

"""Shape annotations such as `Float[Array, "*b n d_k"]`, and `checked`, which holds each call to them.

    Float Bool Int    an array of numbers, truth values, integers, with the names of its axes: `*b` any number of them,
                      `#m` of size m or one, `{n}` as large as the argument n says, `3d` three times as large as d
    Complex           an array of complex numbers, with the names of its axes
    Number            a number and its range: `Number[int, "1..n"]`, `Number[float, "0<.."]` (more than zero)

`attnlib.checking` reads them, and writes the error message for an argument that contradicts one.
"""

import functools
import re
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import numpy as np

from attnlib.checking import CheckedSignature

Array = np.ndarray
F = TypeVar("F", bound=Callable[..., Any])


class Annotation(NamedTuple):
    """What stands in the brackets after the type: `Float[Array, "n d"]` has the kind "float" and the text "n d"."""

    kind: str
    text: str

    def __repr__(self) -> str:
        """What `help` shows: `float (*b, n, d_k)`, `1..`."""
        words = re.sub(r"[{}]|self\.", "", self.text)
        return words if self.kind == "number" else f"{self.kind} ({', '.join(words.split())})"


class _Kind:
    """`Float[Array, "n d"]` is an Array to Python and to a type checker, and keeps its `Annotation` beside it."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __getitem__(self, item: tuple[Any, str]) -> Any:
        return Annotated[item[0], Annotation(self.kind, item[1])]


if TYPE_CHECKING:
    from typing import Annotated as Bool
    from typing import Annotated as Complex
    from typing import Annotated as Float
    from typing import Annotated as Int
    from typing import Annotated as Number
else:
    Bool, Complex, Float, Int, Number = map(_Kind, ("bool", "complex", "float", "int", "number"))

INTERCEPT: Callable[..., Any] | None = None  # makes every call of a checked function itself (nn.debug)
_inside: ContextVar[bool] = ContextVar("inside a checked function", default=False)


def checked(function: F) -> F:
    """The function with its arguments checked: what contradicts an annotation is refused with one sentence.

    Only the outermost call is checked, unless it is given a function as an argument: what that function calls is
    checked too. A call with the same types, dtypes, shapes and numbers as an earlier one is not checked again, and
    nothing is checked while PyTorch compiles.

    >>> @checked
    ... def scores(Q: Float[Array, "m d_k"], K: Float[Array, "n d_k"]): return Q @ K.T
    >>> scores(np.ones((3, 7)), np.ones((5, 6)))
    Traceback (most recent call last):
    ValueError: scores: queries and keys must have the same width d_k; got Q (3, 7) with d_k=7 and K (5, 6) with d_k=6.
    """
    signature = functools.cache(lambda: CheckedSignature(function))
    passed: set[Any] = set()
    compiling = sys.modules["torch"].compiler.is_compiling if "torch" in sys.modules else lambda: False
    given_functions = _given_functions(function)

    @functools.wraps(function)
    def wrapper(*args: Any, **named: Any) -> Any:
        if compiling() or (_inside.get() and not INTERCEPT):
            return function(*args, **named)
        like = (*map(_sign, args), *named, *map(_sign, named.values()))
        if like not in passed:
            signature().bind(args, named)
            passed.clear() if len(passed) > 1000 else passed.add(like)
        token = _inside.set(not (given_functions and any(given_functions(args, named))))
        try:
            return INTERCEPT(function, args, named) if INTERCEPT else function(*args, **named)
        finally:
            _inside.reset(token)

    return wrapper  # type: ignore[return-value]


def _given_functions(function: Callable[..., Any]) -> Callable[..., Iterator[bool]] | None:
    """Of a call's arguments, whether each one that may be a function is given; None where none may be."""
    code, defaults = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    absent = dict.fromkeys(names[: code.co_argcount - len(defaults)])
    absent |= dict(zip(names[len(absent) :], defaults, strict=False)) | (function.__kwdefaults__ or {})
    takers = [
        (i, name) for i, name in enumerate(names) if "Callable" in str(function.__annotations__.get(name))
    ]

    def given(args: tuple[Any, ...], named: dict[str, Any]) -> Iterator[bool]:
        for i, name in takers:
            yield (args[i] if i < len(args) else named.get(name, absent.get(name))) is not None

    return given if takers else None


def same_size(**same: str) -> Callable[[F], F]:
    """Put below `checked`: two names stand for one size, as in `same_size(d_source="d_model")` for self-attention."""

    def marked(function: F) -> F:
        function.same = same  # type: ignore[attr-defined]
        return function

    return marked


def _sign(value: Any) -> Any:
    """What a check depends on: two arguments with the same signature pass or fail alike."""
    kind = type(value)
    if kind is Array:
        return value.dtype.char, value.shape
    if value is None or isinstance(value, (int, float)):
        return kind, value  # 1 is not True
    if isinstance(value, tuple):
        return kind, *map(_sign, value)
    has_shape = getattr(kind, "shape", None) is not None  # of the class: a module would search for it
    return (kind, value.dtype, value.shape) if has_shape else kind

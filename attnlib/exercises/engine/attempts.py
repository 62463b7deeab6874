"""Whether something was attempted at all, and can be called: a stub, in the learner's cell, is no wrong answer."""

import ast
import contextlib
import dis
import inspect
import textwrap
from collections.abc import Callable
from types import CodeType
from typing import Any

IDLE = {"RESUME", "NOP", "CACHE", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST"}


def is_blank(answer: Any) -> bool:
    """`...`, None, and lists of nothing else count as no answer."""
    if isinstance(answer, list | tuple):
        return all(is_blank(part) for part in answer)
    return answer is ... or answer is None


def is_untouched(function: Any, stub: Callable[..., Any], text: str) -> bool:
    """Whether a function is still its stub (compiled, and as text), or does nothing at all."""
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    same = shape_of(code, function.__doc__) == shape_of(stub.__code__, stub.__doc__)
    return is_idle(code) or same or tree_of(function) == syntax(text)


def is_idle(code: CodeType) -> bool:
    """Nothing but `...`, `pass` or a docstring."""
    steps = list(dis.get_instructions(code))
    returned = [step.argval for step in steps if step.opname in ("LOAD_CONST", "RETURN_CONST")][-1:]
    return all(step.opname in IDLE for step in steps) and (not returned or is_blank(returned[0]))


def shape_of(code: CodeType, docstring: str | None = None) -> tuple[Any, ...]:
    """What two compilations of the same text have in common, docstrings aside."""
    inner = tuple(shape_of(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    left_out = (None, docstring)
    values = tuple(repr(c) for c in code.co_consts if c not in left_out and not isinstance(c, CodeType))
    return code.co_code, code.co_names, code.co_varnames, values, inner


def tree_of(function: Any) -> str | None:
    """The syntax of a function, None where its source is not known (a plain shell)."""
    with contextlib.suppress(OSError, TypeError, SyntaxError, IndexError):
        return syntax(textwrap.dedent(inspect.getsource(inspect.unwrap(function))))
    return None


def syntax(source: str) -> str:
    """The body of the one function in the source, without docstring, comments and layout."""
    definition = ast.parse(source).body[0]
    body = getattr(definition, "body", [])
    documented = isinstance(definition, ast.FunctionDef) and ast.get_docstring(definition) is not None
    return ast.dump(ast.Module(body[documented:] if isinstance(body, list) else [], type_ignores=[]))


def not_usable(function: Any, solution: Callable[..., Any], arguments: tuple[Any, ...]) -> str | None:
    """Why the answer cannot be called as the solution is called, with these arguments; None if it can."""
    if not callable(function):
        kind = type(function).__name__
        return f"`check` wants the function itself, `{solution.__name__}`, not a result of it; got {kind}."
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some built-in functions have no signature
        return None
    try:
        signature.bind(*arguments)
    except TypeError:
        wanted = ", ".join(inspect.signature(solution).parameters)
        count = f"{len(arguments)} argument{'s' * (len(arguments) != 1)}"
        name = getattr(function, "__name__", "it")
        return f"Your function is called with {count}, `({wanted})`; yours is `{name}{signature}`."
    return None


def has_blank_left(function: Any) -> bool:
    """Whether a `...` of the stub is still in the code; one inside an index, as in `A[..., 0]`, is not a blank."""
    with contextlib.suppress(OSError, TypeError, SyntaxError):
        tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function))))
        indices = {id(n) for s in ast.walk(tree) if isinstance(s, ast.Subscript) for n in ast.walk(s.slice)}
        dots = (n for n in ast.walk(tree) if isinstance(n, ast.Constant) and n.value is ...)
        return any(id(dot) not in indices for dot in dots)
    return False

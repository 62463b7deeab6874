"""What is wrong with one outcome, in words that show before they judge."""

import re
from dataclasses import dataclass, replace

import numpy as np

from attnlib.exercises.engine.outcomes import Outcome, close, same_type, several
from attnlib.exercises.engine.results import Code, Part
from attnlib.exercises.engine.tables import SideBySide, number

NEAR = 1e-3  # of the largest number
# Reported in this order.
ERROR, KIND, SHAPE, DTYPE, NONFINITE, VALUE, CHANGED = range(7)


@dataclass(frozen=True)
class Trouble:
    """How an outcome differs from the expected one; a smaller stage is reported first."""

    stage: int
    parts: tuple[Part, ...]
    figure: SideBySide | None = None
    near: bool = False  # all numbers are nearly the right ones


def trouble(got: Outcome, want: Outcome, labels: tuple[str, ...], rtol: float, atol: float) -> Trouble | None:
    """The first trouble of an outcome, None if it is right; `labels` name the results, if there are several."""
    if got.kind == "error":
        assert got.error is not None
        return Trouble(ERROR, ("Your function raised an error:", Code(got.error.trace)))
    if got.kind != want.kind or len(got.arrays) != len(want.arrays):
        return Trouble(KIND, (wrong_kind(got, want),))
    named = list(zip(result_names(len(want.arrays), labels), got.arrays, want.arrays, strict=True))
    for name, a, b in named:
        if a.shape != b.shape:
            return Trouble(SHAPE, (f"{name} {have(name)} shape {a.shape}, expected {b.shape}.",))
    troubles = [found for name, a, b in named if (found := wrong_numbers(name, a, b, rtol, atol))]
    if troubles:
        first = min(troubles, key=lambda one: one.stage)
        near = all(np.allclose(a, b, rtol=NEAR, atol=NEAR * abs(b).max(initial=0)) for _, a, b in named)
        return replace(first, near=first.stage == VALUE and near)
    return Trouble(CHANGED, ()) if got.changed else None


def wrong_numbers(name: str, a: np.ndarray, b: np.ndarray, rtol: float, atol: float) -> Trouble | None:
    """Trouble with the type or the values of one result that has the right shape."""
    differs = np.asarray(~close(a, b, rtol, atol))
    figure = SideBySide(a, b, differs) if differs.any() else None
    if not same_type(a, b):
        return Trouble(DTYPE, (f"{name} {be(name)} {a.dtype}, expected {b.dtype}.",))
    if figure is None:
        return None
    lost = ~np.isfinite(a) & np.isfinite(b)
    if lost.any():
        where = tuple(int(i) for i in np.argwhere(lost)[0])
        place = f", first at [{', '.join(map(str, where))}]" if where else ""
        count = f"in {lost.sum()} of {lost.size} entries" if lost.size > 1 else ""
        text = f"{name} {be(name)} {number(a[where])} {count}".rstrip() + f"{place}."
        return Trouble(NONFINITE, (text,), SideBySide(a, b, lost))
    return Trouble(VALUE, (f"{name} differ{'' if is_plural(name) else 's'}. {figure.difference}",), figure)


def is_plural(name: str) -> bool:
    """
    >>> is_plural("Your kept numbers"), is_plural("Your bytes at the peak"), is_plural("Your bias")
    (True, True, False)
    >>> is_plural("Your tiles with a pair"), is_plural("Your row without zeros")
    (True, False)
    """
    noun = re.split(r" (?:in|at|of|for|to|with|without) ", name)[0]
    return noun.endswith("s") and not noun.endswith(("ss", "as", "us", "is"))


def be(name: str) -> str:
    return "are" if is_plural(name) else "is"


def have(name: str) -> str:
    return "have" if is_plural(name) else "has"


def wrong_kind(got: Outcome, want: Outcome) -> str:
    """The sentence for a result that is not of the expected kind."""
    wanted = {
        "array": "a NumPy array",
        "tensor": "a torch tensor",
        "tuple": f"a tuple of {several(want.arrays)}",
    }
    rule = wanted.get(want.kind, f"a {want.kind}")
    if got.kind == "None":
        return f"Your function returns None; is its `return` missing? It should return {rule}."
    if got.kind == want.kind:
        return f"Your function returns {len(got.arrays)} results, expected {len(want.arrays)}."
    came = wanted["array"] if got.kind == "array" else f"a {got.kind}".replace("a array", "an array")
    came = f"a tuple of {len(got.arrays)}" if got.kind == "tuple" else came
    advice = " Turn it into one with `np.array(...)`." if (got.kind, want.kind) == ("list", "array") else ""
    return f"Your function returns {came}, expected {rule}.{advice}"


def result_names(count: int, labels: tuple[str, ...]) -> list[str]:
    if count == 1:
        return ["Your result"]
    return [f"Your {labels[i]}" if labels else f"Result {i + 1} of {count}" for i in range(count)]

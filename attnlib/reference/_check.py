"""The rules that inputs must keep, one function and one sentence each: who, the rule, what came, what to do.

Both twins use this module, `attnlib.nn` through `attnlib.nn._check`. It looks at `.shape`, `.dtype` and comparisons
only, so arrays and tensors are treated alike and a broken rule reads the same in both; it imports neither NumPy nor
torch. The one rule that differs, arrays here and tensors there, goes by `kind`.
"""

import math
from numbers import Real
from typing import Any

ARRAY, TENSOR = (
    "a NumPy array",
    "a torch tensor",
)  # what the functions of attnlib.reference and attnlib.nn take


def _shape(array: Any) -> str:
    return str(tuple(array.shape))


def _dtype(array: Any) -> str:
    return str(array.dtype).removeprefix("torch.")


def of_its_twin(who: str, name: str, array: Any, kind: str) -> None:
    """An array where arrays are computed with, a tensor where tensors are."""
    came = type(array).__name__
    if not hasattr(array, "dtype") or not hasattr(array, "shape"):
        raise TypeError(f"{who}: {name} must be an array; got {came}. Convert it to an array first.")
    if hasattr(array, "detach") != (kind == TENSOR):
        to_array = "`.detach().cpu().numpy()` makes one; attnlib.nn has the same function for tensors."
        to_tensor = "`torch.from_numpy` makes one; attnlib.reference has the same function for arrays."
        raise TypeError(
            f"{who}: {name} must be {kind}; got {came}. {to_array if kind == ARRAY else to_tensor}"
        )


def _floating(who: str, name: str, array: Any, kind: str) -> None:
    of_its_twin(who, name, array, kind)
    if not _dtype(array).startswith(("float", "bfloat")):
        raise TypeError(
            f"{who}: {name} must hold real floating-point numbers; got {_dtype(array)}. "
            "Convert it to float32 or float64 first."
        )


def floats(who: str, *, kind: str = ARRAY, **arrays: Any) -> None:
    """Arrays of floating-point numbers, all of one dtype, none empty; a bias (b, b_Q, ...) may be None."""
    given: dict[str, Any] = {
        name: array for name, array in arrays.items() if array is not None or name[0] != "b"
    }
    for name, array in given.items():
        _floating(who, name, array, kind)
        if 0 in array.shape:
            raise ValueError(f"{who}: every axis must have at least one entry; got {name} {_shape(array)}.")
    same_dtype(who, **given)


def same_dtype(who: str, **arrays: Any) -> None:
    """Nothing is converted silently."""
    if len({_dtype(array) for array in arrays.values()}) > 1:
        came = ", ".join(f"{name} {_dtype(array)}" for name, array in arrays.items())
        raise TypeError(f"{who}: all arrays must have the same dtype; got {came}. Convert them to one dtype.")


def batched(who: str, *, kind: str = ARRAY, **arrays: Any) -> None:
    """`floats` with two axes or more each, and the same leading batch axes."""
    floats(who, kind=kind, **arrays)
    for name, array in arrays.items():
        if len(array.shape) < 2:
            raise ValueError(
                f"{who}: {name} needs two axes or more, positions and width; got {_shape(array)}. "
                f"A single vector becomes a matrix of one row with `{name}[None]`."
            )
    if len({tuple(array.shape[:-2]) for array in arrays.values()}) > 1:
        came = ", ".join(f"{name} {_shape(array)}" for name, array in arrays.items())
        raise ValueError(
            f"{who}: all arrays must have the same batch axes; got {came}. Repeat the smaller one to match."
        )


def matrices(who: str, *, kind: str = ARRAY, **arrays: Any) -> None:
    """`batched`, and values V are finite too: zero times NaN is NaN, so that a bad value would leak past every mask."""
    batched(who, kind=kind, **arrays)
    if "V" in arrays:
        finite(who, V=arrays["V"])


def _same(who: str, rule: str, size: str, axes: dict[str, tuple[Any, int]]) -> None:
    if len({array.shape[axis] for array, axis in axes.values()}) > 1:
        came = [f"{name} {_shape(array)} with {size}={array.shape[i]}" for name, (array, i) in axes.items()]
        raise ValueError(f"{who}: {rule} {size}; got {' and '.join(came)}.")


def same_width(who: str, things: str, size: str, **arrays: Any) -> None:
    """The last axes agree: queries and keys must have the same width d_k."""
    axes = {name: (array, -1) for name, array in arrays.items()}
    _same(who, f"{things} must have the same width", size, axes)


def same_count(who: str, things: str, size: str, **arrays: Any) -> None:
    """The axes before the last agree: there is one value for each key."""
    axes = {name: (array, -2) for name, array in arrays.items()}
    _same(who, f"{things} must come in the same number", size, axes)


def weight(
    who: str, rows: str, columns: str, X: str, width: int, *, kind: str = ARRAY, **weights: Any
) -> None:
    """A weight matrix (rows, columns) as in the book, as many rows as the vectors of X are wide."""
    for name, W in weights.items():
        _floating(who, name, W, kind)
        if len(W.shape) != 2 or W.shape[0] != width:
            raise ValueError(
                f"{who}: {name} must be ({rows}, {columns}) with {rows}={width}, the width of {X}; "
                f"got {_shape(W)}. Weights are stored (in, out)."
            )


def linear_map(who: str, X: Any, W: Any, b: Any, *, kind: str = ARRAY) -> None:
    """X holds vectors, W maps them, and the bias, if there is one, is as wide as what comes out."""
    if len(X.shape) < 1:
        raise ValueError(f"{who}: X must hold vectors, (*b, d_in); got a single number.")
    weight(who, "d_in", "d_out", "X", X.shape[-1], kind=kind, W=W)
    if b is not None and tuple(b.shape) != tuple(W.shape[1:]):
        raise ValueError(f"{who}: b must be (d_out,) with d_out={W.shape[1]}; got {_shape(b)}.")


def named_weights(who: str, kind: str, weights: Any, *names: str) -> None:
    """Weights come by their names, not as a bare tuple."""
    if not all(hasattr(weights, name) for name in names):
        raise TypeError(
            f"{who}: weights must be {kind} with {', '.join(names)}; got {type(weights).__name__}. "
            f"Make them with `{kind}(...)`."
        )


def same_shape(who: str, *, kind: str = ARRAY, **arrays: Any) -> None:
    """A gradient has the shape of what it is the gradient of."""
    for name, array in arrays.items():
        _floating(who, name, array, kind)
    (first, a), (second, b) = arrays.items()
    if tuple(a.shape) != tuple(b.shape):
        raise ValueError(f"{who}: {first} must have the shape of {second}; got {_shape(a)} and {_shape(b)}.")


def boolean_mask(who: str, mask: Any, shape: tuple[int, ...], *, kind: str = ARRAY) -> None:
    """A mask is boolean, True = may look, and broadcasts to the scores; None is no mask."""
    if mask is None:
        return
    if not hasattr(mask, "dtype") or _dtype(mask) != "bool":
        came = _dtype(mask) if hasattr(mask, "dtype") else type(mask).__name__
        raise TypeError(
            f"{who}: mask must be boolean with True = may look; got {came}. "
            "An additive 0/-inf mask becomes boolean with `mask == 0`."
        )
    of_its_twin(who, "mask", mask, kind)
    behind = shape[len(shape) - len(mask.shape) :] if len(mask.shape) <= len(shape) else None
    if behind is None or any(size not in (1, full) for size, full in zip(mask.shape, behind, strict=True)):
        raise ValueError(
            f"{who}: mask must broadcast to the shape of the scores {tuple(shape)}; got {_shape(mask)}. "
            "A mask over keys (b, n) becomes (b, 1, n) with `mask[:, None, :]`."
        )


def finite(who: str, **arrays: Any) -> None:
    """Neither NaN nor infinity anywhere."""
    for name, array in arrays.items():
        if not bool(abs(array).max() < math.inf):  # quick, because it passes; NaN stays visible in a maximum
            bad = ~(abs(array) < math.inf)
            raise ValueError(
                f"{who}: {name} must be finite; got {int(bad.sum())} NaN or infinite entries in {name} {_shape(array)}."
            )


def scores(who: str, given: Any) -> None:
    """No NaN and no +inf; -inf is a score too: it gets weight zero."""
    bad = ~(given < math.inf)
    if bool(bad.any()):
        raise ValueError(
            f"{who}: scores must be finite or -inf; got {int(bad.sum())} NaN or +inf entries in S {_shape(given)}."
        )


def some_finite_score(who: str, largest: Any) -> None:
    """A softmax needs one score above -inf in each row; `largest` holds the largest score of each row."""
    if bool((largest == -math.inf).any()):
        raise ValueError(
            f"{who}: each row needs at least one score above -inf; got a row of -inf only. "
            "For a query that may look nowhere use masked_softmax with a boolean mask: it gives zeros."
        )


def probabilities(who: str, P: Any) -> None:
    """No negative entry, no NaN. (Sums are not checked: a gradient check moves one entry at a time.)"""
    if not bool((P >= 0).all()):
        raise ValueError(f"{who}: probabilities must not be negative or NaN; got {float(P.min()):g} in P.")


def real(who: str, name: str, number: Any) -> None:
    """A number, of Python or of NumPy."""
    if isinstance(number, bool) or not isinstance(number, Real):
        raise TypeError(f"{who}: {name} must be a number; got {type(number).__name__}.")


def positive(who: str, name: str, number: float, smallest: float = 0.0) -> None:
    """A positive finite number, for temperatures and bandwidths; `smallest` is the smallest the dtype holds."""
    real(who, name, number)
    if not (0 < number < math.inf and number >= smallest):
        least = f" and at least {smallest:.3g} in this dtype" if 0 < number < smallest else ""
        raise ValueError(f"{who}: {name} must be positive and finite{least}; got {name}={number:g}.")

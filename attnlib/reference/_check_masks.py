"""The rules for masks and for heads, in the manner of `_check`: who, the rule, what came, what to do.

Both twins use this module too. It looks at shapes, dtypes and comparisons only, and imports neither NumPy nor torch.
"""

from itertools import zip_longest
from numbers import Integral
from typing import Any

from attnlib.reference._check import ARRAY, of_its_twin

SMALLEST_FORBIDDEN = -1e4  # what a finite additive mask writes where nothing may be seen is at most this


def count(who: str, name: str, number: Any, least: int, most: int | None = None) -> None:
    """A whole number between two others."""
    if isinstance(number, bool) or not isinstance(number, Integral):
        raise TypeError(f"{who}: {name} must be an integer; got {type(number).__name__}.")
    if int(number) < least or (most is not None and int(number) > most):
        bounds = f"at least {least}" if most is None else f"between {least} and {most}"
        raise ValueError(f"{who}: {name} must be {bounds}; got {name}={number}.")


def sizes(who: str, **numbers: Any) -> None:
    """Widths and counts: whole numbers from one."""
    for name, number in numbers.items():
        count(who, name, number, 1)


def dtype(array: Any) -> str:
    """The dtype in words, or the type of what is not an array."""
    return str(array.dtype).removeprefix("torch.") if hasattr(array, "dtype") else type(array).__name__


def lengths(who: str, lengths: Any, n: int, *, kind: str = ARRAY) -> None:
    """One length for each sequence, an integer from 0 to n."""
    if "int" not in dtype(lengths) or not hasattr(lengths, "shape"):
        raise TypeError(f"{who}: lengths must be an array of integers; got {dtype(lengths)}.")
    of_its_twin(who, "lengths", lengths, kind)
    if len(lengths.shape) < 1 or 0 in lengths.shape:
        raise ValueError(f"{who}: there must be one length for each sequence; got {tuple(lengths.shape)}.")
    if not bool(((lengths >= 0) & (lengths <= n)).all()):
        raise ValueError(
            f"{who}: lengths must lie between 0 and n = {n}; "
            f"got values from {int(lengths.min())} to {int(lengths.max())}."
        )


def boolean(who: str, *, kind: str = ARRAY, **masks: Any) -> None:
    """Boolean arrays; what True means is said by the function."""
    for name, mask in masks.items():
        if dtype(mask) != "bool":
            raise TypeError(
                f"{who}: {name} must be boolean; got {dtype(mask)}. "
                "An additive mask becomes boolean with `mask_from_additive`."
            )
        of_its_twin(who, name, mask, kind)


def over_keys(who: str, name: str, mask: Any) -> None:
    """An axis of keys is there to be hidden."""
    if len(mask.shape) < 1:
        raise ValueError(f"{who}: {name} needs an axis of keys, (*b, n); got a single truth value.")


def broadcastable(who: str, masks: tuple[Any, ...]) -> None:
    """Read from the last axis on, all sizes are equal or one."""
    for sizes in zip_longest(*(tuple(mask.shape)[::-1] for mask in masks), fillvalue=1):
        if len(set(sizes) - {1}) > 1:
            came = ", ".join(str(tuple(mask.shape)) for mask in masks)
            raise ValueError(
                f"{who}: masks must broadcast to one shape; got {came}. "
                "A mask over keys (b, n) becomes (b, 1, n) with `mask[:, None, :]`."
            )


def additive(who: str, M: Any) -> None:
    """Entries are 0 or so negative that no score brings them back."""
    bad = ~((M == 0) | (M <= SMALLEST_FORBIDDEN))
    if bool(bad.any()):
        raise ValueError(
            f"{who}: an additive mask must hold 0 (may look) or at most {SMALLEST_FORBIDDEN:g} (may not); "
            f"got {int(bad.sum())} other entries in M {tuple(M.shape)}. A bias of scores is not a mask."
        )

"""The rules that no annotation can say: of values, and of sizes that divide. One function and one sentence each.

Both twins call them, so they use comparisons and `.shape` only. All other rules `attnlib.shapes.checked` reads from
annotations.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any

from attnlib.checking import HINTS, converts, dtype_of, fits_into, splits_evenly

__all__ = ["splits_evenly"]
SMALLEST_FORBIDDEN = -1e4  # what a finite additive mask writes where nothing may be seen is at most this


def must(holds: bool, who: str, sentence: str) -> None:
    """One rule of one place."""
    if not holds:
        raise ValueError(f"{who}: {sentence}")


def one_of(who: str, name: str, value: Any, allowed: Iterable[str]) -> None:
    """A choice by name."""
    must(value in allowed, who, f"{name} must be one of {', '.join(allowed)}; got {value!r}.")


def refuse_where(bad: Any, who: str, rule: str, what: str, then: str = "") -> None:
    """Says how many entries break the rule, if one does."""
    if bool(bad.any()):
        raise ValueError(f"{who}: {rule}; got {int(bad.sum())} {what}.{then and ' '}{then}")


def finite(who: str, name: str, array: Any) -> None:
    """Zero times NaN is NaN: a bad value would leak past every mask."""
    if not bool(abs(array).max() < math.inf):  # quick, because it passes; NaN stays visible in a maximum
        what = f"NaN or infinite entries in {name} {tuple(array.shape)}"
        refuse_where(~(abs(array) < math.inf), who, f"{name} must be finite", what)


def scores(who: str, given: Any, largest: Any = None) -> None:
    """-inf is a score too: it gets weight zero. But not all of a row may be; `largest` holds the largest of each."""
    what = f"NaN or +inf entries in S {tuple(given.shape)}"
    refuse_where(~(given < math.inf), who, "scores must be finite or -inf", what)
    then = "For a query that may look nowhere use masked_softmax with a boolean mask: it gives zeros."
    if largest is not None:
        refuse_where(
            largest == -math.inf, who, "each row needs at least one score above -inf", "rows without", then
        )


def in_dtype(who: str, name: str, number: float, smallest: float) -> None:
    """Not so small that it is zero there."""
    rule = f"{name} must be positive and finite and at least {smallest:.3g} in this dtype"
    must(number >= smallest, who, f"{rule}; got {name}={number:g}.")


def probabilities(who: str, p: Any) -> None:
    """Sums are not checked: a gradient check moves one entry at a time."""
    came = f"got {float(p.min()):g} in P."
    must(bool((p >= 0).all()), who, f"probabilities must not be negative or NaN; {came}")


def selections(who: str, p: Any) -> None:
    """Numbers between 0 and 1; a row of them need not sum to anything."""
    rule, then = "selection probabilities must lie between 0 and 1", "with a sigmoid, not with a softmax."
    refuse_where(~((p >= 0) & (p <= 1)), who, rule, "outside or NaN", f"Scores become probabilities {then}")


def distributions(who: str, P: Any) -> None:
    """Rows that one can draw from: each sums to one, up to the rounding of a softmax in half precision."""
    far = abs(P.sum(-1) - 1).reshape(-1)
    if not bool((far <= 5e-3).all()):
        came = f"a row that sums to {float(P.sum(-1).reshape(-1)[int(far.argmax())]):g}"
        then = "Draw from a softmax, and leave out a query that may look nowhere."
        raise ValueError(f"{who}: each row of P must sum to one; got {came}. {then}")


def possible(who: str, weights: Any) -> None:
    """The weights of the drawn keys are above zero."""
    rule, then = "a key of weight zero cannot have been drawn", "Draw index from the same weights."
    refuse_where(~(weights > 0), who, rule, "in index", then)


def between(who: str, name: str, numbers: Any, most: str, high: int) -> None:
    """Counts and places of keys."""
    low, top = int(numbers.min()), int(numbers.max())
    rule = f"{name} must lie between 0 and {most} = {high}"
    must(low >= 0 and top <= high, who, f"{rule}; got values from {low} to {top}.")


def additive(who: str, M: Any) -> None:
    """Entries are 0 or so negative that no score brings them back."""
    rule = f"an additive mask must hold 0 (may look) or at most {SMALLEST_FORBIDDEN:g} (may not)"
    what, then = f"other entries in M {tuple(M.shape)}", "A bias of scores is not a mask."
    refuse_where(~((M == 0) | (M <= SMALLEST_FORBIDDEN)), who, rule, what, then)


def dtype_of_the_layer(who: str, X: Any, linear: Any) -> None:
    """X has the dtype of a plain linear map, where torch does not convert both; an adapter has its own rule."""
    plain = type(linear).__module__ == "torch.nn.modules.linear"  # of other maps not even a weight is known
    if plain and X.dtype != linear.weight.dtype and not converts(X):
        came = f"X {dtype_of(X)}, the layer {dtype_of(linear.weight)}"
        raise TypeError(f"{who}: all arrays must have the same dtype; got {came}. Convert them to one dtype.")


def broadcasts(who: str, name: str, array: Any, shape: tuple[int, ...]) -> None:
    """A mask or a bias of scores, where their shape is known only behind the door."""
    if array is not None and not fits_into(tuple(array.shape), shape):
        came = f"got {tuple(array.shape)}.{HINTS.get(name, '')}"
        raise ValueError(f"{who}: {name} must broadcast to the shape of the scores {shape}; {came}")


def follows(who: str, K: Any, earlier: Any) -> None:
    """New keys differ from those before them in how many positions they are, and in nothing else."""
    if [*K.shape[:-2], K.shape[-1]] != [*earlier.shape[:-2], earlier.shape[-1]]:
        raise ValueError(
            f"{who}: new keys must have the batch axes, heads and width of those in the cache; "
            f"got K {tuple(K.shape)} after {tuple(earlier.shape)}. Another batch or layer needs a cache of its own."
        )


def broadcastable(who: str, masks: tuple[Any, ...]) -> None:
    """Read from the last axis on, all sizes are equal or one; and there is a mask."""
    must(len(masks) > 0, who, "there must be one mask or more; got none.")
    shapes = [tuple(mask.shape) for mask in masks]
    joint = all(len({*sizes} - {1}) < 2 for sizes in zip_longest(*(one[::-1] for one in shapes), fillvalue=1))
    came = f"got {', '.join(map(str, shapes))}.{HINTS['mask']}"
    must(joint, who, f"masks must broadcast to one shape; {came}")


def one_for_each_step(who: str, d_states: Sequence[Any], caches: Sequence[Any]) -> None:
    """As many gradients as steps, and one step at least."""
    came = f"got {len(d_states)} for {len(caches)} steps. A state that nothing was computed from gets zeros."
    must(0 < len(caches) == len(d_states), who, f"there must be one gradient for each step; {came}")

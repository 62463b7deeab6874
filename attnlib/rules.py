"""Rules that a shape annotation cannot express, mostly about values; each function raises one clear error message.

`attnlib.reference` and `attnlib.nn` both call them, so they use only comparisons and `.shape`. All other rules are read
from annotations by `attnlib.shapes.checked`.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any

from attnlib.checking import HINTS, converts, dtype_of, fits_into, has_one_reading, splits_evenly

__all__ = ["has_one_reading", "splits_evenly"]
SMALLEST_FORBIDDEN = -1e4  # finite entries of an additive mask up to this value mean "may not look"


def must(holds: bool, who: str, sentence: str) -> None:
    """Raise a ValueError with this sentence unless the rule holds."""
    if not holds:
        raise ValueError(f"{who}: {sentence}")


def one_of(who: str, name: str, value: Any, allowed: Iterable[str]) -> None:
    """The value must be one of the allowed names."""
    must(value in allowed, who, f"{name} must be one of {', '.join(allowed)}; got {value!r}.")


def refuse_where(bad: Any, who: str, rule: str, what: str, then: str = "") -> None:
    """Raise an error that counts the entries marked in `bad`, if there are any."""
    if bool(bad.any()):
        raise ValueError(f"{who}: {rule}; got {int(bad.sum())} {what}.{then and ' '}{then}")


def finite(who: str, name: str, array: Any) -> None:
    """No entry may be NaN or infinite: zero times NaN is NaN, so not even a mask would hide it."""
    if not bool(
        abs(array).max() < math.inf
    ):  # one quick test for the usual case; a NaN makes the maximum NaN
        what = f"NaN or infinite entries in {name} {tuple(array.shape)}"
        refuse_where(~(abs(array) < math.inf), who, f"{name} must be finite", what)


def scores(who: str, given: Any, largest: Any = None) -> None:
    """Scores must be finite or -inf, which gets weight zero, and a row needs one above -inf (`largest`: row maxima)."""
    what = f"NaN or +inf entries in S {tuple(given.shape)}"
    refuse_where(~(given < math.inf), who, "scores must be finite or -inf", what)
    then = "For a query that may look nowhere use masked_softmax with a boolean mask: it gives zeros."
    if largest is not None:
        refuse_where(
            largest == -math.inf, who, "each row needs at least one score above -inf", "rows without", then
        )


def in_dtype(who: str, name: str, number: float, smallest: float) -> None:
    """The number must not round to zero in the dtype whose smallest number is given."""
    rule = f"{name} must be positive and finite and at least {smallest:.3g} in this dtype"
    must(number >= smallest, who, f"{rule}; got {name}={number:g}.")


def probabilities(who: str, p: Any) -> None:
    """No probability is negative. Sums are not checked, because a gradient check moves single entries."""
    came = f"got {float(p.min()):g} in P."
    must(bool((p >= 0).all()), who, f"probabilities must not be negative or NaN; {came}")


def selections(who: str, p: Any) -> None:
    """Independent probabilities: between 0 and 1, and a row may have any sum."""
    rule, then = "selection probabilities must lie between 0 and 1", "with a sigmoid, not with a softmax."
    refuse_where(~((p >= 0) & (p <= 1)), who, rule, "outside or NaN", f"Scores become probabilities {then}")


def decays(who: str, decay: Any) -> None:
    """What is kept of a state lies above 0, because its logarithm is taken, and is at most all of it."""
    rule, then = "decays must lie in (0, 1]", "A decay of any score is exp(-softplus(score))."
    if decay is not None:
        refuse_where(~((decay > 0) & (decay <= 1)), who, rule, "outside or NaN", then)


def steps(who: str, step: Any) -> None:
    """A step of the delta rule lies between 0, which writes nothing, and 2, which flips a sign."""
    rule, then = "steps must lie between 0 and 2", "A step of any score is a sigmoid, or twice one."
    refuse_where(~((step >= 0) & (step <= 2)), who, rule, "outside or NaN", then)


def distributions(who: str, P: Any) -> None:
    """Each row is a probability distribution: it sums to one, up to the rounding error of half precision."""
    far = abs(P.sum(-1) - 1).reshape(-1)
    if not bool((far <= 5e-3).all()):
        came = f"a row that sums to {float(P.sum(-1).reshape(-1)[int(far.argmax())]):g}"
        then = "Draw from a softmax, and leave out a query that may look nowhere."
        raise ValueError(f"{who}: each row of P must sum to one; got {came}. {then}")


def possible(who: str, weights: Any) -> None:
    """The keys that were drawn have weights above zero."""
    rule, then = "a key of weight zero cannot have been drawn", "Draw index from the same weights."
    refuse_where(~(weights > 0), who, rule, "in index", then)


def between(who: str, name: str, numbers: Any, most: str, high: int) -> None:
    """All numbers, such as counts or indices of keys, lie between 0 and `high`."""
    low, top = int(numbers.min()), int(numbers.max())
    rule = f"{name} must lie between 0 and {most} = {high}"
    must(low >= 0 and top <= high, who, f"{rule}; got values from {low} to {top}.")


def additive(who: str, M: Any) -> None:
    """The entries of an additive mask are 0, or too negative for any score to compensate."""
    rule = f"an additive mask must hold 0 (may look) or at most {SMALLEST_FORBIDDEN:g} (may not)"
    what, then = f"other entries in M {tuple(M.shape)}", "A bias of scores is not a mask."
    refuse_where(~((M == 0) | (M <= SMALLEST_FORBIDDEN)), who, rule, what, then)


def dtype_of_the_layer(who: str, X: Any, linear: Any) -> None:
    """X has the dtype of the layer's nn.Linear, unless autocast converts both; an adapter may take any dtype."""
    plain = type(linear).__module__ == "torch.nn.modules.linear"  # an adapter may have no weight
    if plain and X.dtype != linear.weight.dtype and not converts(X):
        came = f"X {dtype_of(X)}, the layer {dtype_of(linear.weight)}"
        raise TypeError(f"{who}: all arrays must have the same dtype; got {came}. Convert them to one dtype.")


def broadcasts(who: str, name: str, array: Any, shape: tuple[int, ...]) -> None:
    """A mask or bias broadcasts to the scores, whose shape is not known from annotations."""
    if array is not None and not fits_into(tuple(array.shape), shape):
        came = f"got {tuple(array.shape)}.{HINTS.get(name, '')}"
        raise ValueError(f"{who}: {name} must broadcast to the shape of the scores {shape}; {came}")


def one_row_or_all(who: str, positions: tuple[int, ...], rows: tuple[int, ...]) -> None:
    """Positions are one row for all, or have every axis of the rows: with some of them they would fit in two ways."""
    fits = len(positions) in (1, len(rows)) and positions[-1:] == rows[-1:] and fits_into(positions, rows)
    came = f"got {positions}.{HINTS['positions']}"
    must(fits, who, f"positions must be {rows[-1:]}, or broadcast to {rows} and have all of its axes; {came}")


def follows(who: str, K: Any, earlier: Any) -> None:
    """New keys have the shape of the cached ones in all but the number of positions."""
    if [*K.shape[:-2], K.shape[-1]] != [*earlier.shape[:-2], earlier.shape[-1]]:
        raise ValueError(
            f"{who}: new keys must have the batch axes, heads and width of those in the cache; "
            f"got K {tuple(K.shape)} after {tuple(earlier.shape)}. Another batch or layer needs a cache of its own."
        )


def broadcastable(who: str, masks: tuple[Any, ...]) -> None:
    """There is a mask, and all masks broadcast to one shape: from the last axis on, sizes are equal or one."""
    must(len(masks) > 0, who, "there must be one mask or more; got none.")
    shapes = [tuple(mask.shape) for mask in masks]
    joint = all(len({*sizes} - {1}) < 2 for sizes in zip_longest(*(one[::-1] for one in shapes), fillvalue=1))
    came = f"got {', '.join(map(str, shapes))}.{HINTS['mask']}"
    must(joint, who, f"masks must broadcast to one shape; {came}")


def one_for_each_step(who: str, d_states: Sequence[Any], caches: Sequence[Any]) -> None:
    """There are as many gradients as steps, and at least one."""
    came = f"got {len(d_states)} for {len(caches)} steps. A state that nothing was computed from gets zeros."
    must(0 < len(caches) == len(d_states), who, f"there must be one gradient for each step; {came}")


def of_tiles(who: str, tiles: Any, m: int, n: int) -> None:
    """Tiles cover all queries and all keys: there are as many as blocks of them."""
    if tiles is not None:
        number, block = tuple(tiles.number.shape), tiles.masks.shape[-1]
        wanted = -(-m // block), -(-n // block)
        came = f"got {number}. Make them with `block_mask(pattern, {m}, {block}, n_keys={n})`."
        must(number == wanted, who, f"tiles of {block} by {block} for m={m}, n={n} must be {wanted}; {came}")

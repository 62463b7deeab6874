"""The rules for the inputs of hard, monotonic, sparse and recurrent computations, in the manner of `_check`.

Both twins use this module too. It looks at shapes, dtypes and comparisons only, and imports neither NumPy nor torch.
"""

import math
from typing import Any


def distributions(who: str, P: Any) -> None:
    """Rows that one can draw from: each sums to one, up to the rounding of a softmax in half precision."""
    sums = P.sum(-1)
    far = abs(sums - 1).max()
    if not bool(far <= 5e-3):
        worst = float(sums.reshape(-1)[int(abs(sums - 1).reshape(-1).argmax())])
        raise ValueError(
            f"{who}: each row of P must sum to one; got a row that sums to {worst:g}. "
            "Draw from a softmax, and leave out a query that may look nowhere."
        )


def generator(who: str, rng: Any, kind: type, make: str) -> None:
    """A seeded generator of random numbers, of the twin's own kind."""
    if not isinstance(rng, kind):
        raise TypeError(
            f"{who}: rng must be a {kind.__name__}; got {type(rng).__name__}. Make one from a seed with `{make}`."
        )


def values_for(who: str, P: Any, V: Any) -> None:
    """One value for each key that the rows of P speak of."""
    if P.shape[-1] != V.shape[-2]:
        raise ValueError(
            f"{who}: there must be one value for each of the n keys; "
            f"got {tuple(P.shape)} with n={P.shape[-1]} and V {tuple(V.shape)} with n={V.shape[-2]}."
        )


def drawn(who: str, index: Any, P: Any, more: bool = False) -> None:
    """One key for each row of P, an integer from 0 to n - 1; `more` allows several draws in leading axes."""
    dtype = str(index.dtype) if hasattr(index, "dtype") else type(index).__name__
    if "int" not in dtype:
        raise TypeError(f"{who}: index must be an array of integers; got {dtype.removeprefix('torch.')}.")
    rows, n, came = tuple(P.shape[:-1]), P.shape[-1], tuple(index.shape)
    if (came[len(came) - len(rows) :] if more and len(came) > len(rows) else came) != rows:
        several = " More draws of the same rows go into leading axes." if more else ""
        raise ValueError(f"{who}: index must hold one key for each row; got {came} for rows {rows}.{several}")
    if not bool(((index >= 0) & (index < n)).all()):
        raise ValueError(
            f"{who}: index must lie between 0 and n - 1 = {n - 1}; "
            f"got values from {int(index.min())} to {int(index.max())}."
        )


def possible(who: str, weights: Any) -> None:
    """The weights of the drawn keys are above zero."""
    if not bool((weights > 0).all()):
        raise ValueError(
            f"{who}: a key of weight zero cannot have been drawn; got {int((weights <= 0).sum())} in index. "
            "Draw index from the same weights."
        )


def one_each(who: str, reward: Any, index: Any) -> None:
    """One reward for each draw."""
    came = tuple(getattr(reward, "shape", ()))
    if came != tuple(index.shape):
        raise ValueError(
            f"{who}: there must be one reward for each draw; got reward {came} and index {tuple(index.shape)}. "
            "The rewards of all keys become those of the drawn ones with `R[index]`."
        )


def selection_probabilities(who: str, p: Any) -> None:
    """Numbers between 0 and 1; a row of them need not sum to anything."""
    bad = ~((p >= 0) & (p <= 1))
    if bool(bad.any()):
        raise ValueError(
            f"{who}: selection probabilities must lie between 0 and 1; got {int(bad.sum())} outside or NaN. "
            "Scores become probabilities with a sigmoid, not with a softmax."
        )


def decisions(who: str, Z: Any) -> None:
    """A boolean for each query and key: True = stop here."""
    dtype = str(Z.dtype).removeprefix("torch.") if hasattr(Z, "dtype") else type(Z).__name__
    if dtype != "bool":
        raise TypeError(
            f"{who}: Z must be boolean with True = stop here; got {dtype}. "
            "Probabilities become decisions with a comparison, such as `p > 0.5`."
        )
    if len(Z.shape) < 2 or 0 in Z.shape:
        raise ValueError(
            f"{who}: Z must have a row for each query and a column for each key; got {tuple(Z.shape)}."
        )


def how_many(who: str, k: Any, n: int) -> None:
    """k keys out of n."""
    if isinstance(k, bool) or not isinstance(k, int):
        raise TypeError(f"{who}: k must be an integer; got {type(k).__name__}.")
    if not 1 <= k <= n:
        raise ValueError(f"{who}: k must lie between 1 and the number of keys; got k={k} for n={n} keys.")


def window(who: str, window: Any) -> None:
    """A half-width in positions, finite and not negative."""
    if isinstance(window, bool) or not isinstance(window, (int, float)):
        raise TypeError(f"{who}: window must be a number; got {type(window).__name__}.")
    if not 0 <= window < math.inf:
        raise ValueError(f"{who}: window must be finite and not negative; got window={window:g}.")


def centers(who: str, centers: Any, rows: tuple[int, ...]) -> None:
    """One finite position for each query; behind leading batch axes, `rows` are the last ones."""
    came = tuple(centers.shape)
    if came[len(came) - len(rows) :] != tuple(rows) or len(came) < len(rows):
        raise ValueError(
            f"{who}: centers must hold one position for each query; "
            f"got centers {tuple(centers.shape)} for queries {tuple(rows)}."
        )
    if not bool((abs(centers) < math.inf).all()):
        raise ValueError(f"{who}: centers must be finite; got NaN or infinity.")


def cell(who: str, gates: int, x: Any, h: Any, W_x: Any, W_h: Any, **biases: Any) -> None:
    """Weights (in, out) that fit the input and the state; `gates` blocks of width d stand side by side."""
    d_in, d = x.shape[-1], h.shape[-1]
    if tuple(x.shape[:-1]) != tuple(h.shape[:-1]):
        raise ValueError(
            f"{who}: x and h must have the same batch axes; got x {tuple(x.shape)} and h {tuple(h.shape)}."
        )
    wide, times = gates * d, f"{gates} d" if gates > 1 else "d"
    rules = {"W_x": (W_x, ("d_in", d_in)), "W_h": (W_h, ("d", d))}
    for name, (W, (row, size)) in rules.items():
        if tuple(W.shape) != (size, wide):
            raise ValueError(
                f"{who}: {name} must be ({row}, {times}) = ({size}, {wide}); got {tuple(W.shape)}. "
                "Weights are stored (in, out)."
            )
    for name, b in biases.items():
        if tuple(b.shape) != (wide,):
            raise ValueError(f"{who}: {name} must be ({times},) = ({wide},); got {tuple(b.shape)}.")


def one_for_each_step(who: str, d_states: Any, caches: Any) -> None:
    """As many gradients as steps, and one step at least."""
    if len(d_states) != len(caches) or not caches:
        raise ValueError(
            f"{who}: there must be one gradient for each step; got {len(d_states)} for {len(caches)} steps. "
            "A state that nothing was computed from gets zeros."
        )

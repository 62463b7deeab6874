"""The rules for layers with several heads, in the manner of `_check`.

Both twins use this module too. It looks at shapes only, and imports neither NumPy nor torch.
"""

from typing import Any

from attnlib.reference import _check, _check_masks


def _nearest_divisors(width: int, parts: int) -> str:
    fitting = [k for k in range(1, width + 1) if width % k == 0]
    below, above = [k for k in fitting if k < parts][-1:], [k for k in fitting if k > parts][:1]
    return " or ".join(map(str, below + above))


def splits_evenly(who: str, size: str, width: int, name: str, parts: Any) -> None:
    """A width that is cut into equal parts leaves no rest."""
    _check_masks.sizes(who, **{size: width, name: parts})
    if width % parts:
        raise ValueError(
            f"{who}: {size} must split evenly into {name}; got {size}={width}, {name}={parts} "
            f"({width} / {parts} leaves {width % parts}). Try {name}={_nearest_divisors(width, parts)}."
        )


def has_heads(who: str, name: str, Z: Any, *, kind: str = _check.ARRAY) -> None:
    """Three axes or more: heads, positions, width."""
    _check.floats(who, kind=kind, **{name: Z})
    if len(Z.shape) < 3:
        raise ValueError(
            f"{who}: {name} needs three axes or more, heads, positions and width; got {tuple(Z.shape)}. "
            "A single head becomes one of one with `[None]`."
        )


def weights(who: str, X_Q: Any, X: Any, weights: Any, n_heads: int, n_kv_heads: int) -> None:
    """Weights (in, out) that fit the inputs, the number of heads and one another."""
    _check.named_weights(who, "MultiHeadWeights", weights, "W_Q", "W_K", "W_V", "W_O", "b_O")
    W_Q, W_K, W_V, W_O = weights[:4]
    _check.floats(who, X_Q=X_Q, **weights._asdict())
    _check.weight(who, "d_query", "h d_k", "X_Q", X_Q.shape[-1], W_Q=W_Q)
    _check.weight(who, "d_source", "h d_k", "X", X.shape[-1], W_K=W_K)
    _check.weight(who, "d_source", "h d_v", "X", X.shape[-1], W_V=W_V)
    splits_evenly(who, "the width of W_Q", W_Q.shape[1], "n_heads", n_heads)
    splits_evenly(who, "n_heads", n_heads, "n_kv_heads", n_kv_heads)
    splits_evenly(who, "the width of W_K", W_K.shape[1], "n_kv_heads", n_kv_heads)
    splits_evenly(who, "the width of W_V", W_V.shape[1], "n_kv_heads", n_kv_heads)
    d_q, d_k = W_Q.shape[1] // n_heads, W_K.shape[1] // n_kv_heads
    if d_q != d_k:
        raise ValueError(
            f"{who}: queries and keys of a head must have the same width d_k; got {d_q} from W_Q {W_Q.shape} "
            f"in {n_heads} heads and {d_k} from W_K {W_K.shape} in {n_kv_heads}."
        )
    joined = n_heads * (W_V.shape[1] // n_kv_heads)
    if len(W_O.shape) != 2 or W_O.shape[0] != joined:
        raise ValueError(
            f"{who}: W_O must be (h d_v, d_out) with h d_v={joined}, the width of the joined heads; got {W_O.shape}."
        )
    for name in "QKVO":
        W, b = getattr(weights, f"W_{name}"), getattr(weights, f"b_{name}")
        if b is not None and tuple(b.shape) != (W.shape[1],):
            raise ValueError(
                f"{who}: b_{name} must be ({W.shape[1]},), the width of W_{name}; got {b.shape}."
            )


def mask(
    who: str, mask: Any, rows: tuple[int, ...], n_heads: int, n: int, *, kind: str = _check.ARRAY
) -> None:
    """A mask broadcasts to the scores of one head, or, with one axis more, to those of all; `rows` are (*b, m)."""
    shared = mask is None or not hasattr(mask, "shape") or len(mask.shape) <= len(rows) + 1
    shape = (*rows, n) if shared else (*rows[:-1], n_heads, rows[-1], n)
    _check.boolean_mask(who, mask, shape, kind=kind)


def follows(who: str, K: Any, earlier: Any) -> None:
    """New keys differ from those before them in how many positions they are, and in nothing else."""
    if [*K.shape[:-2], K.shape[-1]] != [*earlier.shape[:-2], earlier.shape[-1]]:
        raise ValueError(
            f"{who}: new keys must have the batch axes, heads and width of those in the cache; "
            f"got K {tuple(K.shape)} after {tuple(earlier.shape)}. Another batch or layer needs a cache of its own."
        )


def gates(who: str, gates: Any, Z: Any) -> None:
    """One number for each head, or one for each sequence and head."""
    heads, came = tuple(Z.shape[:-2]), tuple(gates.shape)
    if came not in (heads, heads[-1:]):
        raise ValueError(
            f"{who}: gates must hold one number for each head, {heads[-1:]} or {heads}; "
            f"got {came} for head outputs {tuple(Z.shape)}."
        )

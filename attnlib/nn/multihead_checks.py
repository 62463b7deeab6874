"""The rules for the arguments of `attnlib.nn.multihead.MultiHeadAttention.forward` that annotations cannot express."""

from collections.abc import Iterator
from typing import Any

from torch import Tensor

from attnlib import rules
from attnlib.nn.cache import SourceCache

WHO = "MultiHeadAttention"


def _check_ring(window: int | None, width: int) -> None:
    """A ring holds the positions that a query attends to, no more and no fewer."""
    wanted = "be one of a layer with a window" if window is None else f"hold {window + 1} positions"
    then = "`new_cache` of the layer makes the one that fits."
    came = f"got one of {width}. {then}"
    rules.must(window is not None and width == window + 1, WHO, f"a RingCache must {wanted}; {came}")


def _kind_and_shape(value: Any) -> Any:
    return (type(value), value.shape) if isinstance(value, Tensor) else type(value)


def _combinations(layer: Any, given: Any, held: int) -> Iterator[tuple[bool, str]]:
    """Which arguments may be combined: a rule, and the sentence for a call that breaks it; a cache has `held`."""
    source, kv_cache = given.source, given.kv_cache
    of_source = isinstance(kv_cache, SourceCache)
    n = held if source is None else source.shape[-2]
    crossed = source is not None or of_source
    yield (
        not of_source or n > 0,
        "an empty SourceCache needs a source; got none. Pass it to the first call.",
    )
    yield (
        not of_source or held in (0, n),
        f"a SourceCache holds one source; got one of {n} positions after one of {held}. "
        "Another source needs a cache of its own, or `reset`.",
    )
    yield (
        source is None or kv_cache is None or of_source,
        "a source needs a SourceCache; got a KVCache, which grows with every call.",
    )
    yield (
        not crossed or (not layer.causal and given.rotate is None),
        f"queries and keys must come from one sequence for {'a causal layer' if layer.causal else 'positions'}; "
        "got a source. Pass its positions in `mask` or `bias`.",
    )
    yield (
        crossed or layer.d_source == layer.d_model,
        f"source must be given, for d_source={layer.d_source} is not d_model={layer.d_model}; got none.",
    )


def _check_masks(layer: Any, given: Any, held: int) -> None:
    """Masks and bias must fit the scores, (*b, h, m, n), and a mask in one way only."""
    X, source, mask = given.X, given.source, given.mask
    crossed = source is not None or isinstance(given.kv_cache, SourceCache)
    n = held if crossed and held else held + (X if source is None else source).shape[-2]
    rows, scores = (*X.shape[:-1], n), (*X.shape[:-2], layer.n_heads, X.shape[-2], n)
    if mask is not None:
        rules.has_one_reading(WHO, tuple(mask.shape), rows, scores, by_name="`key_mask=`")
    rules.broadcasts(WHO, "mask", mask, rows if mask is not None and mask.dim() < len(scores) else scores)
    rules.broadcasts(WHO, "bias", given.bias, scores)
    if given.key_mask is not None:
        whole = (*X.shape[:-2], n)
        came = f"got {tuple(given.key_mask.shape)}. What differs from query to query is a `mask`."
        rules.must(
            given.key_mask.shape == whole, WHO, f"key_mask must be {whole}, one entry for each key; {came}"
        )

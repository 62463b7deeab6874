"""What `attnlib.nn.debug.checked_values` looks at: one rule for each function of `attnlib.nn` that values can spoil."""

import math
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor

from attnlib import rules

A = ParamSpec("A")
R = TypeVar("R")
looking = False  # `checked_values` sets it


def values(rule: Callable[..., None]) -> Callable[[Callable[A, R]], Callable[A, R]]:
    """Inside `checked_values()` `rule` looks at the function's arguments, once its own rules for shapes have passed."""

    def mark(function: Callable[A, R]) -> Callable[A, R]:
        @wraps(function)
        def marked(*args: A.args, **options: A.kwargs) -> R:
            if not looking:
                return function(*args, **options)
            try:
                result = function(*args, **options)
            except (IndexError, RuntimeError):  # the values may be the reason
                rule(*args, **options)
                raise
            rule(*args, **options)
            return result

        return marked

    return mark


def scores(who: str) -> Callable[..., None]:
    """Scores have no NaN and no +inf, and each row has one above -inf."""

    def rule(S: Tensor, *_: Any, axis: int = -1) -> None:
        rules.scores(who, S, S.amax(dim=axis))

    return rule


def softmax_scores(who: str) -> Callable[..., None]:
    """The same, for functions that take the axis as their second argument."""
    return lambda S, axis=-1: scores(who)(S, axis=axis)


def masked_scores(S: Tensor, mask: Tensor | None = None) -> None:
    """The scores that the mask lets through are scores; a row with nothing to see may be empty."""
    if mask is None:
        return scores("softmax")(S)
    visible = S.masked_fill(~mask, -math.inf)
    empty = ~mask.expand(S.shape).any(dim=-1, keepdim=True)
    return rules.scores("masked_softmax", visible, visible.masked_fill(empty, 0.0).amax(dim=-1))


def attended(who: str) -> Callable[..., None]:
    """Values are finite: zero times NaN is NaN, so that a bad value would leak past every mask."""
    return lambda S, V, mask=None: rules.finite(who, "V", V)


def attention(
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    *_: Any,
    **__: Any,
) -> None:
    """Values are finite, and so are the scores that the mask lets through."""
    rules.finite("scaled_dot_product_attention", "V", V)
    if Q.dim() > 2 and Q.shape[-3] != K.shape[-3]:
        K = K.repeat_interleave(Q.shape[-3] // K.shape[-3], dim=-3)
    S = Q @ K.mT / math.sqrt(Q.shape[-1])
    masked_scores(S if bias is None else S + bias, mask)


def directions(X: Tensor) -> None:
    """Every vector has a length above zero."""
    empty = (X == 0).all(dim=-1)
    rule = "each vector must be longer than zero, or it has no direction"
    rules.refuse_where(empty, "unit", rule, f"of zeros in X {tuple(X.shape)}")


def regression(Q: Tensor, K: Tensor, V: Tensor, kernel: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Values and kernel values are finite, and each query has a key with a kernel value above zero."""
    rules.finite("kernel_regression", "V", V)
    G = kernel(Q, K)
    rules.finite("kernel_regression", "G", G)
    rule = "each query needs a key with a kernel value above zero"
    rules.refuse_where(
        G.sum(dim=-1) <= 0, "kernel_regression", rule, "queries without one", "Widen the kernel."
    )


def probabilities(P: Tensor) -> None:
    """Entries of P are not negative."""
    rules.probabilities("entropy", P)


def distributions(P: Tensor, rng: Any) -> None:
    """Rows of P that one can draw from."""
    rules.probabilities("sample_hard", P)
    rules.distributions("sample_hard", P)


def drawn_keys(P: Tensor, V: Tensor, index: Tensor) -> None:
    """The keys exist, and each could have been drawn."""
    rules.between("hard_attention", "index", index, "n - 1", P.shape[-1] - 1)
    rules.possible("hard_attention", torch.take_along_dim(P, index[..., None], dim=-1))


def draws(who: str) -> Callable[..., None]:
    """The keys exist; several draws of the same rows are allowed."""
    return lambda S, index, *_, **__: rules.between(who, "index", index, "n - 1", S.shape[-1] - 1)


def selections(who: str) -> Callable[..., None]:
    """Numbers between 0 and 1."""
    return lambda p, *_: rules.selections(who, p)


def ranked(S: Tensor, k: int) -> None:
    """Scores that can be put in order."""
    rules.scores("top_k_mask", S)


def near(m: int, n: int, window: float, centers: Tensor | None = None) -> None:
    """Centres are finite."""
    if centers is not None:
        rules.finite("local_mask", "centers", centers)


def local(Q: Tensor, K: Tensor, V: Tensor, centers: Tensor, *_: Any, **__: Any) -> None:
    """Values and centres are finite."""
    rules.finite("local_attention", "V", V)
    rules.finite("local_attention", "centers", centers)


def lengths(lengths: Tensor, n: int) -> None:
    """Lengths lie between 0 and n."""
    rules.between("padding_mask", "lengths", lengths, "n", n)


def additive(M: Tensor) -> None:
    """Zeros, and numbers so negative that no score brings them back."""
    rules.additive("mask_from_additive", M)

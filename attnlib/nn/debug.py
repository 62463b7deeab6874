"""Find where NaN or another bad value first occurs: inside `checked_values()` functions of `attnlib.nn` check values.

The book's chapter on masks shows what NaN does inside attention (2.3). Outside the block no value is checked, because
a check waits for the device, and neither `torch.compile` nor `vmap` supports it. The functions of `attnlib.reference`
always check values; so inside the block each of their twins first calls them with the same arguments.
"""

import importlib
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from attnlib import rules, shapes

NAMES = {"reinforce_loss": "reinforce_gradient"}  # functions whose twin has another name


def _scores(Q: Any, K: Any, V: Any, mask: Any = None, bias: Any = None, **_: Any) -> dict[str, Any]:
    """The scores and values of `fused_attention`, which takes a bias and shared keys, for its twin `attend`."""
    rules.finite("scaled_dot_product_attention", "V", V)
    K, V = (A if Q.dim() < 3 else A.repeat_interleave(Q.shape[-3] // A.shape[-3], dim=-3) for A in (K, V))
    S = Q @ K.mT / Q.shape[-1] ** 0.5
    return {"S": S if bias is None else S + bias, "V": V, "mask": mask}


def _as_array(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return (value.float() if value.dtype is torch.bfloat16 else value).detach().cpu().numpy()
    if isinstance(value, torch.Generator):
        return np.random.default_rng(0)
    return (lambda *arrays: _as_array(value(*map(torch.tensor, arrays)))) if callable(value) else value


@torch.no_grad()
def _call_the_twin(function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Call the function's twin, if it checks values, with the same arguments as arrays."""
    if "." in function.__qualname__ or not function.__module__.startswith("attnlib.nn."):
        return  # a method of a layer: the functions that it calls are checked
    given = inspect.signature(function).bind(*args, **named).arguments
    name = NAMES.get(function.__name__, function.__name__)
    if function.__name__ == "fused_attention":
        name, given = "attend", _scores(**given)
    home = importlib.import_module(function.__module__.replace("attnlib.nn", "attnlib.reference"))
    code = inspect.unwrap(getattr(home, name)).__code__ if hasattr(home, name) else None
    if code and "rules" in code.co_names and not code.co_flags & inspect.CO_VARARGS:
        known = code.co_varnames[: code.co_argcount]  # the twin has no argument `device`
        with np.errstate(all="ignore"):
            getattr(home, name)(**{key: _as_array(value) for key, value in given.items() if key in known})


@contextmanager
def checked_values() -> Iterator[None]:
    """Inside the block, invalid values raise the clear error message of the twin in `attnlib.reference`.

    >>> import math
    >>> from attnlib.nn.ops import softmax
    >>> with checked_values():
    ...     softmax(torch.tensor([0.0, math.nan]))
    Traceback (most recent call last):
    ValueError: softmax: scores must be finite or -inf; got 1 NaN or +inf entries in S (2,).
    """
    before = shapes.INTERCEPT

    def with_checks(function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        _call_the_twin(function, args, named)
        return before(function, args, named) if before else function(*args, **named)

    shapes.INTERCEPT = with_checks
    try:
        yield
    finally:
        shapes.INTERCEPT = before

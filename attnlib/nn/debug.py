"""Find where a bad value comes in: inside `checked_values()` the functions and layers of `attnlib.nn` look at values.

The book says in its chapter on masks what NaN does inside attention (2.3). Outside the block nothing here looks at a
value, because a look waits for the device, and neither a compiler nor `vmap` can take it. `attnlib.reference` always
looks; so inside the block each function whose twin there has a rule for values is asked of its twin first.
"""

import importlib
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from attnlib import rules, shapes

NAMES = {"reinforce_loss": "reinforce_gradient"}  # a twin of another name


def _scores(Q: Any, K: Any, V: Any, mask: Any = None, bias: Any = None, **_: Any) -> dict[str, Any]:
    """What the operator of a layer, which takes a bias and shared keys, makes of its arguments."""
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
def _ask_the_twin(function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> None:
    """The function's twin, if it has a rule for values, computes with the same arguments as arrays."""
    if "." in function.__qualname__ or not function.__module__.startswith("attnlib.nn."):
        return  # of a layer the functions that it calls are asked
    given = inspect.signature(function).bind(*args, **named).arguments
    name = NAMES.get(function.__name__, function.__name__)
    if function.__name__ == "fused_attention":
        name, given = "attend", _scores(**given)
    home = importlib.import_module(function.__module__.replace("attnlib.nn", "attnlib.reference"))
    code = inspect.unwrap(getattr(home, name)).__code__ if hasattr(home, name) else None
    if code and "rules" in code.co_names and not code.co_flags & inspect.CO_VARARGS:
        known = code.co_varnames[: code.co_argcount]  # a device is not
        with np.errstate(all="ignore"):
            getattr(home, name)(**{key: _as_array(value) for key, value in given.items() if key in known})


@contextmanager
def checked_values() -> Iterator[None]:
    """Inside the block, values that a function cannot compute with are refused with one sentence.

    >>> import math
    >>> from attnlib.nn.ops import softmax
    >>> with checked_values():
    ...     softmax(torch.tensor([0.0, math.nan]))
    Traceback (most recent call last):
    ValueError: softmax: scores must be finite or -inf; got 1 NaN or +inf entries in S (2,).
    """
    before = shapes.INTERCEPT

    def asking(function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        _ask_the_twin(function, args, named)
        return before(function, args, named) if before else function(*args, **named)

    shapes.INTERCEPT = asking
    try:
        yield
    finally:
        shapes.INTERCEPT = before

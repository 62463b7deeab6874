"""What comes back keeps its annotation, and finite numbers give no NaN but where a function says so: tests look at it
after every call, also of one public function by another."""

import functools
from collections.abc import Iterator
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from attnlib.checking import CheckedSignature, reader

signature_of = functools.cache(CheckedSignature)


def checked_result(function, args, named):
    """Calls the function; its result has the axes that the annotation says, as large as those of the arguments."""
    call = signature_of(function).bind(args, named)
    result = function(*args, **named)
    returns = get_type_hints(function, include_extras=True).get("return", Any)
    several = get_origin(returns) is tuple
    call.who, call.arrays, call.numbers = f"{call.who} (its result)", [], []
    said = get_args(returns) if several else (returns,)
    for one, has in zip(said, result if several else (result,), strict=True):
        reader(one)(call, "what comes back", has)
    call.agree()
    # NumPy's own flag for this is raised now and then by a product whose numbers are all right (numpy#28227).
    if "NaN" not in (function.__doc__ or "") and any(np.isnan(array).any() for array in floats(result)):
        assert not all(np.isfinite(array).all() for array in floats((args, named))), (
            f"{call.who}: NaN came of finite numbers"
        )
    return result


def floats(value: Any) -> Iterator[np.ndarray]:
    """The arrays of floating point numbers in it."""
    if isinstance(value, np.ndarray | np.floating | float):
        array = np.asarray(value)
        if np.issubdtype(array.dtype, np.floating):
            yield array
    elif isinstance(value, list | tuple):
        for one in value:
            yield from floats(one)
    elif isinstance(value, dict):
        yield from floats(list(value.values()))

"""What comes back keeps its annotation: tests look at it after every call, also of one public function by another."""

import functools
from typing import Any, get_args, get_origin, get_type_hints

from attnlib.checking import Rules, reader

rules_of = functools.cache(Rules)


def checked_result(function, args, named):
    """Calls the function; its result has the axes that the annotation says, as large as those of the arguments."""
    call = rules_of(function).arguments(args, named)
    result = function(*args, **named)
    returns = get_type_hints(function, include_extras=True).get("return", Any)
    several = get_origin(returns) is tuple
    call.who, call.arrays, call.numbers = f"{call.who} (its result)", [], []
    said = get_args(returns) if several else (returns,)
    for one, has in zip(said, result if several else (result,), strict=True):
        reader(one)(call, "what comes back", has)
    call.agree()
    return result

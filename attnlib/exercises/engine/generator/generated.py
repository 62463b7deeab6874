"""One generated mistake."""

from collections.abc import Callable
from typing import Any, NamedTuple


class Generated(NamedTuple):
    """A name, the sentence that explains it, and a function that makes the mistake."""

    name: str
    sentence: str
    function: Callable[..., Any]
    weak: bool = False  # named only where nothing else gives the same numbers

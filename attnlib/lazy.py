"""Names of a package that are imported at their first use: `from attnlib.nn import MultiHeadAttention`.

The one list of them is the package's `__init__.pyi`, which type checkers and editors read as well. So importing the
package loads none of its modules.
"""

import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any


def exports(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package whose names stand in the stub beside its file.

    >>> import attnlib.reference
    >>> attnlib.reference.softmax.__module__, "softmax" in dir(attnlib.reference)
    ('attnlib.reference.ops', True)
    """
    homes: dict[str, str] = {}

    def listed() -> dict[str, str]:
        if not homes:
            stub = Path(file).with_suffix(".pyi").read_text(encoding="utf-8")
            for module, names in re.findall(r"^from (\S+) import (\([^)]*\)|.*)$", stub, re.MULTILINE):
                homes.update(dict.fromkeys(re.findall(r"(\w+) as \w+", names), module))
        return homes

    def value_of(name: str) -> Any:
        if name == "__all__":
            return list(listed())
        if name.startswith("__") or name not in listed():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(listed()[name]), name)

    return value_of, lambda: [*listed()]

"""Refuse notebooks that have not run from top to bottom: `python tools/stored_outputs.py NOTEBOOK...`, before a commit.

Nothing is changed and nothing stripped: readers on GitHub and in the book see the outputs that are stored.
"""

import json
import sys
from pathlib import Path
from typing import Any


def trouble(notebook: dict[str, Any]) -> str:
    """What is missing of the outputs; empty if nothing is.

    >>> cell = {"cell_type": "code", "source": "1 + 1", "execution_count": 1, "outputs": []}
    >>> trouble({"cells": [cell, cell | {"execution_count": 2}]})
    ''
    >>> trouble({"cells": [cell, cell | {"execution_count": None}]})
    'code cell 2 has not run'
    >>> trouble({"cells": [cell, cell | {"execution_count": 7}]})
    'code cell 2 ran out of order'
    """
    code = [
        cell for cell in notebook["cells"] if cell["cell_type"] == "code" and "".join(cell["source"]).strip()
    ]
    for number, cell in enumerate(code, 1):
        if cell["execution_count"] is None:
            return f"code cell {number} has not run"
        if cell["execution_count"] != number:
            return f"code cell {number} ran out of order"
        allowed = "raises-exception" in cell.get("metadata", {}).get("tags", [])
        if not allowed and any(output["output_type"] == "error" for output in cell["outputs"]):
            return f"code cell {number} stores an error"
    return ""


def main(names: list[str]) -> int:
    found = {name: trouble(json.loads(Path(name).read_text("utf8"))) for name in names}
    refused = {name: what for name, what in found.items() if what}
    for name, what in refused.items():
        print(f"{name}: {what}. Try: make run NB={name}")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

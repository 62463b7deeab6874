"""What other code calls what `attnlib` has: the tables of the page Coming from elsewhere.

    ```{peers} PyTorch
    ```

`book/api/peers.yml` has the rows, in groups: a name there, the name here, how arguments are called, and what differs.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from .inline_markup import marked
from .twins import Name, table

FILE = Path("book/api/peers.yml")
HEAD = ("There", "Here", "What differs")


def peers(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The rows of each group."""
    return yaml.safe_load((folder / FILE).read_text("utf8"))


def renamed(arguments: dict[str, str]) -> str:
    """The arguments that have another name, as a sentence.

    >>> renamed({"embed_dim": "d_model", "bias": "bias"})
    '`embed_dim` is `d_model`. '
    """
    pairs = [f"`{there}` is `{here}`" for there, here in arguments.items() if there != here]
    return f"{', '.join(pairs)}. " if pairs else ""


class PeersDirective(SphinxDirective):
    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        self.env.note_dependency(FILE.as_posix())
        rows = peers(Path(self.env.srcdir))[self.arguments[0]]
        made = table(HEAD, [cells(row) for row in rows])
        made["classes"].append("peers")  # on a phone its cells stand one below the other
        return [made]


def cells(row: dict[str, Any]) -> Sequence[nodes.Node]:
    there = nodes.inline("", "", *(Name(path="", text=name) for name in row["there"].split(", ")))
    path = row["here"].removeprefix("attnlib.")
    differs = nodes.inline("", "", *marked(renamed(row.get("arguments", {})) + row["differs"]))
    return [there, Name(path=path, text=path), differs]


def setup(app: Sphinx) -> None:
    app.add_directive("peers", PeersDirective)

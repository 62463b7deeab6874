"""Where each function of `attnlib.reference` has its twin: the table of the reference.

    ```{twins}
    ```

A twin has the same name in the file of the same name of `attnlib.nn`, or is the module of that name, which holds the
parameters. `book/api/twins.yml` says of the other functions what PyTorch has in their place, and why.
"""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from .api import entries, link, package_of
from .package import Package, anchor_of

FILE = Path("book/api/twins.yml")
BREAK = re.compile(
    r"(?<=\w)(?=_)|(?<=\.)|(?<=[a-z])(?=[A-Z])"
)  # where a long name may go on in a second line
HEAD = ("Equation, in NumPy", "In PyTorch", "Why there")


class Twin(NamedTuple):
    """A function of the reference, and where it is in PyTorch: an entry of `attnlib`, a name of `torch`, or nowhere."""

    function: str  # reference.ops.softmax
    torch: str  # nn.ops.softmax, torch.optim.Adam; empty where there is none
    why: str  # empty where the names are the same


class Name(nodes.General, nodes.Inline, nodes.Element):
    """A name in the table: `path` from attnlib on, `text` as it is shown."""


def exceptions(folder: Path) -> dict[str, dict[str, str]]:
    return yaml.safe_load((folder / FILE).read_text("utf8"))


def twins(package: Package, listed: Mapping[str, Mapping[str, str]]) -> Iterator[Twin]:
    """All functions but the backwards, which stand beside their forwards."""
    modules = {snake(one.path): one.path for one in package.symbols.values() if one.home.startswith("nn.")}
    for one in package.symbols.values():
        function = isinstance(one.node, ast.FunctionDef) and not one.name.endswith("_backward")
        if not (one.home.startswith("reference.") and function):
            continue
        same = one.path.replace("reference", "nn", 1)
        if same in package.symbols:
            yield Twin(one.path, same, "")
        elif same in modules:
            yield Twin(one.path, modules[same], "a module, which holds the parameters")
        elif row := listed.get(one.path.removeprefix("reference.")):
            yield Twin(one.path, row.get("torch", "").removeprefix("attnlib."), row["why"])
        else:
            yield Twin(one.path, "", "")


def snake(path: str) -> str:
    """
    >>> snake("nn.multihead.MultiHeadAttention")
    'nn.multihead.multi_head_attention'
    """
    home, _, name = path.rpartition(".")
    return f"{home}.{re.sub('(?<!^)(?=[A-Z])', '_', name).lower()}"


class TwinsDirective(SphinxDirective):
    def run(self) -> list[nodes.Node]:
        folder = Path(self.env.srcdir)
        self.env.note_dependency(FILE.as_posix())
        package = package_of(self.env.app)
        for module in package.modules.values():
            self.env.note_dependency(module.file)
        return [table(HEAD, [cells(twin) for twin in twins(package, exceptions(folder))])]


def cells(twin: Twin) -> Sequence[nodes.Node]:
    function = Name(path=twin.function, text=twin.function.removeprefix("reference."))
    other = Name(path=twin.torch, text=twin.torch) if twin.torch else nodes.Text("none")
    return [function, other, nodes.Text(twin.why)]


def table(head: Sequence[str], rows: Sequence[Sequence[nodes.Node]]) -> nodes.table:
    group = nodes.tgroup("", *(nodes.colspec(colwidth=1) for _ in head), cols=len(head))
    group += nodes.thead("", table_row([nodes.Text(text) for text in head]))
    group += nodes.tbody("", *map(table_row, rows))
    return nodes.table("", group, classes=["twins"])


def table_row(cells: Sequence[nodes.Node]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", cell)) for cell in cells))


def visit_name(self, node: Name) -> None:
    package = package_of(self.builder.app)
    owner = node["path"].rpartition(".")[0]  # of a method
    path = package.find(node["path"]) or package.find(owner)
    page = entries(self.builder.env).get(path)
    text = f"<code>{BREAK.sub('<wbr>', node['text'])}</code>"
    self.body.append(link(self.builder, page, anchor_of(path), text) if page else text)
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    app.add_directive("twins", TwinsDirective)
    app.add_node(Name, html=(visit_name, None))

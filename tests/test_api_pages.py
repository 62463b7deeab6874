"""The reference of attnlib: every public name has an entry that says where it is taught; each link leads somewhere."""

import ast
import doctest
import json
import re
import sys
from pathlib import Path

import pytest
from bs4 import BeautifulSoup, Tag
from built import tree

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book"))

from _ext import docstrings, package, peers, signatures, taught_in, twins  # noqa: E402  (the extension lies beside the book)

SITE = ROOT / "_build" / "html" / "book"
PACKAGE = package.read_package(ROOT / "attnlib")
HALVES = [path for path in PACKAGE.symbols if path.startswith(("reference.", "nn."))]


def public_names(file: Path) -> list[str]:
    """What a reader who opens the file would count as public."""
    return re.findall(r"^(?:def|class) ([A-Za-z]\w*)", file.read_text(), re.M)


# ---- The package as it is read --------------------------------------------------------------------------------------


def test_every_public_function_and_class_of_both_halves_is_found() -> None:
    expected = {
        f"{half}.{file.stem}.{name}"
        for half in ("reference", "nn")
        for file in (ROOT / "attnlib" / half).glob("[a-z]*.py")
        for name in public_names(file)
    }
    assert len(expected) > 100
    assert set(HALVES) == expected


def test_a_package_with_all_offers_exactly_that() -> None:
    import attnlib.exercises

    offered = {path.removeprefix("exercises.") for path in PACKAGE.symbols if path.startswith("exercises.")}
    assert offered == set(attnlib.exercises.__all__)
    assert PACKAGE.find("attnlib.viz.heatmap.heatmap") == "viz.heatmap"


@pytest.mark.parametrize("module", [docstrings, package, peers, signatures, twins])
def test_the_examples_in_the_extension_hold(module) -> None:
    found = doctest.testmod(module)
    assert found.attempted and not found.failed


def test_a_signature_shows_shapes_as_tuples() -> None:
    text = """def attend(Q: Float[Array, "*b m d_k"], mask: Bool[Array, "m n"] | None = None, *, T: float = 1.0
        ) -> tuple[Float[Array, "*b m d_v"], "Cache"]: ..."""
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef)
    shown = BeautifulSoup(signatures.function_signature(node), "html.parser").text
    assert shown == (
        "attend(\n    Q: (*b, m, d_k),\n    mask: bool (m, n) | None = None,\n    *,\n    T: float = 1.0,\n"
        ") → (*b, m, d_v), Cache"
    )


def test_a_docstring_becomes_text_a_table_and_an_example_with_its_output() -> None:
    doc = "Average (eq-attend).\n\nmask    True = may look;\n        else not\n\n>>> 1 + 1\n2"
    paragraph, table, example = docstrings.parse(doc)
    assert [label["label"] for label in paragraph.findall(docstrings.EquationLabel)] == ["eq-attend"]
    assert table.astext().split("\n\n") == ["mask", "True = may look; else not"]
    assert example.astext() == ">>> 1 + 1\n2"


# ---- The pages ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pages() -> dict[str, BeautifulSoup]:
    files = sorted((SITE / "api").glob("*.html"))
    if not files:
        pytest.skip("the book is not built: run `make book`, then this again.")
    return {file.name: tree(file) for file in files}


@pytest.fixture(scope="module")
def entries(pages) -> dict[str, tuple[str, Tag]]:
    known = {package.anchor_of(path): path for path in [*PACKAGE.modules, *PACKAGE.symbols]}
    return {
        known[str(section["id"])]: (name, section)
        for name, page in pages.items()
        for section in page.select("section.api[id]")
    }


def row(section: Tag, name: str) -> list[Tag]:
    """The links in one line at the foot of an entry."""
    lines = [line for line in section.select(".api-foot > div") if line.dt and line.dt.text == name]
    return lines[0].select("a") if lines else []


def chapters_in_the_book() -> set[str]:
    return {str(int(folder.name[:2])) for folder in SITE.glob("[0-9][0-9]-*")}


def awaited(symbol: package.Symbol) -> bool:
    """Its module says that it belongs to a chapter of which the book has no notebook yet."""
    said = taught_in.CHAPTER.findall(PACKAGE.modules[symbol.home].doc)
    return bool(said) and not chapters_in_the_book() & set(said)


@pytest.mark.built
def test_every_public_name_has_an_entry(entries) -> None:
    assert [path for path in PACKAGE.symbols if path not in entries] == []


@pytest.mark.built
def test_every_name_of_both_halves_has_an_example_or_leads_to_one(entries) -> None:
    def explained(path: str) -> bool:
        own = "&gt;&gt;&gt;" in entries[path][1].decode() and ">>>" in PACKAGE.symbols[path].doc
        return own or bool(row(entries[path][1], "Example"))

    assert [path for path in HALVES if not explained(path)] == []


@pytest.mark.built
def test_every_name_of_both_halves_is_taught_somewhere(entries) -> None:
    untaught = [path for path in HALVES if not row(entries[path][1], "Taught in")]
    assert [path for path in untaught if not awaited(PACKAGE.symbols[path])] == []


@pytest.mark.built
def test_the_output_of_an_example_is_shown(entries) -> None:
    shown = entries["reference.ops.softmax_backward"][1].select_one(".highlight-pycon")
    assert shown is not None and "array([ 0.1875, -0.1875])" in shown.text


@pytest.mark.built
def test_a_label_in_a_docstring_is_the_number_of_the_equation(entries) -> None:
    _, section = entries["reference.attention.attend"]
    (link,) = section.select('p a[href$="#eq-attend"]')
    notebook = (SITE / "01-foundations" / "2-the-attention-function.html").read_text("utf8")
    equation = BeautifulSoup(notebook, "html.parser").select_one("#eq-attend annotation")
    assert equation is not None and f"\\tag{{{link.text}}}" in equation.text


@pytest.mark.built
def test_all_links_of_the_reference_lead_somewhere(pages) -> None:
    dead = []
    for name, page in pages.items():
        for link in page.select(".bd-article a[href]"):
            target = str(link["href"])
            if "://" not in target and not exists(SITE / "api" / name, target):
                dead.append(f"{name}: {target}")
    assert dead == []


def exists(page: Path, target: str) -> bool:
    file, _, anchor = target.partition("#")
    there = (page.parent / file).resolve() if file else page
    return there.exists() and (not anchor or f'id="{anchor}"' in there.read_text("utf8"))


@pytest.mark.built
def test_the_source_link_leads_to_the_lines_of_the_definition(entries) -> None:
    for path in HALVES:
        (link,) = row(entries[path][1], "Source")
        found = re.search(r"/blob/[^/]+/(.*)#L(\d+)-L\d+$", str(link["href"]))
        assert found, link
        line = (ROOT / found[1]).read_text().splitlines()[int(found[2]) - 1]
        assert re.match(rf"(?:def|class) {PACKAGE.symbols[path].name}\b|@", line), path


# ---- And back -------------------------------------------------------------------------------------------------------


def imports(notebook: Path) -> set[str]:
    """The symbols of attnlib that a notebook imports by name."""
    cells = json.loads(notebook.read_text())["cells"]
    found = set()
    for cell in (cell for cell in cells if cell["cell_type"] == "code"):
        for node in ast.walk(ast.parse("".join(cell["source"]))):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("attnlib"):
                found |= {PACKAGE.find(f"{node.module}.{one.name}") for one in node.names}
    return found - {""}


@pytest.mark.built
@pytest.mark.parametrize(
    "notebook", sorted((ROOT / "book").glob("[0-9]*/*.ipynb")), ids=lambda path: path.stem
)
def test_what_a_notebook_imports_is_linked_to_its_entry(notebook: Path) -> None:
    file = SITE / notebook.parent.name / f"{notebook.stem}.html"
    if not file.exists():
        pytest.skip(f"{notebook.stem} is not in the book.")
    links = tree(file).select("a.api[href]")
    assert {str(link["href"]).partition("#")[2] for link in links} >= {
        package.anchor_of(path) for path in imports(notebook)
    }
    assert all(exists(file, str(link["href"])) for link in links)
    reached = [
        str(link["href"]) for link in links if link.find_parent("pre") and "tabindex" not in link.attrs
    ]
    assert len(reached) == len(set(reached)), "the tab key stops once at each entry"

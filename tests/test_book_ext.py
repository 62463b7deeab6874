"""The book's extension: a tiny book is built from the plain conventions, and its pages are read back."""

import doctest
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book"))

SVG = (
    '<?xml version="1.0"?><svg width="9pt" height="9pt" viewBox="0 0 9 9"><title>A rising line.</title>'
    '<defs><clipPath id="p1"><rect width="9" height="9"/></clipPath></defs>'
    '<path clip-path="url(#p1)" style="stroke: #1f2430" d="M0 9L9 0"/>'
    '<defs><path id="Sans-41" d="M 0 1" transform="scale(0.015625)"/></defs><use xlink:href="#Sans-41"/></svg>'
)
FIRST = r"""# First

<a id="s001"></a> <a id="eq-weights"></a>

$$ p_j = \frac{e^{s_j}}{\sum_l e^{s_l}} \tag{1.201} $$

By [(1.201)](#eq-weights) the weights sum to one, see [the row](claims.md#c007) and [Theorem 1.1](#theorem-1-1).

> **Claim checked** · D2 §7 Step 4 · C007 · FALSE
>
> The document says 0.597; it is *0.604*.

> **Pitfall** · Columns do not sum to one
>
> Rows do.

> **Cost** · One query meets $n$ keys.

> **Theorem 1.1** (Hull). The output is in the hull.

> **Proof.** By definition of $n$. ∎

> **Exercise** · write · ★★ · 10 min · foundations.top-k-mask
>
> Write it.

> A plain quotation stays one.

**Predict first.** How much?
"""
SECOND = "# Second\n\nAs [(1.201)](1-first.ipynb#eq-weights) says.\n"
SYSTEMS = [
    {
        "id": "S001",
        "name": "Attention",
        "text": "It averages.",
        "sources": ["D1 §1"],
        "chapter": "01 foundations",
    }
]
CLAIM = {
    "id": "C007", "text": "The output is $0.597$.", "correct": "It is $0.604$.", "verdict": "FALSE",
    "at": "D2 §7 > Step 4 p2 #0000", "evidence": ["computed", "source read"],
    "sources": ["D2 §7 Step 4"], "chapter": "01 foundations",
    "where": "1-first#c007", "proof": "book/1-first.ipynb::C007",
}  # fmt: skip


def notebook(*cells: str | tuple[list[str], str, list]) -> str:
    """A notebook of Markdown cells (strings) and code cells (tags, code, outputs)."""
    made = [
        {"cell_type": "markdown", "metadata": {}, "source": cell}
        if isinstance(cell, str)
        else {
            "cell_type": "code",
            "metadata": {"tags": cell[0]},
            "execution_count": 1,
            "source": cell[1],
            "outputs": cell[2],
        }
        for cell in cells
    ]
    metadata = {
        "kernelspec": {"name": "python3", "display_name": "Python 3"},
        "language_info": {"name": "python"},
    }
    return json.dumps({"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 4})


def drawing() -> tuple[list[str], str, list]:
    data = {"image/svg+xml": SVG, "text/plain": "A rising line."}
    return ["C007"], "x = 1\nassert x == 1", [{"output_type": "display_data", "data": data, "metadata": {}}]


@pytest.fixture(scope="module", autouse=True)
def katex() -> None:
    """KaTeX is fetched once, as for the book itself."""
    subprocess.run([sys.executable, str(ROOT / "tools" / "vendor.py")], check=True)


def book() -> dict[str, str]:
    """The tiny book, file by file; a test changes one of them."""
    ledger = {"systems": SYSTEMS, "claims": [CLAIM], "equations": []}
    lists = {f"book/{kind}.md": f"# {kind}\n\n```{{ledger}} {kind}\n```\n" for kind in ledger}
    return {
        "book/index.md": "# Book\n\n```{toctree}\n1-first\n2-second\nsystems\nequations\nclaims\n```\n",
        "book/1-first.ipynb": notebook(FIRST, drawing(), drawing()),
        "book/2-second.md": SECOND,
        **lists,
        **{f"book/ledger/{kind}.yml": json.dumps(rows) for kind, rows in ledger.items()},
    }


def build(folder: Path, files: dict[str, str]) -> str:
    """Write the files, build the book, and return the warnings."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    warnings = io.StringIO()
    settings = {
        "extensions": ["myst_nb", "_ext"],
        "master_doc": "book/index",
        "exclude_patterns": ["_build"],
        "html_theme": "basic",
        "nb_execution_mode": "off",
        "myst_enable_extensions": ["dollarmath"],
        "html_math_renderer": "course_katex",
        "suppress_warnings": ["myst.domains"],
    }
    out = folder / "_build" / "html"
    with docutils_namespace():
        trees = str(folder / "_build" / "trees")
        Sphinx(str(folder), None, str(out), trees, "html", settings, status=None, warning=warnings).build()
    return warnings.getvalue()


def page(folder: Path, name: str) -> BeautifulSoup:
    return BeautifulSoup((folder / "_build" / "html" / "book" / f"{name}.html").read_text(), "html.parser")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("book")
    assert build(folder, book()) == ""
    return folder


@pytest.fixture(scope="module")
def first(built: Path) -> BeautifulSoup:
    return page(built, "1-first")


def only(soup: BeautifulSoup, selector: str):
    found = soup.select(selector)
    assert len(found) == 1, f"{selector}: {len(found)} elements"
    return found[0]


def test_an_equation_has_its_anchor_its_number_and_no_script(first: BeautifulSoup) -> None:
    equation = only(first, "div.math#eq-weights")
    assert "1.201" in equation.select_one(".tag").text  # type: ignore[union-attr]
    assert equation.select_one("math annotation").text.startswith("p_j")  # type: ignore[union-attr]
    assert only(first, 'a[href="#eq-weights"]').text == "(1.201)"
    assert not first.select('script[src*="katex"], script[src*="mathjax"]')


def test_rows_and_equations_are_listed_by_the_page_on_which_they_stand(built: Path) -> None:
    text = (built / "_build" / "html" / "_static" / "places.js").read_text()
    listed = json.loads(text.removeprefix("window.places = ").removesuffix(";\n"))
    assert "eq-weights" in listed["book/1-first"].split()
    assert [page for page, places in listed.items() if "eq-weights" in places.split()] == ["book/1-first"]


def test_a_formula_keeps_its_comma_and_its_parenthesis(tmp_path: Path) -> None:
    text = "# Second\n\nBy ($d_k$), or the $k$-th of $n$ keys.\n"
    assert build(tmp_path, book() | {"book/2-second.md": text}) == ""
    paragraph = only(page(tmp_path, "2-second"), "section > p")
    for hidden in paragraph.select(".katex-mathml"):
        hidden.decompose()
    assert [kept.text for kept in paragraph.select(".together")] == ["(dk\u200b),", "k-th"]
    assert paragraph.text == "By (dk\u200b), or the k-th of n keys."


def test_a_ledger_anchor_shows_a_badge_that_leads_to_its_row(built: Path, first: BeautifulSoup) -> None:
    assert only(first, "#s001")["href"] == "systems.html#s001"
    assert only(page(built, "systems"), "li#s001").select_one(".row-name").text == "Attention"  # type: ignore[union-attr]


def test_the_anchor_of_a_heading_stands_below_it(tmp_path: Path) -> None:
    text = '# Second\n\n## A\n\n### B\n\nText.\n\n<a id="s001"></a>\n\n## C\n\nMore.\n'
    assert build(tmp_path, book() | {"book/2-second.md": text}) == ""
    heading = only(page(tmp_path, "2-second"), "section#c > h2")
    assert heading.find_next_sibling().select_one("#s001")  # type: ignore[union-attr]


def test_a_claim_box_names_source_row_and_verdict(first: BeautifulSoup) -> None:
    box = only(first, ".frame-claim")
    assert box["id"] == "c007"
    assert only(box, ".verdict").text == "false"
    assert only(box, ".frame-source").text == "D2 §7 Step 4"
    assert only(box, "a.badge-row")["href"] == "claims.html#c007"
    assert only(box, "em").text == "0.604"


def test_callouts_theorems_and_exercises_are_framed_and_a_quotation_is_not(first: BeautifulSoup) -> None:
    assert only(first, ".frame-pitfall .frame-title").text == "Columns do not sum to one"
    assert "One query meets" in only(first, ".frame-cost > p:last-child").text
    assert only(first, ".frame-theorem")["id"] == "theorem-1-1"
    assert only(first, ".frame-proof .frame-kind").text == "Proof."
    assert "∎" not in only(first, ".frame-proof").text, "the style sheet draws it"
    exercise = only(first, ".frame-exercise")
    assert exercise["id"] == "ex-foundations-top-k-mask"
    assert only(exercise, ".level")["aria-label"] == "medium"
    assert "stays one" in only(first, "blockquote").text
    assert only(first, "p.predict").text.startswith("Predict first.")


def test_figures_are_part_of_the_page_with_names_of_their_own(first: BeautifulSoup) -> None:
    figures = first.select(".drawing > svg")
    assert [figure["aria-label"] for figure in figures] == ["A rising line."] * 2
    assert [only(figure, "clippath")["id"] for figure in figures] == ["f1-p1", "f2-p1"]
    assert [figure.select_one("path")["clip-path"] for figure in figures] == ["url(#f1-p1)", "url(#f2-p1)"]  # type: ignore[index]
    assert all("currentColor" in str(figure) and "#1f2430" not in str(figure) for figure in figures)
    assert not first.select("img")
    assert len(first.select("#letter-Sans-41")) == 1, "letters are defined once"
    assert [figure.select_one("use")["xlink:href"] for figure in figures] == ["#letter-Sans-41"] * 2  # type: ignore[index]


def test_a_cell_that_asserts_a_row_and_the_row_lead_to_each_other(built: Path, first: BeautifulSoup) -> None:
    assert only(first, "#proof-c007").select_one(".asserts a")["href"] == "claims.html#c007"  # type: ignore[index]
    links = [a["href"] for a in only(page(built, "claims"), "li#c007").select(".row-links a")]
    assert links == ["1-first.html#c007", "1-first.html#proof-c007"]


def test_a_ledger_page_lists_its_rows_without_scripts(built: Path) -> None:
    claims = page(built, "claims")
    row = only(claims, "ol.ledger > li")
    assert (row["data-verdict"], row["data-documents"], row["data-chapter"]) == (
        "false",
        "D2",
        "01 foundations",
    )
    assert only(row, ".row-correct").text.startswith("What holds:")
    assert only(row, ".row-evidence").text == "computed, source read"
    assert row["data-evidence"] == "computed\nsource read"
    assert only(row, ".row-links").text.startswith("Said in D2 §7 > Step 4 p2 · Taught in")
    assert only(claims, ".ledger-summary").text == "1 rows: 1 false."


def test_a_true_and_incomplete_claim_says_so_and_what_to_add(tmp_path: Path) -> None:
    row = CLAIM | {"verdict": "INCOMPLETE"}
    files = book() | {"book/ledger/claims.yml": json.dumps([row])}
    files["book/1-first.ipynb"] = files["book/1-first.ipynb"].replace(
        "C007 \\u00b7 FALSE", "C007 \\u00b7 INCOMPLETE"
    )
    assert build(tmp_path, files) == ""
    box = only(page(tmp_path, "1-first"), ".frame-claim")
    assert "is-incomplete" in box["class"]
    assert only(box, ".verdict").text == "true, incomplete"
    claims = page(tmp_path, "claims")
    row = only(claims, "ol.ledger > li")
    assert (row["data-verdict"], only(row, ".verdict").text) == ("true, incomplete", "true, incomplete")
    assert only(row, ".row-correct").text.startswith("To add:")
    assert only(claims, ".ledger-summary").text == "1 rows: 1 true, incomplete."


def test_a_link_to_another_page_brings_the_equation_along_for_its_preview(built: Path) -> None:
    second = page(built, "2-second")
    assert only(second, 'a[href="1-first.html#eq-weights"]').text == "(1.201)"
    assert only(second, 'template[data-equation="eq-weights"]').select_one(".katex")


PLANTED = {
    "a dead link on the page": ("See [(9)](#eq-nowhere).", "eq-nowhere"),
    "a dead link to another page": ("See [(9)](2-second.md#eq-nowhere).", "eq-nowhere"),
    "a macro that KaTeX does not know": (r"$\softmax x$", "Undefined control sequence"),
    "a letter that KaTeX has no metrics for": ("$☃$", "No character metrics"),
    "a macro that Colab does not know": (r"$\bm{x}$", "not in Jupyter and Colab"),
    "an equation's anchor without an equation": (
        '<a id="eq-lost"></a>\n\nText.',
        "the next block must be $$...$$",
    ),
    "one anchor twice": ('<a id="s002"></a>\n\nText.\n\n<a id="s002"></a>\n\nText.', "occurs twice"),
    "a claim box without a verdict": (
        "> **Claim checked** · D2 §7 · C008\n>\n> Text.",
        "the first line must read",
    ),
    "a verdict other than the ledger's": (
        "> **Claim checked** · D2 · C007 · TRUE\n>\n> Text.",
        "the ledger says FALSE",
    ),
    "one label in two pages": ('<a id="eq-weights"></a>\n\n$$ a $$', "rename one"),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_a_warning_now_and_in_the_next_build(fault: str, tmp_path: Path) -> None:
    text, expected = PLANTED[fault]
    files = book() | {"book/2-second.md": f"# Second\n\n{text}\n"}
    assert expected in build(tmp_path, files)
    assert expected in build(tmp_path, files), "a build with warnings must not pass when it is repeated"


def test_a_row_taught_at_a_place_that_is_not_there_is_a_warning(tmp_path: Path) -> None:
    row = CLAIM | {"where": "1-first#c999"}
    assert "no such anchor" in build(tmp_path, book() | {"book/ledger/claims.yml": json.dumps([row])})


def test_an_unchanged_book_is_not_written_again_and_a_changed_row_rewrites_its_pages(tmp_path: Path) -> None:
    files = book()
    build(tmp_path, files)
    out = tmp_path / "_build" / "html" / "book"
    before = {file.name: file.stat().st_mtime_ns for file in out.glob("*.html")}
    build(tmp_path, files)
    assert before == {file.name: file.stat().st_mtime_ns for file in out.glob("*.html")}
    renamed = [SYSTEMS[0] | {"name": "Attention, renamed"}]
    build(tmp_path, files | {"book/ledger/systems.yml": json.dumps(renamed)})
    changed = {file.name for file in out.glob("*.html") if file.stat().st_mtime_ns != before[file.name]}
    assert changed - {"index.html"} == {"systems.html", "1-first.html"}
    assert only(page(tmp_path, "1-first"), "#s001")["title"] == "Attention, renamed"


def test_missing_fonts_are_said_with_the_command_that_fetches_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("_ext.pages.KATEX", tmp_path / "katex.min.js")
    with pytest.raises(Exception, match="tools/vendor.py"):
        build(tmp_path, book())


@pytest.mark.parametrize("module", ["figures", "ledger", "maths", "outputs", "pages", "proofs"])
def test_the_examples_in_the_extension_hold(module: str) -> None:
    found = doctest.testmod(__import__(f"_ext.{module}", fromlist=["_ext"]))
    assert found.attempted and not found.failed

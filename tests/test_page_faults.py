"""Faults planted one at a time: a named check sees each of them, and finds nothing where none is planted.

What is planted, and which check must see it, is the table in page_faults.py. At the end stand the few checks that no
other file has.
"""

import dataclasses
import inspect
import json
import os
import random
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from gzip_server import Server, serving
from page_faults import (
    AXE,
    ELSEWHERE,
    GROUPS,
    LOADED,
    NOTEBOOK,
    NOTEBOOKS,
    OPENED,
    OWES,
    PACKED,
    PAGE,
    PRINTED,
    ROWS,
    SEARCH,
    SITES,
    SOUND,
    Fault,
)
from test_pages import ROOT, SITE, Opened, browser, in_dark, inaccessible, missing, over  # noqa: F401
from waits import loaded

built = pytest.mark.built


def named(check: str) -> Any:
    module, _, name = check.partition(".")
    return getattr(import_module(module), name)


def checks(faults: dict[str, Fault]) -> list[str]:
    """The checks that notice these faults, each once."""
    return sorted({fault.noticed_by for fault in faults.values()})


def said(check: Callable[..., Any], *given: Any) -> str:
    """What a check says, which is nothing if it is content: a list of faults, or a test that fails."""
    try:
        return " ".join(check(*given) or [])
    except AssertionError as error:
        return str(error) or "it fails"


def planted(text: str, fault: Fault) -> str:
    """A file's text with a fault in it."""
    new, times = re.subn(*fault.planted, text, count=1, flags=re.S)
    assert times == 1, f"{fault.planted[0]} does not stand there: nothing was planted"
    return new


def test_there_are_forty_kinds_and_each_that_another_test_plants_is_in_its_table() -> None:
    assert sum(map(len, GROUPS.values())) >= 40
    for name, table in ELSEWHERE.items():
        assert name in named(table), f"{table} no longer has {name!r}"


# ---- In a browser ---------------------------------------------------------------------------------------------------

CALLS: dict[str, Callable[[Opened, Server], list[str]]] = {
    "test_pages.Opened": lambda opened, server: opened.faults,
    "test_pages.weight_faults": lambda opened, server: named("test_pages.weight_faults")(server, opened.page),
    "test_pages.on_the_way_down": lambda o, server: over(named("test_pages.on_the_way_down")(o.page)),
    f"{AXE} in dark": lambda opened, server: faults_in_dark(opened.page),
}


def faults_in_dark(page: Any) -> list[str]:
    """Those that only the dark has."""
    light = inaccessible(page, colours_only=True)
    in_dark(page)
    return [] if light else inaccessible(page, colours_only=True)


def asked(check: str, opened: Opened, server: Server) -> str:
    return " ".join(CALLS[check](opened, server) if check in CALLS else named(check)(opened.page))


def sound_page(fault: Fault | None = None) -> str:
    """The sound page, or the same with a fault in it."""
    if fault is None or isinstance(fault.planted, tuple):
        page = SOUND.replace("%s", "<p>All is well.</p>")
        return page.replace(*fault.planted) if fault else page
    return SOUND.replace("%s", fault.planted)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("pages")
    (folder / "sound.html").write_text(sound_page())
    for number, fault in enumerate(LOADED.values()):
        (folder / f"{number}.html").write_text(sound_page(fault))
    (folder / "noise.png").write_bytes(random.Random(0).randbytes(600_000))
    (folder / "x.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    with serving(folder) as running:
        yield running


@pytest.fixture(scope="module")
def opened(browser: Any, server: Server) -> Iterator[Opened]:  # noqa: F811
    with Opened(browser, f"{server.address}sound.html", 390) as sound:
        yield sound


@pytest.mark.browser
@pytest.mark.parametrize("check", checks(OPENED))
def test_a_sound_page_is_sound(check: str, opened: Opened, server: Server) -> None:
    opened.page.set_content(sound_page())
    assert asked(check, opened, server) == ""


@pytest.mark.browser
@pytest.mark.parametrize("name", OPENED)
def test_a_fault_of_an_open_page_is_seen(name: str, opened: Opened, server: Server) -> None:
    opened.page.set_content(sound_page(OPENED[name]))
    assert OPENED[name].says in asked(OPENED[name].noticed_by, opened, server)


def when_loaded(page: str, wanted: list[str], browser: Any, server: Server) -> str:  # noqa: F811
    server.forget()
    with Opened(browser, f"{server.address}{page}.html", 390) as opened:
        loaded(opened.page)
        return " ".join(asked(check, opened, server) for check in wanted).strip()


@pytest.mark.browser
def test_a_sound_page_loads_soundly(browser: Any, server: Server) -> None:  # noqa: F811
    assert when_loaded("sound", checks(LOADED), browser, server) == ""


@pytest.mark.browser
@pytest.mark.parametrize("number", range(len(LOADED)), ids=list(LOADED))
def test_a_fault_while_a_page_loads_is_seen(number: int, browser: Any, server: Server) -> None:  # noqa: F811
    fault = list(LOADED.values())[number]
    assert fault.says in when_loaded(str(number), [fault.noticed_by], browser, server)


# ---- In the files of the book ---------------------------------------------------------------------------------------

SMALL = (
    "<main id='main'><a href='#main'>1</a> <a href='small.html'>2</a> <img src='x.svg' alt='A dot.'></main>"
)
# Where each file of tests looks, so that it looks into a copy with a fault in it.
LOOKS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "test_notebooks": lambda tree: {"ROOT": tree, "PATHS": [tree / NOTEBOOK]},
    "test_prose_numbers": lambda tree: {"BOOK": tree / "book"},
    "test_project": lambda tree: {"tracked": lambda: [tree / NOTEBOOK]},
    "test_site": lambda tree: {"SITE": tree},
    "test_figures": lambda tree: {"SITE": tree},
    "test_reading_helps": lambda tree: {
        "SITE": tree,
        "NOTEBOOKS": [tree / page.relative_to(SITE) for page in named("test_reading_helps.NOTEBOOKS")],
    },
}


def judged(check: str, tree: Path, patch: pytest.MonkeyPatch) -> str:
    """What a check says of the files in a folder."""
    module, function = check.partition(".")[0], named(check)
    for name, value in LOOKS.get(module, lambda tree: {})(tree).items():
        patch.setattr(f"{module}.{name}", value)
    page, notebook = tree / PAGE, tree / NOTEBOOK
    if module == "test_bibliography":
        patch.setattr(f"{module}.SITE", tree)
        if notebook.exists():
            patch.setitem(named(f"{module}.NAMED"), notebook, named(f"{module}.titles")(notebook))
    given: dict[str, Any] = {
        "site": tree.resolve(),
        "page": page,
        "path": notebook,
        "name": NOTEBOOK.removesuffix(".ipynb").removeprefix("book/" if notebook.exists() else ""),
        "file": ROOT / NOTEBOOK if module == "test_bibliography" else page,
    }
    wanted = list(inspect.signature(function).parameters)
    if "notebook" in wanted:
        given["notebook"] = named("test_notebooks.nbformat").read(notebook, as_version=4)
    return said(function, *(given[name] for name in wanted))


def a_notebook(tree: Path, fault: Fault | None = None) -> Path:
    """A folder with one notebook of the book, or the same with a fault in it."""
    text = (ROOT / NOTEBOOK).read_text("utf8")
    (tree / NOTEBOOK).parent.mkdir(parents=True)
    (tree / NOTEBOOK).write_text(planted(text, fault) if fault else text, "utf8")
    shutil.copy(ROOT / "book" / "setup-cell.py", tree / "book")
    return tree


@pytest.mark.parametrize("check", checks(NOTEBOOKS))
def test_a_sound_notebook_is_sound(check: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged(check, a_notebook(tmp_path), monkeypatch) == ""


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_fault_of_a_notebook_is_seen(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = NOTEBOOKS[name]
    found = judged(fault.noticed_by, a_notebook(tmp_path, fault), monkeypatch)
    assert found and fault.says in found


def a_site(tree: Path, name: str, fault: Fault | None = None) -> Path:
    """The built book as a tree of links, or the same with a fault in one file."""
    if name == "small.html":
        (tree / "x.svg").touch()
        (tree / name).write_text(planted(SMALL, fault) if fault else SMALL)
        return tree
    if not (SITE / name).exists():
        missing("the book is not built: run `make book`, then this again.")
    text = (SITE / name).read_text("utf8")
    here, there = tree, SITE
    for part in Path(name).parts:
        for entry in os.scandir(there):
            if entry.name != part:
                (here / entry.name).symlink_to(entry.path)
        here, there = here / part, there / part
        if there.is_dir():
            here.mkdir()
    here.write_text(planted(text, fault) if fault else text, "utf8")
    return tree


PLACES = sorted({(fault.noticed_by, name) for name, fault in SITES.values()})


@built
@pytest.mark.parametrize(("check", "name"), PLACES)
def test_a_sound_file_is_sound(
    check: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert judged(check, a_site(tmp_path, name), monkeypatch) == ""


@built
@pytest.mark.parametrize("name", SITES)
def test_a_fault_of_a_built_file_is_seen(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, fault = SITES[name]
    found = judged(fault.noticed_by, a_site(tmp_path, file, fault), monkeypatch)
    assert found and fault.says in found


@pytest.mark.browser
@pytest.mark.parametrize("name", [None, *SEARCH])
def test_a_fault_of_the_search_is_seen(name: str | None, browser: Any, tmp_path: Path) -> None:  # noqa: F811
    fault = SEARCH[name] if name else None
    check = fault.noticed_by if fault else checks(SEARCH)[0]
    with serving(a_site(tmp_path, "_static/search-data.js", fault)) as searched:
        found = said(named(check), False, browser, searched.address, lambda *shown: None)
    assert (fault.says in found) if fault else found == ""


# ---- In what readers take with them: a small book with the pages of the real one -------------------------------------

STUB = '{}<h1>{}<a class="headerlink"></a></h1><article><p>The last words, which are few.</p></article>'


@pytest.fixture
def downloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """test_downloads.py, made to look at the small book."""
    module = import_module("test_downloads")
    for page in module.PAGES:
        file = tmp_path / "site" / f"{page.name}.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(STUB.format('<script src="x.js"></script>' * 6, page.name))
    monkeypatch.setattr(module, "SITE", tmp_path / "site")
    monkeypatch.setattr(module, "title", lambda page: page.name)
    monkeypatch.setattr(module, "SUBJECTS", {})
    return module


@pytest.mark.parametrize("name", [None, *PACKED])
def test_a_fault_of_the_archive_is_seen(name: str | None, downloads: Any, tmp_path: Path) -> None:
    fault = PACKED[name] if name else None
    if fault:
        page, text = fault.planted
        file = downloads.SITE / page
        file.unlink() if text is None else file.write_text(text)
    found = said(named(checks(PACKED)[0]), tmp_path)
    assert (found and fault.says in found) if fault else found == ""


def of_the_pdf(check: str, downloads: Any, patch: pytest.MonkeyPatch, *planted: tuple[int, str]) -> str:
    """What a check says of the words of a PDF, with others on one sheet."""
    numbers = {page.key: 3 + 6 * i for i, page in enumerate(downloads.PAGES)}
    starts = [f"{page.name}{numbers[page.key]}" for page in downloads.PAGES]
    sheets = ["x", "".join(starts), *(sheet for start in starts for sheet in (start, *"xxxxx"))]
    sheets[-1] = "Thelastwords,whicharefew."
    for sheet, words in planted:
        sheets[sheet] = words
    patch.setattr(downloads.make_pdf, "page_numbers", lambda pdf: numbers)
    test = named(check)
    return said(test, *({"pdf": None, "texts": sheets}[name] for name in inspect.signature(test).parameters))


@pytest.mark.parametrize("check", checks(PRINTED))
def test_a_sound_pdf_is_sound(check: str, downloads: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert of_the_pdf(check, downloads, monkeypatch) == ""


@pytest.mark.parametrize("name", PRINTED)
def test_a_fault_of_the_pdf_is_seen(name: str, downloads: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = PRINTED[name]
    found = of_the_pdf(fault.noticed_by, downloads, monkeypatch, fault.planted)
    assert found and fault.says in found


# ---- In the ledger --------------------------------------------------------------------------------------------------


def of_the_ledger(check: str, patch: pytest.MonkeyPatch, planted: dict[str, Any] | None) -> str:
    """What a check says of the ledger with another row C007, or without it."""
    ledger = import_module("test_ledger")
    row = ledger.ROWS["C007"]
    rows = {row.id: row} if check == OWES else dict(ledger.ROWS)  # the others are looked at there
    if planted is None:
        del rows[row.id]
    else:
        rows[row.id] = dataclasses.replace(row, **planted)
    patch.setattr(ledger, "ROWS", rows)
    return said(named(check))


@built
@pytest.mark.parametrize("check", checks(ROWS))
def test_a_sound_ledger_is_sound(check: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert of_the_ledger(check, monkeypatch, {}) == ""


@built
@pytest.mark.parametrize("name", ROWS)
def test_a_fault_of_the_ledger_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = ROWS[name]
    found = of_the_ledger(fault.noticed_by, monkeypatch, fault.planted)
    assert found and fault.says in found


# ---- Checks of this file --------------------------------------------------------------------------------------------

IDS = re.compile(r'<[^>]+?\sid="([^"]+)"')
TABLES = re.compile(r"<table.*?</table>", re.S)
FILES = re.compile(r'(?:alt|aria-label)="([^" ]+\.(?:png|svg|jpe?g|gif|webp))"')
NO_ROW = re.compile(r'<span class="badge-row[^>]*>([^<]*)<')  # a badge whose row exists is a link


def marked_wrongly(page: Path) -> list[str]:
    """What axe does not see: an id twice, a table without headers, a picture named by its file, a row that is none."""
    html = page.read_text("utf8")
    found = [
        f"the id {name} occurs {times} times"
        for name, times in Counter(IDS.findall(html)).items()
        if times > 1
    ]
    found += [
        f"a table without headers: {table[:80]}" for table in TABLES.findall(html) if "<th" not in table
    ]
    found += [f"a picture named by its file: {name}" for name in FILES.findall(html)]
    return found + [f"{name} is no row of the ledger" for name in NO_ROW.findall(html)]


@built
def test_no_page_is_marked_wrongly() -> None:
    pages = import_module("page_speed").pages()
    if not pages:
        missing("the book is not built: run `make book`, then this again.")
    found = [f"{name}: {fault}" for name in pages for fault in marked_wrongly(SITE / name)]
    assert not found, "\n".join(found)


INTRODUCED = re.compile(
    r"\b(?:called|calls?(?: it| this| that| them)?|known as|named?)\s+(?:an?\s+|the\s+)?\*\*([^*]+)\*\*"
)
KNOWN_WORDS = {"decoupled"}  # said of a decay, which the glossary has


def unexplained(path: Path) -> list[str]:
    """The terms that a notebook introduces (called **so**) and the glossary does not have."""
    glossary = import_module("test_search").glossary
    known = glossary.pattern([*glossary.read_glossary(ROOT / "book" / "glossary.md"), *KNOWN_WORDS])
    cells = json.loads(path.read_text("utf8"))["cells"]
    texts = [" ".join("".join(cell["source"]).split()) for cell in cells if cell["cell_type"] == "markdown"]
    return [term for text in texts for term in INTRODUCED.findall(text) if not known.fullmatch(term)]


def test_each_term_that_a_notebook_introduces_is_in_the_glossary() -> None:
    found = {path.stem: unexplained(path) for path in sorted((ROOT / "book").glob("[0-9]*/[0-9]*.ipynb"))}
    assert found and not any(found.values()), found

"""The book's one style sheet: what it keeps, what it leaves out, and that the finished pages ask for nothing else."""

import doctest
import importlib
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "_build" / "html"
sys.path.insert(0, str(ROOT / "book"))

fewer_elements, styles = (importlib.import_module(f"_ext.{name}") for name in ("fewer_elements", "styles"))


@pytest.mark.parametrize("module", [fewer_elements, styles])
def test_the_examples_in_the_code_hold(module):
    result = doctest.testmod(module)
    assert result.attempted and not result.failed


@pytest.mark.parametrize(
    ("css", "kept"),
    [
        (".used { top: 0 }", True),
        (".unused { top: 0 }", False),
        ("#used .unused { top: 0 }", False),
        (".unused, p { top: 0 }", True),
        ("p:not(.unused) { top: 0 }", True),
        (":is(.unused, .other) { top: 0 }", True),
        ('[class*=".unused"] { top: 0 }', True),
        ("@media print { .unused { top: 0 } }", False),
        ("@media print { .used { top: 0 } }", True),
        ("@font-face { font-family: Used }", True),
        (".used { }", False),
    ],
)
def test_a_rule_stays_if_a_page_may_need_it(css, kept):
    assert bool(styles.purge(styles.parse(css), {"used"})) is kept


def test_of_several_selectors_those_stay_that_a_page_may_need():
    assert (
        styles.text_of(styles.purge(styles.parse(".gone, .used > a{top:0}"), {"used"}))
        == ".used > a { top:0 }"
    )


def test_words_come_from_classes_ids_and_scripts_but_not_from_prose():
    page = '<p class="a b" id="c">d</p><script>toggle("e-f")</script>'
    assert {"a", "b", "c", "e-f", "toggle", "g"} == styles.words_of([page], ["g"])


def test_imported_sheets_stand_in_place_and_their_addresses_hold(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.css").write_text('@import "../b.css"; i { background: url(x.png) }')
    (tmp_path / "b.css").write_text('b { background: url("data:,x") }')
    assert [str(rule) for rule in styles.rules_of(tmp_path, "deep/a.css")] == [
        "('b', 'background: url(\"data:,x\")')",
        "('i', 'background: url(\"deep/x.png\")')",
    ]


@pytest.mark.built
def test_a_page_asks_for_one_style_sheet_and_for_none_of_the_theme_s_scripts():
    texts = {page: page.read_text("utf8") for page in SITE.rglob("*.html") if "_static" not in page.parts}
    pages = {page: text for page, text in texts.items() if "bd-main" in text}  # not those that only lead on
    if not pages:
        pytest.skip("the book is not built: run `make book`, then this again.")
    for page, text in pages.items():
        assert re.findall(r'<link rel="stylesheet" href="[^"]*/([\w.-]+)\?', text) == ["book.css"], page
        assert not re.search(r"_static/(scripts/|copybutton|clipboard)", text), page
    for address in re.findall(r"url\(\"?([^\")]+)", (SITE / "_static" / "book.css").read_text("utf8")):
        assert address.startswith("data:") or (SITE / "_static" / address).exists(), address

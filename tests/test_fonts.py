"""The fonts in the pages' style sheet: every letter that the book uses, the weights that it asks for, no more bytes."""

import doctest
import importlib
import re
import sys
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont
from letters_drawn import SERIF, STATIC, cmap, drawn, lacking, shipped, vendored
from test_pages import PAGES, browser, origin  # noqa: F401
from waits import patient

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book"))

fonts, letters, styles = (importlib.import_module(f"_ext.{name}") for name in ("fonts", "letters", "styles"))

pytestmark = pytest.mark.built  # `make book` fetches the fonts
if not SERIF.exists():
    pytest.skip("the fonts are not fetched: run `make book`, then this again.", allow_module_level=True)


@pytest.mark.parametrize("module", [fonts, letters])
def test_the_examples_in_the_code_hold(module):
    result = doctest.testmod(module)
    assert result.attempted and not result.failed


def test_a_cut_font_has_the_kept_letters_and_weights_and_is_cut_once(tmp_path):
    kept = frozenset("Attention é")
    made = fonts.cut_once(SERIF, kept, tmp_path)
    font = TTFont(made)
    assert cmap(made.read_bytes()) == kept
    assert [(axis.axisTag, axis.minValue, axis.maxValue) for axis in font["fvar"].axes] == [
        ("wght", 400, 700)
    ]
    assert made.stat().st_size < SERIF.stat().st_size / 4
    assert "Adobe" in (font["name"].getDebugName(0) or "") and font["name"].getDebugName(1) is None
    before = made.stat().st_mtime_ns
    assert fonts.cut_once(SERIF, kept, tmp_path) == made and made.stat().st_mtime_ns == before
    again = fonts.cut_once(SERIF, kept | {"!"}, tmp_path)
    assert cmap(again.read_bytes()) == kept | {"!"} and not made.exists(), (
        "what is no longer asked for is not kept"
    )


def test_a_font_in_which_nothing_is_written_is_left_out(tmp_path):
    (tmp_path / "a.woff2").write_bytes(SERIF.read_bytes())
    faces = [
        f'@font-face {{ font-family: {name}; src: url("a.woff2") }}\n' for name in ("KaTeX_Script", "Serif")
    ]
    sheet = fonts.embed("".join(faces) + "p { top: 0 }", ["<p>A</p>"], [], tmp_path, tmp_path / "store")
    assert "KaTeX" not in sheet and 'url("data:font/woff2;base64,' in sheet and "p { top: 0 }" in sheet
    assert len(sheet) < SERIF.stat().st_size


def test_letters_of_formulas_are_sorted_by_the_font_that_the_classes_mean():
    css = """.katex .mathbf { font-weight:700 } .katex .mathnormal { font-family:KaTeX_Math;font-style:italic }
    .katex .delimsizing.mult .delim-size1>span { font-family:KaTeX_Size1 }"""
    page = """<span class="mathbf">no formula</span><span class="katex-html" aria-hidden="true">
    <span class="mord mathbf">B<span class="mathnormal">C</span></span><span class="mult delimsizing"><svg><path/></svg>
    <span class="delim-size1"><span>(</span></span></span><span class="delim-size1">&lt;</span></span><b>outside</b>"""
    found = letters.letters([page], css)
    named = {tuple(face): "".join(sorted(text - set(" \n"))) for face, text in found.items()}
    assert named == {
        ("KaTeX_Main", "normal", "400"): "<",
        ("KaTeX_Main", "normal", "700"): "B",
        ("KaTeX_Math", "italic", "700"): "C",
        ("KaTeX_Size1", "normal", "400"): "(",
    }


def test_the_style_sheet_asks_for_no_weight_that_was_cut():
    style = (ROOT / "book" / "_static" / "course.css").read_text("utf8")
    asked = {int(weight) for weight in re.findall(r"font(?:-weight)?:\s*(\d{3})\b(?! 900)", style)}
    lightest, heaviest = fonts.WEIGHTS["normal"]
    assert asked and min(asked) >= lightest and max(asked) <= heaviest


def test_no_font_comes_beside_the_style_sheet_and_a_page_reads_them_before_it_shows_text():
    if not PAGES:
        pytest.skip("the book is not built: run `make book`, then this again.")
    assert len(shipped()) > 8
    assert not list(STATIC.rglob("*.woff2"))
    for name in PAGES:
        page = (STATIC.parent / name).read_text("utf8")
        assert page.count(styles.READ_FONTS) == page.count("/book.css?v="), name


PLANTED = """([family, text]) => {
  document.querySelector('.bd-article').insertAdjacentHTML('beforeend', `<p style="font: 16px ${family}">${text}</p>`);
}"""


@pytest.mark.browser
def test_a_letter_that_a_shipped_font_lacks_is_noticed_where_a_page_draws_it(browser, origin):  # noqa: F811
    """Each page is asked where it is opened from the disk, in test_pages.py and test_explorable_pages.py."""
    outside = min(
        vendored() - set().union(*(cmap(font) for face, font in shipped().items() if "Serif" in face.family))
    )
    page = patient(browser.new_page())
    page.goto(f"{origin}book/01-foundations/4-softmax-and-scale.html")
    assert len({family for family, *_ in drawn(page)}) > 5 and lacking(page) == []
    page.evaluate(PLANTED, ["KaTeX_Main", "\u6f22"])
    page.evaluate(PLANTED, ["Source Serif 4", outside])
    assert sorted(sentence.split()[-1] for sentence in lacking(page)) == [outside, "\u6f22"]
    page.close()

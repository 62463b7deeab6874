"""The fonts that the pages ship: every letter that the book uses, the weights that it asks for, and no more bytes."""

import importlib
import re
import sys
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book"))

fonts = importlib.import_module("_ext.fonts")

pytestmark = pytest.mark.built  # `make book` fetches the fonts
VENDORED = ROOT / "book" / "_vendor" / "site"
SITE = ROOT / "_build" / "html"
SERIF = VENDORED / "fonts" / "source-serif-4-latin-wght-normal.woff2"
if not SERIF.exists():
    pytest.skip("the fonts are not fetched: run `make book`, then this again.", allow_module_level=True)


def letters(file: Path) -> set[str]:
    return set(map(chr, TTFont(file)["cmap"].getBestCmap() or ()))


def test_a_cut_font_has_the_kept_letters_and_weights_and_is_cut_once(tmp_path):
    kept = frozenset("Attention é")
    made = fonts.cut_once(SERIF, kept, tmp_path)
    font = TTFont(made)
    assert letters(made) == kept
    assert [(axis.axisTag, axis.minValue, axis.maxValue) for axis in font["fvar"].axes] == [
        ("wght", 400, 700)
    ]
    assert made.stat().st_size < SERIF.stat().st_size / 4
    assert "Adobe" in (font["name"].getDebugName(0) or "") and font["name"].getDebugName(1) is None
    before = made.stat().st_mtime_ns
    assert fonts.cut_once(SERIF, kept, tmp_path) == made and made.stat().st_mtime_ns == before
    again = fonts.cut_once(SERIF, kept | {"!"}, tmp_path)
    assert letters(again) == kept | {"!"} and not made.exists(), "what is no longer asked for is not kept"


def test_the_style_sheet_asks_for_no_weight_that_was_cut():
    style = (ROOT / "book" / "_static" / "course.css").read_text("utf8")
    asked = {int(weight) for weight in re.findall(r"font(?:-weight)?:\s*(\d{3})\b(?! 900)", style)}
    assert asked and min(asked) >= fonts.WEIGHTS[0] and max(asked) <= fonts.WEIGHTS[1]


def test_a_shipped_font_lacks_no_letter_of_the_book():
    if not SITE.exists():
        pytest.skip("the book is not built: run `make book`, then this again.")
    used = fonts.characters(sorted(SITE.rglob("*.html")))
    files = sorted(VENDORED.rglob("*.woff2"))
    assert len(files) > 20
    for file in files:
        shipped = SITE / "_static" / file.relative_to(VENDORED)
        assert letters(shipped) >= used & letters(file), file.name
        assert shipped.stat().st_size < file.stat().st_size

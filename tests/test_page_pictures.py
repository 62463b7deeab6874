"""Which pages count as changed, and what of them is photographed before and after."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import chromium
import page_pictures
import pytest
from page_pictures import Picture
from PIL import Image

SHORT = "<!doctype html><meta charset=utf-8><style>body { margin: 0 }</style><p>one"
LONG = SHORT + '<div style="height: 9000px"></div><p>'


def site(folder: Path, pages: dict[str, str], looks: dict[str, str] | None = None) -> Path:
    for name, text in {**pages, **{f"_static/{name}": text for name, text in (looks or {}).items()}}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_pages_that_say_something_else_are_new_or_gone_have_changed(tmp_path):
    before = site(tmp_path / "before", {"a/same.html": "1", "a/other.html": "1", "a/gone.html": "1"})
    after = site(tmp_path / "after", {"a/same.html": "1", "a/other.html": "2", "a/new.html": "1"})
    assert page_pictures.changed(before, after) == ["a/gone.html", "a/new.html", "a/other.html"]


def test_the_version_of_an_asset_and_the_date_of_a_page_are_no_change(tmp_path):
    text = '<script src="x.js?v={}"></script><p class="last-updated">{}</p>'
    before = site(tmp_path / "before", {"page.html": text.format("0a1", "in May")})
    after = site(tmp_path / "after", {"page.html": text.format("77f", "in June")})
    assert page_pictures.changed(before, after) == []


def test_where_a_style_sheet_has_changed_a_page_of_each_folder_is_shown(tmp_path):
    pages = {"a/1.html": "1", "a/2.html": "1", "b/1.html": "1"}
    before = site(tmp_path / "before", pages, {"course.css": "p { color: red }"})
    after = site(tmp_path / "after", pages, {"course.css": "p { color: blue }"})
    assert page_pictures.changed(before, after) == ["a/1.html", "b/1.html"]


def test_pages_beyond_the_most_that_are_shown_are_named(tmp_path):
    pictures = [Picture("a.html", 390, 0, "before"), Picture("a.html", 390, 0, "after")]
    shown = page_pictures.side_by_side(pictures, ["b.html"])
    assert "Changed, not shown: b.html" in shown
    assert shown.index("a-390-0-before.png") < shown.index("a-390-0-after.png")


@pytest.mark.browser
@pytest.mark.skipif(chromium.PATH is None, reason=chromium.HOW)
def test_both_widths_are_photographed_to_the_end_and_equal_parts_are_left_out(tmp_path):
    before = site(tmp_path / "before", {"long.html": LONG + "one", "gone.html": SHORT})
    after = site(tmp_path / "after", {"long.html": LONG + "two"})
    out = tmp_path / "out"
    with ThreadPoolExecutor() as another:  # this thread may have the loop of other tests' browser
        kept = another.submit(page_pictures.compare, before, after, out).result()
    lower = [Picture("long.html", width, 1, when) for width in (390, 1280) for when in ("before", "after")]
    gone = [Picture("gone.html", width, 0, "before") for width in (390, 1280)]
    assert sorted(kept) == sorted(lower + gone)
    assert {file.name for file in out.glob("*.png")} == {picture.file for picture in kept}
    for picture in lower:
        with Image.open(out / picture.file) as image:
            assert image.width == picture.width and len(set(image.convert("L").tobytes())) > 1
    assert "long.html, 390 px, part 2" in (out / "index.html").read_text()

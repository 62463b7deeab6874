"""The pages Pictures to move and Subjects from A to Z: whole, in order, and each leads where it says."""

import sys
from pathlib import Path

import pytest
from built import tree

ROOT = Path(__file__).resolve().parent.parent
BOOK, SITE = ROOT / "book", ROOT / "_build" / "html"
sys.path.insert(0, str(BOOK))

from _ext import explorables, overviews, search_data  # noqa: E402

from attnlib.viz import explorables as classes  # noqa: E402


def test_every_picture_to_move_has_a_sentence_on_what_can_be_moved() -> None:
    found = [one for pictures in overviews.all_shown(BOOK).values() for one in pictures]
    assert len(found) >= 24
    for one in found:
        said = (getattr(classes, one.name).__doc__ or "").strip().splitlines()[0]
        assert said.endswith("."), f"{one.name}: its docstring begins with a whole sentence; got {said!r}"


@pytest.mark.built
def test_the_gallery_shows_each_picture_once_and_leads_to_a_page_that_has_it() -> None:
    page = tree(SITE / "book/pictures.html")
    shown = page.select(".thumbnail")
    listed = [one for pictures in overviews.all_shown(BOOK).values() for one in pictures]
    assert len(shown) == len(listed)
    for thumbnail, one in zip(shown, listed, strict=True):
        image, link = thumbnail.select_one("img"), thumbnail.select_one("a")
        assert image is not None and link is not None
        assert (SITE / "book" / str(image["src"])).resolve().is_file()
        target = tree(SITE / f"{one.page}.html")
        assert str(link["href"]).endswith(f"{one.page.removeprefix('book/')}.html")
        assert target.select_one(f'.explorable[data-explorable="{one.name}"]') is not None


@pytest.mark.built
def test_the_subjects_stand_in_order_with_the_pages_that_name_them() -> None:
    page = tree(SITE / "book/subjects.html")
    items = page.select("article section section li")
    words = [item.get_text().strip().rpartition(":")[0] for item in items]
    numbered = {
        str(word)
        for name, found in search_data.subjects_of(BOOK).items()
        if name[:1].isdigit()
        for word in found
    }
    assert len(items) == len(numbered) > 500
    assert [w.lower() for w in words] == sorted(
        (w.lower() for w in words), key=lambda w: (overviews.letter(w), w)
    )


def test_the_loader_and_the_gallery_agree_on_what_a_picture_is() -> None:
    assert overviews.VIEW == explorables.VIEW

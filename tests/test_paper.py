"""A page on paper: few sheets, nothing that one would have to press, and no box and no picture in two pieces."""

# ruff: noqa: F811  (fixtures are used by their names)

from collections import Counter
from pathlib import Path
from typing import Any

import budget
import numpy as np
import pypdfium2
import pytest
from test_pages import Opened, browser, origin  # noqa: F401  (the two fixtures are used by their names)

SHEETS = {"core": 12, "side road": 16}
PAGE = "book/04-transformer/2-the-block.html"
TO_PRESS = """() => [...document.querySelectorAll("summary, button, .cell-check, .frame-exercise > details")]
    .filter(one => one.checkVisibility()).map(one => one.textContent.trim())"""
# Each box, and each picture with its caption, gets a colour that nothing else has.
COLOUR = """() => {
  const boxes = [...document.querySelectorAll(".frame, .figure-caption")].filter(one => !one.closest("details"));
  boxes.forEach((box, i) => {
    const picture = box.matches(".figure-caption") ? box.previousElementSibling : box;
    for (const part of [box, picture, picture.querySelector(".drawing")])
      part?.style.setProperty("background", `rgb(1, ${i}, 254)`, "important");
  });
  return boxes.map(box => box.textContent.trim().slice(0, 60));
}"""
MANY = 30  # pixels


def colours(pdf: bytes) -> list[set[int]]:
    """Of each sheet of paper the boxes on it, by the numbers that `COLOUR` gave them."""
    sheets = []
    for page in pypdfium2.PdfDocument(pdf):
        pixels = page.render(scale=0.7).to_numpy()[..., :3].reshape(-1, 3)  # blue, green, red
        ours = pixels[(pixels[:, 0] == 254) & (pixels[:, 2] == 1), 1]
        found, times = np.unique(ours, return_counts=True)
        sheets.append({int(box) for box, n in zip(found, times, strict=True) if n >= MANY})
    return sheets


def printed(page: Any) -> tuple[int, list[str]]:
    """How many sheets a page takes, and the boxes that are on two of them."""
    boxes = page.evaluate(COLOUR)
    sheets = colours(page.pdf(print_background=True, prefer_css_page_size=True))
    on = Counter(box for sheet in sheets for box in sheet)
    assert len(on) == len(boxes)
    return len(sheets), [boxes[box] for box, n in on.items() if n > 1]


@pytest.mark.browser
@pytest.mark.parametrize("file", budget.notebooks(), ids=lambda f: f"{f.parent.name}/{f.stem}")
def test_a_lesson_is_few_sheets_and_no_box_or_picture_is_on_two(
    file: Path, browser: Any, origin: str
) -> None:
    with Opened(browser, f"{origin}book/{file.parent.name}/{file.stem}.html", 1280) as opened:
        kind = "side road" if opened.page.locator(".on-a-side-road").count() else "core"
        sheets, split = printed(opened.page)
    assert sheets <= SHEETS[kind]
    assert split == []


@pytest.mark.browser
def test_a_box_on_two_sheets_is_seen(browser: Any, origin: str) -> None:
    with Opened(browser, origin + PAGE, 1280) as opened:
        opened.page.add_style_tag(content=".frame { break-inside: auto !important; padding-bottom: 16cm }")
        assert printed(opened.page)[1]


@pytest.mark.browser
def test_on_paper_no_help_is_offered_that_nobody_can_open(browser: Any, origin: str) -> None:
    with Opened(browser, origin + PAGE, 1280) as opened:
        assert opened.page.evaluate(TO_PRESS)  # on the screen there are hints, solutions and checks
        opened.page.emulate_media(media="print")
        assert opened.page.evaluate(TO_PRESS) == []
        assert "not attempted yet" not in opened.page.locator("article").inner_text()

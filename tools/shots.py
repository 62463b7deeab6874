"""The pictures of the page `how-to-use`, taken from the built book in light and in dark: `make shots`.

A picture is written only if it is stale, so a second run changes nothing. A test takes each again and compares.
"""

import io
import sys
from pathlib import Path
from typing import Any, NamedTuple

import chromium
import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "book" / "_static" / "shots"
SITE = ROOT / "_build" / "html"
COLOURS = 32  # of a picture
CHANGED = 24  # difference in grey levels that a changed word exceeds, and other font smoothing does not
# A box that begins between two pixels is one pixel higher in some pictures, so it is moved to whole pixels.
ON_WHOLE_DOTS = """e => {
  const top = e.getBoundingClientRect().top;
  Object.assign(e.style, { position: "relative", top: `${Math.round(top) - top}px` });
}"""
SETTLED = "() => document.fonts.ready.then(() => new Promise(done => setTimeout(done, 200)))"


class Shot(NamedTuple):
    """A part of a page: an element, cropped to a height if one is given."""

    page: str
    element: str
    height: int | None = None


CHAPTER = "book/01-foundations/2-the-attention-function.html"
SHOTS = {
    "buttons": Shot(CHAPTER, ".bd-article-container", 234),
    "exercise": Shot(CHAPTER, "#ex-foundations-attention-loops"),
}
COLOURS_OF_THE_PAGE = {"light": "", "dark": "-dark"}  # each with its suffix of the file name


def stored(name: str, colours: str) -> Path:
    return FOLDER / f"{name}{COLOURS_OF_THE_PAGE[colours]}.png"


def opened(browser: Any, colours: str) -> Any:
    """A page 1280 pixels wide, at twice the resolution."""
    size = {"width": 1280, "height": 900}
    context = browser.new_context(
        viewport=size, device_scale_factor=2, color_scheme=colours, reduced_motion="reduce"
    )
    return context.new_page()


def take(page: Any, origin: str, shot: Shot) -> Image.Image:
    """The picture, reduced to few colours."""
    page.goto(origin + shot.page)
    return picture(page, shot)


def picture(page: Any, shot: Shot) -> Image.Image:
    """The picture of a page that is open."""
    element = page.locator(shot.element).first
    for _ in range(2):  # content above may get its height only when scrolled near
        element.scroll_into_view_if_needed()
        page.evaluate(SETTLED)
    if shot.height is None:
        element.evaluate(ON_WHOLE_DOTS)
        png = element.screenshot()
    else:
        page.evaluate("() => window.scrollTo(0, 0)")
        box = element.bounding_box()
        png = page.screenshot(clip=box | {"y": 0, "height": shot.height})
    return Image.open(io.BytesIO(png)).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)


def grey(image: Image.Image) -> np.ndarray:
    """A small grey copy, the mean of each 16 by 16 pixels: it shows changed words, but not font smoothing."""
    small = image.convert("L").resize((image.width // 4, image.height // 4), Image.Resampling.BOX)
    return np.asarray(small.resize((small.width // 4, small.height // 4), Image.Resampling.BOX), dtype=float)


def stale(file: Path, now: Image.Image) -> bool:
    """Whether the stored picture differs from the page."""
    if not file.exists():
        return True
    before, after = grey(Image.open(file)), grey(now)
    return before.shape != after.shape or float(np.abs(before - after).max()) > CHANGED


def keep(image: Image.Image, file: Path) -> None:
    """Write a picture that shows something new."""
    if stale(file, image):
        image.save(file, optimize=True)
        print(f"{file.relative_to(ROOT)}: new, {file.stat().st_size} bytes")


def main() -> int:
    from playwright.sync_api import sync_playwright

    if chromium.PATH is None or not SITE.exists():
        print("make shots: it needs Chromium and the built book. Install Chromium, then run: make shots")
        return 1
    FOLDER.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.PATH, args=chromium.ARGUMENTS)
        for colours in COLOURS_OF_THE_PAGE:
            page = opened(browser, colours)
            for name, shot in SHOTS.items():
                keep(take(page, f"{SITE.as_uri()}/", shot), stored(name, colours))
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

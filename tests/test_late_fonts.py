"""No page moves while it loads or on the way down: on a slow machine without our fonts, to which each font comes late.

The processor is slowed four times, every font that is asked for takes a second, and the machine has one odd font, which
is nearly twice as wide as ours. `make test` opens a few pages, others each week, and names them; `make steady` all.
"""

import base64
import datetime
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chromium
import pytest
from fontTools.ttLib import TTFont
from gzip_server import Server
from page_speed import DONE, OBSERVE, SCROLL
from test_pages import PAGES, WIDTHS, missing, server  # noqa: F401
from waits import limit

pytestmark = pytest.mark.browser

MOST = 0.02
SLOWER = 4
LATE = 1_000  # milliseconds
SAMPLE = 4
PATIENCE = 120_000  # beside other work a slowed page takes its time
ODD = Path(__file__).parent.parent / "book/_vendor/site/katex/fonts/KaTeX_Typewriter-Regular.woff2"
CONFIGURATION = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{0}</dir><cachedir>{0}/cache</cachedir></fontconfig>"""
IN_THE_SHEET = re.compile(r'url\("data:font/woff2;base64,([^"]+)"\)')


def sample() -> list[str]:
    """A few pages, evenly spread over the book; each week they are others. All of them if asked for."""
    if os.environ.get("EVERY_PAGE") or not PAGES:
        return PAGES
    step = -(-len(PAGES) // SAMPLE)
    return PAGES[datetime.date.today().isocalendar().week % step :: step]


@pytest.fixture(scope="module")
def bare(playwright: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A browser on a machine with one odd font."""
    if chromium.PATH is None or not ODD.exists():
        missing("no Chromium, or the book is not built: install the one, `make book`, then run this again.")
    home = tmp_path_factory.mktemp("fonts")
    font = TTFont(ODD)
    font.flavor = None
    font.save(home / "odd.ttf")
    (home / "fonts.conf").write_text(CONFIGURATION.format(home))
    settings: dict[str, Any] = os.environ | {"FONTCONFIG_FILE": str(home / "fonts.conf")}
    running = playwright.chromium.launch(executable_path=chromium.PATH, args=chromium.ARGUMENTS, env=settings)
    yield running
    running.close()


def opened(browser: Any, width: int) -> Any:
    """An empty page on a slowed processor."""
    size = {"width": width, "height": 900}
    page = browser.new_context(viewport=size, has_touch=width < 600, reduced_motion="reduce").new_page()
    page.set_default_timeout(max(PATIENCE, limit()))
    page.add_init_script(OBSERVE)
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    page.route("**/*.woff2", lambda route: (page.wait_for_timeout(LATE), route.continue_()))
    return page


def moves(page: Any, address: str) -> dict[str, float]:
    """How much moves while the page loads, and on the way down to its end."""
    page.goto(address)
    page.evaluate(DONE)
    loading = page.evaluate("() => moved")
    return {"loading": round(loading, 4), "down": round(page.evaluate(SCROLL) - loading, 4)}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", sample() or ["(the book is not built)"])
def test_nothing_moves_though_fonts_are_late_and_the_machine_is_slow(
    name: str,
    width: int,
    bare: Any,
    server: Server,  # noqa: F811
    record_property: Any,
) -> None:
    page = opened(bare, width)
    seen = moves(page, server.address + name)
    page.context.close()
    record_property(
        "shown", f"late fonts: {name:50} {width:5}  loading {seen['loading']:6g}  down {seen['down']:6g}"
    )
    assert seen["loading"] + seen["down"] <= MOST, seen


def test_fonts_beside_the_sheet_would_move_a_page(bare: Any, server: Server) -> None:  # noqa: F811
    """The same page, except that its sheet asks for each font as a file."""
    page, fonts = opened(bare, 1280), []

    def beside(route: Any) -> None:
        fonts[:] = IN_THE_SHEET.findall(sheet := route.fetch().text())
        numbers = iter(range(len(fonts)))
        route.fulfill(
            body=IN_THE_SHEET.sub(lambda _: f"url({next(numbers)}.woff2)", sheet), content_type="text/css"
        )

    def font(route: Any) -> None:
        page.wait_for_timeout(LATE)
        number = int(re.findall(r"(\d+)\.woff2", route.request.url)[0])
        route.fulfill(body=base64.b64decode(fonts[number]), content_type="font/woff2")

    page.route("**/book.css*", beside)
    page.route("**/*.woff2", font)
    page.add_init_script(
        "FontFace.prototype.load = async () => {}"
    )  # as pages do that do not ask for them at once
    seen = moves(page, f"{server.address}book/solutions-01.html")
    page.context.close()
    assert fonts and seen["loading"] > MOST, seen

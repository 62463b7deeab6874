"""Faults planted one at a time: each check of the page suite sees what it is there for, and nothing on a sound page."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gzip_server import Server, serving
from test_pages import (
    Opened,
    browser,  # noqa: F401
    explorable_faults,
    inaccessible,
    keyboard_faults,
    on_the_way_down,
    over,
    overflow,
    torn,
    unnamed_graphics,
    untypeset,
    weight_faults,
)

pytestmark = pytest.mark.browser

SOUND = (
    '<!doctype html><html lang="en" data-theme="light"><head><title>Sound</title><link rel="icon" href="data:,">'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    "<style>:focus { outline: 2px solid }</style></head>"
    '<body><div id="pst-skip-link"><a href="#main-content">Skip to main content</a></div>'
    '<main class="bd-article" id="main-content"><h1>Sound</h1>%s</main></body></html>'
)
Check = Callable[[Opened, Server], list[str]]
FAULTS: dict[str, tuple[str, Check, str]] = {
    "another host": ('<img alt="A dot." src="http://127.0.0.2:9/x.png">', lambda o, s: o.faults, "another host"),
    "a missing file": ('<img alt="A dot." src="gone.png">', lambda o, s: o.faults, "404 for"),
    "a console error": ("<script>console.error('planted')</script>", lambda o, s: o.faults, "console: planted"),
    "a page error": ("<script>nowhere()</script>", lambda o, s: o.faults, "page error"),
    "a formula in red": ('<p class="katex-error">x</p>', lambda o, s: untypeset(o.page), "not typeset"),
    "a formula left as text": (r"<p>So $\alpha_i$ is it.</p>", lambda o, s: untypeset(o.page), "not typeset"),
    "a full stop that stands apart": (
        '<p class="together"><span style="display: inline-block; width: 9em"><span class="base">x</span></span>.</p>',
        lambda o, s: torn(o.page), "not behind its formula",
    ),
    "an image without words": ('<img src="data:,">', lambda o, s: unnamed_graphics(o.page), "without a description"),
    "an image named by its path": (
        '<img alt="../_images/ab12.png" src="data:,">', lambda o, s: unnamed_graphics(o.page), "without a description",
    ),
    "a drawing without words": ("<svg></svg>", lambda o, s: unnamed_graphics(o.page), "without a description"),
    "a wide page": ('<pre style="width: 900px">x</pre>', lambda o, s: overflow(o.page), "wider than the screen"),
    "faint text": ('<p style="color: #aaa">Faint.</p>', lambda o, s: inaccessible(o.page), "axe color-contrast"),
    "faint focus": (
        "<style>a { outline: 0 !important }</style>", lambda o, s: keyboard_faults(o.page), "not visible on <a",
    ),
    "no skip link": (
        "<style>#pst-skip-link { display: none }</style>", lambda o, s: keyboard_faults(o.page), "skip link",
    ),
    "a trap for Tab": (
        "<button onkeydown='event.preventDefault()'>x</button>", lambda o, s: keyboard_faults(o.page), "come out",
    ),
    "an explorable whose script throws": (
        '<div data-explorable="scores"></div><script>throw new Error("no scores")</script>',
        lambda o, s: o.faults + explorable_faults(o.page), "page error: no scores explorable scores did not start",
    ),
    "a heavy page": ('<img alt="Noise." src="noise.png">', lambda o, s: weight_faults(s, o.page), "kB is 6"),
    "many requests": ('<img alt="x" src="x.svg?%d">' * 31, lambda o, s: weight_faults(s, o.page), "requests is 3"),
    "a page that moves": (
        "<script>setTimeout(() => document.querySelector('h1').style.marginTop = '400px', 100)</script>",
        lambda o, s: weight_faults(s, o.page), "CLS is",
    ),
    "a page that moves on the way down": (
        "<p style='height: 3000px'></p><aside style='position: fixed; top: 0; width: 100%; height: 300px'>Here.</aside>"
        "<script>onscroll = () => { document.querySelector('aside').style.top = `${scrollY / 5}px` }</script>",
        lambda o, s: over(on_the_way_down(o.page)), "CLS down is",
    ),
    "a button without a name": ("<button></button>", lambda o, s: inaccessible(o.page), "axe button-name"),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_seen(fault: str, browser: Any, tmp_path: Path) -> None:  # noqa: F811
    html, check, expected = FAULTS[fault]
    html = html.replace("%d", "{}").format(*range(40)) if "%d" in html else html
    (tmp_path / "sound.html").write_text(SOUND.replace("%s", "<p>All is well.</p>"))
    (tmp_path / "fault.html").write_text(SOUND.replace("%s", html))
    (tmp_path / "noise.png").write_bytes(random.Random(0).randbytes(600_000))
    (tmp_path / "x.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    with serving(tmp_path) as server:
        for name, planted in (("sound", False), ("fault", True)):
            server.forget()
            with Opened(browser, f"{server.address}{name}.html", 390) as opened:
                opened.page.wait_for_load_state("networkidle")
                found = " ".join(check(opened, server))
            assert (expected in found) if planted else found == "", name

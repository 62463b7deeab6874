"""Every page of the built book in a browser: nothing from elsewhere, nothing in red, nothing cut off or unnamed.

Each page is opened at 1280 and at 390 pixels; at both it is checked in light and in dark, at 1280 also by keyboard,
and once more from the disk. Faults are planted in test_page_faults.py. What each page weighs is printed at the end.
"""

import asyncio
import os
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import chromium
import pytest
import yaml
from gzip_server import Server, serving
from letters_drawn import lacking
from page_speed import SCROLL, pages
from waits import loaded, patient, until

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "_build" / "html"
PAGES = pages()
WIDTHS = (1280, 390)
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# Kilobytes as they travel, answers, layout shift while loading and on the way down the page.
MOST: dict[str, float] = {"kB": 500, "requests": 30, "CLS": 0.02, "CLS down": 0.02}
CI = os.environ.get("CI") == "true"

pytestmark = pytest.mark.browser


def missing(sentence: str) -> None:
    """What cannot be checked here is skipped with a sentence; in CI it is a failure."""
    if CI:
        pytest.fail(sentence)
    pytest.skip(sentence)


# ---- The browser, a server, and what a page did while it was opened -------------------------------------------------


@pytest.fixture(scope="session")
def browser(playwright: Any) -> Iterator[Any]:
    if chromium.PATH is None:
        missing(f"no Chromium: install one ({chromium.HOW}), then run this again.")
    running = playwright.chromium.launch(executable_path=chromium.PATH, args=chromium.ARGUMENTS)
    yield running
    running.close()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    if not PAGES:
        missing("the book is not built: run `make book`, then this again.")
    with serving(SITE) as running:
        yield running


@pytest.fixture(scope="session")
def origin() -> Iterator[str]:
    """The address of the book, for tests that do not weigh it."""
    if not PAGES:
        missing("the book is not built: run `make book`, then this again.")
    with serving(SITE) as running:
        yield running.address


@pytest.fixture(scope="session")
def readable() -> set[str]:
    """How texts look that were found readable on one page: such texts are not judged again on the next."""
    return set()


MOVED = """window.moved = 0; new PerformanceObserver(list => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) moved += entry.value;
}).observe({type: 'layout-shift', buffered: true});"""


class Opened:
    """A page, with everything that went wrong while it was opened."""

    def __init__(self, browser: Any, address: str, width: int = 1280, **options: Any) -> None:
        size = {"width": width, "height": 900}
        # A phone is touched. Playwright's is_mobile would hide what moves: a shift after a resize does not count.
        options = {"has_touch": width < 600, **options}
        self.context = browser.new_context(
            viewport=size, color_scheme="light", reduced_motion="reduce", **options
        )
        self.page = patient(self.context.new_page())
        self.page.add_init_script(MOVED)
        self.origin = re.match(r"(file://|https?://[^/]+/)", address)[0]  # type: ignore[index]
        self.faults: list[str] = []
        self.page.on("request", self.request)
        self.page.on("response", lambda r: r.status >= 400 and self.faults.append(f"{r.status} for {r.url}"))
        self.page.on(
            "console", lambda m: m.type in ("error", "warning") and self.faults.append(f"console: {m.text}")
        )
        self.page.on("pageerror", lambda error: self.faults.append(f"page error: {error}"))
        self.page.goto(address)
        self.page.evaluate("document.fonts.ready.then(() => 0)")

    def request(self, request: Any) -> None:
        if not request.url.startswith((self.origin, "data:", "blob:")):
            self.faults.append(f"request to another host: {request.url}")

    def __enter__(self) -> "Opened":
        return self

    def __exit__(self, *args: object) -> None:
        self.context.close()


# ---- The checks, each a list of sentences about what is wrong -------------------------------------------------------

UNTYPESET = """() => {
  const red = [...document.querySelectorAll('.katex-error, .math-error, mjx-container, .MathJax')];
  const raw = [...document.querySelectorAll('.bd-article :is(p, li, td)')].filter(e => [...e.childNodes].some(n =>
    n.nodeType === 3 && /\\$[^$]*[\\\\^_][^$]*\\$/.test(n.data)));
  return [...red, ...raw].map(e => e.textContent.slice(0, 80));
}"""
UNNAMED = """() => [...document.querySelectorAll('img, svg')]
  .filter(e => !e.closest('[aria-hidden=true], .katex')).filter(e => {
    const name = e.tagName === 'IMG' ? e.getAttribute('alt') : e.getAttribute('aria-label');
    const control = e.closest('a, button');  // an icon in a control that has a name needs none of its own
    const decorative = !name && (control?.textContent.trim() || control?.ariaLabel);
    return !decorative && (!name || /[./]\\w+\\.(png|svg|jpe?g)$|_images/.test(name));
  }).map(e => e.outerHTML.slice(0, 120))"""
TORN = """() => [...document.querySelectorAll('.together')].filter(e => {
  const mark = document.createRange(), end = [...e.querySelectorAll('.base')].at(-1);
  mark.selectNode(e.lastChild);
  return e.lastChild.nodeType === 3 && end && e.checkVisibility()
    && Math.abs(mark.getBoundingClientRect().left - end.getBoundingClientRect().right) > 8;
}).map(e => e.parentElement.textContent.slice(0, 80))"""
OVERFLOW = """() => {
  const width = document.documentElement.clientWidth, all = document.documentElement.scrollWidth;
  if (all <= width) return [];
  const wide = [...document.querySelectorAll('.bd-article *')].filter(e => e.getBoundingClientRect().right > width + 1);
  return [`the page is ${all} wide`, ...wide.slice(0, 5).map(e => e.outerHTML.slice(0, 120))];
}"""
# Emptied before axe looks, for time: the drawn half of a formula, which screen readers do not get (they get its MathML)
# and which has the colour of its text; in the MathML the elements, but not the words, where none has an attribute that
# axe reads; the parts of a figure, which is one image with a name; and of the coloured words of code all but three of
# each colour (marks in an output stay: a phone hides or wraps them). What is emptied keeps its size. What waits
# for the reader to come near is laid out first, so that everything is judged where it will stand.
EMPTY = """async () => {
  const drawn = () => new Promise(done => {
    requestAnimationFrame(() => requestAnimationFrame(done));
    setTimeout(done, 2000);
  });
  document.head.insertAdjacentHTML('beforeend', '<style>* { content-visibility: visible !important }</style>');
  await drawn();  // only what is drawn asks for its fonts, and is told that it may scroll
  await document.fonts.ready;
  const drawings = [...document.querySelectorAll('.katex-html')];
  const sizes = drawings.map(drawn => drawn.getBoundingClientRect());
  drawings.forEach((drawn, i) => {
    drawn.style.cssText = `display: inline-block; width: ${sizes[i].width}px; height: ${sizes[i].height}px`;
    drawn.replaceChildren();
  });
  const read = /^(aria-|on)|^(id|role|class|style|title|lang|dir|href|tabindex|contenteditable)$/;
  for (const math of document.querySelectorAll('math')) {
    const parts = [...math.querySelectorAll('*')];
    if (parts.some(part => part.getAttributeNames().some(name => read.test(name)))) continue;
    math.querySelector('annotation')?.remove();
    math.replaceChildren(math.textContent);
  }
  for (const figure of document.querySelectorAll('.drawing > svg')) figure.replaceChildren();
  const seen = {};
  for (const word of document.querySelectorAll('.highlight span:not(.gap, .flows)')) {
    seen[word.className] = (seen[word.className] || 0) + 1;
    if (seen[word.className] > 3) word.replaceWith(...word.childNodes);
  }
  for (const code of document.querySelectorAll('.highlight pre')) code.normalize();
  await drawn();
}"""
# Whether a text can be read in its colours depends on how it is drawn and on what lies behind it. Of texts alike in
# both the first three are judged, with what they hold, unless one like them was readable on a page before; every rule
# but the two on colours sees the whole page. All rules run together, so that axe lays out its map of the page once.
AXE = """async ([only, readable]) => {
  const known = new Map();
  const behind = element => {  // the grounds of all that an element lies in, and whether one was moved over something
    if (!element) return '';
    if (!known.has(element)) {
      const s = getComputedStyle(element), moved = ['fixed', 'absolute', 'sticky'].includes(s.position) && s.position;
      const clear = s.backgroundColor === 'rgba(0, 0, 0, 0)' && s.backgroundImage === 'none';
      const own = [clear || s.backgroundColor + s.backgroundImage, s.opacity, s.filter, moved].join();
      known.set(element, (own === 'true,1,none,false' ? '' : own + '|') + behind(element.parentElement));
    }
    return known.get(element);
  };
  const looks = element => {
    const s = getComputedStyle(element), link = element.closest('a');
    const beside = link && [getComputedStyle(link.parentElement).color, s.textDecorationLine, s.borderBottomStyle];
    return [s.color, s.fontSize, s.fontWeight, s.textShadow, s.visibility, beside, behind(element)].join();
  };
  const seen = new Map(readable.map(look => [look, 3])), alike = [];
  for (const element of document.querySelectorAll('body, body *')) {
    if (![...element.childNodes].some(n => n.nodeType === 3 && n.data.trim()) && !element.value) continue;
    const look = looks(element);
    seen.set(look, (seen.get(look) || 0) + 1);
    if (seen.get(look) <= 3) alike.push(element);
  }
  for (const element of alike.flatMap(e => [e, ...e.querySelectorAll('*')])) element.setAttribute('alike', '');
  if (only.type === 'rule' && !alike.length) return {faults: [], looks: []};
  axe.configure({rules: [
    {id: 'color-contrast', selector: '[alike]'},
    {id: 'link-in-text-block', selector: 'a[href][alike], [role=link][alike]'},
  ]});
  const found = await axe.run(document, {resultTypes: ['violations'], runOnly: only});
  axe.reset();
  for (const element of document.querySelectorAll('[alike]')) element.removeAttribute('alike');
  const faults = found.violations.flatMap(v => v.nodes.slice(0, 3).map(n =>
    `${v.id}: ${n.html.replaceAll(' alike=""', '').slice(0, 160)} | ${n.any[0]?.message || v.help}`));
  return {faults, looks: [...seen.keys()]};
}"""
SETTLED = """() => new Promise(done => {
  requestAnimationFrame(() => requestAnimationFrame(() => done(1)));
  setTimeout(() => done(1), 2000);
})"""


def untypeset(page: Any) -> list[str]:
    return [f"formula that is not typeset: {text}" for text in page.evaluate(UNTYPESET)]


def torn(page: Any) -> list[str]:
    return [f"a mark is not behind its formula: {text}" for text in page.evaluate(TORN)]


def unnamed_graphics(page: Any) -> list[str]:
    return [f"graphic without a description: {html}" for html in page.evaluate(UNNAMED)]


def overflow(page: Any) -> list[str]:
    return [f"wider than the screen: {what}" for what in page.evaluate(OVERFLOW)]


def inaccessible(page: Any, readable: set[str] | None = None, *, colours_only: bool = False) -> list[str]:
    """`readable`: how texts look that were readable on other pages; those of a page without a fault are added."""
    readable = set() if readable is None else readable
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(EMPTY)
        page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text("utf8"))
    rules = ["color-contrast", "link-in-text-block"] if colours_only else RULES
    kind = "rule" if colours_only else "tag"
    found = page.evaluate(AXE, [{"type": kind, "values": rules}, list(readable)])
    if not found["faults"]:
        readable.update(found["looks"])
    return [f"axe {fault}" for fault in found["faults"]]


WALK = """() => {
  window.walked = [];
  window.left = false;
  addEventListener('focusout', ({relatedTarget}) => { left ||= !relatedTarget; });
  addEventListener('focusin', ({target}) => {
    const {outlineStyle, outlineWidth} = getComputedStyle(target);
    if (outlineStyle === 'none' || parseFloat(outlineWidth) < 2) walked.push(target.outerHTML.slice(0, 120));
  });
  const focusable = 'a[href], button, input, select, textarea, summary, iframe, [tabindex="0"]';
  return [...document.querySelectorAll(focusable)].filter(e => e.checkVisibility({visibilityProperty: true})).length;
}"""
AT = "() => document.activeElement === document.body ? '' : document.activeElement.outerHTML.slice(0, 120)"
# A page that begins with its text has nothing to skip.
FIRST = """() => !document.querySelector('nav, #pst-skip-link')
  || (document.activeElement.closest('#pst-skip-link') && document.activeElement.hash === '#main-content')"""


def keyboard_faults(page: Any) -> list[str]:
    """Tab reaches the way past the contents first, shows where it is, and comes out at the other end."""
    expected, faults = page.evaluate(WALK), []
    keys = page.context.new_cdp_session(page)
    tab(keys)
    if not page.evaluate(FIRST):
        faults.append(f"the first Tab does not reach the skip link but {page.evaluate(AT)!r}")
    before = page.evaluate(AT)
    for _ in range(0, expected + 10, 50):
        tab(keys, times=50)
        if page.evaluate("() => left"):
            break
    else:
        faults.append(
            f"Tab does not come out at the end; it began at {before!r} and is at {page.evaluate(AT)!r}"
        )
    page.evaluate("() => document.activeElement.blur()")  # what comes next looks at the page at rest
    return faults + [f"focus is not visible on {html}" for html in page.evaluate("() => walked")]


def tab(keys: Any, times: int = 1) -> None:
    """Press Tab. A long page has two thousand stops, so no press waits for the answer to the one before.

    Playwright's sync interface answers each message before it sends the next: this asks the one below it.
    """
    pressed = {"type": "rawKeyDown", "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}

    async def press() -> None:
        await asyncio.gather(
            *(keys._impl_obj.send("Input.dispatchKeyEvent", pressed, None) for _ in range(times))
        )

    keys._sync(press())


def weight_faults(server: Server, page: Any) -> list[str]:
    return over(weight(server, page))


def over(figures: dict[str, float]) -> list[str]:
    """The figures that are above their limits."""
    return [
        f"{name} is {figure:g}, at most {MOST[name]} is wanted"
        for name, figure in figures.items()
        if figure > MOST[name]
    ]


def weight(server: Server, page: Any) -> dict[str, float]:
    """Kilobytes and answers since the server last forgot, and how much has moved on the page."""
    sent = list(server.sent)
    return {
        "kB": round(sum(size for _, size in sent) / 1000),
        "requests": len(sent),
        "CLS": round(page.evaluate("() => moved"), 4),
    }


def on_the_way_down(page: Any) -> dict[str, float]:
    """How much moves while one reads from the top to the end; the page is left at its top."""
    before = page.evaluate("() => moved")
    moved = page.evaluate(SCROLL) - before
    page.evaluate("() => scrollTo(0, 0)")
    page.evaluate(SETTLED)
    return {"CLS down": round(moved, 4)}


def told(figures: dict[str, float]) -> str:
    return "  ".join(f"{name} {figure:5g}" for name, figure in figures.items())


def explorable_faults(page: Any) -> list[str]:
    """A picture to move that did not come alive."""
    idle = "() => [...document.querySelectorAll('[data-explorable]:not([data-ready])')].map(e => e.dataset.explorable)"
    return [f"explorable {name} did not start" for name in page.evaluate(idle)]


def in_dark(page: Any) -> None:
    page.evaluate("() => { document.documentElement.dataset.theme = 'dark' }")
    page.evaluate(SETTLED)


# ---- Every page -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES or ["(the book is not built)"])
def test_a_page_is_whole_and_can_be_read_by_everyone(
    name: str, width: int, browser: Any, server: Server, readable: set[str], record_property: Any
) -> None:
    server.forget()
    with Opened(browser, server.address + name, width) as opened:
        page = opened.page
        loaded(page)
        figures = weight(server, page) | on_the_way_down(page)
        record_property("shown", f"{name:50} {width:5} " + told(figures))
        wrong = over(figures) + opened.faults
        wrong += keyboard_faults(page) if width == WIDTHS[0] else []
        wrong += (
            untypeset(page)
            + torn(page)
            + unnamed_graphics(page)
            + overflow(page)
            + inaccessible(page, readable)
        )
        in_dark(page)
        wrong += [f"in dark: {fault}" for fault in inaccessible(page, readable, colours_only=True)]
    assert not wrong, "\n".join(wrong)


def test_every_entry_of_the_contents_has_a_page() -> None:
    if not PAGES:
        missing("the book is not built: run `make book`, then this again.")
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    names = [toc["root"]] + [entry["file"] for part in toc["parts"] for entry in part["chapters"]]
    assert len(names) >= 2
    assert [name for name in names if f"{name}.html" not in PAGES] == []
    assert f"url={toc['root']}.html" in (SITE / "index.html").read_text()


# Those with pictures to move are opened from the disk in test_explorable_pages.py.
STILL = [name for name in PAGES if 'data-explorable="' not in (SITE / name).read_text("utf8")]


@pytest.mark.parametrize("name", STILL or ["(the book is not built)"])
def test_a_page_opened_from_the_disk_is_whole_too(name: str, browser: Any, origin: str) -> None:
    with Opened(browser, (SITE / name).as_uri()) as opened:
        wrong = opened.faults + lacking(opened.page)
        assert not wrong, "\n".join(wrong)


# ---- What scripts add, by keyboard, and what is there without them --------------------------------------------------


def test_a_link_to_an_equation_shows_it_when_the_focus_arrives(browser: Any, origin: str) -> None:
    linking = [
        name
        for name in PAGES
        if '<a class="reference internal" href="#eq-' in (SITE / name).read_text("utf8")
    ]
    if not linking:
        pytest.skip("no page links to an equation yet.")
    with Opened(browser, origin + linking[0]) as opened:
        page, link = opened.page, opened.page.locator('.bd-article a[href^="#eq-"]').first
        link.focus()
        assert page.locator(".preview .katex-html").is_visible()
        page.keyboard.press("Escape")
        assert page.locator(".preview").count() == 0
        link.hover()
        page.locator(".preview .katex-html").wait_for()
        assert not opened.faults


def test_the_ledger_can_be_searched_and_filtered(browser: Any, origin: str) -> None:
    with Opened(browser, f"{origin}book/claims.html?verdict=true") as opened:
        page = opened.page
        rows = page.locator("ol.ledger > li")
        shown = page.locator("ol.ledger > li:visible")
        assert 0 < shown.count() < rows.count()
        assert set(shown.evaluate_all("rows => rows.map(row => row.dataset.verdict)")) == {"true"}
        page.get_by_label("Verdict").select_option("")
        page.get_by_role("searchbox", name="Search").fill("C007")
        assert shown.evaluate_all("rows => rows.map(row => row.id)") == ["c007"]
        assert page.locator(".ledger-tools output").inner_text() == f"1 of {rows.count()} rows"
        assert not opened.faults


def test_the_ledger_is_complete_without_scripts(browser: Any, origin: str) -> None:
    with Opened(browser, f"{origin}book/claims.html") as opened:
        expected = opened.page.locator("ol.ledger > li").count()
    context = browser.new_context(java_script_enabled=False)
    page = patient(context.new_page())
    page.goto(f"{origin}book/claims.html")
    assert page.locator("ol.ledger > li:visible").count() == expected > 0
    assert page.locator("#c007 .row-links a").count() >= 1
    context.close()


def test_the_search_finds_a_word_of_the_book(browser: Any, origin: str) -> None:
    with Opened(browser, f"{origin}search.html?q=softmax") as opened:
        opened.page.locator("#search-results li").first.wait_for()
        assert not opened.faults


def test_colours_search_contents_and_copies_work_by_keyboard(browser: Any, origin: str) -> None:
    name = next(page for page in PAGES if "/1-" in page)
    with Opened(browser, origin + name, permissions=["clipboard-read", "clipboard-write"]) as opened:
        page = opened.page
        page.get_by_role("button", name="Color mode").press("Enter")
        assert page.evaluate("() => document.documentElement.dataset.theme") == "dark"
        page.reload()
        assert page.evaluate("() => document.documentElement.dataset.theme") == "dark", (
            "the choice is remembered"
        )
        page.keyboard.press("Control+k")
        assert page.locator("#pst-search-dialog input").is_visible()
        page.keyboard.press("Escape")
        assert not page.locator("#pst-search-dialog").is_visible()
        button = page.locator("button.copybtn:visible").first
        button.press("Enter")
        page.get_by_role("button", name="Copied").wait_for()
        code = button.evaluate("button => button.closest('.highlight').querySelector('pre').innerText")
        assert page.evaluate("() => navigator.clipboard.readText()").strip() == code.strip() != ""
        page.keyboard.press("Control+k")
        page.keyboard.type("softmax")
        page.keyboard.press("Enter")
        page.locator("#search-results li").first.wait_for()
        assert not opened.faults


def test_on_a_small_screen_the_side_bars_open_as_boxes_and_close_by_escape(browser: Any, origin: str) -> None:
    name = next(page for page in PAGES if "/1-" in page)
    with Opened(browser, origin + name, 390) as opened:
        for side, link in (("primary", "nav.bd-links a"), ("secondary", "nav.page-toc a")):
            button = opened.page.locator(f".{side}-toggle")
            button.press("Enter")
            assert opened.page.locator(f"dialog {link}").first.is_visible()
            opened.page.keyboard.press("Escape")
            assert opened.page.locator(f"#pst-{side}-sidebar {link}").count() > 0
            assert button.evaluate("button => button === document.activeElement")
        assert not opened.faults


def test_the_contents_follow_the_reading(browser: Any, origin: str) -> None:
    with Opened(browser, f"{origin}book/api/reference.html") as opened:
        page, last = opened.page, "#reference-sparse-local_attention"
        page.locator(last).scroll_into_view_if_needed()
        page.evaluate(f"() => document.querySelector('{last}').scrollIntoView()")
        active = page.locator("#pst-page-toc-nav a[aria-current=true]")
        until(
            page,
            "the last entry is marked in the contents",
            f"() => document.querySelector('a.active')?.hash === '{last}'",
        )
        frame, box = page.locator("#pst-secondary-sidebar").bounding_box(), active.bounding_box()
        assert frame["y"] < box["y"] and box["y"] + box["height"] < frame["y"] + frame["height"]
        assert (
            page.locator("#pst-page-toc-nav a:visible").count() == page.locator("#pst-page-toc-nav a").count()
        )
        assert not opened.faults


WIDE = "book/04-transformer/6-encoder-decoder-translation.html"


def test_a_table_that_goes_on_to_the_side_shows_it_and_scrolls_by_keyboard(browser: Any, origin: str) -> None:
    with Opened(browser, origin + WIDE, 390) as opened:
        boxes = opened.page.locator(".pst-scrollable-table-container")
        (box,) = [one for one in boxes.all() if one.evaluate("box => box.scrollWidth > box.clientWidth + 1")]
        shades = box.evaluate("box => getComputedStyle(box).backgroundAttachment").split(", ")
        assert shades == ["local", "local", "scroll", "scroll"], "two cover the shades where the table ends"
        box.focus()
        opened.page.keyboard.press("ArrowRight")
        until(
            opened.page,
            "a table has moved to the side",
            "() => [...document.querySelectorAll('.pst-scrollable-table-container')].some(box => box.scrollLeft > 0)",
        )


# As WCAG defines it.
CONTRAST = """element => {
  const light = colour => colour.match(/[\\d.]+/g).slice(0, 3).map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const { color, backgroundColor } = getComputedStyle(element);
  const [dark, bright] = [light(color), light(backgroundColor)].sort((a, b) => a - b);
  return (bright + 0.05) / (dark + 0.05);
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_skip_link_can_be_read(theme: str, browser: Any, origin: str) -> None:
    with Opened(browser, origin + WIDE) as opened:
        opened.page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
        opened.page.keyboard.press("Tab")
        link = opened.page.locator("#pst-skip-link a")
        assert link.evaluate("link => link === document.activeElement") and link.is_visible()
        assert link.evaluate(CONTRAST) >= 7

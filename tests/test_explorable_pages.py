"""Pictures to move, in the built book: they come when they are nearly in view, nothing jumps, a keyboard is enough."""

import re

import pytest
import test_pages as pages
from letters_drawn import lacking
from waits import patient, until

pytestmark = pytest.mark.browser
browser, origin = pages.browser, pages.origin

WITH = [page for page in pages.PAGES if 'data-explorable="' in (pages.SITE / page).read_text("utf8")]
EVERY = pytest.mark.parametrize("name", WITH or ["(the book is not built)"])
BOX = ".explorable"
AXE = """async (only) => {
  const found = await axe.run('.explorable', {runOnly: only, resultTypes: ['violations']});
  return found.violations.flatMap(v => v.nodes.map(n =>
    `${v.id}: ${n.html.slice(0, 120)} | ${n.any[0]?.message || v.help}`));
}"""
# Left of the page before axe looks, for time: the pictures to move and what they lie in. All else keeps its size and is
# emptied; test_pages.py has axe look at whole pages.
ALONE = """() => {
  const kept = [], emptied = [];
  const sort = element => {
    if (element.matches('script, style, template')) return;
    if (element.matches('.explorable')) kept.push(element);
    else if (element.querySelector('.explorable')) [...element.children].forEach(sort);
    else emptied.push([element, element.getBoundingClientRect(), getComputedStyle(element).display]);
  };
  sort(document.body);
  for (const [element, {width, height}, display] of emptied) {
    element.style.cssText += `; box-sizing: border-box; width: ${width}px; height: ${height}px; overflow: clip`;
    if (display === 'inline') element.style.display = 'inline-block';
    element.replaceChildren();
  }
  return kept.length;
}"""
FOCUS = """() => { const e = document.activeElement, style = getComputedStyle(e);
  return {inside: !!e.closest('.explorable'), what: e.outerHTML.slice(0, 100),
          outline: style.outlineStyle === 'none' ? 0 : parseFloat(style.outlineWidth)}; }"""
# What a notebook with shortcuts on plain keys would hear.
HEAR = "window.heard = []; document.addEventListener('keydown', (event) => heard.push(event.key))"


def into_view(box) -> None:
    """As a link into the page does it: a section that was not laid out yet is laid out first."""
    box.evaluate("box => box.scrollIntoView({block: 'center'})")


def bring_all(page) -> None:
    """Scroll to each picture and wait until it is there, or has said that it cannot be."""
    for box in page.locator(BOX).all():
        into_view(box)
        handle = box.element_handle()
        until(page, "a picture to move has come", "box => box.dataset.ready || box.dataset.failed", handle)
    page.evaluate(pages.SETTLED)


def broken(page) -> list[str]:
    """What is wrong with the pictures of a page: one sentence each."""
    return page.locator(BOX).evaluate_all(
        "boxes => boxes.filter(b => !b.dataset.ready || !b.querySelector('.explorable-view').clientHeight)"
        ".map(b => `${b.dataset.explorable} does not move: ${b.querySelector('.explorable-failed')?.textContent}`)"
    )


def accessible_faults(page, rules) -> list[str]:
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate((pages.files("axe_playwright_python") / "axe.min.js").read_text("utf8"))
    return page.evaluate(AXE, rules)


def heights(page) -> list[float]:
    return page.locator(BOX).evaluate_all("boxes => boxes.map(box => box.getBoundingClientRect().height)")


FIGURES_SEEN = (
    """figures => figures.filter(f => f.closest('.explorable')).map(f => f.outerHTML.slice(0, 80))"""
)


def unreadable(page) -> list[str]:
    """What of the pictures not everyone can read, in light and in dark; the page is emptied around them."""
    names = pages.unnamed_graphics(page)
    assert page.evaluate(ALONE) == page.locator(BOX).count()
    rules = {"type": "tag", "values": pages.RULES}
    wrong = accessible_faults(page, rules) + names
    pages.in_dark(page)
    colours = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
    return wrong + [f"in dark: {fault}" for fault in accessible_faults(page, colours)]


@EVERY
@pytest.mark.parametrize("width", (1280, 768, 390))
def test_a_picture_takes_its_figures_place_and_everyone_can_read_and_move_it(name, width, browser, origin):
    with pages.Opened(browser, origin + name, width) as opened:
        page = opened.page
        asked = scripts_asked_for(page)
        before = heights(page)
        far = page.locator(BOX).first.bounding_box()["y"] > 900 + 800
        assert not (far and asked()), "asked for while far out of view"
        bring_all(page)
        assert len(asked()) == 1
        assert opened.faults + broken(page) + pages.overflow(page) == []
        assert heights(page) == before
        assert page.locator(".drawing:visible").evaluate_all(FIGURES_SEEN) == []
        page.emulate_media(media="print")
        for box in page.locator(BOX).all():
            assert box.locator(".drawing").is_visible() and not box.locator(".explorable-view").is_visible()
        page.emulate_media(media="screen")
        bring_all(page)  # printing has moved the page, perhaps so that its head lies on a picture
        if width == 1280:
            check_keyboard(page)
        if width in pages.WIDTHS:
            assert unreadable(page) == []
        assert opened.faults == []


def scripts_asked_for(page):
    """What lists the scripts of pictures that the page has asked for."""
    page.evaluate(pages.SETTLED)
    asked = "() => performance.getEntriesByType('resource').map(e => e.name).filter(n => n.includes('/explorables/'))"
    return lambda: page.evaluate(asked)


def check_keyboard(page) -> None:
    """Each picture of the page is moved by the keyboard, which passes through it, and says what it shows."""
    for box in page.locator(BOX).all():
        group, line = box.get_by_role("group").first, box.locator("[aria-live=polite]")
        assert group.get_attribute("aria-labelledby")
        assert re.fullmatch(r"[A-Z].*\?", box.locator(".xp-question").text_content())
        sliders = box.get_by_role("slider").all()
        assert sliders, "a picture to move has something to move"
        page.evaluate(HEAR)
        for slider in sliders:
            said, read = slider.get_attribute("aria-valuetext"), line.text_content()
            slider.focus()
            assert page.evaluate(FOCUS)["outline"] >= 2
            assert slider.get_attribute("data-lm-suppress-shortcuts") is not None, "Jupyter takes the arrow"
            lowest = slider.input_value() == slider.get_attribute("min")
            page.keyboard.press("ArrowRight" if lowest else "ArrowLeft")
            assert slider.get_attribute("aria-valuetext") != said
            moved = [line.element_handle(), read]
            until(page, "the line says something else", "([line, read]) => line.textContent !== read", moved)
        assert page.evaluate("heard") == [], "a notebook would take the arrow as a shortcut of its own"
        box.get_by_role("button", name="Start again").press("Enter")
        check_focus(page, box)


def check_focus(page, box) -> None:
    """The focus passes through a picture, and can be seen on the way."""
    box.locator("input, button, [tabindex='0']").first.focus()
    stops = [page.evaluate(FOCUS)]
    while stops[-1]["inside"] and len(stops) < 40:
        page.keyboard.press("Tab")
        stops.append(page.evaluate(FOCUS))
    assert not stops[-1]["inside"], "the focus cannot leave the picture"
    assert [stop["what"] for stop in stops[:-1] if stop["outline"] < 2] == []


@EVERY
def test_without_scripts_the_figure_stands_there(name, browser, origin):
    context = browser.new_context(java_script_enabled=False)
    page = patient(context.new_page())
    page.goto(origin + name)
    for box in page.locator(BOX).all():
        figure = box.locator(".drawing")
        assert figure.is_visible() and len(figure.locator("> svg").get_attribute("aria-label").split()) >= 8
        assert box.bounding_box()["height"] - figure.bounding_box()["height"] < 1
    context.close()


@EVERY
def test_a_picture_moves_on_a_page_from_the_disk(name, browser, origin):
    with pages.Opened(browser, (pages.SITE / name).as_uri()) as opened:
        bring_all(opened.page)
        assert lacking(opened.page) + opened.faults + broken(opened.page) == []


def test_pages_without_a_picture_hold_nothing_of_it():
    if not pages.PAGES:
        pages.missing("the book is not built: run `make book`, then this again.")
    assert WITH
    for name in set(pages.PAGES) - set(WITH):
        assert "explorables/" not in (pages.SITE / name).read_text("utf8"), name
    for name in WITH:
        assert "export default" not in (pages.SITE / name).read_text("utf8"), (
            "the script is not repeated in the page"
        )


IN_A_PICTURE = {
    "color-contrast: ": '<p style="color: #bbb">Faint.</p>',
    "button-name: ": "<button></button>",
    "label: ": "<input>",
    "aria-roles: ": '<p role="paragraf">x</p>',
    "target-size: ": '<button style="font-size: 6px; padding: 0; border: 0; width: 9px; height: 9px">x</button>'
    * 2,
    "graphic without a description": "<svg></svg>",
    "in dark: color-contrast": '<p style="color: #555">Faint.</p>',
}


def test_what_not_everyone_can_read_in_a_picture_is_seen(browser, origin):
    if not WITH:
        pages.missing("the book is not built: run `make book`, then this again.")
    with pages.Opened(browser, origin + WITH[0], 390) as opened:
        bring_all(opened.page)
        view = opened.page.locator(f"{BOX} .explorable-view").first
        view.evaluate(
            "(view, html) => view.insertAdjacentHTML('beforeend', html)", "".join(IN_A_PICTURE.values())
        )
        found = unreadable(opened.page)
    assert [fault for fault in IN_A_PICTURE if not any(one.startswith(fault) for one in found)] == []


FAULTS = {
    "a script that raises": ("() => ({ render() { throw new Error('planted'); } })", "planted"),
    "a script that is not there": (None, "its script did not arrive"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_picture_that_fails_says_so_and_is_seen(fault, browser, origin):
    module, expected = FAULTS[fault]
    if not WITH:
        pages.missing("the book is not built: run `make book`, then this again.")
    loader = (pages.ROOT / "book" / "_ext" / "explorables.js").read_text("utf8")
    name = re.search(r'data-explorable="(\w+)"', (pages.SITE / WITH[0]).read_text("utf8"))[1]
    planted = f"{loader}\nexplorables.define('{name}', '', {module});"
    context = browser.new_context()
    page = patient(context.new_page())
    page.route(
        "**/explorables/**",
        lambda route: (
            route.fulfill(body=planted, content_type="text/javascript") if module else route.abort()
        ),
    )
    errors = []
    page.on("console", lambda message: message.type == "error" and errors.append(message.text))
    page.goto(origin + WITH[0])
    into_view(page.locator(BOX).first)
    page.locator(".explorable-failed").first.wait_for()
    assert expected in broken(page)[0] and errors
    assert page.locator(".explorable-failed").first.is_visible()
    assert page.locator(f"{BOX} > .drawing").first.is_visible(), "the figure stays"
    context.close()

"""Pictures to move, one by one: what a mouse, a finger and a keyboard do in them, beyond sliders and buttons."""

from contextlib import contextmanager

import anywidget
import pytest
import test_explorable_pages as explorables
import test_pages as pages
from explorable_samples import MOVES, SAMPLES
from waits import patient, until

pytestmark = pytest.mark.browser
browser, origin = pages.browser, pages.origin


@contextmanager
def picture(name, browser, origin, **options):
    """The first page with such a picture, the picture in the middle of the window."""
    found = [
        page
        for page in explorables.WITH
        if f'data-explorable="{name}"' in (pages.SITE / page).read_text("utf8")
    ]
    if not found:
        pages.missing(f"no page has {name}: run `make book`, then this again.")
    with pages.Opened(browser, origin + found[0], **options) as opened:
        explorables.bring_all(opened.page)
        box = opened.page.locator(f'[data-explorable="{name}"]').first
        explorables.into_view(box)
        yield opened.page, box
        assert opened.faults == []


def middle(element):
    box = element.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(page, from_, to):
    page.mouse.move(*from_)
    page.mouse.down()
    page.mouse.move(*to, steps=8)
    page.mouse.up()


def line_says(page, box, text):
    line = box.locator("[aria-live=polite]").element_handle()
    until(page, f"the line says {text!r}", "([line, text]) => line.textContent.includes(text)", [line, text])


def test_the_query_is_dragged_with_a_mouse_and_placed_with_a_finger(browser, origin):
    with picture("QueryInThePlane", browser, origin, has_touch=True) as (page, box):
        across, up = box.get_by_role("slider").all()
        x, y = middle(box.locator(".xp-handle"))
        drag(page, (x, y), (x - 60, y + 40))
        dragged = float(across.input_value()), float(up.input_value())
        assert dragged[0] < 0 and 0.5 < dragged[1] < 1.5, dragged
        plane = box.locator(".xp svg").first.bounding_box()
        page.touchscreen.tap(plane["x"] + 0.75 * plane["width"], plane["y"] + 0.85 * plane["height"])
        assert float(across.input_value()) > 1 and float(up.input_value()) < -1
        assert "and the output (" in box.locator(".xp-line").text_content()


def test_a_mask_is_painted_by_keyboard_mouse_and_finger(browser, origin):
    with picture("MaskPainter", browser, origin, has_touch=True) as (page, box):
        cells = box.locator("td button")
        assert [cell.get_attribute("tabindex") for cell in cells.all()].count("0") == 1, (
            "one stop for the whole table"
        )
        open_ = [["1000", "1100", "1110", "1111"]]

        def mask():
            on = [cell.get_attribute("aria-pressed") == "true" for cell in cells.all()]
            return ["".join("01"[on[4 * i + j]] for j in range(4)) for i in range(4)]

        assert mask() == open_[0]
        cells.first.focus()
        for key in ("ArrowRight", "Space", "ArrowDown", "Enter", "ArrowUp", "ArrowUp"):
            page.keyboard.press(key)
        assert mask() == ["1100", "1000", "1110", "1111"]
        assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith(
            "[PAD] may look at [START]"
        )
        drag(page, middle(cells.nth(2)), middle(cells.nth(11)))
        assert mask()[0] == "1110" and mask()[2] == "1111", "a mouse paints the cells that it passes"
        page.touchscreen.tap(*middle(cells.nth(12)))
        assert mask()[3] == "0111"
        box.get_by_role("button", name="Start again").click()
        assert mask() == open_[0]


def test_the_fills_do_what_they_do_in_each_format(browser, origin):
    with picture("MaskPainter", browser, origin) as (page, box):
        box.get_by_role("button", name="padding").click()
        line_says(page, box, "6 of 16 places are open")
        line_says(page, box, "[PAD] may look nowhere: weights 0.00, 0.00, 0.00, 0.00")
        box.get_by_label("−1e9").check()
        line_says(page, box, "weights 0.25, 0.25, 0.25, 0.25")
        box.get_by_label("float16").check()
        line_says(page, box, "weights NaN, NaN, NaN, NaN")
        box.get_by_label("0", exact=True).check()
        line_says(page, box, "to keys it may not see")
        box.get_by_role("button", name="nothing").click()
        line_says(page, box, "0 of 16 places are open")


def test_words_move_with_the_keyboard_and_the_mouse_and_the_line_says_what_changed(browser, origin):
    with picture("PermutedTokens", browser, origin) as (page, box):

        def order():
            return box.locator(".xp-place b").all_text_contents()

        start = order()
        box.get_by_role("button", name=f"{start[0]} to the right").focus()
        page.keyboard.press("Enter")
        page.keyboard.press("Enter")
        assert order() == [start[1], start[2], start[0]], "the focus follows the word"
        line_says(page, box, "none changed")
        drag(page, middle(box.locator(".xp-place b").nth(2)), middle(box.locator(".xp-place b").nth(0)))
        assert order() == start
        box.get_by_label("causal").check()
        line_says(page, box, "changed, by up to")
        box.get_by_role("button", name="Start again").click()
        line_says(page, box, "No position, no mask")


def test_a_token_is_looked_at_by_pointing_at_it(browser, origin):
    with picture("HeadViewer", browser, origin, has_touch=True) as (page, box):
        target = box.locator(".xp-target")
        page.mouse.move(*middle(target.nth(2)))
        assert box.get_by_role("slider").input_value() == "3"
        line_says(page, box, "(place 3) looks most at")
        page.touchscreen.tap(*middle(target.nth(4)))
        assert box.get_by_role("slider").input_value() == "5"
        box.get_by_role("radiogroup", name="head").get_by_label("2").check()
        line_says(page, box, "head 2: ")


def test_a_number_is_typed_and_each_format_keeps_of_it_what_it_can(browser, origin):
    with picture("FloatFormats", browser, origin) as (page, box):
        number = box.get_by_label("your number")
        number.fill("257")
        line_says(page, box, "257 is stored as 256")
        box.get_by_label("float16", exact=True).check()
        line_says(page, box, "257 is stored as it is")
        for typed, said in (("70000", "an overflow"), ("1e-8", "an underflow"), ("3e-6", "5 of 10 digits")):
            number.fill(typed)
            line_says(page, box, said)
        number.fill("three")
        assert box.get_by_role("slider", name="digits").get_attribute("aria-valuetext") == "3"
        box.get_by_role("button", name="Start again").click()
        line_says(page, box, "0.1 is stored as")
        assert number.input_value() == "0.1"


def test_a_pipeline_says_who_does_what_at_a_tick(browser, origin):
    with picture("PipelineSchedule", browser, origin) as (page, box):
        line_says(page, box, "Waiting: 33 % of the time")
        box.get_by_role("radio", name="1F1B").check()
        line_says(page, box, "Kept at most: 4, 3, 2, 1.")
        box.get_by_role("slider", name="tick").fill("8")
        line_says(page, box, "Tick 8: backward 1, forward 4, backward 2, forward 3.")
        box.get_by_role("slider", name="workers").fill("1")
        line_says(page, box, "Waiting: 0 % of the time")


def test_a_pattern_is_painted_by_mouse_finger_and_keyboard(browser, origin):
    with picture("PatternPainter", browser, origin, has_touch=True) as (page, box):
        grid = box.locator(".xp svg rect:not(.xp-mark)")
        zoom = box.locator("td button")

        def cell(query, key):
            return grid.nth(24 * (query - 1) + key - 1)

        def attends(query, key):
            return cell(query, key).get_attribute("class") == "a"

        line_says(page, box, "90 edges, 30 % of full attention")
        assert not attends(20, 4)
        drag(page, middle(cell(20, 4)), middle(cell(20, 8)))
        line_says(page, box, "95 edges")
        assert all(attends(20, key) for key in range(4, 9)), "a mouse paints the cells that it passes"
        page.mouse.click(*middle(cell(20, 6)))
        line_says(page, box, "94 edges")
        line_says(page, box, "on token 6 after layer 2")
        page.mouse.click(*middle(cell(9, 9)))
        page.mouse.click(*middle(cell(9, 15)))
        line_says(page, box, "94 edges")
        page.touchscreen.tap(*middle(cell(15, 3)))
        line_says(page, box, "token 15 can depend on")
        assert not attends(15, 3), "a finger chooses what is magnified"
        names = [one.get_attribute("aria-label") for one in zoom.all()]
        assert names == [f"query {i} attends to key {j}" for i in (14, 15, 16) for j in (2, 3, 4)]
        page.touchscreen.tap(*middle(zoom.nth(5)))
        assert attends(15, 4) and zoom.nth(5).get_attribute("aria-pressed") == "true"
        assert [one.get_attribute("tabindex") for one in zoom.all()].count("0") == 1, "one stop for all"
        box.get_by_role("button", name="query 15 attends to key 3").focus()
        for key in ("ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowDown", "Space"):
            page.keyboard.press(key)
        assert (
            page.evaluate("document.activeElement.getAttribute('aria-label')") == "query 16 attends to key 1"
        )
        assert attends(16, 1), "the focus stays where the cell goes, up to the border"
        assert min(zoom.first.bounding_box().values()) > 24
        box.get_by_role("button", name="Start again").click()
        line_says(page, box, "90 edges")


def test_the_presets_of_a_pattern_say_what_they_cost_and_who_never_meets(browser, origin):
    with picture("PatternPainter", browser, origin, width=390) as (page, box):
        line_says(page, box, "Most layers: 8, from token 1 to 24. All pairs meet.")
        box.get_by_role("radio", name="dilated").check()
        line_says(page, box, "84 edges, 28 % of full attention")
        line_says(page, box, "144 pairs never meet, such as 1 and 24.")
        assert box.locator(".xp rect.xp-no").count() == 144
        assert "odd and even tokens never meet" in box.locator(".xp-stage > p").text_content()
        box.get_by_role("radio", name="global token").check()
        line_says(page, box, "Most layers: 8")
        box.get_by_role("radio", name="both directions").check()
        line_says(page, box, "Most layers: 2")
        box.get_by_role("radio", name="strided").check()
        box.get_by_role("radio", name="causal").check()
        line_says(page, box, "150 edges, 50 % of full attention")
        box.get_by_role("slider", name="layers").fill("2")
        assert box.locator(".xp rect.xp-far").count() == 0, "all is reached after two layers"
        box.get_by_role("button", name="Draw again").click()
        assert box.get_by_role("radio", name="random blocks").is_checked()
        box.get_by_role("radio", name="nothing").check()
        line_says(page, box, "24 edges, 8 % of full attention")


def test_a_state_fills_up_and_a_key_is_written_again(browser, origin):
    with picture("FillingState", browser, origin, has_touch=True) as (page, box):
        line_says(page, box, "Recalled of 5 keys: 5, 5, 5.")
        box.get_by_label("the read key").check()
        box.get_by_role("button", name="Write C").press("Enter")
        line_says(
            page, box, "Key 1 was last written with C. Read: sum tie, delta rule C (1.00), softmax tie."
        )
        line_says(page, box, "Recalled of 5 keys: 4, 5, 4.")
        box.get_by_label("a new key").check()
        box.get_by_role("button", name="Write A").click()
        line_says(page, box, "7 pairs")
        page.touchscreen.tap(*middle(box.locator(".xp-hit").nth(2)))
        line_says(page, box, "Key 3 was last written with")
        box.get_by_role("slider", name="pairs").fill("40")
        line_says(page, box, "Recalled of 39 keys")
        kept = [box.locator(f".xp-{kind}").count() for kind in ("kept", "lost")]
        assert sum(kept) == 3 * 39 and kept[1] > 30
        assert "39 recalled, 480 numbers" in box.locator(".xp svg").get_attribute("aria-label")
        box.get_by_role("button", name="Write B").click()
        line_says(page, box, "40 pairs")
        box.get_by_role("button", name="Start again").click()
        line_says(page, box, "5 pairs, d = 8, delta step 1.0.")


# ---- With Python behind it -------------------------------------------------------------------------------------------

# What a notebook gives a script: a model that notes what is sent to Python, and takes what comes from there.
NOTEBOOK = """async ([script, state]) => {
  const module = await import(URL.createObjectURL(new Blob([script], {type: 'text/javascript'})));
  const hearers = {};
  window.sent = [];
  window.take = (trait, value) => {
    state[trait] = value;
    for (const hear of hearers[`change:${trait}`] ?? []) hear();
  };
  const model = {
    get: trait => state[trait],
    set: (trait, value) => { sent.push([trait, value]); take(trait, value); },
    on: (event, hear) => (hearers[event] ??= []).push(hear),
    off: () => {},
    save_changes: () => {},
  };
  module.default.render({model, el: document.body});
}"""
# Every control once: sliders to both ends, each choice, each button.
EVERYTHING = """() => {
  for (const input of document.querySelectorAll('input[type=range]'))
    for (const end of [input.min, input.max]) {
      input.value = end;
      input.dispatchEvent(new Event('input'));
    }
  for (const element of document.querySelectorAll('input[type=radio], button:enabled')) element.click();
}"""


@pytest.mark.parametrize("name", SAMPLES)
def test_python_takes_whatever_a_control_sends_and_the_picture_what_python_sets(name, browser):
    widget = SAMPLES[name]()
    traits = set(widget.keys) - set(anywidget.AnyWidget.class_trait_names(sync=True))
    page = patient(browser.new_page())
    page.evaluate(NOTEBOOK, [widget._esm, widget.get_state(traits)])
    page.evaluate(EVERYTHING)
    sent = page.evaluate("sent")
    assert {trait for trait, _ in sent} >= set(MOVES[name][0]), "each trait that a hand can move was moved"
    for trait, value in sent:
        widget.set_state({trait: value})  # raises for what Python does not take
        assert getattr(widget, trait) == value
    for trait, value in MOVES[name][2].items():
        setattr(widget, trait, value)
    said = page.locator(".xp-line").text_content()
    for trait, value in widget.get_state(list(MOVES[name][2])).items():
        page.evaluate("([trait, value]) => take(trait, value)", [trait, value])
    line = page.locator(".xp-line").element_handle()
    until(page, "the line says something else", "([line, said]) => line.textContent !== said", [line, said])
    page.close()

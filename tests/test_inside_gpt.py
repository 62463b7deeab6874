"""The course's own model in the built page: asked for by a button, used by mouse, keyboard and thumb, as PyTorch's."""

import math
import re

import pytest
import test_explorable_pages as explorables
import test_pages as pages
import torch
from inside_torch import Inside
from test_js_model import rates_in_python
from waits import until

from attnlib.exercises.engine.registry import exercises
from attnlib.js.breaks import BREAKS
from attnlib.js.kinds import KINDS
from attnlib.models.course import END, course_model, course_tokenizer

pytestmark = pytest.mark.browser
browser, origin = pages.browser, pages.origin

PAGE = "book/04-transformer/15-inside-a-gpt.html"
RULES = {"type": "tag", "values": pages.RULES}
AXE = explorables.AXE.replace("'.explorable'", "'.inside-gpt'")
TEXTS = ["def f(x):\n    return (x", "a\u0085b\ufeff \u4f60\u597d", f"x{END}y", "\U0001f600 e\u0301"]
# The page's own model and tokenizer on the main thread: tokens of some texts, scores after one, and a greedy text.
IN_PAGE = """async ([url, texts, prompt, n]) => {
  const data = await new Promise((done) => {
    window.courseModel = done;
    document.head.append(Object.assign(document.createElement('script'), { src: url }));
  });
  const m = insideGPT.model;
  const bytes = Uint8Array.from(atob(data.numbers), (c) => c.charCodeAt(0)).buffer;
  const gpt = m.newGPT(data.config, data.tensors, bytes);
  const tokenizer = m.newTokenizer(data.tokenizer);
  const run = m.newRun(gpt);
  m.read(gpt, run, prompt);
  const scores = [...m.scoresAt(gpt, run, prompt.length - 1)];
  for (let i = 0; i < n; i++) m.read(gpt, run, [m.greedy(m.scoresAt(gpt, run, run.tokens.length - 1))]);
  return { tokens: texts.map((text) => tokenizer.encodeOrdinary(text)), scores, text: run.tokens.slice(prompt.length) };
}"""


def address(origin: str) -> str:
    if PAGE not in pages.PAGES:
        pages.missing("the book is not built: run `make book`, then this again.")
    return origin + PAGE


def load(page) -> None:
    page.locator(".ig-ask button").scroll_into_view_if_needed()
    page.locator(".ig-ask button").click()
    until(page, "the model is loaded", "() => document.querySelector('.inside-gpt[data-ready]')")


def said(page) -> str:
    return page.locator(".ig-said").text_content()


def says(page, words: str) -> None:
    until(
        page,
        f"it says {words!r}",
        "(words) => document.querySelector('.ig-said').textContent.includes(words)",
        words,
    )


def faults(page) -> list[str]:
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate((pages.files("axe_playwright_python") / "axe.min.js").read_text("utf8"))
    return page.evaluate(AXE, RULES)


def test_it_comes_when_asked_and_is_used_with_mouse_and_keyboard(browser, origin):
    asked = []
    with pages.Opened(
        browser, address(origin) + "#gpt?text=print(len(x&temperature=0&off=9.9:mean"
    ) as opened:
        page = opened.page
        page.on("request", lambda request: asked.append(request.url))
        page.evaluate(pages.SETTLED)
        assert not [url for url in asked if "course-model" in url], "fetched before the button was pressed"
        load(page)
        assert page.locator("textarea").input_value() == "print(len(x"
        assert len([url for url in asked if "course-model" in url]) == 1
        page.get_by_role("button", name="Write one").click()
        until(page, "a token is written", "() => document.querySelector('textarea').value !== 'print(len(x'")
        page.locator("textarea").fill("f(a, b")
        says(page, "5 tokens")  # f ( a , ·b
        first = said(page)
        page.locator(".ig-tokens").focus()
        page.keyboard.press("Home")
        says(page, "After “the start”")
        page.locator("[role=option]").nth(2).click()
        says(page, "After “(”")
        assert said(page) != first and "t=2" in page.evaluate("location.hash")
        slider = page.get_by_role("slider", name="Temperature")
        before = page.locator(".ig-bars").text_content()
        slider.focus()
        for _ in range(4):
            page.keyboard.press("ArrowRight")
        assert slider.get_attribute("aria-valuetext") == "0.20"
        assert page.locator(".ig-bars").text_content() != before
        page.get_by_role("button", name="head 2.1", exact=True).click()
        says(page, "Without 2.1 it costs")
        assert "whole model" in page.locator(".ig-bars").text_content()
        assert "off=2.1%3Amean" in page.evaluate("location.hash")
        page.locator("summary", has_text="The map of this head").click()
        page.locator(".ig canvas").wait_for()
        page.locator("summary", has_text="The weights as a table").click()
        rows = page.locator("table:has-text('ten largest weights') tbody tr")
        assert rows.count() >= 1
        assert faults(page) == []
        pages.in_dark(page)
        assert faults(page) == [] and opened.faults == []


def test_from_the_disk_on_a_phone_it_equals_python_and_odd_texts_get_a_sentence(browser):
    page_file = pages.SITE / PAGE
    if not page_file.exists():
        pages.missing("the book is not built: run `make book`, then this again.")
    by, model = course_tokenizer(), course_model(bits=8)
    prompt = by.encode(END) + by.encode_ordinary(TEXTS[0])
    tokens = list(prompt)
    with torch.inference_mode():
        scores = model(torch.tensor([tokens]))[0, -1]
        for _ in range(20):
            tokens.append(model(torch.tensor([tokens]))[0, -1].argmax().item())
    with pages.Opened(browser, page_file.as_uri(), 390) as opened:
        page = opened.page
        load(page)
        url = page.locator(".inside-gpt").evaluate("box => new URL(box.dataset.model, location).href")
        found = page.evaluate(IN_PAGE, [url, TEXTS, prompt, 20])
        assert found["tokens"] == [by.encode_ordinary(text) for text in TEXTS]
        assert (torch.tensor(found["scores"]) - scores).abs().max() <= 2e-4
        assert found["text"] == tokens[len(prompt) :]
        page.locator("[role=option]").nth(1).tap()
        says(page, "After “class”")
        for text, sentence in {
            "": "No text yet",
            "\u4f60\u597d": "other letters cost it many tokens",
            "\x00\x1b[2J": "tokens",
            "x = 1\n" * 200: "are left out",
        }.items():
            page.locator("textarea").fill(text)
            says(page, sentence)
        page.locator("textarea").evaluate(
            "area => { area.value = 'a\\ud83d'; area.dispatchEvent(new Event('input')); }"
        )
        says(page, "half a character")
        bug = {
            "name": "bug.py",
            "mimeType": "text/x-python",
            "buffer": b"import os\n\n\ndef f(x):\n    return xyzzy\n",
        }
        page.locator("input[type=file]").set_input_files(bug)
        page.locator(".ig-file").wait_for()
        assert "xyzzy" in page.locator(".ig-worst").all_text_contents()[-1]
        assert pages.overflow(page) == [] and opened.faults == []


# ---- People ----------------------------------------------------------------------------------------------------------

SMALLEST = 40  # pixels, of what a thumb has to meet
CONTROLS = ".inside-gpt :is(button, select, summary, input, textarea, [role=option])"
LOW = """([controls, least]) => [...document.querySelectorAll(controls)].filter(e => e.checkVisibility())
  .filter(e => e.getBoundingClientRect().height < least).map(e => e.outerHTML.slice(0, 100))"""
# The focus: whether it is in the picture, what it is on, and whether it can be seen.
FOCUS = """() => { const e = document.activeElement, style = getComputedStyle(e);
  return [!!e.closest('.inside-gpt'), e.ariaLabel || e.textContent.slice(0, 40) || e.tagName,
          style.outlineStyle === 'none' ? 0 : parseFloat(style.outlineWidth)]; }"""
# Whether the chosen token lies inside the strip, which scrolls by itself.
CHOSEN_IN_SIGHT = """() => { const list = document.querySelector('.ig-tokens').getBoundingClientRect();
  const one = document.querySelector('.ig-tokens [aria-selected=true]').getBoundingClientRect();
  return one.top >= list.top && one.bottom <= list.bottom + 1; }"""


def measuring(page):
    return page.locator(".ig section", has=page.get_by_role("heading", name="Measure over held-out code"))


def rows_of(table) -> list[list[str]]:
    return [row.locator("th, td").all_text_contents() for row in table.locator("tbody tr").all()]


def test_a_thumb_reaches_everything_and_the_rates_it_measures_are_pythons(browser, origin):
    with pages.Opened(browser, address(origin), 390) as opened:
        page = opened.page
        page.set_viewport_size({"width": 390, "height": 844})
        page.locator(".ig-ask button").scroll_into_view_if_needed()
        page.locator(".ig-ask button").tap()
        until(page, "the model is loaded", "() => document.querySelector('.inside-gpt[data-ready]')")
        assert page.evaluate(LOW, [CONTROLS, SMALLEST]) == []
        assert page.evaluate(CHOSEN_IN_SIGHT) and pages.overflow(page) == []
        assert page.evaluate("document.getAnimations().length") == 0
        page.get_by_role("button", name="head 3.1:").tap()
        assert page.get_by_role("button", name="head 3.1:").get_attribute("aria-pressed") == "true"
        page.locator("[role=option]").nth(30).tap()
        says(page, "After “self”")
        part = measuring(page)
        part.get_by_role("button", name="Measure at 100 positions").tap()
        until(
            page,
            "some rows are measured",
            "() => document.querySelector('progress[aria-label*=measured]')?.value > 0.05",
        )
        part.get_by_role("button", name="Stop").tap()
        part.get_by_role("button", name="Measure at 100 positions").wait_for()
        told = part.get_by_role("status").text_content()
        rows = int(re.match(r"Stopped after (\d+) of 30 rows\. In block 2, head 2\.\d has", told)[1])
        theirs = rates_in_python(course_model(bits=8), 2, rows=rows)
        heads, read = (rows_of(table) for table in part.get_by_role("table").all())
        for h, (name, *numbers) in enumerate(heads):
            assert name == f"2.{h}"
            expected = [theirs["weight"][8 + h], *theirs["harm"][h]]
            assert [float(x) for x in numbers] == pytest.approx(expected, abs=0.0061)
        assert [float(right) for _, right in read] == pytest.approx(theirs["right"], abs=0.0051)
        assert page.evaluate(LOW, [CONTROLS, SMALLEST]) == []
        assert pages.overflow(page) == [] and opened.faults == []


def test_a_keyboard_alone_is_enough_and_the_focus_can_be_seen(browser, origin):
    with pages.Opened(browser, address(origin)) as opened:
        page = opened.page
        page.locator(".ig-ask button").focus()
        page.keyboard.press("Enter")
        until(page, "the model is loaded", "() => document.querySelector('.inside-gpt[data-ready]')")
        page.locator(".inside-gpt textarea").focus()
        stops = [page.evaluate(FOCUS)]
        while stops[-1][0] and len(stops) < 100:
            page.keyboard.press("Tab")
            stops.append(page.evaluate(FOCUS))
        assert not stops[-1][0], "the focus cannot leave the picture"
        assert [stop for stop in stops[:-1] if stop[2] < 2] == []
        names = [stop[1] for stop in stops]
        for name in (
            "The text, token by token",
            "The tokens as a table",
            "head 2.1",
            "network of block 3",
            "The map of this head",
            "Measure at 100 positions",
        ):
            assert name in names, name
        page.locator(".ig-tokens").focus()
        page.keyboard.press("Home")
        says(page, "After “the start”")
        assert page.evaluate(CHOSEN_IN_SIGHT)
        page.keyboard.press("ArrowRight")
        says(page, "After “class”")
        page.get_by_role("button", name="network of block 3").focus()
        page.keyboard.press("Space")
        says(page, "Without 3.network it costs")
        page.get_by_label("What stands in its place").focus()
        page.keyboard.press("ArrowDown")
        until(page, "zeros are in the address", "() => location.hash.includes('3.network%3Azero')")
        page.locator("summary", has_text="The tokens as a table").focus()
        page.keyboard.press("Enter")
        assert page.get_by_role("table", name="Surprise of each token").is_visible()
        assert opened.faults == []


def test_each_picture_is_also_a_table_with_a_name(browser, origin):
    with pages.Opened(browser, address(origin)) as opened:
        page = opened.page
        load(page)
        page.get_by_role("button", name="head 2.1", exact=True).click()
        says(page, "Without 2.1 it costs")
        for fold in page.locator(".ig summary").all():
            fold.click()
        page.locator("summary", has_text="The map as a table").click()
        tokens = page.locator("[role=option]").count()
        longest = {
            "The likeliest next tokens": 10,
            "Surprise of each token": tokens - 1,
            "Where it attends, the ten largest weights": 10,
            "Where each position attends most": tokens,
            "Read early: the three likeliest tokens": 5,
        }
        for name, rows in longest.items():
            table = page.get_by_role("table", name=name)
            table.wait_for()
            assert 1 <= len(rows_of(table)) <= rows, name
        surprise = rows_of(page.get_by_role("table", name="Surprise of each token"))
        assert len(surprise) == tokens - 1 and len(surprise[0]) == 4
        label = page.locator("[role=option]").nth(3).get_attribute("aria-label")
        assert label == f"{surprise[2][1]}, {surprise[2][3]} bits"
        buttons = page.locator(".ig button").all()
        assert all((one.get_attribute("aria-label") or one.text_content()).strip() for one in buttons)
        page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")  # the page's own bar may lie on a number
        assert faults(page) == [] and opened.faults == []


# ---- Every number unfolds --------------------------------------------------------------------------------------------

# From the surprise of the next token down to one parameter, by the kinds of `attnlib.js.kinds`.
DOWN = ["bits", "p", "z", "Z", "X", "X.1", "attended", "O", "P", "S", "Q", "W"]
FITS = """() => { const box = document.querySelector('.ig-unfold'), r = box.getBoundingClientRect();
  return [box.scrollHeight <= box.clientHeight + 1, r.top >= -1, r.bottom <= innerHeight + 1,
          r.right <= innerWidth + 1]; }"""


def number(text: str) -> float:
    """A number as the page writes it, such as −1.25 × 10⁻⁵."""
    digits, _, power = text.replace("−", "-").replace("⁻", "-").partition(" × 10")
    return float(digits) * 10 ** int(power.translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")) or 0)


def unfolded(page, kind: str) -> float:
    """Waits until a number of this kind is open, and returns it."""
    name = KINDS[kind.split(".")[0]].name
    until(
        page,
        f"a {name} is open",
        "(name) => document.activeElement.textContent.startsWith(name)",
        name.capitalize()[:1] + name[1:] + ":",
    )
    return number(page.locator(".ig-unfold h3").text_content().split(": ")[1])


def links_of(page) -> list[str]:
    return page.locator(".ig-unfold .ig-equation a").evaluate_all(
        "links => links.map(a => a.getAttribute('href'))"
    )


def test_a_probability_unfolds_to_one_product_and_back_by_keyboard(browser, origin):
    with pages.Opened(browser, address(origin)) as opened:
        page = opened.page
        load(page)
        first = page.locator(".ig-columns [data-open^='bits.']")
        first.focus()
        values = []
        for kind in DOWN:
            pressed = page.evaluate("document.activeElement.textContent")
            page.keyboard.press("Enter")
            values.append(unfolded(page, kind))
            if kind != "bits":
                assert values[-1] == number(pressed)
            for link in links_of(page):
                target, _, label = link.removeprefix("../").partition("#")
                assert f'id="{label}"' in (pages.SITE / "book" / target).read_text("utf8") or not label
            if kind == "S":
                rows = [[number(x) for x in row[1:]] for row in rows_of(page.locator(".ig-terms table"))[:-1]]
                assert all(q * k == pytest.approx(product, rel=2e-3) for q, k, product in rows)
                total = number(page.locator(".ig-terms tbody tr:last-child td").last.text_content())
                assert total / 8 == pytest.approx(values[-1], rel=1e-3)
                more = page.get_by_role("button", name="58 more")
                more.focus()
                page.keyboard.press("Enter")
                until(
                    page,
                    "all products are there",
                    "() => document.querySelectorAll('.ig-terms tbody tr').length === 65",
                )
                rows = rows_of(page.locator(".ig-terms table"))[:-1]
                assert sum(number(row[3]) for row in rows) == pytest.approx(total, abs=0.02)
                assert faults(page) == []
                pages.in_dark(page)
                assert faults(page) == []
            if kind != DOWN[-1]:
                page.locator(f".ig-unfold [data-open^='{DOWN[len(values)]}.']").first.focus()
        n, r = (number(one.split(" = ")[1]) for one in page.locator(".ig-given span").all_text_contents())
        assert n == int(n) and n * r == pytest.approx(values[-1], rel=2e-3)
        for kind, value in zip(DOWN[-2::-1], values[-2::-1], strict=True):
            page.get_by_role("button", name="Back", exact=True).focus()
            page.keyboard.press("Enter")
            assert unfolded(page, kind) == value
        assert page.get_by_role("button", name="Back", exact=True).count() == 0
        page.keyboard.press("Escape")
        until(page, "it is closed", "() => !document.querySelector('.ig-unfold').open")
        assert first.evaluate("one => one === document.activeElement") and "open" not in page.evaluate(
            "location.hash"
        )
        assert opened.faults == []


def test_on_a_phone_each_number_fits_one_screen_and_has_an_address(browser, origin):
    with pages.Opened(browser, address(origin) + "#gpt?open=S.2.1.41.37", 390) as opened:
        page = opened.page
        page.set_viewport_size({"width": 390, "height": 844})
        page.locator(".ig-ask button").tap()
        assert unfolded(page, "S") and page.evaluate(FITS) == [True] * 4
        page.get_by_role("button", name="Close").tap()
        page.locator(".ig-columns [data-open^='bits.']").tap()
        for kind, then in zip(DOWN, [*DOWN[1:], ""], strict=True):
            unfolded(page, kind)
            assert page.evaluate(FITS) == [True] * 4, kind
            assert page.evaluate(LOW, [".ig-unfold button", SMALLEST]) == [] and pages.overflow(page) == []
            assert f"open={kind.split('.')[0]}." in page.evaluate("location.hash")
            if then:
                page.locator(f".ig-unfold [data-open^='{then}.']").first.tap()
        page.locator(".ig-path button").nth(3).tap()
        unfolded(page, DOWN[3])
        page.get_by_role("button", name="Close").tap()
        page.get_by_role("button", name="head 2.1", exact=True).tap()
        says(page, "Without 2.1 it costs")
        page.locator("summary", has_text="The weights as a table").tap()
        page.locator("[data-open^='P.2.1.']").first.tap()
        unfolded(page, "P")
        assert opened.faults == []


def test_what_moved_a_surprise_is_shown_beside_leave_one_out(browser, origin):
    by = course_tokenizer()
    space = by.encode(" ")[0]
    with pages.Opened(browser, address(origin)) as opened:
        page = opened.page
        load(page)
        tokens = by.encode(END) + by.encode_ordinary(page.locator("textarea").input_value())
        t, bracket = len(tokens) - 1, by.encode(")")[0]
        inside = Inside(tokens)
        inside.backward(t, bracket)
        page.get_by_role("button", name="Compare the tokens").click()
        page.get_by_role("button", name="Stop").click()
        page.locator(".ig section", has_text="Stopped.").wait_for()
        page.get_by_role("button", name="Compare the tokens").click()
        page.locator(".ig [role=status]", has_text="Rank correlation").wait_for()
        rows = rows_of(page.get_by_role("table", name="What moved the surprise of “)”"))
        X = inside.kept["stream", 0]
        lengths = (X * X.grad).norm(dim=-1).tolist()
        whole = -math.log2(inside.kept["p", 4][t, bracket].item())
        more = {}
        for j, _, length, bits in rows:
            changed = [*tokens[: int(j)], space, *tokens[int(j) + 1 :]]
            more[int(j)] = -math.log2(Inside(changed).kept["p", 4][t, bracket].item()) - whole
            assert number(length) == pytest.approx(lengths[int(j)], rel=2e-3)
            assert number(bits) == pytest.approx(more[int(j)], rel=2e-3, abs=2e-4)
        # What the page says of it: the bracket is third and first, a line break second and of no effect.
        second = sorted(lengths, reverse=True)[1]
        assert "\n" in by.decode([tokens[lengths.index(second)]]) and abs(more[lengths.index(second)]) < 0.05
        assert by.decode([tokens[max(more, key=more.get)]]) == "(" and lengths[40] == sorted(lengths)[-3]
        for open_, at in {"S.2.1.41.40": ["S", 2, 1, 41, 40], "W.0.W_Q.3.4": ["W", 0, "W_Q", 3, 4]}.items():
            page.goto(address(origin) + f"#gpt?open={open_}")
            page.reload()
            load(page)
            until(
                page,
                "the gradient is there",
                "() => /: .*\\d/.test(document.querySelector('.ig-change').textContent)",
            )
            shown = page.locator(".ig-change").text_content()
            assert shown.startswith("Gradient of the surprise of “)”: ")
            assert number(shown.split(": ")[1]) == pytest.approx(inside.gradient(*at), rel=2e-3)
        assert opened.faults == []


# ---- Broken on purpose -----------------------------------------------------------------------------------------------


def test_a_prediction_breaks_the_model_and_every_break_has_an_address(browser, origin):
    with pages.Opened(browser, address(origin), 390) as opened:
        page = opened.page
        load(page)
        whole = said(page)
        section = page.locator(".ig section", has=page.get_by_role("heading", name="Break it"))
        for name, one in BREAKS.items():
            section.get_by_label("The model").select_option(name)
            section.get_by_role("button", name="over 1").click()
            says(page, f"With {one.name} it costs")
            lesson = section.get_by_role("status").text_content()
            assert lesson.startswith("You predicted over 1. The surprise rises by ") and one.lesson in lesson
            before, after = (float(x) for x in re.findall(r"(?:, |costs )(\d+\.\d\d)", said(page)))
            assert number(re.search(r"rises by (\S+)", lesson)[1]) == pytest.approx(after - before, abs=0.011)
            target, _, label = section.locator("a").get_attribute("href").removeprefix("../").partition("#")
            assert f'id="{label}"' in (pages.SITE / "book" / target).read_text("utf8") or not label
            assert f"off={name}%3Abreak" in page.evaluate("location.hash") and pages.overflow(page) == []
        assert "whole model" in page.locator(".ig-bars").text_content()
        page.locator(".ig-columns [data-open^='bits.']").click()
        page.get_by_text("Mend the model first").wait_for()
        assert faults(page) == []
        page.get_by_role("button", name="Close").click()
        page.get_by_role("button", name="Write 20 tokens").click()
        page.get_by_text("The changed model writes:").wait_for()
        page.get_by_role("button", name="head 2.1", exact=True).click()  # a part out mends the rest
        says(page, "Without 2.1 it costs")
        section.get_by_role("button", name="under 0.1").click()
        says(page, f"With {one.name} it costs")
        page.get_by_role("button", name="Start again").click()
        until(
            page,
            "it is whole again",
            "(whole) => document.querySelector('.ig-said').textContent === whole",
            whole,
        )
        assert section.get_by_role("status").text_content() == ""
        page.goto(address(origin) + "#gpt?off=mask%3Abreak")
        page.reload()
        load(page)
        says(page, "With no mask it costs")
        assert section.get_by_label("The model").input_value() == "mask"
        assert page.evaluate(LOW, [CONTROLS, SMALLEST]) == [] and faults(page) == []
        pages.in_dark(page)
        assert faults(page) == [] and opened.faults == []


# ---- The exercises of the page, answered by what the picture shows ---------------------------------------------------


def test_the_picture_shows_what_the_exercises_ask(browser, origin):
    names = ("which-bracket", "head-in-bits", "first-read")
    asked = [exercises()[f"transformer.{name}"] for name in names]
    which, bits, first = (one.value for one in asked)
    with pages.Opened(browser, address(origin) + "#gpt?text=print(max(a%2C+b)%2C+c") as opened:
        page = opened.page
        load(page)
        page.locator("summary", has_text="The weights as a table").click()
        weights = rows_of(page.get_by_role("table", name="the ten largest weights"))
        assert float(weights[0][0]) == which

        page.get_by_label("Example").select_option("an open bracket")
        says(page, "41 tokens")
        slider = page.get_by_role("slider", name="Temperature")
        slider.fill("1")
        page.get_by_role("button", name="head 2.1", exact=True).click()
        says(page, "Without 2.1 it costs")
        _, _, without, whole = rows_of(page.get_by_role("table", name="The likeliest next tokens"))[0]
        share = [float(x.split("\u00a0")[0]) / 100 for x in (whole, without)]
        assert math.log2(share[0] / share[1]) == pytest.approx(bits, abs=asked[1].within)
        page.get_by_role("button", name="head 2.1", exact=True).click()

        page.get_by_label("Example").select_option("what a file can do")
        says(page, "After “.”")
        early = rows_of(page.get_by_role("table", name="Read early: the three likeliest tokens"))
        answer = early[-1][1].split(" ")[0]
        found = next(row[0] for row in early if row[1].split(" ")[0] == answer)
        assert answer == "read" and found.replace("\u00a0", " ") == first
        assert opened.faults == []

"""The course's own model in the built page: asked for by a button, used by mouse, keyboard and thumb, as PyTorch's."""

import pytest
import test_explorable_pages as explorables
import test_pages as pages
import torch
from waits import until

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
        page.get_by_text("The map of this head").click()
        page.locator(".ig canvas").wait_for()
        page.get_by_text("The weights as a table").click()
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
        bug = {
            "name": "bug.py",
            "mimeType": "text/x-python",
            "buffer": b"import os\n\n\ndef f(x):\n    return xyzzy\n",
        }
        page.locator("input[type=file]").set_input_files(bug)
        page.locator(".ig-file").wait_for()
        assert "xyzzy" in page.locator(".ig-worst").all_text_contents()[-1]
        assert pages.overflow(page) == [] and opened.faults == []

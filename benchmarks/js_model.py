"""The course's model in JavaScript: equality with PyTorch, speed and memory, in Node and in Chromium.

Book: Inside a GPT. Speeds are in tokens a *processor*-second, so that other programs on the machine count less; what a
reader waits for is on the clock. Memory is what the browser's process for the page has grown by. The slowed step runs
on the main thread, because slowing a page does not reach its workers.
"""

import math
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
import torch

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests")]

import chromium  # noqa: E402
from browser_model import in_node  # noqa: E402
from playwright.sync_api import Page, sync_playwright  # noqa: E402
from test_js_model import NEW, greedy_texts, held_out_prompts  # noqa: E402

from attnlib.data import stdlib  # noqa: E402
from attnlib.data.results import save_result  # noqa: E402
from attnlib.js.script import model_file, page_script  # noqa: E402
from attnlib.models.course import END, course_model, course_tokenizer  # noqa: E402

WRITE = """(model, gpt, n) => {
  const run = model.newRun(gpt);
  model.read(gpt, run, [2047]);
  for (let i = 0; i < n; i++) model.read(gpt, run, [model.greedy(model.scoresAt(gpt, run, i))]);
  return run.tokens;
}"""
IN_NODE = f"""
const write = {WRITE};
const seconds = () => {{ const used = process.cpuUsage(); return (used.user + used.system) / 1e6; }};
const timed = (work) => {{ const began = seconds(); work(); return seconds() - began; }};
write(m, gpt, 40);
const prompt = write(m, gpt, 99);
const texts = given.prompts.map((one) => {{
  const run = m.newRun(gpt);
  m.read(gpt, run, one);
  for (let i = one.length - 1; i < one.length - 1 + given.n; i++) m.read(gpt, run, [m.greedy(m.scoresAt(gpt, run, i))]);
  return run.tokens.slice(one.length);
}});
const run = m.newRun(gpt);
m.read(gpt, run, given.long);
answer({{ speed: Math.max(...[1, 2, 3].map(() => 200 / timed(() => write(m, gpt, 200)))),
  prompt: Math.min(...[1, 2, 3].map(() => timed(() => m.read(gpt, m.newRun(gpt), prompt)))),
  texts, scores: [...run.scores] }});
"""
PLACE = '<div class="inside-gpt" data-model="course-model.js" data-size="1"></div>'
PAGE = f'<!doctype html>{PLACE}<script src="inside.js"></script>'
ON_MAIN = f"""async (n) => {{
  window.gpt ??= await new Promise((done) => {{
    window.courseModel = ({{ config, tensors, numbers }}) =>
      done(insideGPT.model.newGPT(config, tensors, Uint8Array.from(atob(numbers), (c) => c.charCodeAt(0)).buffer));
    document.head.append(Object.assign(document.createElement('script'), {{ src: 'course-model.js' }}));
  }});
  const began = performance.now();
  ({WRITE})(insideGPT.model, window.gpt, n);
  return (performance.now() - began) / 1000;
}}"""


def of_node() -> dict[str, Any]:
    prompts, eight = held_out_prompts(), course_model(bits=8)
    by = course_tokenizer()
    text = next(text for _, text in stdlib.texts("held out") if len(text) > 5000)
    long = (by.encode(END) + by.encode_ordinary(text))[:256]
    with tempfile.TemporaryDirectory() as folder:
        found = in_node(Path(folder), IN_NODE, {"prompts": prompts, "n": NEW, "long": long})
    with torch.inference_mode():
        Z = eight(torch.tensor([long]))[0]
    apart = (torch.tensor(found["scores"]).view(256, -1) - Z).abs().max()

    def equal(model: torch.nn.Module) -> str:
        texts = greedy_texts(model, prompts)
        return f"{sum(map(list.__eq__, found['texts'], texts))} of {len(texts)}"

    return {
        "largest difference of a logit from PyTorch's": f"{apart:.1e}",
        "greedy texts of 60 tokens equal to PyTorch's": equal(eight),
        "greedy texts equal to those with 16 bits": equal(course_model()),
        "tokens a processor-second in Node": f"{found['speed']:.0f}",
        "a prompt of 100 tokens in Node, processor-seconds": f"{found['prompt']:.2f}",
    }


def bits_a_byte(bits: int, rows: torch.Tensor, n_bytes: int) -> float:
    model, nats = course_model(bits=bits), 0.0
    with torch.inference_mode():
        for some in rows.split(16):
            Z = model(some[:, :-1]).flatten(0, 1)
            nats += torch.nn.functional.cross_entropy(Z, some[:, 1:].flatten(), reduction="sum").item()
    return nats / math.log(2) / n_bytes


def of_eight_bits(every: int = 8) -> dict[str, str]:
    by = course_tokenizer()
    tokens = [n for _, text in stdlib.texts("held out") for n in by.encode(END) + by.encode_ordinary(text)]
    rows = torch.tensor([tokens[i : i + 257] for i in range(0, len(tokens) - 257, 256)][::every])
    n_bytes = len(by.decode_bytes(rows[:, 1:].flatten().tolist()))
    more = bits_a_byte(8, rows, n_bytes) - bits_a_byte(16, rows, n_bytes)
    return {"bits a byte of held-out text, more than with 16 bits": f"{more:+.4f}"}


def renderer() -> psutil.Process:
    """The process of the page."""
    every = psutil.Process().children(recursive=True)
    pages = [one for one in every if "--type=renderer" in one.cmdline()]
    return max(pages, key=lambda one: one.memory_info().rss)


def used(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def in_worker(page: Page, n: int) -> float:
    """Tokens a processor-second as the page writes them."""
    one = page.get_by_role("button", name="Write 20 tokens")
    process, began = renderer(), used(renderer())
    for _ in range(n // 20):
        one.click()
        page.wait_for_timeout(100)
        page.get_by_role("button", name="Write 20 tokens").wait_for()
    return n / (used(process) - began)


def of_chromium() -> dict[str, str]:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        for name, text in {
            "page.html": PAGE,
            "inside.js": page_script(),
            "course-model.js": model_file(),
        }.items():
            (Path(folder) / name).write_text(text, "utf8")
        browser = playwright.chromium.launch(executable_path=chromium.PATH, args=chromium.ARGUMENTS)
        page = browser.new_page()
        page.goto((Path(folder) / "page.html").as_uri())
        before = renderer().memory_info().rss
        began = time.perf_counter()
        page.locator(".ig-ask button").click()
        page.wait_for_selector(".inside-gpt[data-ready]")
        loaded = time.perf_counter() - began
        page.get_by_role("button", name="Write one").click()
        page.wait_for_timeout(3000)  # what was needed while loading is given back
        session = page.context.new_cdp_session(page)
        session.send("HeapProfiler.collectGarbage")
        page.wait_for_timeout(1000)
        grown = renderer().memory_info().rss - before
        page.goto((Path(folder) / "page.html").as_uri())
        page.evaluate(ON_MAIN, 60)
        process, then = renderer(), used(renderer())
        page.evaluate(ON_MAIN, 200)
        speed = 200 / (used(process) - then)
        session = page.context.new_cdp_session(page)
        session.send("Emulation.setCPUThrottlingRate", {"rate": 6})
        slowed = 60 / page.evaluate(ON_MAIN, 60)
        browser.close()
    return {
        "tokens a processor-second in Chromium": f"{speed:.0f}",
        "tokens a second, processor slowed six times": f"{slowed:.0f}",
        "seconds until the model from a disk is ready": f"{loaded:.1f}",
        "memory above the page without the model, MB": f"{grown / 1e6:.0f}",
    }


if __name__ == "__main__":
    began = time.perf_counter()
    sizes = {
        "file with the model, MB": f"{len(model_file()) / 1e6:.1f}",
        "script of the page with its style, kB": f"{len(page_script()) / 1e3:.0f}",
    }
    table = sizes | of_eight_bits() | of_node() | of_chromium()
    for what, value in table.items():
        print(f"{what:52} {value}")
    seconds = time.perf_counter() - began
    save_result(
        "js_model",
        {"table": table},
        seeds=[20261125],
        command="python -m benchmarks.js_model",
        seconds=seconds,
    )

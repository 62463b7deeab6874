"""How fast the built book's pages are for a first visitor, measured in a headless Chromium: `make speed`.

Each page is opened three times with an empty cache, through a server that compresses; the medians are printed and
stored. `done` is when the page, its fonts and its scripts are there and the browser has nothing left to do. The
heaviest page is opened again with the processor slowed four times. CLS (cumulative layout shift) is measured while
the page loads and while it is scrolled down.
"""

import os
import re
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import chromium
from gzip_server import Server, serving
from playwright.sync_api import sync_playwright

from attnlib.data.results import save_result

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "_build" / "html"
LEADS_ON = re.compile('http-equiv="refresh"', re.I)
LIMITS: dict[str, float] = {"kB": 500, "requests": 30, "FCP": 400, "done": 600, "CLS": 0.02}
SLOWER, DONE_WHEN_SLOWER = 4, 1600

OBSERVE = """
  window.moved = 0;
  new PerformanceObserver(list => { for (const e of list.getEntries()) if (!e.hadRecentInput) moved += e.value; })
    .observe({type: 'layout-shift', buffered: true});
"""
# The browser may be idle before it has painted, so the first paint is waited for, too.
DONE = """async () => {
  const painted = new Promise((done, fail) => {
    setTimeout(() => fail(Error('nothing painted in 20 s')), 20000);
    new PerformanceObserver(list => {
      for (const e of list.getEntriesByName('first-contentful-paint')) done(e.startTime);
    }).observe({type: 'paint', buffered: true});
  });
  if (document.readyState !== 'complete') await new Promise(done => addEventListener('load', () => setTimeout(done)));
  await document.fonts.ready;
  await new Promise(done => requestIdleCallback(done, {timeout: 5000}));
  const idle = performance.now(), FCP = await painted;
  return {FCP, done: Math.max(idle, FCP)};
}"""
# Scroll screen by screen. Fonts, images and explorables that load when they come into view are waited for, at most 5 s
# a page; other tests find what never loads. Two frames, because the first one may start changes that the second shows.
# A headless browser may stop producing frames: after a second without one the script goes on.
SCROLL = """async () => {
  const frame = () => new Promise(done => { requestAnimationFrame(done); setTimeout(done, 1000); });
  const inView = e => { const box = e.getBoundingClientRect(); return box.bottom > 0 && box.top < innerHeight; };
  const late = [...document.querySelectorAll('img, [data-explorable]')];
  const coming = () => document.fonts.status === 'loading' || late.some(e => inView(e) && (
    e.tagName === 'IMG' ? !e.complete : !e.dataset.ready && !e.dataset.failed));
  let patience = 5000;
  for (let y = 0; y < document.documentElement.scrollHeight; y += innerHeight) {
    scrollTo(0, y); await frame(); await frame();
    const since = performance.now();
    while (performance.now() - since < patience && coming()) await frame();
    patience -= performance.now() - since;
  }
  await frame();
  return moved;
}"""


def pages() -> list[str]:
    """The addresses of the book's pages below _build/html, without those that only redirect."""
    found = sorted(str(path.relative_to(SITE)) for path in SITE.rglob("*.html"))
    return [name for name in found if not name.startswith("_") and not LEADS_ON.search(head_of(name))]


def head_of(name: str) -> str:
    """The beginning of a page, with its meta elements."""
    with (SITE / name).open(encoding="utf8") as page:
        return page.read(6000)


@contextmanager
def running(*arguments: str) -> Iterator[Any]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium.PATH, args=[*chromium.ARGUMENTS, *arguments]
        )
        yield browser
        browser.close()


def visit(browser: Any, server: Server, name: str, slower: int = 1) -> dict[str, float]:
    """One first visit: kilobytes, requests, milliseconds, and how much moved."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.add_init_script(OBSERVE)
    context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slower})
    server.forget()
    page.goto(server.address + name)
    seen = page.evaluate(DONE)
    seen |= {"requests": len(server.sent), "kB": sum(size for _, size in server.sent) / 1000}
    seen["CLS"] = page.evaluate(SCROLL) if slower == 1 else page.evaluate("() => moved")
    context.close()
    return seen


def median(visits: list[dict[str, float]]) -> dict[str, float]:
    return {key: round(statistics.median(visit[key] for visit in visits), 3) for key in visits[0]}


def line(name: str, seen: dict[str, float], limits: dict[str, float] = LIMITS) -> str:
    cells = [
        f"{seen[key]:9.{3 if key == 'CLS' else 0}f}{' ' if seen[key] <= limits[key] else '!'}"
        for key in LIMITS
    ]
    return f"{name:52}" + "".join(cells)


def main() -> int:
    names = sys.argv[1:] or pages()
    if not names:
        print("make speed: the book is not built. Run: make book")
        return 1
    began, load = time.perf_counter(), os.getloadavg()[0]
    print(f"{'page (! = over the limit below)':52}" + "".join(f"{key:>9} " for key in LIMITS))
    with serving(SITE) as server, running() as browser:
        visit(browser, server, names[0])  # starts the browser's processes
        seen = {}
        for name in names:
            seen[name] = median([visit(browser, server, name) for _ in range(3)])
            print(line(name, seen[name]), flush=True)
        heaviest = max(seen, key=lambda name: seen[name]["kB"])
        slowed = median([visit(browser, server, heaviest, SLOWER) for _ in range(3)])
        version = browser.version
    print(
        line(
            f"{heaviest}, {SLOWER} times slower"[-52:],
            slowed,
            LIMITS | {"FCP": 1600, "done": DONE_WHEN_SLOWER},
        )
    )
    print(line("limit", LIMITS))
    print(f"Load of the machine before: {load:.1f} on {os.cpu_count()} cores.")
    told = {"browser": f"Chromium {version}", "cores": os.cpu_count(), "load_before": round(load, 1)}
    data = {"machine": told, "limits": LIMITS, "pages": seen, "slower": {"times": SLOWER, heaviest: slowed}}
    seconds = time.perf_counter() - began
    if not sys.argv[1:]:
        save_result("page-speed", data, seeds=(), command="python tools/page_speed.py", seconds=seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())

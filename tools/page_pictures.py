"""Pictures of the pages that a change has changed, before and after, at 390 and 1280 pixels.

    make pictures               against the commit at which this branch left main
    make pictures SINCE=HEAD~   against another commit

The book is built as it was, in a worktree that is removed afterwards, and compared with the one in _build/html. A page
has changed if its text or its elements have; where a style sheet or a script has, the first page of each folder is
shown, too. The pictures lie in _build/pictures, with a page `index.html` that has them side by side.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import chromium

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "_build" / "html"
OUT = ROOT / "_build" / "pictures"
WIDTHS = (390, 1280)
TALL = 8_000  # pixels of one picture: Chromium draws no more than twice as many at once
MOST = 20  # changed pages that are shown, so that a change to all of them takes minutes, not an hour
LOOKS = ("*.css", "*.js")
# What differs between two builds of the same page: the version of an asset, and when the page was last changed.
VOLATILE = re.compile(r"\?v=\w+|\?digest=\w+|<p class=\"last-updated\">.*?</p>|<time.*?</time>", re.S)
SETTLED = "() => document.fonts.ready.then(() => new Promise(done => setTimeout(done, 200)))"
TO_THE_END = """async () => {
  for (let y = 0; y < document.documentElement.scrollHeight; y += innerHeight) {
    scrollTo(0, y);
    await new Promise(requestAnimationFrame);
  }
  scrollTo(0, 0);
}"""


class Picture(NamedTuple):
    """A part of a page, from the top on, before or after."""

    page: str
    width: int
    part: int
    when: str

    @property
    def file(self) -> str:
        """
        >>> Picture("book/intro.html", 390, 0, "before").file
        'book-intro-390-0-before.png'
        """
        stem = self.page.removesuffix(".html").replace("/", "-")
        return f"{stem}-{self.width}-{self.part}-{self.when}.png"


# ---- Which pages ----------------------------------------------------------------------------------------------------


def pages(site: Path) -> set[str]:
    return {file.relative_to(site).as_posix() for file in site.rglob("*.html")}


def content(file: Path) -> str:
    """What of a page counts; nothing if there is none."""
    return VOLATILE.sub("", file.read_text("utf8")) if file.exists() else ""


def looks(site: Path) -> dict[str, bytes]:
    """The style sheets and scripts of a site, by their names without a version in them."""
    files = [file for pattern in LOOKS for file in sorted((site / "_static").glob(pattern))]
    return {re.sub(r"[.-][0-9a-f]{8,}", "", file.name): file.read_bytes() for file in files}


def changed(before: Path, after: Path) -> list[str]:
    """The pages that differ, new and gone ones too; if the looks differ, the first page of each folder."""
    every = sorted(pages(before) | pages(after))
    found = {page for page in every if content(before / page) != content(after / page)}
    if looks(before) != looks(after):
        found |= {next(group) for _, group in groupby(every, key=lambda page: page.rpartition("/")[0])}
    return sorted(found)


# ---- The book as it was ---------------------------------------------------------------------------------------------


def git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()


def built(commit: str, folder: Path) -> Path:
    """The book of a commit, built in this folder with the packages of today."""
    git("worktree", "add", "--detach", str(folder), commit)
    vendored = ROOT / "book" / "_vendor"
    if vendored.exists():  # fetched again only where another version is asked for
        shutil.copytree(vendored, folder / "book" / "_vendor", dirs_exist_ok=True)
    environment = os.environ | {"PYTHONPATH": str(folder)}
    subprocess.run([sys.executable, "tools/build_book.py"], cwd=folder, check=True, env=environment)
    return folder / "_build" / "html"


# ---- Taking them ----------------------------------------------------------------------------------------------------


def take(browser: Any, site: Path, page: str, width: int, when: str, out: Path) -> list[Picture]:
    """A page from the top to its end, in parts; none if the site has no such page."""
    if not (site / page).exists():
        return []
    context = browser.new_context(viewport={"width": width, "height": 900}, reduced_motion="reduce")
    opened = context.new_page()
    opened.goto((site / page).as_uri())
    opened.evaluate(SETTLED)
    opened.evaluate(TO_THE_END)
    opened.evaluate(SETTLED)
    height = opened.evaluate("() => document.documentElement.scrollHeight")
    made = []
    for part, top in enumerate(range(0, height, TALL)):
        picture = Picture(page, width, part, when)
        clip = {"x": 0, "y": top, "width": width, "height": min(TALL, height - top)}
        opened.screenshot(path=out / picture.file, full_page=True, clip=clip)
        made.append(picture)
    context.close()
    return made


def differing(pictures: Iterable[Picture], out: Path) -> list[Picture]:
    """Those whose other half is not the same; the files of the rest go."""
    kept = []
    for _, half in groupby(sorted(pictures), key=lambda picture: picture[:3]):
        pair = list(half)
        files = [out / picture.file for picture in pair]
        if len(pair) == 2 and files[0].read_bytes() == files[1].read_bytes():
            for file in files:
                file.unlink()
        else:
            kept += pair
    return kept


def side_by_side(pictures: list[Picture], left_out: list[str]) -> str:
    """A page with all of them, before on the left and after on the right."""
    rows = []
    for (page, width, part), half in groupby(sorted(pictures), key=lambda picture: picture[:3]):
        files = {picture.when: picture.file for picture in half}
        cells = [f'<td><img src="{files[w]}" alt="{w}"></td>' if w in files else "<td></td>" for w in WHEN]
        rows.append(
            f"<tr><th colspan=2>{escape(page)}, {width} px, part {part + 1}</th></tr><tr>{''.join(cells)}</tr>"
        )
    more = f"<p>Changed, not shown: {escape(', '.join(left_out))}</p>" if left_out else ""
    return f"{HEAD}{more}<table>{''.join(rows)}</table>"


WHEN = ("before", "after")
HEAD = """<!doctype html><meta charset=utf-8><title>Before and after</title>
<style>td { vertical-align: top } img { max-width: 48vw; border: 1px solid #999 }</style>"""


def compare(before: Path, after: Path, out: Path) -> list[Picture]:
    """Pictures of all pages that differ between two built books."""
    from playwright.sync_api import sync_playwright

    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    found = changed(before, after)
    shown, taken = found[:MOST], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium.PATH, args=chromium.ARGUMENTS)
        for page in shown:
            for width in WIDTHS:
                for when, site in zip(WHEN, (before, after), strict=True):
                    taken += take(browser, site, page, width, when, out)
        browser.close()
    kept = differing(taken, out)
    (out / "index.html").write_text(side_by_side(kept, found[MOST:]), "utf8")
    return kept


def main(arguments: list[str]) -> int:
    if len(arguments) != 2 or arguments[0] != "--since" or chromium.PATH is None or not SITE.exists():
        print(f"make pictures: it needs a commit, the built book and Chromium ({chromium.HOW}).")
        print("Try: make pictures SINCE=main")
        return 2
    left = git("merge-base", arguments[1], "HEAD")
    with tempfile.TemporaryDirectory() as folder:
        worktree = Path(folder) / "before"
        try:
            kept = compare(built(left, worktree), SITE, OUT)
        finally:
            git("worktree", "remove", "--force", str(worktree))
    different = len({picture.page for picture in kept})
    print(f"make pictures: pages that look otherwise than at {left[:7]}: {different}. Open {OUT}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

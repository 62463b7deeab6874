"""Print the whole book into one PDF: `python tools/make_pdf.py`, after `make book`. It is tagged and has an outline.

The parts are printed one by one, each numbered from where the last one ends. The table of contents needs the page
numbers and is printed last; then all are joined. Printing the whole book at once takes a browser several gigabytes.
"""

import asyncio
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import chromium
import pikepdf
from pikepdf import Array, Dictionary, Name, NameTree, NumberTree, Pdf, String
from playwright.async_api import Browser, async_playwright
from set_address import wanted
from single_page import ELSEWHERE, assemble, counting_from, with_numbers

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "_build"
SITE = BUILD / "html"
PDF = BUILD / "downloads" / "attention-executed.pdf"
LIMIT = 300.0  # seconds for one part; the longest one takes a tenth of it


async def print_page(browser: Browser, html: str, pdf: Path) -> None:
    """Print without scripts, so that interactive pictures are printed as static figures."""
    page = BUILD / f"{pdf.stem}.html"  # kept: the tests read what was printed
    page.write_text(html, encoding="utf-8")
    try:
        async with asyncio.timeout(LIMIT):
            context = await browser.new_context(java_script_enabled=False, color_scheme="light")
            opened = await context.new_page()
            await opened.goto(page.as_uri(), wait_until="load", timeout=0)
            await opened.pdf(
                path=pdf, print_background=True, prefer_css_page_size=True, tagged=True, outline=True
            )
            await context.close()
    except TimeoutError:
        raise SystemExit(
            f"make pdf: {pdf.stem} was not printed within {LIMIT:g} seconds; it is {page}"
        ) from None


def page_numbers(pdf: Path) -> dict[str, int]:
    """The page number of each link target, by its name."""
    with pikepdf.open(pdf) as document:
        numbers: dict[Any, int] = {page.objgen: number for number, page in enumerate(document.pages, 1)}
        places = document.Root.get("/Dests", Dictionary())
        return {name.lstrip("/"): numbers[place[0].objgen] for name, place in places.items()}


def sheets(pdf: Path) -> int:
    with pikepdf.open(pdf) as document:
        return len(document.pages)


# ---- Joining the parts ----------------------------------------------------------------------------------------------


def join(parts: list[Path], pdf: Path) -> None:
    """One document of many; the many small objects of a tagged document stored together, which halves the file."""
    with ExitStack() as opened:
        whole, *others = [opened.enter_context(pikepdf.open(part)) for part in parts]
        for number, part in enumerate(others, 1):
            append(whole, part, f"{number}-")
        lead_inside(whole)
        whole.save(pdf, object_stream_mode=pikepdf.ObjectStreamMode.generate, linearize=True)


def append(whole: Pdf, part: Pdf, prefix: str) -> None:
    """Append a part: its pages, tags, outline and link targets."""
    set_before_names(part, prefix)
    first = len(whole.pages)
    whole.add_pages_from(part)  # first, because the rest refers to pages
    append_tags(whole, whole.copy_foreign(part.Root.StructTreeRoot), first)
    append_outline(whole.Root.Outlines, whole.copy_foreign(part.Root.Outlines))
    if "/Dests" not in whole.Root:
        whole.Root.Dests = Dictionary()
    for name, place in whole.copy_foreign(part.Root.Dests).items():
        whole.Root.Dests[name] = place


def set_before_names(part: Pdf, prefix: str) -> None:
    """The cells of a table refer to their headers by names, which are unique only within their part."""
    for thing in part.objects:
        if not isinstance(thing, Dictionary) or thing.get("/Type") != Name.StructElem:
            continue
        if "/ID" in thing:
            thing.ID = String(prefix + str(thing.ID))
        for attribute in thing.get("/A", ()):
            if "/Headers" in attribute:
                attribute.Headers = Array([String(prefix + str(header)) for header in attribute.Headers])


def append_tags(whole: Pdf, tags: Any, first: int) -> None:
    """Append the tags of the pages from `first` on; their numbers continue those of the document."""
    ours = whole.Root.StructTreeRoot
    after = int(ours.ParentTreeNextKey)
    for page in list(whole.pages)[first:]:
        for owner, key in ((page.obj, "/StructParents"), *((link, "/StructParent") for link in links(page))):
            owner[key] = int(owner[key]) + after
    by_number = NumberTree(ours.ParentTree)
    for number, of_page in NumberTree(tags.ParentTree).items():
        by_number[number + after] = of_page
    ours.ParentTreeNextKey = after + int(tags.ParentTreeNextKey)
    if "/IDTree" not in ours:
        ours.IDTree = NameTree.new(whole).obj
    names = NameTree(ours.IDTree)
    for header in NameTree(tags.IDTree).values() if "/IDTree" in tags else ():
        names[str(header.ID)] = header
    tags.K.S, tags.K.P = Name.Part, ours.K  # the root of each part was a Document
    inside = ours.K.K if isinstance(ours.K.K, Array) else [ours.K.K]  # a single child is not in a list
    ours.K.K = Array([*inside, tags.K])


def append_outline(ours: Any, more: Any) -> None:
    entry = more.First
    while True:
        entry.Parent = ours
        if "/Next" not in entry:
            break
        entry = entry.Next
    ours.Last.Next, more.First.Prev = more.First, ours.Last
    ours.Last, ours.Count = more.Last, int(ours.Count) + int(more.Count)


def links(page: pikepdf.Page) -> list[Any]:
    return list(page.get("/Annots", ()))


def lead_inside(whole: Pdf) -> None:
    """Turn links into other parts into links within the document."""
    for page in whole.pages:
        for link in links(page):
            address = str(link.get("/A", Dictionary()).get("/URI", ""))
            if address.startswith(ELSEWHERE):
                place = Name("/" + address.removeprefix(ELSEWHERE))
                if place not in whole.Root.Dests:
                    raise SystemExit(f"make pdf: a link leads to {place}, which is nowhere")
                del link.A
                link.Dest = place


def size(pdf: Path) -> str:
    """`293 pages, 7.5 MB`"""
    return f"{sheets(pdf)} pages, {pdf.stat().st_size / 1e6:.1f} MB"


def up_to_date() -> bool:
    """Whether the PDF is newer than the pages and the scripts that make it."""
    makers = [
        ROOT / "_toc.yml",
        *(ROOT / "tools" / name for name in ("make_pdf.py", "single_page.py", "pdf.css")),
    ]
    sources = [*SITE.rglob("*.html"), *SITE.rglob("*.css"), *makers]
    return PDF.exists() and PDF.stat().st_mtime > max(file.stat().st_mtime for file in sources)


async def make() -> None:
    front, *parts = assemble(ROOT, SITE, wanted()["site"])
    PDF.parent.mkdir(parents=True, exist_ok=True)
    for old in BUILD.glob("part-*.html"):
        old.unlink()
    with tempfile.TemporaryDirectory() as folder:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=chromium.PATH, args=chromium.ARGUMENTS)
            printed = [Path(folder) / f"part-{number}.pdf" for number in range(len(parts) + 1)]
            await print_page(browser, front, printed[0])  # for the number of its pages
            numbers: dict[str, int] = {}
            before = sheets(printed[0])
            for part, pdf in zip(parts, printed[1:], strict=True):
                await print_page(browser, counting_from(part, before + 1), pdf)
                numbers |= {name: before + number for name, number in page_numbers(pdf).items()}
                before += sheets(pdf)
            await print_page(browser, with_numbers(front, numbers), printed[0])
            await browser.close()
        join(printed, PDF)


def main() -> int:
    if not (SITE / "book" / "intro.html").exists():
        print("make pdf: the book is not built. Run: make book")
        return 1
    if chromium.PATH is None:
        print(f"make pdf: a Chromium browser prints the book, and there is none. {chromium.HOW}")
        return 1
    if not up_to_date():
        asyncio.run(make())
    print(f"The book as a PDF: {PDF} ({size(PDF)})")
    return 0


if __name__ == "__main__":
    sys.exit(main())

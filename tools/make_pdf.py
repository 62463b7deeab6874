"""Print the whole book into one PDF: `python tools/make_pdf.py`, after `make book`. It is tagged and has an outline.

The book is printed twice, because a page's number is known only once everything is printed: the first time to learn
the numbers, the second time with them in the table of contents.
"""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import pikepdf
from playwright.sync_api import Browser, sync_playwright
from set_address import wanted
from single_page import assemble, with_numbers

ROOT = Path(__file__).resolve().parent.parent
SITE, PAGE = ROOT / "_build" / "html", ROOT / "_build" / "book.html"
PDF = ROOT / "_build" / "downloads" / "attention-executed.pdf"


def chromium() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    raise SystemExit(
        "make pdf: a Chromium browser prints the book, and there is none. Try: sudo apt-get install chromium"
    )


def print_page(browser: Browser, page: Path, pdf: Path) -> None:
    """Print without scripts, so that each figure is the one that a page has without them."""
    context = browser.new_context(java_script_enabled=False, color_scheme="light")
    opened = context.new_page()
    opened.goto(page.as_uri(), wait_until="load")
    opened.pdf(path=pdf, print_background=True, prefer_css_page_size=True, tagged=True, outline=True)
    context.close()


def page_numbers(pdf: Path) -> dict[str, int]:
    """The page number of each place that a link of the document leads to, by its name."""
    with pikepdf.open(pdf) as document:
        numbers: dict[Any, int] = {page.objgen: number for number, page in enumerate(document.pages, 1)}
        return {name.lstrip("/"): numbers[place[0].objgen] for name, place in document.Root.Dests.items()}


def pack(loose: Path, pdf: Path) -> None:
    """Store the many small objects of a tagged document together, which halves the file."""
    with pikepdf.open(loose) as document:
        document.save(pdf, object_stream_mode=pikepdf.ObjectStreamMode.generate, linearize=True)


def size(pdf: Path) -> str:
    """`293 pages, 7.5 MB`"""
    with pikepdf.open(pdf) as document:
        return f"{len(document.pages)} pages, {pdf.stat().st_size / 1e6:.1f} MB"


def up_to_date() -> bool:
    """Is the PDF younger than the pages and than what makes it?"""
    makers = [
        ROOT / "_toc.yml",
        *(ROOT / "tools" / name for name in ("make_pdf.py", "single_page.py", "pdf.css")),
    ]
    sources = [*SITE.rglob("*.html"), *SITE.rglob("*.css"), *makers]
    return PDF.exists() and PDF.stat().st_mtime > max(file.stat().st_mtime for file in sources)


def make() -> None:
    html = assemble(ROOT, SITE, wanted()["site"])
    PDF.parent.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        draft = Path(folder) / "draft.pdf"
        PAGE.write_text(html, encoding="utf-8")
        print_page(browser, PAGE, draft)
        PAGE.write_text(with_numbers(html, page_numbers(draft)), encoding="utf-8")
        print_page(browser, PAGE, draft)
        pack(draft, PDF)


def main() -> int:
    if not (SITE / "book" / "intro.html").exists():
        print("make pdf: the book is not built. Run: make book")
        return 1
    if not up_to_date():
        make()
    print(f"The book as a PDF: {PDF} ({size(PDF)})")
    return 0


if __name__ == "__main__":
    sys.exit(main())

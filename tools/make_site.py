"""Assemble the published site in _build/site: the built book, and in downloads/ its PDF and its archive.

The pages link to the downloads by their published addresses, so that no link is dead in a plain `make book`. Here these
become links within the site, with the size of each file.
"""

import re
import shutil
import sys
from pathlib import Path

from make_pdf import size as size_of_pdf
from set_address import wanted

ROOT = Path(__file__).resolve().parent.parent
BOOK, DOWNLOADS, SITE = (ROOT / "_build" / name for name in ("html", "downloads", "site"))


def size(file: Path) -> str:
    """`1.6 MB`, and of a PDF also its pages."""
    return size_of_pdf(file) if file.suffix == ".pdf" else f"{file.stat().st_size / 1e6:.1f} MB"


def with_sizes(html: str, depth: int, address: str, sizes: dict[str, str]) -> str:
    """A page, `depth` folders down, whose links to the downloads are relative and followed by the file size."""
    for name, text in sizes.items():
        link = re.compile(rf'href="{re.escape(address)}downloads/{re.escape(name)}"([^>]*>)(.*?)</a>', re.S)
        html = link.sub(rf'href="{"../" * depth}downloads/{name}"\1\2 ({text})</a>', html)
    return html


def put_together(book: Path, downloads: Path, site: Path, address: str) -> int:
    """Fill `site`; returns how many pages name a download."""
    shutil.rmtree(site, ignore_errors=True)
    shutil.copytree(book, site, ignore=shutil.ignore_patterns(".buildinfo"))
    shutil.copytree(downloads, site / "downloads")
    (
        site / ".nojekyll"
    ).touch()  # else GitHub Pages would leave out the folders that begin with an underscore
    sizes = {file.name: size(file) for file in sorted(downloads.iterdir())}
    changed = 0
    for page in site.rglob("*.html"):
        before = page.read_text(encoding="utf-8")
        after = with_sizes(before, len(page.relative_to(site).parts) - 1, address, sizes)
        if after != before:
            page.write_text(after, encoding="utf-8")
            changed += 1
    return changed


def main() -> int:
    for needed, command in ((BOOK / "index.html", "make book"), (DOWNLOADS, "make pdf zip")):
        if not needed.exists():
            print(f"make site: {needed} is missing. Run: {command}")
            return 1
    changed = put_together(BOOK, DOWNLOADS, SITE, wanted()["site"])
    print(
        f"The site is in {SITE}, with both downloads ({changed} pages link to them). Any static web server can host it."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

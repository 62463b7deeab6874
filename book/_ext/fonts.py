"""The fonts of the pages, cut to the letters that the book uses and put into its style sheet.

A font that arrives after the text moves the text, and how far depends on the fonts of the reader's machine. In the
style sheet it can never be late. So that this costs no bytes, a font for text keeps ASCII and the characters of the
pages and scripts, a font for formulas the letters that some formula draws in it; of the weights those stay that the
style sheets ask for. A font takes seconds to cut, so what was cut is remembered by what it was made from.
"""

import base64
import hashlib
import io
import re
from pathlib import Path

from fontTools import subset, version
from fontTools.ttLib import TTFont
from fontTools.varLib import instancer

from .letters import Face, letters

ASCII = frozenset(map(chr, range(0x20, 0x7F)))
WEIGHTS = {"normal": (400, 700), "italic": 400}  # slanted letters are hardly ever bold
NARROW = 82  # percent of the usual width: 69 letters of printed output in the width of a phone
Axes = dict[str, int | tuple[int, int]]
AXES: Axes = {"wght": WEIGHTS["normal"], "wdth": NARROW}
FEATURES = ["ccmp", "kern", "liga", "lnum", "tnum"]
NAMES = [0, 13, 14]  # copyright and licence; the family's name is reserved for the whole font
FONT_FACE = re.compile(r"@font-face \{[^{}]*\}\n?")
SOURCE = re.compile(r'url\("([^"]+\.woff2)"\)')
DESCRIBED = re.compile(r"""font-(family|style|weight):\s*["']?([^;"'}]*)""")


def cut(font: bytes, kept: frozenset[str], axes: Axes = AXES) -> bytes:
    """A font with the kept characters, weights and width alone."""
    options = subset.Options(
        flavor="woff2", layout_features=FEATURES, name_IDs=NAMES, hinting=False, notdef_outline=True
    )
    loaded = TTFont(io.BytesIO(font), recalcTimestamp=False)
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=map(ord, kept))
    cutter.subset(loaded)
    if "fvar" in loaded:
        found = {axis.axisTag for axis in loaded["fvar"].axes}
        instancer.instantiateVariableFont(loaded, {tag: axes[tag] for tag in found}, inplace=True)
    loaded.flavor = "woff2"
    written = io.BytesIO()
    loaded.save(written)
    return written.getvalue()


def cut_once(font: Path, kept: frozenset[str], store: Path, axes: Axes = AXES) -> Path:
    """Where the cut font lies; it is made if it is not there yet."""
    content = font.read_bytes()
    recipe = repr((version, axes, FEATURES, NAMES, sorted(kept))).encode()
    made = store / f"{font.stem}-{hashlib.sha256(recipe + content).hexdigest()[:16]}.woff2"
    if not made.exists():
        store.mkdir(parents=True, exist_ok=True)
        for old in store.glob(f"{font.stem}-{'[0-9a-f]' * 16}.woff2"):
            old.unlink()
        made.write_bytes(cut(content, kept, axes))
    return made


def face_of(rule: str) -> Face:
    """
    >>> face_of('@font-face { font-family: "A b"; font-style: italic; font-weight: 200 900; src: url("c") }')
    Face(family='A b', style='italic', weight='200 900')
    """
    return Face(**({"style": "normal", "weight": "400"} | dict(DESCRIBED.findall(rule))))


def axes_of(face: Face) -> Axes:
    """
    >>> axes_of(Face("Code", "normal", "400"))["wght"], axes_of(Face("Text", "normal", "200 900"))["wght"]
    (400, (400, 700))
    """
    several = " " in face.weight
    return AXES | {"wght": WEIGHTS[face.style] if several else int(face.weight)}


def embed(css: str, pages: list[str], scripts: list[str], static: Path, store: Path) -> str:
    """The style sheet with its fonts in it; those are left out in which nothing is written."""
    in_formulas = letters(pages, css)
    in_text = ASCII.union(*map(set, pages), *map(set, scripts))

    def embedded(rule: re.Match[str]) -> str:
        face, source = face_of(rule[0]), SOURCE.search(rule[0])
        kept = in_formulas.get(face) if face.family.startswith("KaTeX") else in_text
        if not source or not kept:
            return ""
        font = cut_once(static / source[1], frozenset(kept), store, axes_of(face))
        data = base64.b64encode(font.read_bytes()).decode()
        return rule[0].replace(source[0], f'url("data:font/woff2;base64,{data}")')

    return FONT_FACE.sub(embedded, css)

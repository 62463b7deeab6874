"""The letters that a browser draws in a page, and whether the fonts of the built style sheet have them."""

import base64
import importlib
import io
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

from fontTools.ttLib import TTFont

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book"))

fonts = importlib.import_module("_ext.fonts")

STATIC = ROOT / "_build" / "html" / "_static"
SERIF = ROOT / "book" / "_vendor" / "site" / "fonts" / "source-serif-4-latin-wght-normal.woff2"

# The letters of each text that is drawn, by the font that the browser takes for it.
DRAWN = """() => {
  const found = {}, texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (element.closest('.katex-mathml, script, style')) continue;
    const {fontFamily, fontStyle, fontWeight} = getComputedStyle(element);
    const family = fontFamily.split(',')[0].replaceAll('"', '');
    (found[[family, fontStyle, fontWeight].join('|')] ||= new Set()).add(texts.currentNode.data);
  }
  return Object.entries(found).map(([font, texts]) => [...font.split('|'), [...texts].join('')]);
}"""


def cmap(font: bytes) -> set[str]:
    return set(map(chr, TTFont(io.BytesIO(font))["cmap"].getBestCmap() or ()))


@cache
def shipped() -> dict[Any, bytes]:
    """The fonts of the built style sheet by family, style and weight."""
    rules = fonts.FONT_FACE.findall((STATIC / "book.css").read_text("utf8"))
    data = [re.search(r"base64,([^\"]*)", rule) for rule in rules]
    return {
        fonts.face_of(rule): base64.b64decode(found[1])
        for rule, found in zip(rules, data, strict=True)
        if found
    }


@cache
def letters_of() -> dict[tuple[str, str, str], set[str]]:
    """The letters of each font of the built style sheet."""
    return {(face.family, face.style, face.weight): cmap(font) for face, font in shipped().items()}


@cache
def vendored() -> set[str]:
    """The letters that each font for text has before it is cut."""
    return set.intersection(*(cmap(file.read_bytes()) for file in SERIF.parent.glob("*.woff2")))


def drawn(page: Any) -> list[tuple[str, str, str, str]]:
    """The texts of an open page by the family, style and weight of their font."""
    return [tuple(one) for one in page.evaluate(DRAWN) if one[0].startswith(("KaTeX", "Source"))]


def lacking(page: Any) -> list[str]:
    """The letters that an open page draws in a font that was shipped without them: a sentence for each font."""
    found = []
    for family, style, weight, text in drawn(page):
        if family.startswith("KaTeX"):
            lost = set(text) - letters_of().get((family, style, weight), set()) - set("\n\u200b")
        else:
            has = set[str]().union(*(of for (named, *_), of in letters_of().items() if named == family))
            lost = set(text) & vendored() - has
        found += [f"{family} {style} {weight} lacks {''.join(sorted(lost))}"] if lost else []
    return found

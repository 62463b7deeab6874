"""Is each number of a page's prose an output of the page? `python tools/prose_numbers.py [04]` lists the others.

A number of two or more significant digits in a text counts if a printed output of the same page shows it, rounded or
not, or a stored result that the page loads holds it. What only a figure shows does not count. Formulas, code, links,
tables, examples in italics, years, exercises, further reading, what a document says in a claim, and the numbers of
chapters, equations, propositions and versions need no output.
"""

import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "attnlib" / "data" / "results"
ASIDE = re.compile(
    r"\$\$.*?\$\$|\$[^$]*\$|```.*?```|`[^`]*`|<[^>]*>|\[\([\d.]+\)\]\([^)\n]*\)|\]\([^)\n]*\)|^\|[^\n]*$|^#[^\n]*$"
    r"|^> \*\*(?:Exercise|Claim checked)\*\*[^\n]*$|\*\*Said\*\*[^\n]*|(?<!\*)\*[\d.,]+\*(?!\*)|https?://\S+",
    re.S | re.M,
)
NUMBER = re.compile(r"(?<![\w.,/-])\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?<![\w.,/-])\d+(?:\.\d+)?(?:e-?\d+)?")
YEAR = re.compile(r"(19|20)\d\d")
PLACES = re.compile(
    r"§+[\d.]+|D[1-5] [\d.]+|(?:Theorem|Chapters?|[Nn]otebooks?|[Pp]ages?|[Ss]ections?|[Tt]ables?|Fig\.|[Ff]igures?"
    r"|[Ee]quations?|eqs?\.|Proposition|Definition|Example|[Vv]ersion|[Ss]teps?|GPT-|\d+-bit)\s*[\d.]+(?: to [\d.]+)?"
)
LOADS = re.compile(r"load_result\(\s*\"([\w-]+)\"")


def digits(number: str) -> int:
    """Significant digits: zeros at the ends of a whole number do not count.

    >>> [digits(number) for number in ("7", "30", "0.05", "0.50", "1,024", "12")]
    [1, 1, 1, 2, 4, 2]
    """
    number = number.replace(",", "").split("e")[0]
    plain = number.replace(".", "").lstrip("0")
    return len(plain if "." in number else plain.rstrip("0"))


def told(text: str) -> list[str]:
    """The numbers of a text that an output has to show.

    >>> told("After 1,024 steps (Chapter 12, $x = 37$) it was 0.52 of `99` in 2017, for 3 of 10 seeds.")
    ['1,024', '0.52']
    """
    text = PLACES.sub(" ", ASIDE.sub(" ", text))
    return [n for n in NUMBER.findall(text) if digits(n) > 1 and not YEAR.fullmatch(n)]


def shown(numbers: list[float], number: str) -> bool:
    """Does one of these numbers round to the number, as a number or as a share in percent?

    >>> shown([0.5183], "0.52"), shown([0.5183], "52"), shown([0.5183], "0.53")
    (True, True, False)
    """
    value = float(number.replace(",", ""))
    mantissa, _, power = number.replace(",", "").partition("e")
    places = len(mantissa.partition(".")[2]) - int(power or 0)
    near = 0.5000001 * 10.0**-places
    return any(abs(abs(one) * scale - value) <= near for one in numbers for scale in (1, 100, 0.01))


FORMULA = re.compile(r"\$[^$]+\$")


def printed(notebook: nbformat.NotebookNode) -> list[float]:
    """All numbers in the text outputs and the formulas of a page."""
    outputs = [o for cell in notebook.cells for o in cell.get("outputs", [])]
    texts = [o.get("text", "") or o.get("data", {}).get("text/plain", "") for o in outputs]
    texts += [one for c in notebook.cells if c.cell_type == "markdown" for one in FORMULA.findall(c.source)]
    return [float(n.replace(",", "")) for text in texts for n in NUMBER.findall(text.replace("-", " "))]


@cache
def stored(name: str) -> tuple[float, ...]:
    file = RESULTS / f"{name}.json"
    return tuple(_numbers(json.loads(file.read_text("utf8")))) if file.exists() else ()


def _numbers(value: object) -> Iterator[float]:
    if isinstance(value, int | float):
        yield float(value)
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _numbers(one)


def unfounded(path: Path) -> list[str]:
    """The numbers of a page's prose that nothing on it shows."""
    notebook = nbformat.read(path, as_version=4)
    numbers = printed(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            numbers += [one for name in LOADS.findall(cell.source) for one in stored(name)]
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    texts = [text for text in texts if "> **Exercise**" not in text and "## Further reading" not in text]
    return [number for text in texts for number in told(text) if not shown(numbers, number)]


def main(arguments: list[str]) -> int:
    chapters: dict[str, int] = {}
    for path in sorted((ROOT / "book").glob(f"{arguments[0] if arguments else '[0-9]'}*/*.ipynb")):
        found = unfounded(path)
        chapters[path.parent.name] = chapters.get(path.parent.name, 0) + len(found)
        if found:
            print(f"{path.parent.name}/{path.stem}: {', '.join(found)}")
    print("; ".join(f"{name}: {count} numbers that no output shows" for name, count in chapters.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

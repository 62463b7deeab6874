"""Write what follows from the chapters' own folders: `python tools/contents.py`, or `make contents`.

From each book/NN-name/chapter.yml come its part of `_toc.yml`, its plan in the introduction and its line in the README;
from the ledger, the counts that the introduction tells; from attnlib/exercises, the pages of solutions; from the
keywords in references.bib, the headings of the bibliography. A chapter without a `question` is listed in `_toc.yml`
alone, so that it can be built before it is announced. tests/test_contents.py compares.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "book")]

import budget  # noqa: E402  (beside this file)
from _ext.chapters import Chapter, Page, chapters, number  # noqa: E402  # pyright: ignore[reportMissingImports]
from _ext.ledger import load  # noqa: E402  # pyright: ignore[reportMissingImports]
from _ext.notebooks import notebooks  # noqa: E402  # pyright: ignore[reportMissingImports]

from attnlib.exercises.engine import registry  # noqa: E402

SOLUTIONS = (
    "# Solutions to Chapter {number}\n\n"
    "One way to solve each [exercise](exercises.md) of Chapter {number}, folded, so that you do not read more than"
    " you want to. Yours may\nlook quite different and be just as right. Below each stand the mistakes that"
    " `check` can name.\n\n"
    "```{{exercises}} solutions {name}\n```\n"
)
REFERENCES = """## {caption}

```{{bibliography}}
:filter: keywords % "chapter{number}"
:list: bullet
:keyprefix: chapter{number}-
```
"""


def between(text: str, before: str, after: str, new: str) -> str:
    """The text with what stands between two of its lines replaced.

    >>> between("a\\nold\\nz\\n", "a\\n", "z\\n", "new\\n")
    'a\\nnew\\nz\\n'
    """
    head, first, rest = text.partition(before)
    _, last, tail = rest.partition(after)
    if not first or not last:
        raise ValueError(
            f"contents: a file must keep the lines {before!r} and {after!r} around its chapters."
        )
    return head + before + new + after + tail


def contents(text: str, all_chapters: list[Chapter], solved: dict[int, str]) -> str:
    """_toc.yml with a part for each chapter, and the pages of solutions."""
    parts = "".join(
        f"  - caption: {one.caption}\n    chapters:\n"
        + "".join(f"      - file: book/{one.folder.name}/{page}\n" for page in one.pages)
        for one in all_chapters
    )
    text = between(text, "      - file: book/how-to-use\n", "  - caption: Reference\n", parts)
    pages = "".join(f"      - file: book/solutions-{number:02}\n" for number in solved)
    return between(text, "      - file: book/in-a-class\n", "      - file: book/pictures\n", pages)


def plan(all_chapters: list[Chapter], book: Path) -> str:
    """What the introduction lists: the chapters and their numbered pages."""
    known = {one.page: one for one in notebooks(book)}

    def line(i: int, page: str, said: Page) -> str:
        aside = " (a side road)" if known[page].side_road else ""
        return f"{i}. [{known[page].title}]({page}.ipynb) · *{said.subject}*{aside}: {said.line}\n"

    def paragraph(one: Chapter) -> str:
        pages = [(page, said) for page, said in one.pages.items() if not page.startswith("checked")]
        lines = (line(i, f"{one.folder.name}/{page}", said) for i, (page, said) in enumerate(pages, 1))
        return f"**Chapter {one.number}, {one.title}**: {one.subject}\n\n" + "".join(lines)

    return "\n".join(map(paragraph, all_chapters))


def ways(book: Path) -> str:
    """The ways of book/ways.yml with their pages and hours; the last is every page that is no side road."""
    known = {one.page: one for one in notebooks(book) if not one.is_checked}
    by_number = {
        f"{page.partition('/')[0]}/{page.partition('/')[2].partition('-')[0]}": page for page in known
    }
    own = yaml.safe_load((book / "ways.yml").read_text("utf8"))
    core = [page for page in known if not known[page].side_road]
    whole = {"name": "Read all of it", "says": "every page that is no side road", "pages": core}

    def line(way: dict[str, Any]) -> str:
        pages = [by_number.get(page, page) for page in way["pages"]]
        hours = round(sum(budget.asked(book / f"{page}.ipynb").minutes for page in pages) / 60)
        listed = ", ".join(f"[{number(f'book/{page}')}]({page}.ipynb)" for page in pages)
        return f"- **{way['name']}**, about {hours} hours: {way['says']}." + (
            f" {listed}.\n" if way in own else "\n"
        )

    return "".join(line(way) for way in [*own, whole])


def introduction(text: str, all_chapters: list[Chapter], book: Path) -> str:
    """book/intro.ipynb with the plan and the counts of the ledger."""
    whole = json.loads(text)
    for cell in whole["cells"]:
        source = "".join(cell["source"])
        if source.startswith("## The plan\n"):
            source = between(source, "## The plan\n\n", "\nStart with ", plan(all_chapters, book))
        if source.startswith("## Ways through\n"):
            source = between(source, "## Ways through\n\n", "\nThe hours", ways(book))
        source = re.sub(r"of the \d+ statements .* (imprecise|incomplete)", counted(book), source)
        cell["source"] = source.splitlines(keepends=True)
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def counted(book: Path) -> str:
    verdicts = [row.verdict for row in load(book).values() if row.verdict]
    false, imprecise, incomplete = map(verdicts.count, ("FALSE", "IMPRECISE", "INCOMPLETE"))
    told = f"of the {len(verdicts)} statements that these chapters check, {false} turned out false"
    return f"{told}, {imprecise} imprecise and {incomplete} true but incomplete"


def readme(text: str, all_chapters: list[Chapter]) -> str:
    lines = "".join(f"{one.number}. *{one.title}*: {one.question}\n" for one in all_chapters)
    return between(text, "<!-- the chapters, by `make contents` -->\n\n", "\n<!-- end -->\n", lines)


def bibliography(text: str, all_chapters: list[Chapter], references: str) -> str:
    """A heading for each chapter that a reference names in its keywords."""
    named = [one for one in all_chapters if re.search(rf"keywords\s*=.*\bchapter{one.number}\b", references)]
    sections = [REFERENCES.format(caption=one.caption, number=one.number) for one in named]
    return text[: text.index("## ")] + "\n".join(sections)


def texts(root: Path = ROOT) -> Iterator[tuple[Path, str]]:
    """Each file that follows from the chapters, and what it must hold."""
    book = root / "book"
    all_chapters = chapters(book)
    announced = [one for one in all_chapters if one.question]
    headings = registry.chapters(root / "attnlib" / "exercises")
    solved = {int(heading.partition(" ")[0]): name for name, heading in headings.items()}

    def old(name: str) -> str:
        return (root / name).read_text("utf8")

    yield root / "_toc.yml", contents(old("_toc.yml"), all_chapters, solved)
    yield book / "intro.ipynb", introduction(old("book/intro.ipynb"), announced, book)
    yield root / "README.md", readme(old("README.md"), announced)
    references = bibliography(old("book/bibliography.md"), all_chapters, old("book/references.bib"))
    yield book / "bibliography.md", references
    for chapter, name in solved.items():
        yield book / f"solutions-{chapter:02}.md", SOLUTIONS.format(number=chapter, name=name)


def outdated(root: Path = ROOT) -> dict[Path, str]:
    """The files that do not hold what they must, and what that is."""
    return {file: text for file, text in texts(root) if not file.exists() or file.read_text("utf8") != text}


def write(root: Path = ROOT) -> list[Path]:
    """Bring all files up to date; returns those that were not."""
    found = outdated(root)
    for file, text in found.items():
        file.write_text(text, "utf8")
    return list(found)


if __name__ == "__main__":
    print("Written:", *(write() or ["nothing, all was up to date"]), sep="\n  ")

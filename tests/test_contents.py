"""A chapter is added, not edited in: what names a chapter follows from its folder, and an empty one can be made."""

import doctest
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import nbformat
import pytest
import yaml

from attnlib.exercises.engine import registry

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "book"), str(ROOT / "tools")]

import contents  # noqa: E402
import new_chapter  # noqa: E402
from _ext import chapters, ledger, notebooks  # noqa: E402  (the extension lies beside the book)

BOOK = ROOT / "book"
NUMBER = len(chapters.chapters(BOOK)) + 1
NAME = f"{NUMBER:02}-further-attention"
WAITING = f"""
- id: S999
  name: A system
  text: It waits for its chapter.
  sources: ["D1 §1"]
  chapter: {NUMBER:02} whatever it is called
"""


@pytest.mark.parametrize("module", [chapters, contents])
def test_the_examples_hold(module) -> None:
    found = doctest.testmod(module)
    assert found.attempted and not found.failed


def test_what_follows_from_the_chapters_is_written() -> None:
    found = [str(file.relative_to(ROOT)) for file in contents.outdated()]
    assert not found, f"{found} do not say what the chapters' folders say: run `make contents`"


def test_every_chapter_has_a_contents_file_and_its_own_number() -> None:
    folders = {folder.name for folder in BOOK.glob("[0-9]*") if folder.is_dir()}
    found = chapters.chapters(BOOK)
    assert {one.folder.name for one in found} == folders, "each folder of a chapter needs a chapter.yml"
    assert [one.number for one in found] == list(range(1, len(found) + 1))


def headings_differ(root: Path) -> list[str]:
    """What the folders of exercises must say to be the book's chapters."""
    book = {one.name: one.caption for one in chapters.chapters(root / "book")}
    said = registry.chapters(root / "attnlib" / "exercises")
    return [
        f'attnlib/exercises/{name.replace("-", "_")}/__init__.py must say CHAPTER = "{book.get(name)}"'
        for name, heading in said.items()
        if book.get(name) != heading
    ]


def test_the_exercises_have_the_headings_of_the_chapters() -> None:
    assert registry.CHAPTERS and not headings_differ(ROOT), headings_differ(ROOT)


# What a chapter.yml may not say: each plants a fault and sees it refused.

PAGE = {"subject": "One", "line": "one."}
GOOD = {"title": "X", "subject": "what.", "question": "Why?", "pages": {"1-a": PAGE, "checked": None}}
BROKEN = {
    "a key is missing": ({"title": "X"}, "it must have the keys"),
    "a page is not listed": (GOOD | {"pages": {"1-a": PAGE}}, "differing: {'checked'}"),
    "a page does not exist": (GOOD | {"pages": GOOD["pages"] | {"2-b": PAGE}}, "differing: {'2-b'}"),
    "a page has no subject": (
        GOOD | {"pages": {"1-a": {"line": "one."}, "checked": None}},
        "its subject and its line.*see 1-a",
    ),
}


def planted(tmp_path: Path, said: dict[str, object], folder: str = "07-x") -> Path:
    (tmp_path / folder).mkdir()
    for page in ("1-a", "checked"):
        nbformat.write(nbformat.v4.new_notebook(), tmp_path / folder / f"{page}.ipynb")
    file = tmp_path / folder / "chapter.yml"
    file.write_text(yaml.safe_dump(said, sort_keys=False), "utf8")
    return file


@pytest.mark.parametrize("fault", BROKEN)
def test_a_chapter_that_cannot_be_used_is_refused_with_a_sentence(fault: str, tmp_path: Path) -> None:
    said, sentence = BROKEN[fault]
    with pytest.raises(chapters.ChapterError, match=sentence):
        chapters.chapter(planted(tmp_path, said))


def test_pages_are_numbered_from_1_on_and_a_folder_is_called_by_a_number(tmp_path: Path) -> None:
    assert chapters.chapter(planted(tmp_path, GOOD)).caption == "7 · X"
    with pytest.raises(chapters.ChapterError, match="called like 05-training"):
        chapters.chapter(planted(tmp_path, GOOD, "seven"))
    (tmp_path / "07-x" / "1-a.ipynb").rename(tmp_path / "07-x" / "2-a.ipynb")
    (tmp_path / "07-x" / "chapter.yml").write_text(
        yaml.safe_dump(GOOD | {"pages": {"2-a": PAGE, "checked": None}})
    )
    with pytest.raises(chapters.ChapterError, match=r"number its pages from 1 on; got \[2\]"):
        chapters.chapter(tmp_path / "07-x" / "chapter.yml")


# An empty chapter, in a copy of what it may touch.


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the book and the exercises, where a row of the ledger waits for the chapter."""
    to = tmp_path_factory.mktemp("copy")
    asked = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md", "_toc.yml", "book"]
    asked += ["attnlib/exercises"]
    for name in subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split():
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)
    with (to / "book" / "ledger" / "later.yml").open("a", encoding="utf8") as later:
        later.write(WAITING)
    return to


def files_of(root: Path) -> dict[str, bytes]:
    return {str(file.relative_to(root)): file.read_bytes() for file in root.rglob("*") if file.is_file()}


@dataclass(frozen=True)
class Made:
    """The copy with its empty chapter, and what was there before."""

    root: Path
    files: dict[str, bytes]
    rows: dict[str, ledger.Row]


@pytest.fixture(scope="module")
def made(copy: Path) -> Made:
    before = Made(copy, files_of(copy), ledger.load(copy / "book"))
    new_chapter.make(NAME, copy)
    return before


def test_an_empty_chapter_touches_two_files_that_were_there(made: Made) -> None:
    now = files_of(made.root)
    touched = {name for name, content in made.files.items() if now.get(name) != content}
    assert touched == {"_toc.yml", "book/ledger/later.yml"}  # the second, because a row has waited for it
    assert now.keys() - made.files.keys() == {
        *(f"book/{NAME}/{name}.yml" for name in ("chapter", "ledger", "subjects", "search_questions")),
        f"book/{NAME}/checked.ipynb",
        "attnlib/exercises/further_attention/__init__.py",
    }


def test_with_an_empty_chapter_all_that_names_chapters_agrees(made: Made) -> None:
    assert contents.outdated(made.root) == {} and headings_differ(made.root) == []
    toc = yaml.safe_load((made.root / "_toc.yml").read_text("utf8"))
    part = next(part for part in toc["parts"] if part.get("caption") == f"{NUMBER} · Further Attention")
    assert part["chapters"] == [{"file": f"book/{NAME}/checked"}]
    waiting = [row for row in made.rows.values() if row.chapter.startswith(f"{NUMBER:02} ")]
    moved = {row.id: replace(row, chapter=f"{NUMBER:02} further-attention") for row in waiting}
    assert "S999" in moved and ledger.load(made.root / "book") == made.rows | moved


def test_its_notebook_is_one_as_a_run_leaves_it(made: Made) -> None:
    file = made.root / "book" / NAME / "checked.ipynb"
    notebook = nbformat.read(file, 4)
    nbformat.validate(notebook)
    assert nbformat.writes(notebook, indent=1) + "\n" == file.read_text("utf8")
    assert notebooks.read(file).title == "Checked: further attention"


def test_a_chapter_with_a_question_a_page_and_an_exercise_is_announced(made: Made, tmp_path: Path) -> None:
    shutil.copytree(made.root, tmp_path / "tree")
    tree = tmp_path / "tree"
    folder, package = tree / "book" / NAME, tree / "attnlib" / "exercises" / "further_attention"
    shutil.copy2(BOOK / "05-training" / "2-steps.ipynb", folder / "1-why.ipynb")
    said = {"title": "Further Attention", "subject": "less of it.", "question": "What can be left out?"}
    pages = {"1-why": {"subject": "Further steps", "line": "what it is for."}, "checked": None}
    (folder / "chapter.yml").write_text(yaml.safe_dump(said | {"pages": pages}, sort_keys=False), "utf8")
    (package / "two.py").write_text("")
    written = {str(file.relative_to(tree)) for file in contents.write(tree)}
    assert written == {"_toc.yml", "README.md", "book/intro.ipynb", f"book/solutions-{NUMBER:02}.md"}
    assert f"{NUMBER}. *Further Attention*: What can be left out?\n" in (tree / "README.md").read_text("utf8")
    plan = (tree / "book" / "intro.ipynb").read_text("utf8")
    assert f"**Chapter {NUMBER}, Further Attention**: less of it.\\n" in plan
    assert f"1. [Steps]({NAME}/1-why.ipynb) · *Further steps*: what it is for.\\n" in plan
    assert registry.chapters(package.parent)["further-attention"] == f"{NUMBER} · Further Attention"
    assert contents.outdated(tree) == {}


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("efficient", "a name is like 06-efficient-attention"), ("05-again", "05 is that of 05-training")],
)
def test_a_name_that_cannot_be_used_is_refused_with_a_sentence(name: str, sentence: str) -> None:
    with pytest.raises(SystemExit, match=sentence):
        new_chapter.parts_of(name, ROOT)

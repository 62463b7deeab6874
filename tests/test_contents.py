"""A chapter is added, not edited in: what names a chapter follows from its folder, and an empty one can be made."""

import doctest
import filecmp
import shutil
import subprocess
import sys
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
NAME = "06-efficient-attention"


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

GOOD = {"title": "X", "subject": "what.", "question": "Why?", "pages": {"1-a": "one.", "checked": None}}
BROKEN = {
    "a key is missing": ({"title": "X"}, "it must have the keys"),
    "a page is not listed": (GOOD | {"pages": {"1-a": "one."}}, "differing: {'checked'}"),
    "a page does not exist": (GOOD | {"pages": GOOD["pages"] | {"2-b": ""}}, "differing: {'2-b'}"),
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
        yaml.safe_dump(GOOD | {"pages": {"2-a": "one.", "checked": None}})
    )
    with pytest.raises(chapters.ChapterError, match=r"number its pages from 1 on; got \[2\]"):
        chapters.chapter(tmp_path / "07-x" / "chapter.yml")


# An empty chapter, in a copy of what it may touch.


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the files under version control that lie in these folders, and of those at the top."""
    to = tmp_path_factory.mktemp("copy")
    asked = [
        "git",
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
        "*.md",
        "_toc.yml",
        "book",
        "attnlib/exercises",
    ]
    for name in subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split():
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)
    return to


@pytest.fixture(scope="module")
def made(copy: Path) -> Path:
    new_chapter.make(NAME, copy)
    return copy


def files(root: Path) -> set[str]:
    return {str(file.relative_to(root)) for file in root.rglob("*") if file.is_file()}


def test_an_empty_chapter_touches_two_files_that_were_there(made: Path) -> None:
    there = {name for name in files(made) if (ROOT / name).exists()}
    assert {name for name in there if not filecmp.cmp(ROOT / name, made / name, shallow=False)} == {
        "_toc.yml",
        "book/ledger/later.yml",  # rows that have waited for this chapter
    }
    assert files(made) - there == {
        *(f"book/{NAME}/{name}.yml" for name in ("chapter", "ledger", "subjects", "search_questions")),
        f"book/{NAME}/checked.ipynb",
        "attnlib/exercises/efficient_attention/__init__.py",
    }


def test_with_an_empty_chapter_all_that_names_chapters_agrees(made: Path) -> None:
    assert contents.outdated(made) == {} and headings_differ(made) == []
    toc = yaml.safe_load((made / "_toc.yml").read_text("utf8"))
    part = next(part for part in toc["parts"] if part.get("caption") == "6 · Efficient Attention")
    assert part["chapters"] == [{"file": f"book/{NAME}/checked"}]
    before, after = ledger.load(BOOK), ledger.load(made / "book")
    moved = {id for id in before if before[id] != after[id]}
    assert before.keys() == after.keys() and moved == {"S015"}
    assert after["S015"].chapter == "06 efficient-attention"
    assert (after["S015"].where, after["S015"].proof) == (before["S015"].where, before["S015"].proof)


def test_its_notebook_is_one_as_a_run_leaves_it(made: Path) -> None:
    file = made / "book" / NAME / "checked.ipynb"
    notebook = nbformat.read(file, 4)
    nbformat.validate(notebook)
    assert nbformat.writes(notebook, indent=1) + "\n" == file.read_text("utf8")
    assert notebooks.read(file).title == "Checked: efficient attention"


def test_a_chapter_with_a_question_a_page_and_an_exercise_is_announced(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path / "tree")
    tree = tmp_path / "tree"
    folder, package = tree / "book" / NAME, tree / "attnlib" / "exercises" / "efficient_attention"
    shutil.copy2(BOOK / "05-training" / "2-steps.ipynb", folder / "1-why.ipynb")
    said = {"title": "Efficient Attention", "subject": "less of it.", "question": "What can be left out?"}
    pages = {"1-why": "what it is for.", "checked": None}
    (folder / "chapter.yml").write_text(yaml.safe_dump(said | {"pages": pages}, sort_keys=False), "utf8")
    (package / "two.py").write_text("")
    written = {str(file.relative_to(tree)) for file in contents.write(tree)}
    assert written == {"_toc.yml", "README.md", "book/intro.ipynb", "book/solutions-06.md"}
    assert "6. *Efficient Attention*: What can be left out?\n" in (tree / "README.md").read_text("utf8")
    plan = "".join(nbformat.read(tree / "book" / "intro.ipynb", 4).cells[10].source)
    assert (
        "**Chapter 6, Efficient Attention**: less of it.\n\n1. [Steps](06-efficient-attention/1-why.ipynb): what"
        in plan
    )
    assert registry.chapters(package.parent)["efficient-attention"] == "6 · Efficient Attention"
    assert contents.outdated(tree) == {}


@pytest.mark.parametrize(
    ("name", "sentence"),
    [("efficient", "a name is like 06-efficient-attention"), ("05-again", "05 is that of 05-training")],
)
def test_a_name_that_cannot_be_used_is_refused_with_a_sentence(name: str, sentence: str) -> None:
    with pytest.raises(SystemExit, match=sentence):
        new_chapter.parts_of(name, ROOT)

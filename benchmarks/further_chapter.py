"""What a further chapter of twelve notebooks costs the tests: `python -m benchmarks.further_chapter`.

Two clones of the last commit are tested whole, one as it is and one in which Chapter 5 stands twice: its twelve
notebooks, its exercises with their wrong answers. The second cannot be all green (its equations have the numbers of the
first), which changes no time. Printed are the seconds of processor time by part, and the difference beside the
notebooks' own execution. Each run takes as long as `make test`; a folder that has results is not tested again.

    python -m benchmarks.further_chapter FOLDER     both clones are made there and stay
"""

import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ONCE, AGAIN = "training", "again"  # the chapter's name in the ids of exercises
OLD, NEW = "05-training", "06-again"  # and its folder in the book
REPLACED = {
    "5 · Training": "6 · Again",
    "title: Training": "title: Again",
    "  checked:\n": "",  # the rows of the ledger are checked once
    "](checked.ipynb": f"](../{OLD}/checked.ipynb",
}
PARTS = "lint types+doctests unit notebooks arithmetic+book sample pages"
TIMES = re.compile(r"^  (\S+) +\d+ min +\d+ s +(\d+) min +(\d+) s", re.M)
NOTEBOOKS = ("notebooks", "arithmetic", "sample")  # execution of notebooks


@cache
def labels() -> str:
    """A pattern of the equations that the chapter numbers."""
    texts = [file.read_text("utf8") for file in (ROOT / "book" / OLD).glob("[0-9]*.ipynb")]
    return "|".join({label for text in texts for label in re.findall(r'id=\\"eq-([\w-]+)', text)})


@cache
def ids() -> str:
    """A pattern of the chapter's exercises, as their ids and as their modules have them."""
    names = [file.stem for file in (ROOT / "attnlib/exercises" / ONCE).glob("[a-z]*.py")]
    return "|".join(name.replace("_", "[-_]") for name in names)


def renamed(text: str) -> str:
    """A text of the chapter, as one of the chapter that stands again."""
    text = re.sub(rf"\b{ONCE}\.(?=({ids()})\b)", f"{AGAIN}.", text)
    text = re.sub(rf"{OLD}/(?!checked)", f"{NEW}/", text)
    for old, new in REPLACED.items():
        text = text.replace(old, new)
    return re.sub(rf"\beq-({labels()})(?![\w-])", r"eq-again-\1", text)


def copied(file: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(renamed(file.read_text("utf8")), "utf8")


def double(tree: Path) -> None:
    """Put the chapter into a clone a second time."""
    folder = tree / "book" / OLD
    for file in [*folder.glob("[0-9]*.ipynb"), folder / "chapter.yml", folder / "subjects.yml"]:
        copied(file, tree / "book" / NEW / file.name)
    for file in (tree / "attnlib/exercises" / ONCE).glob("*.py"):
        copied(file, tree / "attnlib/exercises" / AGAIN / file.name)
    for file in (tree / "tests/natural_answers").glob(f"{ONCE}*.txt"):
        copied(file, file.with_name(file.name.replace(ONCE, AGAIN, 1)))
    subprocess.run([sys.executable, "tools/contents.py"], cwd=tree, check=True)


def clone(to: Path, doubled: bool) -> None:
    subprocess.run(["git", "clone", "-q", str(ROOT), str(to)], check=True)
    if doubled:
        double(to)
        git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@example.org"]
        subprocess.run(["git", "add", "-A"], cwd=to, check=True)
        subprocess.run([*git, "commit", "-q", "-m", "A chapter stands twice"], cwd=to, check=True)


def tested(tree: Path) -> dict[str, int]:
    """Seconds of processor time by part."""
    subprocess.run(
        ["make", "setup"], cwd=tree, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    command = [".venv/bin/python", "tools/parts.py", *PARTS.split()]
    said = subprocess.run(command, cwd=tree, env=os.environ | {"CI": "true"}, capture_output=True, text=True)
    (tree.parent / f"{tree.name}.log").write_text(said.stdout + said.stderr)
    return {name: 60 * int(minutes) + int(seconds) for name, minutes, seconds in TIMES.findall(said.stdout)}


def main(folder: str) -> int:
    place, found = Path(folder), dict[str, dict[str, int]]()
    place.mkdir(parents=True, exist_ok=True)
    for name in ("once", "twice"):
        stored = place / f"{name}.json"
        if not stored.exists():
            shutil.rmtree(place / name, ignore_errors=True)
            clone(place / name, doubled=name == "twice")
            stored.write_text(json.dumps(tested(place / name)))
        found[name] = json.loads(stored.read_text())
    once, twice = found["once"], found["twice"]
    print("seconds of processors     as it is   a chapter more   difference")
    for part in once:
        print(f"  {part:20}{once[part]:12}{twice[part]:17}{twice[part] - once[part]:13}")
    beside = sum(twice[part] - once[part] for part in once if part not in (*NOTEBOOKS, "together"))
    print(f"Beside the execution of its notebooks the further chapter takes {beside / 60:.1f} minutes.")
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(
            "further_chapter: name a folder for the two clones. Try: python -m benchmarks.further_chapter ../doubled"
        )
    sys.exit(main(sys.argv[1]))

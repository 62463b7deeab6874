"""What changed decides what is run: no file of tests is left out whose sources differ from those it passed with."""

import json
import os
import subprocess
import sys
from pathlib import Path

import changes
import check_notebook
import pytest
from changes import FAR, Tree

TOOLS = Path(changes.__file__).parent
FILES = {
    "attnlib/__init__.py": "",
    "attnlib/ops.py": "one = 1",
    "attnlib/heads.py": "from attnlib.ops import one",
    "attnlib/far.py": "import importlib\nfind = importlib.import_module",
    "attnlib/data/words.txt": "a b",
    "requirements.txt": "numpy==2",
    "conftest.py": f"""import sys\nfrom pathlib import Path\nsys.path.insert(0, {str(TOOLS)!r})\nimport changes
def pytest_addoption(parser): changes.pytest_addoption(parser)
def pytest_configure(config): changes.register(config, Path({{root!r}}))
""",
    "tests/test_ops.py": "def test_it():\n    from attnlib.ops import one\n    assert one",
    "tests/test_heads.py": "import attnlib.heads\ndef test_it(): assert attnlib.heads.one",
    "tests/test_tree.py": "from pathlib import Path\nROOT = Path('.')\ndef test_it(): assert list(ROOT.iterdir())",
    "tests/test_other.py": "def test_it(): pass",
    ".venv/here": "",
    ".gitignore": ".venv\n__pycache__\n.pytest_cache\n",
    "page.ipynb": json.dumps(
        {"cells": [{"cell_type": "code", "source": ["%pip install x\n", "from attnlib import ops"]}]}
    ),
}


@pytest.fixture
def root(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text.format(root=str(tmp_path)) if name == "conftest.py" else text)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    return tmp_path


def ran(root: Path, *options: str, ci: str = "", workers: int = 0) -> set[str]:
    """The files of which a test was run, and failed ones with an exclamation mark."""
    record = root.parent / f"{root.name}.xml"
    in_workers = ["-p", "xdist", "-n", str(workers)] if workers else []
    command = [sys.executable, "-m", "pytest", "-q", *in_workers, f"--junitxml={record}", *options]
    done = subprocess.run(
        [*command, "tests"],
        cwd=root,
        env=os.environ | {"CI": ci, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    text = record.read_text()
    cases = [part.partition("</testcase>")[0] for part in text.split('classname="tests.test_')[1:]]
    return {case.partition('"')[0] + "!" * ("<failure" in case) for case in cases}


EVERY = {"ops", "heads", "tree", "other"}


def test_only_what_depends_on_a_change_runs_again(root):
    assert ran(root, "--changed", workers=1) == EVERY
    assert ran(root, "--changed") == set() == ran(root, "--changed", workers=1)
    (root / "attnlib/heads.py").write_text("from attnlib.ops import one  # one")
    assert ran(root, "--changed", workers=1) == {"heads", "tree"}
    (root / "attnlib/ops.py").write_text("one = 2")
    assert ran(root, "--changed") == {"ops", "heads", "tree"}


@pytest.mark.parametrize("name", ["requirements.txt", "attnlib/data/words.txt", "conftest.py"])
def test_pins_and_data_are_sources_of_all(root, name):
    ran(root, "--changed")
    with (root / name).open("a") as file:
        file.write("\n# more\n")
    assert ran(root, "--changed") == EVERY


def test_what_failed_runs_again_and_what_a_word_chose_is_not_taken_for_whole(root):
    (root / "attnlib/ops.py").write_text("one = 0")
    assert ran(root, "--changed") == {"ops!", "heads!", "tree", "other"}
    assert ran(root, "--changed") == {"ops!", "heads!"}
    assert ran(root, "--changed", "-k", "it") == {"ops!", "heads!", "tree", "other"}
    assert ran(root, "--changed") == {"ops!", "heads!"}


def test_on_a_machine_of_continuous_integration_everything_runs(root):
    ran(root, "--changed")
    assert ran(root, "--changed", ci="true") == EVERY
    assert ran(root) == EVERY


def test_what_another_choice_of_marks_left_out_is_not_taken_for_passed(root):
    ran(root, "--changed", "-m", "not slow")
    assert ran(root, "--changed", "-m", "") == EVERY


def test_the_nearest_to_a_change_come_first_where_time_is_short(root):
    ran(root, "--changed")
    kept = json.loads((root / ".venv/green.json").read_text())
    kept["green"] = {key: [state, 10] for key, (state, _) in kept["green"].items()}
    (root / ".venv/green.json").write_text(json.dumps(kept))
    (root / "attnlib/ops.py").write_text("one = 2")
    assert ran(root, "--changed", "--within", "15") == {"ops"}
    assert ran(root, "--changed", "--within", "15") == {"heads"}
    assert ran(root, "--changed", "--within", "15") == {"tree"}


def test_a_notebook_depends_on_what_its_cells_import(root):
    steps = Tree(root).sources("page.ipynb")
    assert steps["attnlib/ops.py"] == 1 and "attnlib/heads.py" not in steps
    assert steps["attnlib/data/words.txt"] == FAR


def test_a_module_that_finds_others_by_name_depends_on_the_package(root):
    assert "attnlib/heads.py" in Tree(root).imports("attnlib/far.py")
    assert "attnlib/heads.py" not in Tree(root).imports("attnlib/ops.py")


# ---- make check NB=... ----------------------------------------------------------------------------------------------


def test_one_notebook_is_found_by_its_page_its_exercises_its_rows_and_its_pictures():
    path = TOOLS.parent / "book/05-training/3-how-fast.ipynb"
    names = check_notebook.names(
        path, {"C999": "book/05-training/3-how-fast.ipynb::C999", "C998": "tests/x.py"}
    )
    assert {"05-training/3-how-fast", "training.pick-rate", "ScheduleDesigner", "C999"} <= set(names)
    assert "C998" not in names
    assert "C098" in check_notebook.names(
        TOOLS.parent / "book/02-self-attention/checked.ipynb", check_notebook.proofs()
    )


def test_the_files_of_tests_about_one_notebook_exist():
    files = [TOOLS.parent / f"tests/test_{name}.py" for name in check_notebook.FILES]
    assert [file.name for file in files if not file.exists()] == []


def test_what_is_no_notebook_gets_one_sentence(capsys):
    assert check_notebook.main("README.md") == 2
    assert capsys.readouterr().out.startswith(
        "check: NB must be a notebook of the book; got README.md. Try: NB="
    )

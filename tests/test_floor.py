"""What a contributor finds: types, hooks before a commit, attributes of notebooks, forms, a bot that keeps the pins."""

import json
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest
import set_address
import stored_outputs
import yaml

ROOT = Path(stored_outputs.__file__).parent.parent
WRONG_CALL = "from attnlib.rules import must\nmust(True, 1, 2)\n"
HOOKS = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
BOT = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text())["updates"]
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*-*.yml"))


# ---- Types ----------------------------------------------------------------------------------------------------------


def complaints(folder: Path, python: str | Path) -> list[str]:
    """The rules that pyright sees broken by a wrong call of attnlib, in a project that is not this one."""
    (folder / "wrong.py").write_text(WRONG_CALL)
    command = [sys.executable, "-m", "pyright", "--pythonpath", str(python), "--outputjson", "wrong.py"]
    said = subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout
    return [found["rule"] for found in json.loads(said)["generalDiagnostics"]]


def test_a_type_checker_elsewhere_reads_an_editable_install(tmp_path):
    said = complaints(tmp_path, sys.executable)
    assert said == ["reportArgumentType"] * 2, (
        f"{said}: this environment is older than pyproject.toml; `make setup`"
    )


def test_a_type_checker_reads_a_wheel(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "LICENSE-TEXT"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(
        ROOT / "attnlib", source / "attnlib", ignore=shutil.ignore_patterns("__pycache__", "*.safetensors")
    )
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(tmp_path)]
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *options, str(source)], check=True, capture_output=True
    )
    (wheel,) = tmp_path.glob("*.whl")
    venv.create(tmp_path / "machine", with_pip=False)
    (site,) = (tmp_path / "machine").glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        assert "attnlib/py.typed" in archive.namelist()
        archive.extractall(site)
    assert complaints(tmp_path, tmp_path / "machine" / "bin" / "python") == ["reportArgumentType"] * 2


# ---- Before a commit ------------------------------------------------------------------------------------------------


def test_the_hooks_are_our_tools_at_our_pins():
    """Nothing comes from another repository, where it would have another version."""
    assert [repository["repo"] for repository in HOOKS] == ["local"]
    for hook in HOOKS[0]["hooks"]:
        python, *rest = hook["entry"].split()
        assert python == ".venv/bin/python" and hook["language"] == "system"
        assert rest[:2] == ["-m", "ruff"] or (ROOT / rest[0]).exists()


def test_the_hooks_look_where_make_lint_looks():
    makefile = (ROOT / "Makefile").read_text()
    sources = re.search(r"^SOURCES := (.*)$", makefile, re.M)
    assert sources
    folders = {hook["id"]: hook["files"] for hook in HOOKS[0]["hooks"] if "files" in hook}
    for folder in [*sources[1].split(), "book"]:
        assert re.match(folders["ruff"], f"{folder}/some.py")
        assert bool(re.match(folders["ruff-format"], f"{folder}/some.py")) == (folder != "book")


@pytest.mark.parametrize(
    ("cell", "what"),
    [
        ({"execution_count": None}, "code cell 2 has not run"),
        ({"execution_count": 5}, "code cell 2 ran out of order"),
        ({"outputs": [{"output_type": "error"}]}, "code cell 2 stores an error"),
    ],
)
def test_a_notebook_without_its_outputs_is_refused_and_left_as_it_is(tmp_path, capsys, cell, what):
    good = {"cell_type": "code", "source": ["1"], "metadata": {}, "execution_count": 1, "outputs": []}
    path = tmp_path / "one.ipynb"
    path.write_text(json.dumps({"cells": [good, good | {"execution_count": 2} | cell]}))
    before = path.read_bytes()
    assert stored_outputs.main([str(path)]) == 1
    assert capsys.readouterr().out == f"{path}: {what}. Try: make run NB={path}\n"
    assert path.read_bytes() == before


def test_every_notebook_of_the_book_passes_the_hook():
    assert stored_outputs.main([str(path) for path in (ROOT / "book").rglob("*.ipynb")]) == 0


def test_git_shows_notebooks_by_nbdime_and_keeps_line_ends():
    names = [*map(str, sorted((ROOT / "book").rglob("*.ipynb"))[:1]), "Makefile", "docs/page.png"]
    command = ["git", "check-attr", "diff", "merge", "eol", "text", "--", *names]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if said.returncode:
        pytest.skip("not a repository")
    told = {tuple(line.rsplit(": ", 2)[:2]): line.rsplit(": ", 1)[1] for line in said.stdout.splitlines()}
    assert told[names[0], "diff"] == told[names[0], "merge"] == "jupyternotebook"
    assert told[names[0], "eol"] == told["Makefile", "eol"] == "lf"
    assert told["docs/page.png", "text"] == "unset"


# ---- The bot and the forms ------------------------------------------------------------------------------------------


def test_the_bot_leaves_alone_what_is_moved_by_hand_and_what_colab_has():
    (pip,) = [one for one in BOT if one["package-ecosystem"] == "pip"]
    assert pip["directory"] == "/" and not list(ROOT.glob("colab-requirements*"))  # they lie in tests
    assert pip["versioning-strategy"] == "increase-if-necessary"
    ignored = {one["dependency-name"]: one.get("versions") for one in pip["ignore"]}
    assert ignored == {"numpy": None, "torch": None, "jupyter-book": [">=2"]}


def test_the_bot_looks_at_every_file_of_pins():
    for one in BOT:
        folder = ROOT / one["directory"].lstrip("/")
        files = {
            "pip": "requirements*.txt",
            "npm": "package-lock.json",
            "github-actions": ".github/workflows/*.yml",
        }
        assert list(folder.glob(files[one["package-ecosystem"]]))
    listed = {one["directory"] for one in BOT if one["package-ecosystem"] == "npm"}
    locks = [path for path in set_address.tracked_text_files(ROOT) if path.name == "package-lock.json"]
    assert {f"/{path.parent.relative_to(ROOT)}".replace("/.", "/") for path in locks} == listed


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_for_issues_is_whole(path):
    form = yaml.safe_load(path.read_text())
    assert form["name"] and form["description"] and form["body"]
    for field in form["body"]:
        assert field["type"] in {"input", "textarea"} and field["attributes"]["label"]
    ids = [field["id"] for field in form["body"]]
    assert len(ids) == len(set(ids)) and all(re.fullmatch(r"[a-z]+", one) for one in ids)


def test_weaknesses_are_reported_in_our_own_repository():
    repository = set_address.wanted(ROOT)["repository"]
    assert f"<https://github.com/{repository}/security/advisories/new>" in (ROOT / "SECURITY.md").read_text()

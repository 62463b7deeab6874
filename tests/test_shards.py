"""The shards of continuous integration run everything once, and a new chapter has its own without an edit."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import parts
import pytest
import shards
import yaml
from _pytest.mark.expression import Expression

ROOT = Path(shards.__file__).parent.parent
CHAPTERS = shards.chapters()
MADE = shards.shards(CHAPTERS)
MAKEFILE = (ROOT / "Makefile").read_text()


def test_the_parts_of_the_shards_are_those_of_make_test():
    whole = re.search(r"^PARTS := (.*)$", MAKEFILE, re.M)
    assert whole
    asked = {part for names in whole[1].split() for part in names.split("+")}
    run = {part for shard in MADE.values() for names in shard.parts for part in names.split("+")}
    assert run | {"book"} == asked  # the part `pages` builds the book first
    assert re.search(r"^pages: .*\bbook\b", MAKEFILE, re.M)


def test_every_notebook_is_in_exactly_one_shard():
    patterns = [shard.variables["NOTEBOOKS"] for shard in MADE.values() if "NOTEBOOKS" in shard.variables]
    found = [file for pattern in patterns for file in notebooks(pattern)]
    assert sorted(found) == sorted((ROOT / "book").rglob("*.ipynb"))


def notebooks(pattern: str) -> list[Path]:
    return list(ROOT.glob(pattern)) if pattern.endswith(".ipynb") else list((ROOT / pattern).glob("*.ipynb"))


@pytest.mark.parametrize("page", [*CHAPTERS, "api", "exercises", "10-a-further"])
def test_a_test_of_a_page_is_in_exactly_one_shard(page):
    """As pytest decides it, by the words in a test's name."""
    name = f"tests/test_pages.py::test_it[book/{page}/1-one.html-390]"
    asked = {key: shard.variables["ONLY"] for key, shard in MADE.items() if "ONLY" in shard.variables}
    chosen = [
        key for key, words in asked.items() if Expression.compile(words).evaluate(lambda word: word in name)
    ]
    assert chosen == [f"pages-{page}" if page in CHAPTERS else "pages-rest"]


def test_code_and_notebooks_run_with_every_python_and_on_macos_and_pages_once():
    jobs = shards.jobs(CHAPTERS)
    assert len(jobs) == len(set(jobs))
    for name in MADE:
        where = {(job.system, job.python) for job in jobs if job.shard == name}
        everywhere = {(shards.LINUX, python) for python in shards.PYTHONS} | {(shards.MACOS, shards.FIRST)}
        assert where == (everywhere if shards.everywhere(name) else {(shards.LINUX, shards.FIRST)}), name


def test_the_versions_of_python_are_those_that_the_readme_promises():
    assert f"Python {shards.PYTHONS[0]} to {shards.PYTHONS[-1]}" in (ROOT / "README.md").read_text()
    project = (ROOT / "pyproject.toml").read_text()
    assert f'requires-python = ">={shards.PYTHONS[0]}"' in project


def test_a_new_chapter_has_its_shards(tmp_path):
    (tmp_path / "book" / "06-more").mkdir(parents=True)
    (tmp_path / "book" / "_ext").mkdir()
    assert shards.chapters(tmp_path) == ["06-more"]
    assert {"notebooks-06-more", "pages-06-more"} <= shards.shards(["06-more"]).keys()


def test_the_matrix_is_left_where_github_reads_it(tmp_path):
    command = [sys.executable, str(ROOT / "tools" / "shards.py")]
    environment = os.environ | {"GITHUB_OUTPUT": str(tmp_path / "output")}
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert (tmp_path / "output").read_text() == f"matrix={said}"
    listed = [shards.Job(**job) for job in json.loads(said)["include"]]
    assert listed == shards.jobs(CHAPTERS)
    job = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())["jobs"]["test"]
    assert {f"${{{{ matrix.{name} }}}}" for name in ("system", "python")} == {
        job["runs-on"], job["steps"][1]["with"]["python-version"]
    }  # fmt: skip


def test_a_shard_runs_its_parts_with_its_variables(monkeypatch):
    ran = []
    monkeypatch.setattr(parts, "main", lambda names: ran.append((names, os.environ["ONLY"])) or 0)
    monkeypatch.setenv("ONLY", "")
    assert shards.main(["--run", f"pages-{CHAPTERS[0]}"]) == 0
    assert ran == [(["pages"], CHAPTERS[0])]


def test_a_shard_that_is_none_is_refused_with_a_sentence(capsys):
    assert shards.main(["--run", "pages"]) == 2
    said = capsys.readouterr().out
    assert said.startswith("shards: SHARD must be one of code, ") and "got 'pages'. Try: make shard" in said


def test_make_gives_a_shard_its_notebooks_and_its_pages():
    asked = {"NOTEBOOKS": "book/01-foundations", "ONLY": "not (a or b)", "MAKEFLAGS": ""}
    command = ["make", "-n", "notebooks", "pages"]
    said = subprocess.run(command, cwd=ROOT, env=os.environ | asked, capture_output=True, text=True).stdout
    assert re.search(r"--nbval .* book/01-foundations$", said, re.M)
    assert said.count('-k "not (a or b)"') == 2

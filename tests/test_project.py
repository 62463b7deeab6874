"""The project's own promises: pinned, in one place, speaking of itself alone."""

import re
import resource
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import set_address  # noqa: E402


def tracked():
    return set_address.tracked_text_files(ROOT)


def test_requirements_are_pinned_exactly_and_jupyter_book_is_version_one():
    lines = []
    for file in sorted(ROOT.glob("requirements*.txt")):
        lines += [line for line in file.read_text().splitlines() if line and line[0] != "#"]
    pin = r"[A-Za-z0-9_.-]+==[^=;\s]+(; sys_platform == \"\w+\")?"
    assert all(re.fullmatch(rf"{pin}|-r requirements-\w+\.txt", line) for line in lines)
    (jupyter_book,) = [line for line in lines if line.startswith("jupyter-book==")]
    assert jupyter_book.split("==")[1].startswith("1.")


def test_the_package_needs_numpy_alone_and_sets_lower_bounds_only():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    everything = project["dependencies"] + sum(project["optional-dependencies"].values(), [])
    assert [re.split(r"[<>=]", d)[0] for d in project["dependencies"]] == ["numpy"]
    assert all(re.fullmatch(r"[a-z-]+>=[\d.]+", dependency) for dependency in everything)


def test_all_places_agree_on_the_address():
    wanted, current = set_address.wanted(ROOT), set_address.current(ROOT)
    assert {key: wanted[key] for key in current} == current, "run `make address`"
    owner_and_name = re.compile(r"\b(?:github(?:\.com)?|gh)/([\w.-]+/attention-executed)\b")
    for path in tracked():
        text = path.read_text(encoding="utf-8")
        others = set(owner_and_name.findall(text)) - {wanted["repository"]}
        if path.name != "test_project.py":
            assert not others, f"{path}: {others}; run `make address`"


def test_one_command_sets_another_address_everywhere(tmp_path):
    shutil.copytree(
        ROOT, tmp_path / "fork", ignore=shutil.ignore_patterns(".venv", "_build", "node_modules", ".git")
    )
    fork = tmp_path / "fork"
    for command in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *command], cwd=fork, check=True, capture_output=True)
    old = set_address.wanted(fork)
    (fork / "publish.toml").write_text(
        'repository = "a-school/its-course"\nbranch = "stable"\nsite = "https://a-school.example/course/"\n'
    )
    subprocess.run([sys.executable, "tools/set_address.py"], cwd=fork, check=True, capture_output=True)
    assert set_address.current(fork) == set_address.wanted(fork)
    left = [
        path.relative_to(fork)
        for path in set_address.tracked_text_files(fork)
        if path.name != "test_project.py"
        and (old["repository"] in (text := path.read_text(encoding="utf-8")) or old["site"] in text)
    ]
    assert not left


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        (
            'repository = "course"\nsite = "https://x.example/"',
            "repository must read OWNER/NAME; got 'course'",
        ),
        ('repository = "a/b"\nsite = "http://x.example"', "site must start with https:// and end with /"),
    ],
)
def test_a_wrong_address_is_refused_with_a_sentence(tmp_path, address, sentence):
    (tmp_path / "publish.toml").write_text(address + '\nbranch = "main"\n')
    with pytest.raises(SystemExit, match=re.escape(sentence)):
        set_address.wanted(tmp_path)


def test_every_page_of_the_contents_exists():
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text())
    pages = re.findall(r"'?(?:root|file)'?: '?([\w./-]+)", repr(contents).replace("': '", "': "))
    assert len(pages) >= 12
    for page in pages:
        assert any((ROOT / f"{page}{suffix}").exists() for suffix in (".ipynb", ".md")), page


@pytest.mark.built
def test_the_built_site_has_a_page_for_each_entry_of_the_contents():
    """Jupyter Book 2 would build nothing from these files and still exit with success."""
    site = ROOT / "_build" / "html"
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text())
    pages = re.findall(r"(?:root|file)': '([\w./-]+)'", repr(contents))
    assert len(pages) >= 12
    for page in pages:
        html = site / f"{page}.html"
        assert html.exists() and html.stat().st_size > 5000, page


@pytest.mark.built
def test_a_second_build_is_quick_and_installs_nothing():
    def seconds(*command: str) -> tuple[float, str]:
        """Processor time of a program and all that it starts, which a busy machine changes least; what it printed."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert made.returncode == 0, made.stdout + made.stderr
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, made.stdout

    libraries = (
        "jupyter_book.cli.main, myst_nb.sphinx_ext, sphinx.application, matplotlib.pyplot, pybtex.database"
    )
    loading, _ = seconds(sys.executable, "-c", f"import {libraries}")
    building, said = seconds("make", "book")
    assert "install" not in said and "fetches" not in said
    assert building < 6 * loading, f"{building:.1f} s, and loading what it uses {loading:.1f} s"


def test_nothing_names_a_machine():
    local = re.compile(r"(?<![\w.])/(?:work|root|home|Users)/[A-Za-z.]")
    for path in tracked():
        if path.name in {"test_project.py"}:
            continue
        match = local.search(path.read_text(encoding="utf-8"))
        assert not match, f"{path}: {match and match[0]}"

"""Each notebook alone in an empty folder, on Colab's packages at Colab's versions. `make colab` runs all.

A notebook passes if every cell runs, if the setup cell adds attnlib and changes no version, and if Colab was asked to
show widgets wherever one is shown.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from explorable_samples import MOVES, SAMPLES

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import colab  # noqa: E402

PATHS = sorted((ROOT / "book").glob("**/*.ipynb"))
SETUP = (ROOT / "book" / "setup-cell.py").read_text(encoding="utf-8")
pytestmark = [
    pytest.mark.colab,
    pytest.mark.skipif(
        colab.TOO_NEW, reason="Colab's packages have no wheels for Python 3.14; Colab runs 3.12."
    ),
]


def git(*arguments: str, at: Path = ROOT) -> list[str]:
    """What git answers, line by line; nothing where it has no answer (no repository, no such commit)."""
    told = subprocess.run(["git", *arguments], cwd=at, capture_output=True, text=True)
    return told.stdout.splitlines() if told.returncode == 0 else []


def changed(at: Path = ROOT) -> set[str]:
    """The notebooks that differ from where this branch left origin/main, or if it did not, from the commit before."""
    head, left = git("rev-parse", "HEAD", at=at), git("merge-base", "HEAD", "origin/main", at=at)
    base = left if left and left != head else git("rev-parse", "HEAD~", at=at)
    return set(git("diff", "--name-only", *base, "--", "book/*.ipynb", at=at)) if base else set()


def chosen() -> list[Path]:
    """All notebooks if asked for; else the first, the middle and the last, and those that changed."""
    if os.environ.get("EVERY_NOTEBOOK"):
        return PATHS
    sample = {PATHS[0], PATHS[len(PATHS) // 2], PATHS[-1]}
    return sorted(sample | {ROOT / name for name in changed() if (ROOT / name) in PATHS})


def made_of(*sources: str):
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])


@pytest.fixture(scope="session")
def source(tmp_path_factory) -> str:
    return colab.snapshot(tmp_path_factory.mktemp("repository"))


@pytest.fixture
def machine(tmp_path, source) -> colab.Machine:
    return colab.Machine(tmp_path / "machine", source)


@pytest.fixture(scope="session")
def ready(tmp_path_factory, source) -> colab.Machine:
    """A machine on which the setup cell has run."""
    machine = colab.Machine(tmp_path_factory.mktemp("ready") / "machine", source)
    assert not machine.run(made_of(SETUP)).error
    return machine


def replaced(before: list[str], after: list[str]) -> str:
    """Which packages have another version than before; a package that is new has replaced none."""
    gone = [package for package in before if package not in after]
    names = [package.split("==")[0] for package in gone]
    return ", ".join(gone + [p for p in after if p not in before and p.split("==")[0] in names])


def hidden_widgets(machine: colab.Machine, ran: colab.Ran) -> list:
    """The widgets that Colab would not show, because it was not asked to."""
    return [] if machine.widget_calls() else colab.widgets(ran.notebook)


@pytest.mark.parametrize("path", chosen(), ids=lambda path: str(path.relative_to(ROOT / "book")))
def test_a_notebook_runs_alone_on_a_fresh_machine(path, machine, record_property):
    before = machine.packages()
    ran = machine.run(nbformat.read(path, as_version=4))
    after = machine.packages()
    assert not ran.error
    assert not replaced(before, after)
    assert [package.split("==")[0] for package in after if package not in before] == ["attnlib"]
    assert not hidden_widgets(machine, ran)
    row = f"{path.stem:30}{ran.setup_seconds:6.1f} s setup {ran.seconds:6.1f} s in all"
    record_property("shown", f"{row} {len(colab.widgets(ran.notebook)):3} widgets")


# ---- The machine is what it claims to be ----------------------------------------------------------------------------


def test_the_machine_holds_colabs_packages_and_no_others(machine):
    lines = colab.REQUIREMENTS.read_text(encoding="utf-8").splitlines()
    listed = {line.lower().replace("_", "-") for line in lines if line and line[0] != "#"}
    assert all(re.fullmatch(r"[a-z0-9.-]+==[^=\s]+", line) for line in listed)
    assert {"ipython==7.34.0", "ipykernel==6.17.1", "ipywidgets==7.7.1", "numpy==2.1.3"} <= listed
    others = set(machine.packages()) ^ listed
    assert len(others) == 1 and others.pop().startswith("torch==")


def test_without_the_setup_cell_there_is_no_attnlib(machine):
    ran = machine.run(made_of("import IPython, numpy; print(IPython.__version__)", "import attnlib"))
    assert ran.notebook.cells[0].outputs[0].text == "7.34.0\n"
    assert ran.error == "ModuleNotFoundError: No module named 'attnlib'"


def test_a_replaced_package_would_be_seen(machine):
    planted = (
        "import sys, subprocess\nsubprocess.run([sys.executable, *'-m pip install -q six==1.16.0'.split()])"
    )
    before = machine.packages()
    assert not machine.run(made_of(planted)).error
    assert replaced(before, machine.packages()) == "six==1.17.0, six==1.16.0"


# ---- The setup cell -------------------------------------------------------------------------------------------------


def test_where_attnlib_is_there_the_setup_cell_does_nothing(ready):
    before = ready.packages()
    ready.environment["ATTNLIB_SOURCE"] = "git+file:///nowhere"
    ran = ready.run(made_of(SETUP, "import attnlib; print(attnlib.__file__)"))
    assert not ran.error and ready.packages() == before
    assert ran.notebook.cells[1].outputs[0].text.startswith(str(ready.packages_at))


def test_without_a_network_the_setup_cell_says_so_in_one_sentence_and_nothing_runs_on(machine):
    machine.environment["ATTNLIB_SOURCE"] = "git+file:///nowhere"
    ran = machine.run(made_of(SETUP, "print('ran on')"))
    assert ran.error == "SystemExit: attnlib cannot be installed: check the network, run this again."
    told = "".join(o.get("text", "") for o in ran.notebook.cells[0].outputs)
    assert "Traceback" not in told and "git" not in told
    assert not ran.notebook.cells[1].outputs


# ---- Widgets --------------------------------------------------------------------------------------------------------


def test_a_widget_asks_colab_for_leave_and_is_shown(machine):
    widget = 'import anywidget\nclass W(anywidget.AnyWidget):\n    _esm = "export default {render() {}}"\nW()'
    ran = machine.run(made_of(widget))
    assert not ran.error and len(colab.widgets(ran.notebook)) == machine.widget_calls() == 1
    assert not hidden_widgets(machine, ran)
    machine.calls.unlink()
    assert hidden_widgets(machine, ran) == colab.widgets(ran.notebook)


MOVE = """
picture = SAMPLES[name]()
viz.explore(picture, alt="A picture to move, as it is at the start.")
moved, asked, set_ = MOVES[name]
data = {"method": "update", "state": moved, "buffer_paths": []}
picture.comm.handle_msg({"content": {"data": data}, "buffers": []})
print(eval(asked, {"w": picture}))
for trait, value in set_.items(): setattr(picture, trait, value)
"""


@pytest.fixture(scope="session")
def moved_pictures(ready):
    """A notebook that shows, moves and sets one of each, after it ran."""
    first = f"import sys; sys.path.append({str(ROOT / 'tests')!r})\nfrom attnlib import viz\n"
    first += "from explorable_samples import MOVES, SAMPLES"
    ran = ready.run(made_of(first, *(f"name = {name!r}{MOVE}" for name in SAMPLES)))
    assert not ran.error and ready.widget_calls()
    return ran.notebook


@pytest.mark.parametrize("name", SAMPLES)
def test_a_picture_moves_both_ways_under_ipywidgets_7(name, moved_pictures):
    shown, *prints = moved_pictures.cells[1 + list(SAMPLES).index(name)].outputs
    assert {(part.output_type, part.name) for part in prints} == {("stream", "stdout")}
    printed = "".join(part.text for part in prints)  # a busy machine may send a line in two parts
    assert set(shown.data) == {colab.WIDGET, "image/svg+xml", "text/plain"}
    assert shown.metadata[colab.WIDGET]["colab"]["custom_widget_manager"]["url"]
    moved, asked, set_ = MOVES[name]
    w = SAMPLES[name]()
    for trait, value in moved.items():
        setattr(w, trait, value)
    assert printed.strip() == str(eval(asked)), "Python sees what the hand moved"
    models = moved_pictures.metadata["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    state = models[shown.data[colab.WIDGET]["model_id"]]["state"]
    assert {trait: state[trait] for trait in set_} == set_, "the page is told what Python sets"


# ---- Which notebooks a sample holds ---------------------------------------------------------------------------------


def test_a_changed_notebook_belongs_to_the_sample(tmp_path):
    assert changed(tmp_path) == set()  # no repository
    author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    (tmp_path / "book").mkdir()
    git("init", "-q", "-b", "main", at=tmp_path)
    for name in ("a", "b", "c"):
        (tmp_path / "book" / f"{name}.ipynb").write_text(name)
        git("add", "-A", at=tmp_path)
        git(*author, "commit", "-q", "-m", name, at=tmp_path)
        assert changed(tmp_path) == (set() if name == "a" else {f"book/{name}.ipynb"})  # a: the first commit
    git("update-ref", "refs/remotes/origin/main", "HEAD~2", at=tmp_path)
    assert changed(tmp_path) == {"book/b.ipynb", "book/c.ipynb"}
    (tmp_path / "book" / "a.ipynb").write_text("not yet committed")
    assert changed(tmp_path) == {"book/a.ipynb", "book/b.ipynb", "book/c.ipynb"}

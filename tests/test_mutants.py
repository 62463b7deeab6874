"""The tool that edits the mathematics: what it edits, what it leaves alone, and that a test's failing is noticed."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import mutants  # noqa: E402

TEXT = '''
def f(X: Array, n: int = 2):
    """Adds 1 + 1."""
    if n < 1:
        raise ValueError(f"f: n must be {1 + 0}.")
    rules.must(n > 1 and len(list(zip(X, X, strict=True))) < 3, "f", "X must be short.")
    return X.sum(axis=-1) / (n * 3), n
'''


def after(text: str) -> set[str]:
    return {one.shown(text)[1] for one in mutants.Edits("f.py", text).found}


def test_signs_orders_axes_and_arguments_are_edited():
    assert after(TEXT) >= {
        "return X.mean(axis=-1) / (n * 3), n",
        "return X.sum(axis=-2) / (n * 3), n",
        "return X.sum(axis=-1) * (n * 3), n",
        "return X.sum(axis=-1) / (n / 3), n",
        "return n, X.sum(axis=-1) / (n * 3)",
    }


def test_rules_messages_and_docstrings_stay():
    assert all(line.startswith("return") for line in after(TEXT))


def test_every_file_of_the_mathematics_has_edits_that_are_python():
    for file in ("attnlib/reference/ops.py", "attnlib/nn/masks.py", "attnlib/decode.py"):
        assert len(list(mutants.mutants_of(file))) > 10
    assert all(mutants.tests_of(file) for file in mutants.files())


def test_each_equivalent_edit_has_a_reason_and_is_still_made():
    made = {}
    for file in {file for file, _, _ in mutants.equivalent()}:
        text = (ROOT / file).read_text(encoding="utf-8")
        made[file] = {one.shown(text) for one in mutants.mutants_of(file)}
    for (file, old, new), reason in mutants.equivalent().items():
        assert reason and (old, new) in made[file]


ASKED = """
import sys; sys.path.insert(0, "tools")
from pathlib import Path
import mutants
mutants.preload()
place = Path(sys.argv[1])
mutants.copy_to(place)
mutant = next(mutants.mutants_of("attnlib/reference/positional.py"))
as_it_was = (mutants.ROOT / mutant.file).read_text()[mutant.start : mutant.end]
print(mutants.survives(mutant, place), mutants.survives(mutant._replace(new=as_it_was), place))
"""


@pytest.mark.training
def test_an_edit_is_noticed_and_no_edit_is_not(tmp_path):
    asked = [sys.executable, "-c", ASKED, str(tmp_path)]
    said = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert said.stdout.split() == ["False", "True"], said.stderr

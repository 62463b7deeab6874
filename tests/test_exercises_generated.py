"""What the generator says of wrong answers that nobody has written a row for: each family on a small exercise."""

import random
import subprocess
from pathlib import Path

import numpy as np
import pytest

from attnlib.exercises.engine import interface
from attnlib.exercises.engine.model import CodeExercise, Mistake
from attnlib.exercises.engine.registry import exercises
from attnlib.exercises.kit import superfluous


def planted(solution, cases, task="Do it.", **more):
    """An exercise without a single mistake of its own."""
    return CodeExercise(
        id="foundations.planted",
        title="Planted",
        kind="write",
        level=1,
        minutes=5,
        page="01-foundations/4-x",
        task=task,
        hints=("a", "b", "c"),
        solution=solution,
        cases=cases,
        **more,
    )


def total(x):
    """The sum of each row."""
    return x.sum(axis=-1)


def share_of_the_logarithm(x):
    """A logarithm for each number."""
    return 3.0 * np.log(x) + 1.0


def spread(x):
    """The variance of each row, and one."""
    return x.var(axis=-1) + 1.0


def sum_of_two(x):
    """Its square and three times itself."""
    return x**2 + 3.0 * x


def turned(x):
    """Rows become columns."""
    return x.T * 1.0


def positive(rng):
    return {"two rows": (rng.random((2, 3)) + 0.5,), "three rows": (rng.random((3, 4)) + 0.5,)}


@pytest.mark.parametrize(
    ("solution", "answer", "name"),
    [
        (total, lambda x: x.mean(axis=-1), "mean in place of sum"),
        (total, lambda x: x.prod(axis=-1), "product in place of sum"),
        (
            share_of_the_logarithm,
            lambda x: 3.0 * np.log2(x) + 1.0,
            "logarithm to base 2 in place of logarithm",
        ),
        (spread, lambda x: x.std(axis=-1) + 1.0, "spread in place of variance"),
        (spread, lambda x: x.var(axis=-1, ddof=1) + 1.0, "the unbiased variance"),
        (sum_of_two, lambda x: (x**2 + 3.0 * x) / 2, "half the result"),
        (sum_of_two, lambda x: 2 * x**2 + 3.0 * x, "a term counts twice"),
        (turned, lambda x: x.reshape(x.shape[1], x.shape[0]), "`x` is reshaped, not transposed"),
    ],
)
def test_a_family_is_named(solution, answer, name):
    assert "|".join(interface.graded(planted(solution, positive), answer).named) == name


WRITTEN = (
    Mistake("the mean", "The mean of each row was taken.", {".sum(": ".mean("}),
    Mistake("a row in base 3", "A row is no number in base 3.", lambda x: x @ 3.0 ** np.arange(x.shape[-1])),
)


def test_a_written_mistake_that_is_generated_as_well_is_listed(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["superfluous", "foundations.planted"])
    monkeypatch.setattr(superfluous, "find", lambda *_: planted(total, positive, mistakes=WRITTEN))
    assert superfluous.main() == 0
    listed = capsys.readouterr().out
    assert "foundations.planted: the mean\n" in listed and "generated: mean in place of sum." in listed
    assert "a row in base 3" not in listed


def test_a_mistake_in_the_code_to_repair_and_one_of_two_that_get_the_same_name_are_not_listed():
    given = planted(total, positive, mistakes=WRITTEN, given=("the mean",))
    assert list(superfluous.superfluous(given)) == []
    kept = (WRITTEN[0], Mistake("too small", "Too small.", lambda x: x.mean(axis=-1)))
    assert list(superfluous.superfluous(planted(total, positive, mistakes=kept))) == []


def git(*words):
    done = subprocess.run(["git", *words], cwd=Path(__file__).parent, capture_output=True, text=True)
    return done.stdout.split() if done.returncode == 0 else []


def drawn_by_commit(changed=2, others=2):
    """Exercises that the last commit or the working tree changed, and a few of all; others at the next commit."""
    chance = random.Random(str(git("rev-parse", "HEAD")))
    code = sorted(id for id, one in exercises().items() if isinstance(one, CodeExercise))
    files = {id: f"/{id.replace('-', '_').replace('.', '/')}.py" for id in code}
    names = git("diff", "--name-only", "HEAD~1")
    touched = [id for id in code if any(name.endswith(files[id]) for name in names)]
    return sorted({*chance.sample(touched, min(changed, len(touched))), *chance.sample(code, others)})


@pytest.mark.parametrize("id", drawn_by_commit())
def test_no_written_mistake_is_generated_as_well(id):
    with np.errstate(all="ignore"):
        listed = [mistake.name for mistake, _ in superfluous.superfluous(exercises()[id])]
    assert not listed, f"the generator names them too: `python -m attnlib.exercises.kit.superfluous {id}`"

"""What the generator says of wrong answers that nobody has written a row for: each family on a small exercise."""

import numpy as np
import pytest

from attnlib.exercises.engine import interface
from attnlib.exercises.engine.model import CodeExercise
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


def test_a_written_mistake_that_is_generated_as_well_is_listed(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["superfluous", "training.dropped-spread"])
    assert superfluous.main() == 0
    said = capsys.readouterr().out
    assert "training.dropped-spread: the variance" in said and "generated: the root was left out." in said
    assert "one draw for all keys" not in said

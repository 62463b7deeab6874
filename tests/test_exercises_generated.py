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


def copies(x):
    """Each row twice, one copy after the other."""
    return np.tile(x, (1, 2))


def doubled(x):
    """Each number of a row twice."""
    return np.repeat(x, 2, axis=-1)


def axes_exchanged(x):
    """Rows become columns, by their numbers."""
    return x.transpose(1, 0)


def less_its_square(x):
    """The new x, from which a tenth of its square was subtracted."""
    return x - x**2 / 10


def changes(x):
    """From each number to the next one."""
    return x[..., 1:] - x[..., :-1]


def largest(x):
    """Where the largest number of each row is."""
    return np.argmax(np.round(x), axis=-1)


def in_blocks(x):
    """Two blocks of columns, one below the other."""
    return np.concatenate(list(x.reshape(len(x), 2, -1).swapaxes(0, 1)), axis=0) * 1.0


def scaled(x, eps):
    """Each row by its length, and its square by the square of the length; eps keeps both from zero."""
    length = (x**2).sum(axis=-1, keepdims=True) + eps
    return x / length + x**2 / length


def chosen(x, order):
    """The rows of x in an order, as columns."""
    return (x[order] ** 2 + 1.0).T


def by_width(x, y):
    """The products of the rows of x (n, d) with those of y (m, d), by the root of d."""
    return x @ y.T / np.sqrt(x.shape[1])


def with_order(rng):
    return {
        "three rows": (rng.random((3, 4)), np.array([1, 2, 0])),
        "four": (rng.random((4, 2)), np.array([2, 0, 3, 1])),
    }


def two_matrices(rng):
    return {
        "two rows": (rng.random((2, 5)), rng.random((3, 5))),
        "three": (rng.random((3, 2)), rng.random((4, 2))),
    }


def even(rng):
    return {"four columns": (rng.random((3, 4)),), "six columns": (rng.random((2, 6)),)}


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
        (sum_of_two, lambda x: 2 * x**2 + 3.0 * x, ""),  # "a term counts twice": of which learner's code?
        (sum_of_two, lambda x: (x / 2) ** 2 + 1.5 * x, ""),  # "half of `x`": nothing was halved
        (sum_of_two, lambda x: x, "`x` is unchanged"),
        (copies, lambda x: np.repeat(x, 2, axis=-1), "repeated, not tiled"),
        (doubled, lambda x: np.concatenate([x, x], axis=-1), "tiled, not repeated"),
        (axes_exchanged, lambda x: x.reshape(x.shape[1], x.shape[0]), "`x` is reshaped, not transposed"),
        (less_its_square, lambda x: -(x**2) / 10, "the change of `x`, not the new value"),
        (less_its_square, lambda x: x**2 / 10, "the change of `x`, not the new value"),
        (turned, lambda x: x.reshape(x.shape[1], x.shape[0]), "`x` is reshaped, not transposed"),
    ],
)
def test_a_family_is_named(solution, answer, name):
    assert "|".join(interface.graded(planted(solution, positive), answer).named) == name


@pytest.mark.parametrize(
    ("solution", "cases", "answer", "name"),
    [
        (changes, positive, lambda x: np.roll(x, -1, axis=-1) - x, "closed to a ring"),
        (
            largest,
            lambda rng: {"ties": (np.array([[2.0, 2.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]]),)},
            lambda x: [max(j for j in range(len(row)) if row[j] == row.max()) for row in x],
            "the last of equals",
        ),
        (
            in_blocks,
            even,
            lambda x: np.concatenate(list(x.reshape(len(x), -1, 2).transpose(2, 0, 1))),
            "cut in another order",
        ),
        (
            scaled,
            lambda rng: {"two": (rng.random((2, 3)), 0.1), "three": (rng.random((3, 4)), 0.5)},
            lambda x, eps: x / ((x**2).sum(axis=1)[:, None] + eps) + x**2 / (x**2).sum(axis=1)[:, None],
            "`eps` was left out once",
        ),
        (chosen, with_order, lambda x, order: (x[np.argsort(order)] ** 2 + 1).T, "the inverse of `order`"),
        (by_width, two_matrices, lambda x, y: x @ y.T / len(x) ** 0.5, "the length `n` in place of `d`"),
        (by_width, two_matrices, lambda x, y: x @ y.T / len(y) ** 0.5, "the length `m` in place of `d`"),
        (by_width, two_matrices, lambda x, y: x @ y.T, "not divided by the root of `d`"),
    ],
)
def test_a_family_that_moves_numbers_or_takes_another_length_is_named(solution, cases, answer, name):
    task = "Products of the rows of x (n, d) and y (m, d), in an order, with eps."
    assert "|".join(interface.graded(planted(solution, cases, task), answer).named) == name


def product_of_each(x, y):
    """The products of the rows of x and of y, in each of a batch."""
    return x @ y.swapaxes(-1, -2)


def with_a_batch(rng):
    flat, batch = ((3, 2), (5, 2)), ((2, 3, 4), (2, 5, 4))
    return {name: tuple(map(rng.random, one)) for name, one in (("flat", flat), ("a batch", batch))}


def test_an_answer_that_is_right_without_leading_axes_alone_is_told_so():
    found = interface.graded(
        planted(product_of_each, with_a_batch), lambda x, y: (x[:, None] * y[None]).sum(axis=-1)
    )
    assert found.named == ("only without leading axes",) and "Count axes from the right" in found.message
    assert interface.graded(planted(product_of_each, with_a_batch), lambda x, y: x * "a").named == ()


def weighed(x, weights):
    """The sum of each row, weighed where there are weights."""
    return x.sum(axis=-1) if weights is None else (x * weights).sum(axis=-1)


def test_what_is_no_array_in_other_cases_has_no_leading_axes():
    def cases(rng):
        return {"without": (rng.random((2, 3)), None), "with": (rng.random((2, 3)), rng.random(3))}

    found = interface.graded(planted(weighed, cases), lambda x, w: x.sum(axis=-1) if w is None else x * "a")
    assert found.named == ()


def from_a_start(x, start):
    """The sum of each row from a start on."""
    return x[:, start:].sum(axis=-1)


def over_what_is_seen(S, mask):
    """A softmax over what a mask leaves."""
    E = np.exp(np.where(mask, S, -np.inf))
    return E / E.sum(axis=-1, keepdims=True)


def test_a_number_is_no_condition():
    def cases(rng):
        return {"the third": (rng.random((2, 5)), 2), "the first": (rng.random((3, 4)), 0)}

    found = interface.graded(planted(from_a_start, cases), lambda x, start: x[:, start + 1 :].sum(axis=1))
    assert found.named == ("one more than `start`",)


def test_a_number_that_is_nearly_zero_is_not_named_beside_zero():
    def cases(rng):
        return {f"{n} keys": (rng.random((2, n)), np.tri(2, n, dtype=bool)) for n in (3, 4)}

    def answer(S, mask):
        E = np.exp(np.where(mask, S, 0.0))
        return E / E.sum(axis=-1, keepdims=True)

    found = interface.graded(planted(over_what_is_seen, cases), answer)
    assert found.named == ("0 in hidden entries",)


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

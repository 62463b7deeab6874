"""The door of every public function: what it lets pass, what it costs, and that nothing behind it is checked again."""

import threading
import time
import timeit
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
import torch
from results import checked_result

from attnlib import shapes
from attnlib.reference import kernel, ops
from attnlib.reference.recurrent import RNNParameters, rnn_cell, unroll
from attnlib.shapes import Array, Bool, Float, Int, Number, checked, same_size


class Pair(NamedTuple):
    W: Float[Array, "d d_out"]
    b: Float[Array, "d_out"] | None = None


@pytest.fixture(autouse=True)
def only_arguments(monkeypatch):
    monkeypatch.setattr(shapes, "INTERCEPT", None)


@checked
def inner(X: Float[Array, "n d"]) -> Float[Array, "n d"]:
    return X


@checked
def outer(X: Float[Array, "n d"], then=inner) -> Float[Array, "n d"]:
    return then(X[0])


def test_a_call_behind_the_door_is_not_checked_again():
    assert outer(np.ones((2, 3))).shape == (3,)
    with pytest.raises(ValueError, match=r"inner: X must be \(n, d\); got \(3,\)"):
        inner(np.ones(3))


def test_an_exception_and_another_thread_leave_the_door_as_it_was():
    def fails(X):
        seen = []
        worker = threading.Thread(target=lambda: seen.append(pytest.raises(ValueError, inner, X)))
        worker.start()
        worker.join()
        assert seen  # another thread has a door of its own
        raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        outer(np.ones((2, 3)), fails)
    with pytest.raises(ValueError, match="inner: X must be"):
        inner(np.ones(3))


def test_what_is_called_back_is_checked_by_its_own_door():
    with pytest.raises(TypeError, match="softmax: S must be an array; got list"):
        kernel.kernel_regression(*[np.ones((2, 2))] * 3, kernel=lambda Q, K: ops.softmax([1.0]))
    cell = RNNParameters(np.ones((2, 2)), np.ones((2, 2)), np.ones(2))
    with pytest.raises(ValueError, match="rnn_cell: h and parameters.W_x must have the same width d"):
        unroll(rnn_cell, np.ones((3, 2)), np.ones(5), cell)


@checked
@same_size(d_in="d")
def several(
    X: Float[Array, "*b n d"],
    index: Int[Array, "*b n"],
    pair: Pair,
    k: Number[int, "1..n"] = 1,
    scale: Number[float, "0.."] = 0.0,
    *masks: Bool[Array, "*#b #n"],
) -> Float[Array, "*b n d_out"]:
    return X @ pair.W


RIGHT = (np.ones((5, 3, 2)), np.ones((5, 3), dtype=int), Pair(np.ones((2, 7))))


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        ({0: np.ones((5, 3, 4))}, ValueError, "X and pair.W must have the same width d; got X .* with d=4"),
        ({1: np.ones((5, 4), dtype=int)}, ValueError, "X and index must have the same number of keys n"),
        (
            {1: np.ones((3, 5), dtype=int)},
            ValueError,
            r"same batch axes; got X \(5, 3, 2\) and index \(3, 5\)",
        ),
        ({1: np.ones((5, 3))}, TypeError, "index must be an array of integers; got float64"),
        (
            {2: tuple(RIGHT[2])},
            TypeError,
            r"pair must be Pair with W, b; got tuple. Make one with `Pair\(...\)`",
        ),
        (
            {2: Pair(np.ones((2, 7)), np.ones(6))},
            ValueError,
            "pair.W and pair.b must have the same width d_out",
        ),
        ({2: Pair(np.ones((2, 7), np.float32))}, TypeError, "same dtype; got X float64, pair.W float32"),
        ({3: 4}, ValueError, "k must be between 1 and n=3; got k=4"),
        ({3: True}, TypeError, "k must be an integer; got bool"),
        ({3: 1, 4: -0.5}, ValueError, "scale must be finite and not negative; got scale=-0.5"),
        ({3: 1, 4: np.inf}, ValueError, "scale must be finite and not negative; got scale=inf"),
        ({3: 1, 4: "x"}, TypeError, "scale must be a number; got str"),
        ({3: 1, 4: 0, 5: np.ones(3)}, TypeError, "mask 0 must be boolean; got float64"),
        (
            {3: 1, 4: 0, 5: np.ones(2, bool)},
            ValueError,
            r"mask 0 must broadcast to \(\*b, n\) = \(5, 3\); got \(2,\)",
        ),
    ],
)
def test_every_kind_of_annotation_has_its_sentence(change, error, sentence):
    arguments = dict(enumerate(RIGHT)) | change
    several(*RIGHT)
    with pytest.raises(error, match="several: .*" + sentence):
        several(*arguments.values())


def test_numbers_of_numpy_keyword_arguments_and_masks_of_fewer_axes_pass():
    X, index, pair = RIGHT
    assert several(X=X, index=index, pair=pair, k=np.int64(3), scale=np.float32(2)).shape == (5, 3, 7)
    assert several(*RIGHT, 1, 0.0, np.ones(3, bool), np.ones((5, 1), bool), np.ones((1, 3), bool)).shape == (
        5,
        3,
        7,
    )


def test_a_result_that_is_not_what_the_annotation_says_is_found_where_everything_is_checked(monkeypatch):
    @checked
    def turned(X: Float[Array, "n d"]) -> Float[Array, "n d"]:
        return X.T

    assert turned(np.ones((2, 3))).shape == (3, 2)
    monkeypatch.setattr(shapes, "INTERCEPT", checked_result)
    with pytest.raises(ValueError, match=r"turned \(its result\): "):
        turned(np.ones((2, 3)))


def test_the_compiler_sees_no_door():
    @checked
    def halved(X: Float[torch.Tensor, "n d"]) -> Float[torch.Tensor, "n d"]:
        return X / 2

    compiled = torch.compile(halved, backend="eager", fullgraph=True)
    assert torch.equal(compiled(torch.ones(3)), torch.full((3,), 0.5))  # not checked
    with pytest.raises(ValueError, match=r"halved: X must be \(n, d\); got \(3,\)"):
        halved(torch.ones(3))
    assert torch.func.vmap(halved)(torch.ones(2, 3, 4)).shape == (2, 3, 4)
    assert halved(torch.ones(2, 3, device="meta")).shape == (2, 3)


@pytest.mark.timing
def test_the_door_costs_at_most_as_much_as_three_hundred_additions():
    """About 1.5 microseconds on a quiet machine; three hundred additions take three times as long, on any."""

    @checked
    def nothing(
        Q: Float[Array, "*b m d_k"],
        K: Float[Array, "*b n d_k"],
        V: Float[Array, "*b n d_v"],
        mask: Bool[Array, "*#b #m #n"] | None = None,
    ) -> None:
        return None

    def additions():
        total = 0
        for number in range(300):
            total += number

    X, mask = np.ones((2, 3, 4)), np.ones((3, 3), dtype=bool)
    calls = [
        lambda: nothing(X, X, X, mask),
        lambda: nothing.__wrapped__(X, X, X, mask),
        additions,
    ]
    turns = [[timeit.timeit(call, number=500, timer=time.process_time) for call in calls] for _ in range(40)]
    door, bare, rival = map(min, zip(*turns, strict=True))  # in turn: all three meet the same noise
    assert door - bare < rival


def test_what_is_called_within_is_checked_where_a_function_is_given_and_only_there():
    """What a given function calls has not been checked at the door; what the outer function calls by itself has."""
    calls = []

    @checked
    def inner(X: Float[Array, "n 2"]) -> None:
        calls.append(X.shape)

    @checked
    def outer(X: Float[Array, "n d"], after: Callable[..., None] | None = None) -> None:
        (after or inner.__wrapped__)(X)
        inner(X)

    @checked
    def by_default(X: Float[Array, "n d"], after: Callable[..., None] = print) -> None:
        inner(X)

    outer(np.ones((3, 5)))
    assert calls == [(3, 5)] * 2
    for wrong in (
        lambda: outer(np.ones((3, 5)), inner),
        lambda: outer(np.ones((3, 5)), after=inner),
        lambda: by_default(np.ones((3, 5))),
    ):
        with pytest.raises(ValueError, match="inner: X must be"):
            wrong()
    outer(np.ones((3, 5)), None)
    assert len(calls) == 4

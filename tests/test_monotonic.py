"""Monotonic attention: the recursion is the exact mean of random readers, and its backward is its slope."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlib.nn import monotonic as nn_monotonic
from attnlib.reference import monotonic
from attnlib.testing import assert_close, central_difference, check_twin

B, M, N = 2, 5, 7


def read(Z):
    """A reader in plain Python: stops[i] is the key of query i, or None at the end."""
    start, stops = 0, []
    for row in Z:
        stop = next((j for j in range(start, len(row)) if row[j]), None)
        stops.append(stop)
        start = len(row) if stop is None else stop
    return stops


def as_printed(p):
    """Raffel et al. (2017), a sum over every place where the query before may have stopped; slow."""
    m, n = p.shape
    before = np.eye(n)[0]
    A = np.zeros((m, n))
    for i in range(m):
        for j in range(n):
            ways = [before[k] * np.prod(1 - p[i, k:j]) for k in range(j + 1)]
            A[i, j] = p[i, j] * sum(ways)
        before = A[i]
    return A


def check_alignment_and_its_twin(p, rng):
    check_twin(
        lambda p: (monotonic.monotonic_alignment(p), p),
        monotonic.monotonic_alignment_backward,
        nn_monotonic.monotonic_alignment,
        [p],
        rng,
    )


@pytest.mark.parametrize(("m", "n"), [(M, N), (N, M), (1, N), (M, 1), (1, 1)])
def test_the_recursion_equals_the_printed_double_sum_and_its_twin(m, n, rng):
    p = rng.random((m, n))
    A = monotonic.monotonic_alignment(p)
    assert_close(A, as_printed(p), "float64")
    assert_close(A, nn_monotonic.monotonic_alignment(torch.tensor(p)).numpy(), "float64")


@pytest.mark.parametrize(("m", "n"), [(2, 3), (3, 2)])
def test_the_recursion_is_the_mean_over_all_readers(m, n, rng):
    """No sampling: all 2^(m n) tables of decisions, each with its probability."""
    p = rng.random((m, n))
    mean, total = np.zeros((m, n)), 0.0
    for bits in itertools.product([False, True], repeat=m * n):
        Z = np.array(bits).reshape(m, n)
        probability = np.where(Z, p, 1 - p).prod()
        mean += probability * monotonic.monotonic_scan(Z)
        total += probability
    assert abs(total - 1) < 1e-12
    assert_close(monotonic.monotonic_alignment(p), mean, "float64")


@pytest.mark.parametrize("seed", [0, 1])
def test_the_recursion_is_the_mean_of_sampled_readers(seed):
    """20,000 readers by each twin; a share a has standard error sqrt(a (1 - a) / 20,000)."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.05, 0.6, size=(M, N))
    A = monotonic.monotonic_alignment(p)
    many = np.broadcast_to(p, (20_000, M, N))
    runs = monotonic.sample_monotonic_alignment(many, rng)
    generator = torch.Generator().manual_seed(seed)
    twin = nn_monotonic.sample_monotonic_alignment(torch.tensor(many), generator).numpy()
    for mean in (runs.mean(axis=0), twin.mean(axis=0)):
        assert (np.abs(mean - A) <= 4 * np.sqrt(A * (1 - A) / 20_000)).all()


@pytest.mark.parametrize("shape", [(M, N), (N, M), (B, M, N), (B, 3, M, N), (1, N), (M, 1)])
def test_the_backward_is_the_slope(shape, rng):
    p, dA = rng.uniform(0.05, 0.95, size=shape), rng.normal(size=shape)
    dp = monotonic.monotonic_alignment_backward(dA, p)
    assert_close(dp, central_difference(monotonic.monotonic_alignment, p, dA), "central difference")
    check_alignment_and_its_twin(p, rng)


def test_zeros_and_ones_need_no_division(rng):
    """The printed form divides by p, or by products of 1 - p; at certain decisions both are 0 / 0."""
    p = rng.choice([0.0, 0.5, 1.0], size=(B, M, N))
    dA = rng.normal(size=p.shape)
    dp = monotonic.monotonic_alignment_backward(dA, p)
    assert np.isfinite(dp).all()
    check_alignment_and_its_twin(p, rng)
    assert_close(monotonic.monotonic_alignment(p)[1], as_printed(p[1]), "float64")


@settings(max_examples=300)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32 - 1), st.sampled_from([0.1, 0.4, 0.9]))
def test_a_scan_is_what_a_reader_does(m, n, seed, density):
    Z = np.random.default_rng(seed).random((3, m, n)) < density
    A = monotonic.monotonic_scan(Z)
    for k in range(3):
        stops = read(Z[k])
        assert np.array_equal(A[k], [[stop == j for j in range(n)] for stop in stops])
    assert np.array_equal(A, nn_monotonic.monotonic_scan(torch.tensor(Z)).numpy())
    assert_close(monotonic.monotonic_alignment(Z.astype(float)), A.astype(float), "float64")


@settings(max_examples=300)
@given(st.integers(1, 7), st.integers(1, 7), st.integers(0, 2**32 - 1), st.floats(0, 1))
def test_a_row_of_weights_never_lies_left_of_the_row_above(m, n, seed, largest):
    p = np.random.default_rng(seed).uniform(0, largest, size=(m, n))
    A = monotonic.monotonic_alignment(p)
    assert np.isfinite(A).all() and (A >= 0).all()
    reached = A.cumsum(axis=-1)  # the probability of having stopped at key j or before
    assert (reached <= 1 + 1e-12).all()
    assert (np.diff(reached, axis=0) <= 1e-12).all()


def test_every_step_of_the_test_time_reader_goes_forward(rng):
    p = rng.random((200, M, 20))
    A = monotonic.hard_monotonic_alignment(p)
    assert set(np.unique(A)) == {0.0, 1.0} and (A.sum(axis=-1) <= 1).all()
    stops = np.where(A.any(axis=-1), A.argmax(axis=-1), 20)
    assert (np.diff(stops, axis=-1) >= 0).all()
    assert np.array_equal(A, nn_monotonic.hard_monotonic_alignment(torch.tensor(p)).numpy())


def test_the_test_time_reader_needs_no_key_to_the_right_of_its_stop(rng):
    p = rng.random((M, N))
    A = monotonic.hard_monotonic_alignment(p)
    stop = A[0].argmax()
    changed = p.copy()
    changed[0, stop + 1 :] = 1 - p[0, stop + 1 :]
    assert stop < N - 1 and np.array_equal(monotonic.hard_monotonic_alignment(changed), A)


def test_a_hidden_key_gets_no_weight_and_the_reader_passes_over_it(rng):
    p = rng.random((B, M, N))
    p[..., 3] = 0
    A = monotonic.monotonic_alignment(p)
    assert not A[..., 3].any()
    without = monotonic.monotonic_alignment(np.delete(p, 3, axis=-1))
    assert_close(np.delete(A, 3, axis=-1), without, "float64")


def test_where_nothing_can_be_selected_the_rows_are_zeros():
    assert not monotonic.monotonic_alignment(np.zeros((M, N))).any()
    assert not monotonic.hard_monotonic_alignment(np.full((M, N), 0.5)).any()


def test_nothing_leaks_across_the_batch(rng):
    p, dA = rng.random((B, M, N)), rng.normal(size=(B, M, N))
    A, dp = monotonic.monotonic_alignment(p), monotonic.monotonic_alignment_backward(dA, p)
    for k in range(B):
        assert np.array_equal(A[k], monotonic.monotonic_alignment(p[k]))
        assert np.array_equal(dp[k], monotonic.monotonic_alignment_backward(dA[k], p[k]))


def test_the_same_seed_gives_the_same_readers():
    p = np.full((B, M, N), 0.3)
    first, second = (monotonic.sample_monotonic_alignment(p, np.random.default_rng(5)) for _ in range(2))
    assert np.array_equal(first, second)


def test_float32_in_float32_out_and_inputs_unchanged(rng):
    p = rng.random((B, M, N)).astype(np.float32)
    before = p.copy()
    A = monotonic.monotonic_alignment(p)
    dp = monotonic.monotonic_alignment_backward(np.ones_like(p), p)
    others = [monotonic.hard_monotonic_alignment(p), monotonic.sample_monotonic_alignment(p, rng)]
    assert all(array.dtype == np.float32 for array in (A, dp, *others))
    assert np.array_equal(p, before)
    assert_close(A, monotonic.monotonic_alignment(p.astype(np.float64)).astype(np.float32), "float32")


@pytest.mark.usefixtures("checked_values")
@pytest.mark.bad_input
@pytest.mark.parametrize("module", [monotonic, nn_monotonic], ids=["reference", "nn"])
@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (
            lambda o, a: o.monotonic_alignment(a([[0.5, 1.2, np.nan]])),
            ValueError,
            "monotonic_alignment: selection probabilities must lie between 0 and 1; got 2 outside or NaN. "
            "Scores become probabilities with a sigmoid, not with a softmax.",
        ),
        (
            lambda o, a: o.hard_monotonic_alignment(a([[-0.1]])),
            ValueError,
            "hard_monotonic_alignment: selection probabilities must lie between 0 and 1; got 1 outside",
        ),
        (
            lambda o, a: o.monotonic_alignment(a([0.5])),
            ValueError,
            r"p needs two axes or more, \(\*b, m, n\); got \(1,\)",
        ),
        (
            lambda o, a: o.monotonic_alignment(a([[1]])),
            TypeError,
            "p must hold real floating-point numbers; got int64",
        ),
        (
            lambda o, a: o.sample_monotonic_alignment(a([[0.5]]), 0),
            TypeError,
            r"sample_monotonic_alignment: rng must be a Generator; got int. Make one from a seed with `(np|torch)\.",
        ),
        (
            lambda o, a: o.monotonic_scan(a([[0.5]])),
            TypeError,
            "monotonic_scan: Z must be boolean with True = stop here; got float64. "
            "Probabilities become decisions with a comparison, such as `p > 0.5`.",
        ),
        (
            lambda o, a: o.monotonic_scan(a([True])),
            ValueError,
            r"monotonic_scan: Z needs two axes or more, \(\*b, m, n\); got \(1,\).",
        ),
    ],
)
def test_bad_input_gets_one_clear_sentence_from_both_twins(module, call, error, sentence):
    def make(values):
        return np.array(values) if module is monotonic else torch.tensor(np.array(values))

    with pytest.raises(error, match=sentence):
        call(module, make)

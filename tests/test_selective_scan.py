"""The selective scan: token after token and all at once it is one function; and the same in other people's code."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from test_linear_attention import assert_same, tensors

from attnlib.nn import selective_scan as nn_scan
from attnlib.reference import selective_scan as scan
from attnlib.reference.linear_attention import linear_attention
from attnlib.reference.s4d import diagonal_recurrence
from attnlib.testing import check_gradients, check_twin

B, N, D, D_STATE = 2, 11, 3, 5


def some(rng, batch: tuple[int, ...] = (B,), n=N, dtype: Any = np.float64):
    """X, steps, A, B, C and a first state."""
    X, step = rng.normal(size=(*batch, n, D)), rng.uniform(0.1, 2, size=(*batch, n, D))
    maps = rng.normal(size=(2, *batch, n, D_STATE))
    A, state = -rng.uniform(0.1, 2, size=(D, D_STATE)), rng.normal(size=(*batch, D, D_STATE))
    return tuple(one.astype(dtype) for one in (X, step, A, *maps, state))


# --- one function --------------------------------------------------------------------------------------------------


def test_it_is_what_its_formula_says(rng):
    X, step, A, W, C, state = some(rng, ())
    Y, last = scan.selective_scan(X, step, A, W, C, state)
    for d in range(D):
        for t in range(N):
            kept = [np.exp(step[s + 1 : t + 1, d].sum() * A[d]) for s in range(-1, t + 1)]
            h = kept[0] * state[d] + sum(kept[s + 1] * step[s, d] * X[s, d] * W[s] for s in range(t + 1))
            np.testing.assert_allclose(Y[t, d], C[t] @ h, rtol=0, atol=1e-12)
        np.testing.assert_allclose(last[d], h, rtol=0, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 8, N, 64])
@pytest.mark.parametrize("stated", [False, True])
@pytest.mark.parametrize("batch", [(), (B,), (B, 3)])
def test_token_after_token_and_all_at_once_are_one_function(batch, stated, n, rng):
    *arrays, state = some(rng, batch, n)
    given = [*arrays, state if stated else None]
    expected = scan.selective_scan(*given)
    assert_same(scan.selective_scan_parallel(*given), expected)
    assert_same(nn_scan.selective_scan(*tensors(*given)), expected)
    assert_same(nn_scan.selective_scan_parallel(*tensors(*given)), expected)


@pytest.mark.parametrize("n", [1, 2, 5, 16, 100])
def test_an_associative_scan_is_the_loop(n, rng):
    decay, added = rng.uniform(0, 1, size=(B, n, D, D_STATE)), rng.normal(size=(B, n, D, D_STATE))
    h, expected = np.zeros((B, D, D_STATE)), []
    for t in range(n):
        h = decay[:, t] * h + added[:, t]
        expected.append(h)
    assert_same([scan.associative_scan(decay, added)], [np.stack(expected, axis=1)])
    assert_same([nn_scan.associative_scan(*tensors(decay, added))], [np.stack(expected, axis=1)])


def test_a_scan_has_twice_the_logarithm_of_n_steps_in_a_row_and_three_times_the_work(monkeypatch):
    """Depth and size of what is computed: each call joins pairs, and then goes back to the states within them."""
    sizes = []
    inner = scan.associative_scan.__wrapped__

    def counted(decay, added):
        sizes.append(added.shape[-3])
        return inner(decay, added)

    monkeypatch.setattr(scan, "associative_scan", counted)
    counted(np.ones((1024, 1, 1)), np.ones((1024, 1, 1)))
    assert len(sizes) == 1 + math.log2(1024) and sum(sizes) < 2 * 1024


@pytest.mark.parametrize("run", [scan.selective_scan, scan.selective_scan_parallel])
@pytest.mark.parametrize("cut", [1, 4, N - 1])
def test_a_text_in_two_halves_is_the_whole_text_if_the_state_goes_on(cut, run, rng):
    X, step, A, W, C, state = some(rng)
    whole, last = run(X, step, A, W, C, state)
    Y, state = run(X[:, :cut], step[:, :cut], A, W[:, :cut], C[:, :cut], state)
    rest, state = run(X[:, cut:], step[:, cut:], A, W[:, cut:], C[:, cut:], state)
    assert_same([np.concatenate([Y, rest], axis=1), state], [whole, last])


@pytest.mark.parametrize("run", [scan.selective_scan_parallel, nn_scan.selective_scan_parallel])
def test_ten_thousand_tokens_that_forget_at_once_stay_finite(run, rng):
    given = list(some(rng, (), 10_000)[:5])
    given[1] *= 50
    expected = scan.selective_scan(*given)
    found = run(*(tensors(*given) if run is nn_scan.selective_scan_parallel else given))
    assert np.isfinite(expected[0]).all()
    assert_same(found, expected, 1e-10)


# --- derivatives ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stated", [False, True])
@pytest.mark.parametrize("batch", [(), (B,)])
def test_the_backward_is_the_gradient_and_equals_the_twin(batch, stated, rng):
    arrays = list(some(rng, batch, 5))[: 6 if stated else 5]

    def forward(*arrays):
        return scan.selective_scan(*arrays)[0], arrays

    def backward(dY, arrays):
        return scan.selective_scan_backward(dY, None, *arrays)[: len(arrays)]

    check_gradients(forward, backward, arrays, rng)
    for twin in (nn_scan.selective_scan, nn_scan.selective_scan_parallel):
        check_twin(forward, backward, lambda *given, twin=twin: twin(*given)[0], arrays, rng)


@pytest.mark.parametrize("twin", [nn_scan.selective_scan, nn_scan.selective_scan_parallel])
def test_the_gradient_of_the_last_state_goes_back_too(twin, rng):
    check_twin(
        lambda *arrays: (scan.selective_scan(*arrays), arrays),
        lambda gradients, arrays: scan.selective_scan_backward(*gradients, *arrays),
        twin,
        list(some(rng)),
        rng,
    )


# --- what it does --------------------------------------------------------------------------------------------------


def test_a_step_of_zero_passes_a_token_over(rng):
    X, step, A, W, C, state = some(rng, ())
    step[[2, 3, 7]] = 0
    Y, last = scan.selective_scan(X, step, A, W, C, state)
    others = np.delete(np.arange(N), [2, 3, 7])
    without, same = scan.selective_scan(*(one[others] for one in (X, step)), A, W[others], C[others], state)
    assert_same([Y[others], last], [without, same])


def test_with_the_same_step_and_maps_at_each_token_it_is_a_diagonal_state_space(rng):
    X, step, A, W, C, _ = some(rng, ())
    step[:], W[:], C[:] = step[0], W[0], C[0]
    Y, _ = scan.selective_scan(X, step, A, W, C)
    kept, written = np.exp(step[0][:, None] * A) + 0j, step[0][:, None] * W[0] + 0j
    expected, _ = diagonal_recurrence(X, kept, written, np.broadcast_to(C[0] / 2, A.shape) + 0j)
    assert_same([Y], [expected])


def test_with_one_decay_for_all_it_is_linear_attention(rng):
    """Mamba-2: one number A and one step for all channels; C reads as a query, step times B is the key."""
    X, step, _, W, C, _ = some(rng, ())
    step[:] = step[:, :1]
    Y, _ = scan.selective_scan(X, step, np.full((D, D_STATE), -0.7), W, C)
    expected, _ = linear_attention(C, step[:, :1] * W, X, np.exp(-0.7 * step[:, 0]))
    assert_same([Y], [expected])


@pytest.mark.parametrize("given", [0, 1, 3, 4])
@pytest.mark.parametrize("twin", [nn_scan.selective_scan, nn_scan.selective_scan_parallel])
def test_no_output_depends_on_a_later_token_and_each_on_its_own(twin, given, rng):
    arrays = tensors(*some(rng, (), 5)[:5])

    def output(one):
        return twin(*arrays[:given], one, *arrays[given + 1 :])[0]

    J = torch.autograd.functional.jacobian(output, arrays[given])
    depends = J.abs().sum(dim=(1, 3))
    assert not depends.triu(1).any() and (depends.diagonal() > 1e-3).all()


def test_one_batch_does_not_leak_into_another_and_inputs_stay_as_they_were(rng):
    given = some(rng)
    copies = [one.copy() for one in given]
    expected = scan.selective_scan(*given)
    alone = [one[1] if i != 2 else one for i, one in enumerate(given)]
    assert_same([one[1] for one in expected], scan.selective_scan(*alone))
    scan.selective_scan_parallel(*given)
    scan.selective_scan_backward(*expected, *given)
    assert all(np.array_equal(one, copy) for one, copy in zip(given, copies, strict=True))


def test_float32_in_float32_out(rng):
    given = some(rng, dtype=np.float32)
    Y, h = scan.selective_scan(*given)
    results = [Y, h, *scan.selective_scan_parallel(*given), *scan.selective_scan_backward(Y, h, *given)]
    assert all(one.dtype == np.float32 for one in results)


# --- other people's code -------------------------------------------------------------------------------------------


def test_it_is_the_scan_of_hugging_face(rng):
    """Theirs takes channels before tokens, and computes in float32."""
    from transformers.models.mamba.modeling_mamba import mamba_selective_scan

    X, step, A, W, C, _ = some(rng)
    expected = scan.selective_scan(X, step, A, W, C)
    X, step, A, W, C = (torch.tensor(one).float() for one in (X, step, A, W, C))
    Y, last = mamba_selective_scan(X.mT, step.mT, A, W.mT, C.mT, return_last_state=True)
    assert_same([Y.mT, last], expected, 1e-5 * np.abs(expected[0]).max())
    ours = nn_scan.selective_scan(X, step, A, W, C)
    assert (ours[0] - Y.mT).abs().max() < 1e-6 * Y.abs().max()


def test_vmap_and_meta_and_an_empty_batch():
    X, step, A, W, C, state = tensors(*some(np.random.default_rng(0)))

    def run(X, step, W, C, state):
        return nn_scan.selective_scan_parallel(X, step, A, W, C, state)

    assert_same(torch.func.vmap(run)(X, step, W, C, state), run(X, step, W, C, state))
    Y, h = nn_scan.selective_scan_parallel(*(one.to("meta") for one in (X, step, A, W, C, state)))
    assert Y.is_meta and h.is_meta and Y.shape == X.shape and h.shape == state.shape
    assert run(*(one[:0] for one in (X, step, W, C, state)))[0].shape == (0, N, D)


@pytest.mark.traced
def test_the_parallel_twin_compiles():
    given = tensors(*some(np.random.default_rng(0)))
    torch._dynamo.reset()
    compiled = torch.compile(nn_scan.selective_scan_parallel, fullgraph=True, backend="aot_eager")
    assert_same(compiled(*given), nn_scan.selective_scan_parallel(*given))


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("module", "make"), [(scan, np.asarray), (nn_scan, torch.tensor)], ids=["reference", "nn"]
)
def test_shapes_that_do_not_fit_are_refused(module, make, rng):
    X, step, A, W, C, _ = map(make, some(rng))
    for run in (module.selective_scan, module.selective_scan_parallel):
        with pytest.raises(ValueError, match="must have the same width d_state"):
            run(X, step, A[:, 1:], W, C)
        with pytest.raises(ValueError, match="X and step must have the same"):
            run(X, step[..., 1:], A, W, C)

"""Linear attention: a sum, a recurrence and chunks are one function; and the same in other people's code."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
import torch

from attnlib.nn import linear_attention as nn_linear
from attnlib.nn import linear_gates as nn_gates
from attnlib.reference import linear_attention as linear
from attnlib.reference import linear_gates
from attnlib.reference.masks import causal_mask
from attnlib.testing import assert_close, central_difference, check_gradients, check_twin, tolerance

B, N, D_K, D_V = 2, 11, 3, 5
CHUNKS = [1, 3, 16, N]  # one token, not a divisor, more than there are, all of them


def some(rng, batch=(B,), n=N, dtype: Any = np.float64):
    """Q, K, V, decays and a first state."""
    shapes = [(n, D_K), (n, D_K), (n, D_V)]
    Q, K, V = (rng.normal(size=(*batch, *shape)).astype(dtype) for shape in shapes)
    decay = rng.uniform(0.2, 1, size=(*batch, n)).astype(dtype)
    return Q, K, V, decay, rng.normal(size=(*batch, D_K, D_V)).astype(dtype)


def tensors(*arrays):
    return [None if array is None else torch.tensor(array) for array in arrays]


def assert_same(ours, theirs, most=1e-12):
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=0, atol=most)


# --- three forms of one function -----------------------------------------------------------------------------------


def test_the_sum_is_what_its_formula_says(rng):
    Q, K, V, decay, _ = some(rng, ())
    O, _ = linear.linear_attention(Q, K, V, decay)
    for t in range(N):
        terms = [np.prod(decay[s + 1 : t + 1]) * (Q[t] @ K[s]) * V[s] for s in range(t + 1)]
        np.testing.assert_allclose(O[t], np.sum(terms, axis=0), rtol=0, atol=1e-12)


@pytest.mark.parametrize("decayed", [False, True])
@pytest.mark.parametrize("batch", [(), (B,), (B, 3)])
def test_sum_recurrence_and_chunks_are_one_function(batch, decayed, rng):
    Q, K, V, decay, _ = some(rng, batch)
    a = decay if decayed else None
    O, _ = linear.linear_attention(Q, K, V, a)
    rows = linear.linear_attention_recurrent(Q, K, V, a)
    assert_same([rows[0]], [O])
    assert_same([nn_linear.linear_attention(*tensors(Q, K, V, a))], [O])
    assert_same(nn_linear.linear_attention_recurrent(*tensors(Q, K, V, a)), rows)
    for chunk in CHUNKS:
        assert_same(linear.linear_attention_chunked(Q, K, V, chunk, a), rows)
        assert_same(nn_linear.linear_attention_chunked(*tensors(Q, K, V), chunk, *tensors(a)), rows)


@pytest.mark.parametrize("chunk", CHUNKS)
@pytest.mark.parametrize("cut", [1, 4, N - 1])
def test_a_text_in_two_halves_is_the_whole_text_if_the_state_goes_on(cut, chunk, rng):
    Q, K, V, decay, state = some(rng)
    whole, last = linear.linear_attention_recurrent(Q, K, V, decay, state)
    parts = [(slice(None), slice(None, cut)), (slice(None), slice(cut, None))]

    def in_halves(run, make):
        S, outputs = make(state), []
        for part in parts:
            O, S = run(*(make(A[part]) for A in (Q, K, V, decay)), S)
            outputs.append(np.asarray(O))
        return np.concatenate(outputs, axis=-2), S

    def chunked(module):
        return lambda Q, K, V, a, S: module.linear_attention_chunked(Q, K, V, chunk, a, S)

    for run, make in (
        (linear.linear_attention_recurrent, np.asarray),
        (chunked(linear), np.asarray),
        (nn_linear.linear_attention_recurrent, torch.tensor),
        (chunked(nn_linear), torch.tensor),
    ):
        assert_same(
            in_halves(run, lambda A, make=make: make(A) if isinstance(A, np.ndarray) else A), (whole, last)
        )


@pytest.mark.parametrize("batch", [(), (B,)])
def test_gates_for_each_coordinate_of_the_key(batch, rng):
    Q, K, V, decay, state = some(rng, batch)
    gates = rng.uniform(0.05, 1, size=K.shape)
    rows = linear_gates.gated_linear_attention(Q, K, V, gates, state)
    S = state
    for t in range(N):  # diag(gate) S + k^T v, one row of the state after another
        S = gates[..., t, :, None] * S + np.einsum("...i,...j->...ij", K[..., t, :], V[..., t, :])
        assert_same([rows[0][..., t, :]], [np.einsum("...i,...ij->...j", Q[..., t, :], S)])
    assert_same([rows[1]], [S])
    assert_same(nn_gates.gated_linear_attention(*tensors(Q, K, V, gates, state)), rows)
    for chunk in CHUNKS:
        assert_same(linear_gates.gated_linear_attention_chunked(Q, K, V, gates, chunk, state), rows)
        assert_same(
            nn_gates.gated_linear_attention_chunked(*tensors(Q, K, V, gates), chunk, *tensors(state)), rows
        )
    alike = np.repeat(decay[..., None], D_K, axis=-1)
    assert_same(
        linear_gates.gated_linear_attention(Q, K, V, alike, state),
        linear.linear_attention_recurrent(Q, K, V, decay, state),
    )


@pytest.mark.parametrize("chunk", [64, 1000])
def test_ten_thousand_tokens_that_halve_the_state_stay_finite(chunk, rng):
    n = 10_000
    Q, K, V = (rng.normal(size=(n, d)) for d in (2, 2, 3))
    decay, gates = np.full(n, 0.5), np.full((n, 2), 0.5)
    expected = linear.linear_attention_recurrent(Q, K, V, decay)
    assert np.isfinite(expected[0]).all()
    assert_same(linear.linear_attention_chunked(Q, K, V, chunk, decay), expected)
    assert_same(nn_linear.linear_attention_chunked(*tensors(Q, K, V), chunk, *tensors(decay)), expected)
    assert_same(linear_gates.gated_linear_attention_chunked(Q, K, V, gates, 64), expected)
    assert_same(nn_gates.gated_linear_attention_chunked(*tensors(Q, K, V, gates), 64), expected)


def test_the_products_of_all_ten_thousand_decays_are_finite_too():
    M = linear.decay_products(np.full(2_000, 0.5))
    assert M[-1, 0] == 0 < M[-1, -1000] and M[0, 0] == 1  # 0.5^1999 is less than the smallest number
    assert np.isfinite(M).all() and not np.triu(M, 1).any()
    tiny = np.full(2_000, 1e-300)
    assert np.isfinite(linear.decay_products(tiny)).all()


def test_a_decay_that_has_rounded_to_zero_forgets_everything_in_the_twin_without_nan():
    Q, K, V, decay, _ = tensors(*some(np.random.default_rng(0)))
    decay[:, 4] = 0.0
    decay.requires_grad_()
    O, _ = nn_linear.linear_attention_chunked(Q, K, V, 3, decay)
    expected, _ = nn_linear.linear_attention_chunked(Q[:, 4:], K[:, 4:], V[:, 4:], 3, decay[:, 4:])
    assert_same([O[:, 4:].detach()], [expected.detach()])
    (gradient,) = torch.autograd.grad(O.sum(), decay)
    assert gradient.isfinite().all()


# --- derivatives ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decayed", [False, True])
@pytest.mark.parametrize("batch", [(), (B,)])
def test_the_backward_is_the_gradient_and_equals_the_twin(batch, decayed, rng):
    Q, K, V, decay, _ = some(rng, batch, 5)
    arrays = [Q, K, V, decay] if decayed else [Q, K, V]

    def backward(dO, cache):
        gradients = linear.linear_attention_backward(dO, cache)
        assert (gradients[3] is None) == (not decayed)
        return gradients[: len(arrays)]

    check_gradients(linear.linear_attention, backward, arrays, rng)
    check_twin(linear.linear_attention, backward, nn_linear.linear_attention, arrays, rng)


def test_the_recurrent_and_the_chunked_twin_have_the_same_gradients(rng):
    arrays = list(some(rng)[:4])

    def recurrent(*arrays):
        return nn_linear.linear_attention_recurrent(*arrays)[0]

    def chunked(Q, K, V, decay):
        return nn_linear.linear_attention_chunked(Q, K, V, 3, decay)[0]

    for twin in (recurrent, chunked):
        check_twin(linear.linear_attention, linear.linear_attention_backward, twin, arrays, rng)


def test_the_gradients_of_state_and_gates_are_alike_in_the_recurrent_and_the_chunked_twin(rng):
    Q, K, V, decay, state = some(rng)
    gates = rng.uniform(0.1, 1, size=K.shape)

    def gradients(run, *arrays):
        given = [torch.tensor(array, requires_grad=True) for array in arrays]
        O, S = run(*given)
        return torch.autograd.grad((O.sin().sum() + S.cos().sum()), given)

    def chunked(Q, K, V, decay, state):
        return nn_linear.linear_attention_chunked(Q, K, V, 4, decay, state)

    def gated_chunked(Q, K, V, gates, state):
        return nn_gates.gated_linear_attention_chunked(Q, K, V, gates, 4, state)

    assert_same(
        gradients(chunked, Q, K, V, decay, state),
        gradients(nn_linear.linear_attention_recurrent, Q, K, V, decay, state),
        1e-10,
    )
    assert_same(
        gradients(gated_chunked, Q, K, V, gates, state),
        gradients(nn_gates.gated_linear_attention, Q, K, V, gates, state),
        1e-10,
    )


def test_the_products_of_decays_and_their_gradient(rng):
    decay = rng.uniform(0.2, 1, size=(B, 5))

    def forward(decay):
        M = linear.decay_products(decay)
        return M, M

    def backward(dM, M):
        return linear.decay_products_backward(dM, decay, M)

    check_gradients(forward, backward, [decay], rng)
    check_twin(forward, lambda dM, M: (backward(dM, M),), nn_linear.decay_products, [decay], rng)


def test_the_feature_map_its_gradient_and_its_twin(rng):
    X = np.concatenate([rng.normal(size=7) * 3, [-700.0, 700.0]])
    assert (linear.elu_plus_one(X) > 0).all()
    assert_same([linear.elu_plus_one(X)], [torch.nn.functional.elu(torch.tensor(X)) + 1])

    def forward(X):
        return linear.elu_plus_one(X), X

    def backward(dY, X):
        return (linear.elu_plus_one_backward(dY, X),)

    check_gradients(forward, backward, [X[:7]], rng)
    check_twin(forward, backward, nn_linear.elu_plus_one, [X], rng)
    assert nn_linear.elu_plus_one(torch.tensor(-80.0)) > 0  # in float32 F.elu(x) + 1 is zero from -17 on


# --- the normalised form -------------------------------------------------------------------------------------------


def positive(rng, batch=(B,), n=N):
    Q, K, V, *_ = some(rng, batch, n)
    return [linear.elu_plus_one(Q), linear.elu_plus_one(K), V]


@pytest.mark.parametrize("batch", [(), (B,)])
def test_normalised_it_is_an_average_with_weights_that_sum_to_one(batch, rng):
    Q, K, V = positive(rng, batch)
    A = np.where(causal_mask(N), Q @ K.swapaxes(-1, -2), 0)
    P = A / A.sum(axis=-1, keepdims=True)
    assert (P >= 0).all()
    assert_same([P.sum(axis=-1)], [np.ones((*batch, N))])
    O, _ = linear.normalised_linear_attention(Q, K, V)
    assert_same([O], [P @ V])
    assert_same([O[..., 0, :]], [V[..., 0, :]])  # the first token has only itself
    assert_same([linear.normalised_linear_attention(Q, K, np.ones_like(V))[0]], [np.ones_like(V)])


@pytest.mark.parametrize("batch", [(), (B,)])
def test_the_normalised_backward_is_the_gradient_and_equals_the_twin(batch, rng):
    arrays = positive(rng, batch, 5)
    forward, backward = linear.normalised_linear_attention, linear.normalised_linear_attention_backward
    check_gradients(forward, backward, arrays, rng)
    check_twin(forward, backward, nn_linear.normalised_linear_attention, arrays, rng)


# --- properties ----------------------------------------------------------------------------------------------------


def every_form(Q, K, V):
    gates = torch.full_like(K, 0.9)
    return {
        "sum": nn_linear.linear_attention(Q, K, V),
        "recurrent": nn_linear.linear_attention_recurrent(Q, K, V)[0],
        "chunked": nn_linear.linear_attention_chunked(Q, K, V, 2)[0],
        "gated": nn_gates.gated_linear_attention(Q, K, V, gates)[0],
        "gated chunked": nn_gates.gated_linear_attention_chunked(Q, K, V, gates, 2)[0],
        "normalised": nn_linear.normalised_linear_attention(Q.exp(), K.exp(), V),
    }


@pytest.mark.parametrize("form", ["sum", "recurrent", "chunked", "gated", "gated chunked", "normalised"])
@pytest.mark.parametrize("given", [1, 2])
def test_no_output_depends_on_a_later_key_or_value_and_each_on_its_own(form, given, rng):
    arrays = tensors(*some(rng, (), 5)[:3])

    def output(A):
        return every_form(*arrays[:given], A, *arrays[given + 1 :])[form]

    J = torch.autograd.functional.jacobian(output, arrays[given])  # (n, d_v, n, d)
    depends = J.abs().amax(dim=(1, 3))
    assert not depends.triu(1).any()
    first = form == "normalised" and given == 1  # its weight is one whatever the key is
    assert (depends.diagonal()[first:] > 1e-3).all() and (not first or depends[0, 0] < 1e-12)


def test_the_reference_does_not_see_what_comes_later(rng):
    Q, K, V, decay, _ = some(rng)
    cut = 4
    others = [A.copy() for A in (Q, K, V, decay)]
    for A in others:
        A[:, cut:] /= 3
    for run in (
        lambda *A: linear.linear_attention(*A)[0],
        lambda *A: linear.linear_attention_recurrent(*A)[0],
        lambda *A: linear.linear_attention_chunked(*A[:3], 3, A[3])[0],
    ):
        before, after = run(Q, K, V, decay), run(*others)
        assert_same([before[:, :cut]], [after[:, :cut]])
        assert np.abs(before[:, cut:] - after[:, cut:]).max() > 1e-3


def test_one_batch_does_not_leak_into_another_and_inputs_stay_as_they_were(rng):
    Q, K, V, decay, state = given = some(rng)
    copies = [A.copy() for A in given]
    O, S = linear.linear_attention_chunked(Q, K, V, 3, decay, state)
    one, S_one = linear.linear_attention_chunked(Q[1], K[1], V[1], 3, decay[1], state[1])
    assert_same([O[1], S[1]], [one, S_one])
    linear.linear_attention_recurrent(Q, K, V, decay, state)
    assert all(np.array_equal(A, copy) for A, copy in zip(given, copies, strict=True))


def test_float32_in_float32_out(rng):
    Q, K, V, decay, state = some(rng, dtype=np.float32)
    O, cache = linear.linear_attention(Q, K, V, decay)
    results = [
        O,
        *linear.linear_attention_backward(O, cache),
        *linear.linear_attention_recurrent(Q, K, V, decay, state),
        *linear.linear_attention_recurrent(Q, K, V),
        *linear.linear_attention_chunked(Q, K, V, 3, decay, state),
        *linear_gates.gated_linear_attention_chunked(Q, K, V, np.abs(K) / np.abs(K).max(), 3),
        linear.normalised_linear_attention(np.exp(Q), np.exp(K), V)[0],
        linear.elu_plus_one(Q),
    ]
    assert all(one.dtype == np.float32 for one in results)


@pytest.mark.timing  # results are not looked at meanwhile, which takes memory too
@pytest.mark.parametrize("gated", [False, True])
def test_the_chunked_form_makes_no_array_of_all_pairs(gated, rng):
    """Its largest memory at 4,096 tokens is below a hundredth of what one array of all pairs would take."""
    n = 4096
    Q, K, V = (rng.normal(size=(n, d)) for d in (8, 8, 8))
    decay = rng.uniform(0.9, 1, size=(n, 8) if gated else n)
    run = linear_gates.gated_linear_attention_chunked if gated else linear.linear_attention_chunked
    given = (Q, K, V, decay, 32) if gated else (Q, K, V, 32, decay)
    tracemalloc.start()
    run(*given)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < n * n * 8 / 100  # measured: 0.3 MB, gated 0.8 MB


def test_the_chunked_twin_makes_no_array_of_all_pairs(rng):
    from torch.utils._python_dispatch import TorchDispatchMode

    class Largest(TorchDispatchMode):
        most = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            for one in result if isinstance(result, tuple | list) else [result]:
                if isinstance(one, torch.Tensor):
                    self.most = max(self.most, one.numel())
            return result

    n, chunk, d = 4096, 32, 8
    Q, K, V = (torch.randn(n, d, generator=torch.Generator().manual_seed(i)) for i in range(3))
    with Largest() as seen:
        nn_linear.linear_attention_chunked(Q, K, V, chunk, torch.full((n,), 0.9))
    assert seen.most == n * chunk  # the scores within chunks


# --- other people's code -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", [4, 16])
def test_mamba_2_is_linear_attention_with_decays(chunk, rng):
    """Its chunk scan in float32: C are the queries, B the keys, dt x the values and exp(dt A) the decays."""
    from transformers.models.mamba2.modeling_mamba2 import mamba2_chunk_scan

    heads, d_k, d_v = 3, 5, 7
    x, B_, C = (torch.tensor(rng.normal(size=(B, N, heads, d)), dtype=torch.float32) for d in (d_v, d_k, d_k))
    dt = torch.tensor(rng.uniform(0.1, 1, size=(B, N, heads)), dtype=torch.float32)
    A = -torch.tensor(rng.uniform(0.1, 1, size=heads), dtype=torch.float32)
    theirs, state = mamba2_chunk_scan(x, dt, A, B_, C, chunk_size=chunk, return_final_states=True)
    Q, K, V = (M.transpose(1, 2).double().numpy() for M in (C, B_, x * dt[..., None]))
    decay = torch.exp(dt * A).transpose(1, 2).double().numpy()
    O, _ = linear.linear_attention(Q, K, V, decay)
    assert_close(theirs.transpose(1, 2).double().numpy(), O, "float32")
    ours, S = nn_linear.linear_attention_chunked(*tensors(Q, K, V), chunk, *tensors(decay))
    assert_close(ours, O, "float64")
    assert_close(state.mT.double(), S, "float32")  # theirs is (d_v, d_k)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_low_precision_gives_nearly_the_same(dtype, rng):
    given = some(rng)
    expected, _ = linear.linear_attention_chunked(*given[:3], 3, *given[3:])
    O, S = nn_linear.linear_attention_chunked(
        *(A.to(dtype) for A in tensors(*given[:3])), 3, *(A.to(dtype) for A in tensors(*given[3:]))
    )
    assert O.dtype == S.dtype == dtype
    most, _ = tolerance(str(dtype).removeprefix("torch."))
    assert np.abs(O.double().numpy() - expected).max() < most * np.abs(expected).max()


def test_vmap_and_meta_and_an_empty_batch():
    Q, K, V, decay, state = tensors(*some(np.random.default_rng(0)))
    expected = nn_linear.linear_attention_chunked(Q, K, V, 3, decay, state)
    mapped = torch.func.vmap(lambda *A: nn_linear.linear_attention_chunked(*A[:3], 3, *A[3:]))
    assert_same(mapped(Q, K, V, decay, state), expected)
    O, S = nn_linear.linear_attention_chunked(*(A.to("meta") for A in (Q, K, V)), 3)
    assert O.is_meta and S.is_meta and O.shape == V.shape and S.shape == state.shape
    assert nn_linear.linear_attention_chunked(Q[:0], K[:0], V[:0], 3)[0].shape == (0, N, D_V)


@pytest.mark.traced
def test_the_chunked_twin_compiles():
    Q, K, V, decay, state = tensors(*some(np.random.default_rng(0)))
    torch._dynamo.reset()
    compiled = torch.compile(nn_linear.linear_attention_chunked, fullgraph=True, backend="aot_eager")
    assert_same(
        compiled(Q, K, V, 3, decay, state), nn_linear.linear_attention_chunked(Q, K, V, 3, decay, state)
    )


# --- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("checked_values")
@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("module", "make"), [(linear, np.asarray), (nn_linear, torch.tensor)], ids=["reference", "nn"]
)
def test_decays_and_normalisers_that_make_no_sense_are_refused(module, make, rng):
    Q, K, V, decay, state = some(rng)
    for wrong in (0.0, 1.5, np.nan):
        decay[1, 3] = wrong
        sentence = (
            r"decays must lie in \(0, 1\]; got 1 outside or NaN. A decay of any score is exp\(-softplus"
        )
        for run in (
            lambda: module.linear_attention_recurrent(*map(make, (Q, K, V, decay))),
            lambda: module.linear_attention_chunked(*map(make, (Q, K, V)), 3, make(decay)),
            lambda: module.decay_products(make(decay)),
        ):
            with pytest.raises(ValueError, match=sentence):
                run()
    with pytest.raises(ValueError, match="normalised_linear_attention: the dot product of each query with"):
        module.normalised_linear_attention(make(-np.exp(Q)), make(np.exp(K)), make(V))
    V[0, 3, 1] = np.nan
    with pytest.raises(ValueError, match="linear_attention: V must be finite; got 1 NaN or infinite"):
        module.linear_attention(make(Q), make(K), make(V))


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("module", "make"), [(linear, np.asarray), (nn_linear, torch.tensor)], ids=["reference", "nn"]
)
def test_shapes_that_do_not_fit_are_refused(module, make, rng):
    Q, K, V, decay, state = some(rng)
    with pytest.raises(ValueError, match="chunk must be at least 1; got chunk=0"):
        module.linear_attention_chunked(make(Q), make(K), make(V), 0)
    with pytest.raises(ValueError, match="same number of keys n; got Q .* with n=11 and decay"):
        module.linear_attention_recurrent(make(Q), make(K), make(V), make(decay[:, 1:]))
    with pytest.raises(ValueError, match="the same width d_v; got V .* with d_v=5 and state"):
        module.linear_attention_recurrent(make(Q), make(K), make(V), state=make(state[..., 1:]))


def test_a_central_difference_through_the_recurrence_is_the_masked_sums_gradient(rng):
    """The sentence of the backward: all forms are one function, so one derivative serves all of them."""
    Q, K, V, decay, _ = some(rng, (), 5)
    O, cache = linear.linear_attention(Q, K, V, decay)
    dO = rng.normal(size=O.shape)
    gradients = linear.linear_attention_backward(dO, cache)
    for i, A in enumerate((Q, K, V, decay)):

        def moved(X, i=i):
            given = [Q, K, V, decay]
            given[i] = X
            return linear.linear_attention_chunked(*given[:3], 2, given[3])[0]

        assert_close(gradients[i], central_difference(moved, A, dO), "central difference")

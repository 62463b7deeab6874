"""The delta rule: token after token and in chunks it is one function; what it recalls; and the same in Qwen3-Next."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
import torch
from test_linear_attention import assert_same, tensors

from attnlib.nn import delta_rule as nn_delta
from attnlib.reference import delta_rule as delta
from attnlib.reference.linear_attention import linear_attention_recurrent
from attnlib.testing import assert_close, check_gradients, check_twin, tolerance

B, N, D_K, D_V = 2, 11, 3, 5
CHUNKS = [1, 3, 16, N]  # one token, not a divisor, more than there are, all of them


def some(rng, batch=(B,), n=N, dtype: Any = np.float64):
    """Q, K of length one, V, steps, decays and a first state."""
    Q, K, V = (rng.normal(size=(*batch, n, d)) for d in (D_K, D_K, D_V))
    K /= np.linalg.norm(K, axis=-1, keepdims=True)
    step, decay = rng.uniform(0.1, 1.9, size=(*batch, n)), rng.uniform(0.2, 1, size=(*batch, n))
    state = rng.normal(size=(*batch, D_K, D_V))
    return tuple(A.astype(dtype) for A in (Q, K, V, step, decay, state))


# --- two forms of one function -------------------------------------------------------------------------------------


def test_each_state_is_the_one_before_times_a_matrix_and_a_pair_more(rng):
    """S_t = a (I - b k^T k) S_(t-1) + b k^T v, the other way to write the rule."""
    Q, K, V, step, decay, S = some(rng, ())
    O, last = delta.delta_rule(Q, K, V, step, decay, S)
    for t in range(N):
        k = K[t][:, None]
        S = decay[t] * (np.eye(D_K) - step[t] * k @ k.T) @ S + step[t] * k @ V[t][None]
        assert_same([O[t]], [Q[t] @ S])
    assert_same([last], [S])


@pytest.mark.parametrize("decayed", [False, True])
@pytest.mark.parametrize("stated", [False, True])
@pytest.mark.parametrize("batch", [(), (B,), (B, 3)])
def test_the_recurrence_and_the_chunks_are_one_function(batch, stated, decayed, rng):
    Q, K, V, step, decay, state = some(rng, batch)
    a, S = decay if decayed else None, state if stated else None
    expected = delta.delta_rule(Q, K, V, step, a, S)
    assert_same(nn_delta.delta_rule(*tensors(Q, K, V, step, a, S)), expected)
    for chunk in CHUNKS:
        assert_same(delta.delta_rule_chunked(Q, K, V, step, chunk, a, S), expected)
        assert_same(nn_delta.delta_rule_chunked(*tensors(Q, K, V, step), chunk, *tensors(a, S)), expected)


@pytest.mark.parametrize("chunk", CHUNKS)
@pytest.mark.parametrize("cut", [1, 4, N - 1])
def test_a_text_in_two_halves_is_the_whole_text_if_the_state_goes_on(cut, chunk, rng):
    *arrays, state = some(rng)
    whole, last = delta.delta_rule(*arrays, state)
    first, second = ([A[:, part] for A in arrays] for part in (slice(cut), slice(cut, None)))

    def chunked(module):
        return lambda Q, K, V, step, a, S: module.delta_rule_chunked(Q, K, V, step, chunk, a, S)

    for run in (delta.delta_rule, chunked(delta)):
        O, S = run(*first, state)
        rest, S = run(*second, S)
        assert_same([np.concatenate([O, rest], axis=1), S], [whole, last])
    for run in (nn_delta.delta_rule, chunked(nn_delta)):
        O, S = run(*tensors(*first, state))
        rest, S = run(*tensors(*second), S)
        assert_same([torch.cat([O, rest], dim=1), S], [whole, last])


@pytest.mark.parametrize("chunk", [64, 500])
def test_ten_thousand_tokens_that_halve_the_state_stay_finite(chunk, rng):
    n = 10_000
    Q, K, V = (rng.normal(size=(n, d)) for d in (2, 2, 3))
    K /= np.linalg.norm(K, axis=-1, keepdims=True)
    step, decay = rng.uniform(0, 2, size=n), np.full(n, 0.5)
    expected = nn_delta.delta_rule(*tensors(Q, K, V, step, decay))
    assert expected[0].isfinite().all()
    assert_same(delta.delta_rule_chunked(Q, K, V, step, chunk, decay), expected)
    assert_same(nn_delta.delta_rule_chunked(*tensors(Q, K, V, step), chunk, *tensors(decay)), expected)


# --- derivatives ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["step", "decay", "state"])
@pytest.mark.parametrize("batch", [(), (B,)])
def test_the_backward_is_the_gradient_and_equals_the_twin(batch, given, rng):
    """Of all arguments up to the given one; the first of them by moving each number, all by autograd."""
    arrays = list(some(rng, batch, 5))[: {"step": 4, "decay": 5, "state": 6}[given]]

    def forward(*arrays):
        O, _ = delta.delta_rule(*arrays)
        return O, arrays

    def backward(dO, arrays):
        gradients = delta.delta_rule_backward(dO, None, *arrays)
        assert all(gradient is None for gradient in gradients[len(arrays) :])
        return gradients[: len(arrays)]

    check_gradients(forward, backward, arrays, rng)
    check_twin(forward, backward, lambda *A: nn_delta.delta_rule(*A)[0], arrays, rng)
    check_twin(
        forward,
        backward,
        lambda Q, K, V, step, *more: nn_delta.delta_rule_chunked(Q, K, V, step, 3, *more)[0],
        arrays,
        rng,
    )


@pytest.mark.parametrize("chunk", CHUNKS)
def test_the_gradient_of_the_last_state_goes_back_too(chunk, rng):
    arrays = list(some(rng))

    def forward(*arrays):
        return delta.delta_rule(*arrays), arrays

    def backward(gradients, arrays):
        return delta.delta_rule_backward(*gradients, *arrays)

    check_twin(forward, backward, nn_delta.delta_rule, arrays, rng)
    check_twin(
        forward,
        backward,
        lambda Q, K, V, step, decay, S: nn_delta.delta_rule_chunked(Q, K, V, step, chunk, decay, S),
        arrays,
        rng,
    )


# --- what it does --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", [None, 2])
def test_orthonormal_keys_and_a_step_of_one_recall_every_value_exactly(chunk, rng):
    n, d = 7, 13
    K = np.linalg.qr(rng.normal(size=(d, n)))[0].T
    V = rng.normal(size=(n, D_V))

    def last(K, V, step):
        if chunk:
            return delta.delta_rule_chunked(K, K, V, step, chunk)[1]
        return delta.delta_rule(K, K, V, step)[1]

    S = last(K, V, np.ones(n))
    assert_same([K @ S], [V])
    again = last(np.concatenate([K, K[2:5]]), np.concatenate([V, -V[2:5]]), np.ones(n + 3))
    V[2:5] *= -1
    assert_same([K @ again], [V])  # three are overwritten, the others stay
    summed = linear_attention_recurrent(K, K, np.concatenate([V[:2], 2 * V[2:5], V[5:]]))[1]
    assert np.abs(K @ summed - V).max() > 0.1


def test_a_step_near_zero_for_values_as_much_larger_is_the_plain_sum(rng):
    Q, K, V, *_ = some(rng)
    expected, _ = linear_attention_recurrent(Q, K, V)

    def distance(step):
        O, _ = delta.delta_rule(Q, K, V / step, np.full((B, N), step))
        return np.abs(O - expected).max()

    assert distance(1e-6) < 1e-4
    np.testing.assert_allclose(
        distance(1e-3) / distance(1e-4), 10, rtol=0.05
    )  # the difference is linear in it


def test_a_step_of_two_reflects_and_twice_it_is_back(rng):
    """With no value a step of 2 turns the key's row of the state around: the counting of parity."""
    k, S = np.array([[1.0, 0.0, 0.0]]), rng.normal(size=(D_K, D_V))
    _, once = delta.delta_rule(k, k, np.zeros((1, D_V)), np.array([2.0]), state=S)
    assert_same([once], [S * np.array([[-1.0], [1.0], [1.0]])])
    twice = np.repeat(k, 2, axis=0)
    assert_same([delta.delta_rule(twice, twice, np.zeros((2, D_V)), np.array([2.0, 2.0]), state=S)[1]], [S])


def test_a_state_stays_bounded_below_a_step_of_two_over_the_squared_length_and_explodes_above(rng):
    k, nothing = np.repeat(rng.normal(size=(1, D_K)), 200, axis=0), np.zeros((200, D_V))
    S = rng.normal(size=(D_K, D_V))
    for factor, grows in ((1.9, False), (2.1, True)):
        length = 1.2
        step = np.full(200, factor / length**2)
        keys = length * k / np.linalg.norm(k[0])
        _, last = delta.delta_rule(keys, keys, nothing, step, state=S)
        assert (np.linalg.norm(last) > 1e3) == grows


# --- properties ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", [None, 2])
@pytest.mark.parametrize("given", [1, 2, 3])
def test_no_output_depends_on_a_later_key_value_or_step_and_each_on_its_own(given, chunk, rng):
    arrays = tensors(*some(rng, (), 5)[:4])

    def output(A):
        moved = [*arrays[:given], A, *arrays[given + 1 :]]
        return nn_delta.delta_rule_chunked(*moved, chunk)[0] if chunk else nn_delta.delta_rule(*moved)[0]

    J = torch.autograd.functional.jacobian(output, arrays[given])
    depends = J.flatten(3).abs().sum(dim=-1).amax(dim=1) if given < 3 else J.abs().amax(dim=1)
    assert not depends.triu(1).any()
    assert (depends.diagonal() > 1e-3).all()


def test_one_batch_does_not_leak_into_another_and_inputs_stay_as_they_were(rng):
    given = some(rng)
    copies = [A.copy() for A in given]
    expected = delta.delta_rule(*given)
    assert_same([A[1] for A in expected], delta.delta_rule(*(A[1] for A in given)))
    delta.delta_rule_chunked(*given[:4], 3, *given[4:])
    delta.delta_rule_backward(np.ones_like(expected[0]), np.ones_like(expected[1]), *given)
    assert all(np.array_equal(A, copy) for A, copy in zip(given, copies, strict=True))


def test_float32_in_float32_out(rng):
    given = some(rng, dtype=np.float32)
    O, S = delta.delta_rule(*given)
    results = [O, S, *delta.delta_rule_chunked(*given[:4], 3, *given[4:])]
    results += [*delta.delta_rule_backward(O, S, *given), *delta.delta_rule(*given[:4])]
    assert all(one.dtype == np.float32 for one in results)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_low_precision_gives_nearly_the_same(dtype, rng):
    given = some(rng)
    expected, _ = delta.delta_rule(*given)
    low = [A.to(dtype) for A in tensors(*given)]
    O, S = nn_delta.delta_rule_chunked(*low[:4], 3, *low[4:])
    assert O.dtype == S.dtype == dtype
    most, _ = tolerance(str(dtype).removeprefix("torch."))
    assert np.abs(O.double().numpy() - expected).max() < most * np.abs(expected).max()


@pytest.mark.timing  # results are not looked at meanwhile, which takes memory too
def test_the_chunked_form_makes_no_array_of_all_pairs(rng):
    """Its largest memory at 4,096 tokens is below a hundredth of what one array of all pairs would take."""
    n = 4096
    Q, K, V = (rng.normal(size=(n, 8)) for _ in range(3))
    K /= np.linalg.norm(K, axis=-1, keepdims=True)
    step = rng.uniform(0.9, 1, size=n)
    tracemalloc.start()
    delta.delta_rule_chunked(Q, K, V, step, 32, step)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < n * n * 8 / 100  # measured: 0.3 MB


def test_the_chunked_twin_makes_no_array_of_all_pairs():
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
    Q, K, V = (torch.randn(n, d, generator=torch.Generator().manual_seed(i)) / d**0.5 for i in range(3))
    with Largest() as seen:
        nn_delta.delta_rule_chunked(Q, K, V, torch.full((n,), 0.5), chunk, torch.full((n,), 0.9))
    assert seen.most == n * chunk  # the scores within chunks


# --- other people's code -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("normed", [False, True])
@pytest.mark.parametrize("chunk", [None, 4, 64])
def test_it_is_the_gated_delta_rule_of_qwen3_next(chunk, normed, rng):
    """Theirs are (b, n, h, d), take the logarithm of the decays, compute in float32 and divide queries by a root."""
    from transformers.models.qwen3_next import modeling_qwen3_next as theirs

    Q, K, V, step, decay, state = some(rng, (B, 3))
    given = [torch.tensor(A).transpose(1, 2).float() for A in (Q, K if not normed else 3 * K, V)]
    g, beta = (torch.tensor(A).transpose(1, 2).float() for A in (np.log(decay), step))
    options = {"initial_state": torch.tensor(state).float(), "output_final_state": True}
    options |= {"use_qk_l2norm_in_kernel": normed} | ({"chunk_size": chunk} if chunk else {})
    run = theirs.torch_chunk_gated_delta_rule if chunk else theirs.torch_recurrent_gated_delta_rule
    O, S = run(*given, g, beta, **options)
    Q = Q / np.linalg.norm(Q, axis=-1, keepdims=True) if normed else Q
    scaled = Q / D_K**0.5
    expected = delta.delta_rule(scaled, K, V, step, decay, state)
    most = 1e-5 * np.abs(expected[0]).max()
    assert_same([O.transpose(1, 2), S], expected, most)
    assert_same(
        nn_delta.delta_rule_chunked(*tensors(scaled, K, V, step), chunk or N, *tensors(decay, state)),
        expected,
    )


def test_vmap_and_meta_and_an_empty_batch():
    given = tensors(*some(np.random.default_rng(0)))

    def run(*A):
        return nn_delta.delta_rule_chunked(*A[:4], 3, *A[4:])

    assert_same(torch.func.vmap(run)(*given), run(*given))
    O, S = run(*(A.to("meta") for A in given))
    assert O.is_meta and S.is_meta and O.shape == given[2].shape and S.shape == given[5].shape
    assert run(*(A[:0] for A in given))[0].shape == (0, N, D_V)


@pytest.mark.traced
def test_the_chunked_twin_compiles():
    given = tensors(*some(np.random.default_rng(0)))
    torch._dynamo.reset()
    compiled = torch.compile(nn_delta.delta_rule_chunked, fullgraph=True, backend="aot_eager")
    assert_same(compiled(*given[:4], 3, *given[4:]), nn_delta.delta_rule_chunked(*given[:4], 3, *given[4:]))


# --- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("checked_values")
@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("module", "make"), [(delta, np.asarray), (nn_delta, torch.tensor)], ids=["reference", "nn"]
)
def test_steps_and_decays_that_make_no_sense_are_refused(module, make, rng):
    Q, K, V, step, decay, _ = some(rng)
    for wrong in (-0.1, 2.1, np.nan):
        bad = step.copy()
        bad[1, 3] = wrong
        sentence = "steps must lie between 0 and 2; got 1 outside or NaN. A step of any score is a sigmoid"
        with pytest.raises(ValueError, match=f"delta_rule: {sentence}"):
            module.delta_rule(*map(make, (Q, K, V, bad)))
        with pytest.raises(ValueError, match=f"delta_rule_chunked: {sentence}"):
            module.delta_rule_chunked(*map(make, (Q, K, V, bad)), 3)
    decay[0, 0] = 0
    with pytest.raises(ValueError, match=r"delta_rule: decays must lie in \(0, 1\]; got 1 outside or NaN"):
        module.delta_rule(*map(make, (Q, K, V, step, decay)))


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("module", "make"), [(delta, np.asarray), (nn_delta, torch.tensor)], ids=["reference", "nn"]
)
def test_shapes_that_do_not_fit_are_refused(module, make, rng):
    Q, K, V, step, _, state = some(rng)
    with pytest.raises(ValueError, match="delta_rule: Q and step must have the same number|queries and step"):
        module.delta_rule(*map(make, (Q, K, V, step[:, 1:])))
    with pytest.raises(ValueError, match="same width d_k; got Q .* and state"):
        module.delta_rule(*map(make, (Q, K, V, step)), state=make(state[:, 1:]))


def test_chunks_in_float64_agree_to_the_table_of_tolerances(rng):
    given = some(rng, (B,), 40)
    for ours, expected in zip(
        delta.delta_rule_chunked(*given[:4], 8, *given[4:]), delta.delta_rule(*given), strict=True
    ):
        assert_close(ours, expected, "float64")

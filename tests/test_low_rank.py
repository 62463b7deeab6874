"""Linformer: keys and values projected along the length; its cost, its leak, and the best that rank r can do."""

from typing import Any

import numpy as np
import pytest
import torch
from test_linear_attention import assert_same, tensors

from attnlib.nn import low_rank as nn_low_rank
from attnlib.reference import low_rank
from attnlib.reference.attention import scaled_dot_product_attention
from attnlib.testing import check_gradients, check_twin, tolerance

B, M, N, D_K, D_V, R = 2, 5, 11, 3, 7, 4


def some(rng, batch=(B,), dtype: Any = np.float64):
    """Q, K, V, E, F."""
    shapes = [(*batch, M, D_K), (*batch, N, D_K), (*batch, N, D_V), (R, N), (R, N)]
    return tuple(rng.normal(size=shape).astype(dtype) for shape in shapes)


def test_each_output_written_out(rng):
    Q, K, V, E, F = some(rng, ())
    O, _ = low_rank.low_rank_attention(Q, K, V, E, F)
    for i in range(M):
        keys = [sum(E[a, j] * K[j] for j in range(N)) for a in range(R)]
        values = [sum(F[a, j] * V[j] for j in range(N)) for a in range(R)]
        weights = [np.exp(Q[i] @ key / np.sqrt(D_K)) for key in keys]
        mixed = sum(w * value for w, value in zip(weights, values, strict=True)) / sum(weights)
        np.testing.assert_allclose(O[i], mixed, rtol=1e-12)


def test_with_the_identity_or_any_permutation_of_it_nothing_changes(rng):
    Q, K, V, _, _ = some(rng)
    expected, _ = scaled_dot_product_attention(Q, K, V)
    for E in (np.eye(N), np.eye(N)[rng.permutation(N)]):
        assert_same([low_rank.low_rank_attention(Q, K, V, E, E)[0]], [expected])
    E, F = np.eye(N), np.eye(N)[rng.permutation(N)]
    assert abs(low_rank.low_rank_attention(Q, K, V, E, F)[0] - expected).max() > 0.1


@pytest.mark.parametrize("batch", [(), (B,), (B, 3)])
def test_the_backward_is_the_gradient_and_equals_the_twin(batch, rng):
    given = some(rng, batch)
    forward, backward = low_rank.low_rank_attention, low_rank.low_rank_attention_backward
    if batch != (B, 3):
        check_gradients(forward, backward, given, rng)
    check_twin(forward, backward, nn_low_rank.low_rank_attention, given, rng)


def test_multiplications_grow_in_proportion_to_n_to_r_and_to_d():
    """Two projections, the scores and the weighted sums: 4 n r d, so the width counts, too."""
    from torch.utils.flop_counter import FlopCounterMode

    def multiplications(n, r, d):
        Q, K, V = torch.zeros(3, n, d)
        E, F = torch.zeros(2, r, n)
        with FlopCounterMode(display=False) as counter:
            scores = torch.zeros(n, d) @ torch.zeros(d, r)  # what the fused operator computes inside
            nn_low_rank.low_rank_attention(Q, K, V, E, F)
            scores @ torch.zeros(r, d)
        return counter.get_total_flops() // 2

    base = multiplications(512, 16, 8)
    assert base in (4 * 512 * 16 * 8, 6 * 512 * 16 * 8)  # the operator is counted, or not
    for larger in ((1024, 16, 8), (512, 32, 8), (512, 16, 16)):
        assert multiplications(*larger) == 2 * base


@pytest.mark.parametrize("given", [1, 2])
def test_every_output_depends_on_every_key_and_value_later_ones_too(given, rng):
    arrays = tensors(*some(rng, ()))

    def output(A):
        return nn_low_rank.low_rank_attention(*arrays[:given], A, *arrays[given + 1 :])

    J = torch.autograd.functional.jacobian(output, arrays[given])
    assert (J.abs().sum(dim=-1).amax(dim=1) > 1e-6).all()  # (M, N)


@pytest.mark.parametrize("r", [1, 3, 10])
def test_the_best_low_rank_has_the_error_of_the_singular_values_left_out(r, rng):
    P = rng.dirichlet(np.ones(N), size=(B, N))
    best = low_rank.best_low_rank(P, r)
    values = np.linalg.svd(P, compute_uv=False)
    np.testing.assert_allclose(
        np.linalg.norm(P - best, axis=(-2, -1)), np.sqrt((values[:, r:] ** 2).sum(axis=1)), rtol=1e-10
    )
    assert (np.linalg.matrix_rank(best) == r).all()
    assert_same([nn_low_rank.best_low_rank(torch.tensor(P), r)], [best])
    for _ in range(20):  # nothing else of that rank is nearer
        other = P @ (projector := rng.normal(size=(N, r))) @ np.linalg.pinv(projector)
        assert (np.linalg.norm(P - other, axis=(-2, -1)) >= np.linalg.norm(P - best, axis=(-2, -1))).all()


@pytest.mark.parametrize(
    ("module", "rng_of"),
    [(low_rank, np.random.default_rng), (nn_low_rank, lambda seed: torch.Generator().manual_seed(seed))],
    ids=["reference", "nn"],
)
def test_a_random_projection_estimates_weighted_sums_with_a_known_variance(module, rng_of):
    """p R^T R v: mean p.v, variance (|p|^2 |v|^2 + (p.v)^2) / r. 20,000 draws: 4 standard errors, and 6 %."""
    p, v, draws, rng = np.array([0.5, 0.3, 0.2]), np.array([1.0, -2.0, 4.0]), 20_000, rng_of(0)
    many = np.asarray(module.random_projection(R * draws, 3, rng), np.float64) * np.sqrt(draws)
    one = np.asarray(module.random_projection(1000, 3, rng), np.float64)
    assert abs((one**2).sum() - 3) < 4 * np.sqrt(6 / 1000)  # of one draw, so that its rows are scaled
    projections = many.reshape(draws, R, 3)
    found = ((projections @ p) * (projections @ v)).sum(axis=1)
    law = (p @ p * (v @ v) + (p @ v) ** 2) / R
    assert abs(np.mean(found) - p @ v) < 4 * np.sqrt(law / draws)
    np.testing.assert_allclose(np.var(found), law, rtol=0.06)  # measured: 2 %


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_low_precision_gives_nearly_the_same(dtype, rng):
    given = some(rng)
    expected, _ = low_rank.low_rank_attention(*given)
    O = nn_low_rank.low_rank_attention(*(A.to(dtype) for A in tensors(*given)))
    most, _ = tolerance(str(dtype).removeprefix("torch."))
    assert (
        O.dtype == dtype and np.abs(O.double().numpy() - expected).max() < 4 * most * np.abs(expected).max()
    )


def test_float32_in_float32_out_and_inputs_stay_as_they_were(rng):
    given = some(rng, dtype=np.float32)
    copies = [A.copy() for A in given]
    O, cache = low_rank.low_rank_attention(*given)
    results = [O, *low_rank.low_rank_attention_backward(O, cache), low_rank.best_low_rank(O, 2)]
    assert all(one.dtype == np.float32 for one in results)
    assert all(np.array_equal(A, copy) for A, copy in zip(given, copies, strict=True))


def test_one_batch_does_not_leak_into_another(rng):
    Q, K, V, E, F = some(rng)
    O, _ = low_rank.low_rank_attention(Q, K, V, E, F)
    assert_same([low_rank.low_rank_attention(Q[1], K[1], V[1], E, F)[0]], [O[1]])


def test_vmap_and_meta_and_an_empty_batch(rng):
    given, run = tensors(*some(rng)), nn_low_rank.low_rank_attention
    assert_same([torch.func.vmap(run, in_dims=(0, 0, 0, None, None))(*given)], [run(*given)])
    assert run(*(A.to("meta") for A in given)).shape == (B, M, D_V)
    assert run(*(A[:0] for A in given[:3]), *given[3:]).shape == (0, M, D_V)


@pytest.mark.traced
def test_the_twin_compiles(rng):
    given = tensors(*some(rng))
    torch._dynamo.reset()
    compiled = torch.compile(nn_low_rank.low_rank_attention, fullgraph=True, backend="aot_eager")
    assert_same([compiled(*given)], [nn_low_rank.low_rank_attention(*given)])


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("module", "make"), [(low_rank, np.asarray), (nn_low_rank, torch.tensor)], ids=["reference", "nn"]
)
def test_projections_of_another_length_are_refused(module, make, rng):
    Q, K, V, E, F = map(make, some(rng))
    with pytest.raises(ValueError, match="low_rank_attention: .*got"):
        module.low_rank_attention(Q, K, V, E[:, 1:], F)
    with pytest.raises(ValueError, match="low_rank_attention: .*got"):
        module.low_rank_attention(Q, K, V, E, F[1:])

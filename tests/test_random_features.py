"""Positive random features: unbiased, with a variance that is known exactly; and attention estimated by them."""

from typing import Any

import numpy as np
import pytest
import torch
from test_linear_attention import assert_same, tensors

from attnlib.nn import random_features as nn_features
from attnlib.reference import random_features as features
from attnlib.reference.attention import scaled_dot_product_attention
from attnlib.reference.masks import causal_mask
from attnlib.testing import assert_close, check_gradients, check_twin, tolerance

B, M, N, D_K, D_V, R = 2, 7, 11, 3, 5, 13
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(120)  # of a standard normal variable
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def some(rng, batch=(B,), m=N, dtype: Any = np.float64):
    """Q, K, V, and directions."""
    shapes = [(*batch, m, D_K), (*batch, N, D_K), (*batch, N, D_V), (R, D_K)]
    return tuple(rng.normal(size=shape).astype(dtype) for shape in shapes)


def softmax_attention(Q, K, V, causal=False):
    return scaled_dot_product_attention(Q, K, V, causal_mask(N) if causal else None)[0]


def estimate(q, k, W):
    """The estimate of e^(q.k) from each direction alone: (r,)."""
    F_Q, F_K = features.positive_features(np.stack([q, k]), W)[0]
    return len(W) * F_Q * F_K


# --- the estimate of one exponential -------------------------------------------------------------------------------


@pytest.mark.parametrize("d_k", [1, 2, 5])
def test_mean_and_variance_are_exact_by_quadrature(d_k, rng):
    """What a direction gives depends on its part along q + k only, so its moments are integrals over one variable."""
    for _ in range(10):
        q, k = rng.normal(size=(2, d_k)) / 2
        along = (q + k) / np.linalg.norm(q + k)
        found = estimate(q, k, NODES[:, None] * along)
        mean = WEIGHTS @ found
        np.testing.assert_allclose(mean, np.exp(q @ k), rtol=1e-12)
        variance = WEIGHTS @ (found - mean) ** 2 / mean**2
        law = features.relative_variance(q[None], k[None], R)[0, 0]
        np.testing.assert_allclose(variance / R, law, rtol=1e-10)


@pytest.mark.parametrize("draw", [features.iid_directions, features.orthogonal_directions])
def test_the_estimate_is_unbiased_and_has_the_variance_of_its_law(draw, rng):
    """40,000 draws of 3 features, 3 wide: mean within 4 standard errors, variance within 8 % (measured: 2 %)."""
    q, k, draws = np.array([0.4, -0.2, 0.3]), np.array([0.1, 0.5, -0.2]), 40_000
    found = estimate(q, k, draw(D_K * draws, D_K, rng)).reshape(draws, D_K).mean(axis=1) / np.exp(q @ k)
    is_iid = draw is features.iid_directions
    law = features.relative_variance if is_iid else features.orthogonal_relative_variance
    variance = law(q[None], k[None], D_K)[0, 0]
    assert abs(found.mean() - 1) < 4 * np.sqrt(variance / draws)
    np.testing.assert_allclose(found.var(), variance, rtol=0.08)


@pytest.mark.parametrize("d_k", [1, 2, 3, 8, 64])
@pytest.mark.parametrize("r", [1, 3, 64, 130])
def test_the_law_of_orthogonal_directions_is_that_of_kummers_function(d_k, r, rng):
    special = pytest.importorskip("scipy.special")
    Q, K = rng.normal(size=(2, 4, d_k)) / d_k**0.25
    s = ((Q[:, None] + K) ** 2).sum(axis=-1)
    pairs = sum(min(d_k, r - first) * (min(d_k, r - first) - 1) for first in range(0, r, d_k))
    less = pairs / r**2 * (1 - np.exp(-s) * special.hyp1f1(d_k, d_k / 2, s / 2))
    expected = np.expm1(s) / r - less
    np.testing.assert_allclose(features.orthogonal_relative_variance(Q, K, r), expected, rtol=1e-9)
    assert (features.orthogonal_relative_variance(Q, K, r) <= features.relative_variance(Q, K, r)).all()


def test_orthogonal_directions_never_take_off_more_than_the_number_of_others_in_a_block(rng):
    """So where the variance is large, nearly all of it stays: at most (d_k - 1) / r less, of (e^s - 1) / r."""
    Q, K = rng.normal(size=(2, 9, 8))
    less = features.relative_variance(Q, K, 8) - features.orthogonal_relative_variance(Q, K, 8)
    assert (less >= 0).all() and (less <= 7 / 8).all()


def test_the_error_falls_as_one_over_the_root_of_the_features(rng):
    """Ratio of errors at 16 and at 4,096 features: 16, within 15 % (measured: 4 %)."""
    q, k, draws = np.array([0.5, 0.1, -0.3]), np.array([0.2, 0.3, 0.1]), 500

    def off(r):
        found = estimate(q, k, features.iid_directions(r * draws, D_K, rng)).reshape(draws, r).mean(axis=1)
        return np.sqrt(np.mean((found / np.exp(q @ k) - 1) ** 2))

    np.testing.assert_allclose(off(16) / off(4096), 16, rtol=0.15)


# --- directions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "rng_of"),
    [(features, np.random.default_rng), (nn_features, lambda seed: torch.Generator().manual_seed(seed))],
    ids=["reference", "nn"],
)
def test_blocks_are_perpendicular_and_every_direction_is_normal(module, rng_of):
    """30,000 directions, 3 wide: means 0, covariance 1, and squared lengths with mean 3 and variance 6."""
    rng = rng_of(0)
    W = np.asarray(module.orthogonal_directions(8, 3, rng), np.float64)
    blocks = np.arange(8) // 3
    same = (blocks[:, None] == blocks) & ~np.eye(8, dtype=bool)
    assert abs(W @ W.T)[same].max() < 1e-5
    assert abs(W @ W.T)[blocks[:, None] != blocks].min() > 1e-3  # those of other blocks are not
    rows = np.asarray(module.orthogonal_directions(30_000, 3, rng), np.float64)
    assert abs(rows.mean(axis=0)).max() < 4 / np.sqrt(len(rows))
    assert abs(np.cov(rows.T) - np.eye(3)).max() < 4 * np.sqrt(2 / len(rows))
    squared = (rows**2).sum(axis=1)
    assert abs(squared.mean() - 3) < 4 * np.sqrt(6 / len(rows)) and abs(squared.var() - 6) < 0.5
    independent = np.asarray(module.iid_directions(20_000, 2, rng))
    assert abs(np.cov(independent.T) - np.eye(2)).max() < 4 * np.sqrt(2 / 20_000)


# --- attention -----------------------------------------------------------------------------------------------------


def naive(Q, K, V, W, causal):
    """The estimate by its formula, with all pairs and without a maximum."""
    F_Q, F_K = (features.positive_features(X / D_K**0.25, W)[0] for X in (Q, K))
    G = F_Q @ F_K.swapaxes(-1, -2)
    G = np.tril(G) if causal else G
    return G @ V / G.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("batch", [(), (B,), (B, 3)])
def test_both_forms_are_the_formula_whatever_the_maximum(batch, rng):
    Q, K, V, W = some(rng, batch)
    few = Q[..., :M, :]
    for given, run, twin, causal in (
        (
            (few, K, V, W),
            features.random_feature_attention,
            nn_features.random_feature_attention,
            False,
        ),
        (
            (Q, K, V, W),
            features.causal_random_feature_attention,
            nn_features.causal_random_feature_attention,
            True,
        ),
    ):
        expected = naive(*given, causal)
        assert_same([run(*given)[0], twin(*tensors(*given))], [expected, expected])


@pytest.mark.parametrize("causal", [False, True])
def test_with_many_features_it_is_softmax_attention(causal, rng):
    """256 times the features, so a sixteenth of the error; short queries and keys, whose estimates have light tails."""
    Q, K, V, _ = some(rng, ())
    Q, K = Q / 2, K / 2
    run = features.causal_random_feature_attention if causal else features.random_feature_attention
    expected = softmax_attention(Q, K, V, causal)

    def off(r):
        draws = [run(Q, K, V, features.orthogonal_directions(r, D_K, rng))[0] for _ in range(6)]
        return np.sqrt(np.mean([(O - expected) ** 2 for O in draws]))

    few, many = off(256), off(65_536)
    assert many < 0.004 and 10 < few / many < 25  # measured: 0.001, and 14 to 15


@pytest.mark.parametrize("batch", [(), (B,)])
def test_the_backwards_are_the_gradients_and_equal_the_twins(batch, rng):
    Q, K, V, W = some(rng, batch)
    for given, name in (
        ((Q[..., :M, :], K, V, W), "random_feature_attention"),
        ((Q, K, V, W), "causal_random_feature_attention"),
        ((Q, W), "positive_features"),
    ):
        forward, backward = getattr(features, name), getattr(features, f"{name}_backward")
        check_gradients(forward, backward, given, rng)
        check_twin(forward, backward, getattr(nn_features, name), given, rng)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("causal", [False, True])
def test_queries_and_keys_of_any_length_stay_finite(causal, dtype, rng):
    """Without the largest feature as a divisor, lengths above 40 underflow or overflow."""
    Q, K, V, W = (A.astype(dtype) for A in some(rng, ()))
    name = "causal_random_feature_attention" if causal else "random_feature_attention"
    for longer in (1, 30, 1000):
        given = (longer * Q, longer * K, V, W)
        O, cache = getattr(features, name)(*given)
        twin = getattr(nn_features, name)(*tensors(*given))
        assert O.dtype == dtype and np.isfinite(O).all() and twin.isfinite().all()
        within = abs(O).max() <= abs(V).max() * 1.001
        assert within, "an average of values"
        gradients = getattr(features, f"{name}_backward")(np.ones_like(O), cache)
        assert all(one.dtype == dtype for one in gradients)


def test_no_output_of_the_causal_form_depends_on_a_later_key_or_value_and_each_on_its_own(rng):
    arrays = tensors(*some(rng, ()))
    for given in (1, 2):

        def output(A, given=given):
            return nn_features.causal_random_feature_attention(*arrays[:given], A, *arrays[given + 1 :])

        J = torch.autograd.functional.jacobian(output, arrays[given])
        depends = J.abs().sum(dim=-1).amax(dim=1)
        assert depends.triu(1).max() < 1e-12 and (depends.diagonal()[1:] > 1e-4).all()


def test_the_order_of_the_keys_does_not_matter_without_a_mask(rng):
    Q, K, V, W = some(rng)
    order = rng.permutation(N)
    expected = features.random_feature_attention(Q, K, V, W)[0]
    assert_same([features.random_feature_attention(Q, K[:, order], V[:, order], W)[0]], [expected])


def test_the_causal_form_in_chunks_does_not_depend_on_them(monkeypatch, rng):
    given = tensors(*some(rng))
    expected = nn_features.causal_random_feature_attention(*given)
    for chunk in (1, 4, 500):
        monkeypatch.setattr(nn_features, "CHUNK", chunk)
        assert_same([nn_features.causal_random_feature_attention(*given)], [expected])


def test_one_batch_does_not_leak_into_another_and_inputs_stay_as_they_were(rng):
    given = some(rng)
    copies = [A.copy() for A in given]
    for name in ("random_feature_attention", "causal_random_feature_attention"):
        O, cache = getattr(features, name)(*given)
        alone = getattr(features, name)(*(A[1] for A in given[:3]), given[3])[0]
        assert_close(O[1], alone, "float64")
        getattr(features, f"{name}_backward")(O, cache)
    assert all(np.array_equal(A, copy) for A, copy in zip(given, copies, strict=True))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_low_precision_gives_nearly_the_same(dtype, rng):
    given = some(rng)
    low = [A.to(dtype) for A in tensors(*given)]
    most, _ = tolerance(str(dtype).removeprefix("torch."))
    for name in ("random_feature_attention", "causal_random_feature_attention"):
        expected, _ = getattr(features, name)(*given)
        O = getattr(nn_features, name)(*low)
        assert O.dtype == dtype
        assert np.abs(O.double().numpy() - expected).max() < 4 * most * np.abs(expected).max()


@pytest.mark.parametrize("name", ["random_feature_attention", "causal_random_feature_attention"])
def test_the_twin_makes_no_array_of_all_pairs(name):
    from torch.utils._python_dispatch import TorchDispatchMode

    class Largest(TorchDispatchMode):
        most = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            result = function(*args, **(kwargs or {}))
            for one in result if isinstance(result, tuple | list) else [result]:
                if isinstance(one, torch.Tensor):
                    self.most = max(self.most, one.numel())
            return result

    n, r = 4096, 32
    Q, K, V = (torch.randn(n, 8, generator=torch.Generator().manual_seed(i)) for i in range(3))
    W = nn_features.orthogonal_directions(r, 8, torch.Generator().manual_seed(3))
    with Largest() as seen:
        getattr(nn_features, name)(Q, K, V, W)
    assert seen.most <= n * 64  # scores within chunks, or features


def test_vmap_and_meta_and_an_empty_batch(rng):
    given = tensors(*some(rng))
    for name in ("random_feature_attention", "causal_random_feature_attention"):
        run = getattr(nn_features, name)
        assert_same([torch.func.vmap(run, in_dims=(0, 0, 0, None))(*given)], [run(*given)])
        assert run(*(A.to("meta") for A in given)).shape == given[2].shape
        assert run(*(A[:0] for A in given[:3]), given[3]).shape == (0, N, D_V)


@pytest.mark.traced
@pytest.mark.parametrize("name", ["random_feature_attention", "causal_random_feature_attention"])
def test_the_twins_compile(name, rng):
    given = tensors(*some(rng))
    torch._dynamo.reset()
    compiled = torch.compile(getattr(nn_features, name), fullgraph=True, backend="aot_eager")
    assert_same([compiled(*given)], [getattr(nn_features, name)(*given)])


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("module", "make"), [(features, np.asarray), (nn_features, torch.tensor)], ids=["reference", "nn"]
)
def test_directions_of_another_width_are_refused(module, make, rng):
    Q, K, V, W = map(make, some(rng))
    with pytest.raises(ValueError, match="random_feature_attention: .*same width d_k; got .*W"):
        module.random_feature_attention(Q, K, V, W[:, :2])

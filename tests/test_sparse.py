"""Sparse attention: exactly k keys or a window, the same weights as full attention among them, and exact slopes."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlib.nn import sparse as nn_sparse
from attnlib.reference import sparse
from attnlib.reference.attention import scaled_dot_product_attention
from attnlib.testing import assert_close, check_gradients, check_twin

B, M, N, D_K, D_V = 2, 3, 5, 7, 11


def some_arrays(rng, batch=(), m=M, n=N, dtype: Any = np.float64):
    return [rng.normal(size=(*batch, *shape)).astype(dtype) for shape in [(m, D_K), (n, D_K), (n, D_V)]]


def some_centers(rng, shape, n=N):
    """Away from the edges of every window whose half-width is a whole number: there the output jumps."""
    return rng.integers(0, n, size=shape) + rng.uniform(0.1, 0.9, size=shape)


@settings(max_examples=300)
@given(
    st.lists(st.sampled_from([-math.inf, -1.0, 0.0, -0.0, 2.0, 1e4]), min_size=1, max_size=7),
    st.data(),
    st.sampled_from([np.float32, np.float64]),
)
def test_exactly_k_are_kept_and_of_equal_scores_the_first(row, data, dtype):
    S = np.array([row, row[::-1]], dtype=dtype)
    k = data.draw(st.integers(1, len(row)))
    mask = sparse.top_k_mask(S, k)
    for scores, kept in zip(S, mask, strict=True):
        best = sorted(range(len(row)), key=lambda j: (-scores[j], j))[:k]
        assert np.array_equal(kept, [j in best for j in range(len(row))])
    assert np.array_equal(nn_sparse.top_k_mask(torch.tensor(S), k).numpy(), mask)


def test_top_k_keeps_what_torch_topk_finds(rng):
    S = rng.normal(size=(B, M, N))
    found = torch.topk(torch.tensor(S), 2, dim=-1).indices.numpy()
    assert np.array_equal(np.sort(found, axis=-1), np.nonzero(sparse.top_k_mask(S, 2))[-1].reshape(B, M, 2))


@pytest.mark.parametrize("batch", [(), (B,), (B, 13)])
@pytest.mark.parametrize(("m", "n"), [(M, N), (N, M)])
def test_all_keys_kept_is_full_attention_and_one_key_kept_is_its_value(batch, m, n, rng):
    Q, K, V = some_arrays(rng, batch, m, n)
    full, cache = scaled_dot_product_attention(Q, K, V)
    assert_close(sparse.top_k_attention(Q, K, V, k=n)[0], full, "float64")
    best = cache.P.argmax(axis=-1)
    one = np.take_along_axis(V, best[..., None], axis=-2)
    assert_close(sparse.top_k_attention(Q, K, V, k=1)[0], one, "float64")


def test_the_kept_weights_are_those_of_full_attention_divided_by_their_sum(rng):
    Q, K, V = some_arrays(rng, (B,))
    full = scaled_dot_product_attention(Q, K, V)[1].P
    P = sparse.top_k_attention(Q, K, V, k=2)[1].P
    kept = np.where(P > 0, full, 0)
    assert ((P > 0).sum(axis=-1) == 2).all()
    assert_close(P, kept / kept.sum(axis=-1, keepdims=True), "float64")


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("batch", "m", "n", "k"), [((), M, N, 2), ((B,), M, N, 4), ((B,), N, M, 2)])
def test_the_backward_of_top_k_is_the_slope(batch, m, n, k, masked, rng):
    arrays = some_arrays(rng, batch, m, n)
    mask = rng.random((*batch, m, n)) < 0.7 if masked else None
    mask_twin = None if mask is None else torch.tensor(mask)

    def forward(*arrays):
        return sparse.top_k_attention(*arrays, k, mask)

    def twin(*arrays):
        return nn_sparse.top_k_attention(*arrays, k, mask_twin)

    check_gradients(forward, sparse.top_k_attention_backward, arrays, rng)
    check_twin(forward, sparse.top_k_attention_backward, twin, arrays, rng)


def test_a_key_that_no_query_keeps_gets_no_gradient(rng):
    Q, K, V = some_arrays(rng)
    K[3] = -10 * Q.sum(axis=0)
    kept = sparse.top_k_mask(Q @ K.T, 2).any(axis=0)
    O, cache = sparse.top_k_attention(Q, K, V, k=2)
    _, dK, dV = sparse.top_k_attention_backward(rng.normal(size=O.shape), cache)
    assert not kept.all()
    assert not dK[~kept].any() and not dV[~kept].any()
    assert dK[kept].all() and dV[kept].all()


def test_a_query_that_sees_fewer_than_k_keys_keeps_those_and_one_that_sees_none_gets_zeros(rng):
    Q, K, V = some_arrays(rng)
    mask = np.array([[False, True, False, False, False], [False] * 5, [True] * 5])
    K[0] = 100.0  # the best key, hidden from the first two queries
    O, cache = sparse.top_k_attention(Q, K, V, 3, mask)
    assert ((cache.P > 0) <= mask).all()
    assert_close(O[0], V[1], "float64")
    assert not O[1].any() and (cache.P[2] > 0).sum() <= 3
    gradients = sparse.top_k_attention_backward(np.ones_like(O), cache)
    assert all(np.isfinite(gradient).all() for gradient in gradients) and not gradients[0][1].any()
    twin = nn_sparse.top_k_attention(*map(torch.tensor, (Q, K, V)), k=3, mask=torch.tensor(mask)).numpy()
    assert_close(O, twin, "float64")


@pytest.mark.parametrize("kind", ["top-k", "local"])
def test_keys_in_another_order_change_top_k_not_at_all_but_local_attention_does_change(kind, rng):
    Q, K, V = some_arrays(rng)
    order = np.array([4, 2, 0, 1, 3])
    centers = some_centers(rng, (M,))

    def attention(K, V):
        if kind == "top-k":
            return sparse.top_k_attention(Q, K, V, 2)[0]
        return sparse.local_attention(Q, K, V, centers, 2.0)[0]

    same = np.allclose(attention(K, V), attention(K[order], V[order]))
    assert same is (kind == "top-k")


@pytest.mark.parametrize(("m", "n"), [(M, N), (N, M), (1, N), (N, 1)])
@pytest.mark.parametrize("window", [0, 1, 2.5, 100])
def test_a_window_is_where_the_distance_is_at_most_its_half_width(m, n, window, rng):
    mask = sparse.local_mask(m, n, window)
    assert np.array_equal(mask, [[abs(j - i) <= window for j in range(n)] for i in range(m)])
    assert np.array_equal(mask, nn_sparse.local_mask(m, n, window).numpy())
    centers = rng.uniform(-1, n, size=(B, m))
    mask = sparse.local_mask(m, n, window, centers)
    assert np.array_equal(mask, [[[abs(j - c) <= window for j in range(n)] for c in row] for row in centers])
    assert np.array_equal(mask, nn_sparse.local_mask(m, n, window, torch.tensor(centers)).numpy())


@pytest.mark.parametrize(("n", "D"), [(17, 0), (17, 3), (101, 8)])
def test_the_scores_of_a_window_grow_with_n_and_not_with_its_square(n, D):
    mask = sparse.local_mask(n, n, D)
    assert sparse.scores_computed(mask) == n * (2 * D + 1) - D * (D + 1)
    assert nn_sparse.scores_computed(torch.tensor(mask)) == sparse.scores_computed(mask)


def by_loops(Q, K, V, centers, D):
    """Luong et al. (2015), local-p with aligned scores, one number at a time."""
    O = np.zeros((len(Q), V.shape[1]))
    for i, center in enumerate(centers):
        seen = [j for j in range(len(K)) if center - D <= j <= center + D]
        scores = [math.exp(Q[i] @ K[j] / math.sqrt(Q.shape[1])) for j in seen]
        for j, score in zip(seen, scores, strict=True):
            weight = score / sum(scores) * math.exp(-((j - center) ** 2) / (2 * (D / 2) ** 2))
            O[i] += weight * V[j]
    return O


@pytest.mark.parametrize(("m", "n"), [(M, N), (N, M)])
@pytest.mark.parametrize("window", [1, 2.0, 50.0])
def test_local_attention_equals_its_loops_and_its_twin(m, n, window, rng):
    Q, K, V = some_arrays(rng, (), m, n)
    centers = some_centers(rng, (m,), n)
    O, _ = sparse.local_attention(Q, K, V, centers, window)
    assert_close(O, by_loops(Q, K, V, centers, window), "float64")
    twin = nn_sparse.local_attention(*map(torch.tensor, (Q, K, V, centers)), window=window).numpy()
    assert_close(O, twin, "float64")


@pytest.mark.parametrize("window", [2.0, 3.0])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("batch", "m", "n"), [((), M, N), ((B,), M, N), ((B, 1), N, M)])
def test_the_backward_of_local_attention_is_the_slope_for_the_centres_too(batch, m, n, masked, window, rng):
    arrays = [*some_arrays(rng, batch, m, n), some_centers(rng, (*batch, m), n)]
    mask = rng.random((*batch, m, n)) < 0.7 if masked else None
    mask_twin = None if mask is None else torch.tensor(mask)

    def forward(Q, K, V, centers):
        return sparse.local_attention(Q, K, V, centers, window, mask)

    check_gradients(forward, sparse.local_attention_backward, arrays, rng)
    check_twin(
        forward,
        sparse.local_attention_backward,
        lambda *arrays: nn_sparse.local_attention(*arrays, window, mask_twin),
        arrays,
        rng,
    )


def test_a_very_wide_window_is_full_attention(rng):
    Q, K, V = some_arrays(rng, (B,))
    O, cache = sparse.local_attention(Q, K, V, np.zeros((B, M)), window=1e9)
    assert_close(O, scaled_dot_product_attention(Q, K, V)[0], "float64")
    assert_close(cache.G, np.ones((B, M, N)), "float64")


def test_a_window_beside_the_sequence_gives_zeros_and_no_gradient(rng):
    Q, K, V = some_arrays(rng)
    centers = np.array([-9.0, 2.1, 99.0])
    O, cache = sparse.local_attention(Q, K, V, centers, window=2.0)
    dQ, _, _, d_centers = sparse.local_attention_backward(rng.normal(size=O.shape), cache)
    assert not O[[0, 2]].any() and not dQ[[0, 2]].any() and not d_centers[[0, 2]].any()
    assert O[1].all() and d_centers[1] != 0


def test_rows_of_local_weights_sum_to_at_most_one(rng):
    Q, K, V = some_arrays(rng, (B,))
    _, cache = sparse.local_attention(Q, K, V, some_centers(rng, (B, M)), window=2.0)
    assert_close(cache.P.sum(axis=-1), np.ones((B, M)), "float64")
    assert ((cache.P * cache.G).sum(axis=-1) < 1).all()


def test_nothing_leaks_across_the_batch(rng):
    Q, K, V = some_arrays(rng, (B,))
    centers = some_centers(rng, (B, M))
    both_top, _ = sparse.top_k_attention(Q, K, V, 2)
    both_local, _ = sparse.local_attention(Q, K, V, centers, 2.0)
    for b in range(B):
        assert_close(both_top[b], sparse.top_k_attention(Q[b], K[b], V[b], 2)[0], "float64")
        assert_close(both_local[b], sparse.local_attention(Q[b], K[b], V[b], centers[b], 2.0)[0], "float64")


def test_float32_in_float32_out_and_inputs_unchanged(rng):
    arrays = [*some_arrays(rng, (B,), dtype=np.float32), some_centers(rng, (B, M)).astype(np.float32)]
    copies = [array.copy() for array in arrays]
    O, cache = sparse.local_attention(*arrays, window=2.0)
    O_top, cache_top = sparse.top_k_attention(*arrays[:3], k=2)
    gradients = [
        *sparse.local_attention_backward(np.ones_like(O), cache),
        *sparse.top_k_attention_backward(np.ones_like(O), cache_top),
    ]
    assert all(array.dtype == np.float32 for array in (O, O_top, *gradients))
    assert all(np.array_equal(a, c) for a, c in zip(arrays, copies, strict=True))
    in_double, _ = sparse.local_attention(*(array.astype(np.float64) for array in arrays), window=2.0)
    assert_close(O, in_double.astype(np.float32), "float32")
    twin = nn_sparse.local_attention(*map(torch.tensor, arrays), window=2.0)
    assert twin.dtype == torch.float32
    assert_close(O, twin.numpy(), "float32")


@pytest.mark.usefixtures("checked_values")
@pytest.mark.bad_input
@pytest.mark.parametrize("module", [sparse, nn_sparse], ids=["reference", "nn"])
@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (
            lambda s, z: s.top_k_mask(z(3, 5), 6),
            ValueError,
            "top_k_mask: k must be between 1 and n=5; got k=6.",
        ),
        (
            lambda s, z: s.top_k_mask(z(3, 5), 0),
            ValueError,
            "top_k_mask: k must be between 1 and n=5; got k=0.",
        ),
        (lambda s, z: s.top_k_mask(z(3, 5), 2.0), TypeError, "top_k_mask: k must be an integer; got float."),
        (
            lambda s, z: s.top_k_mask(z(3, 5) + math.nan, 2),
            ValueError,
            "top_k_mask: scores must be finite or -inf; got 15 NaN",
        ),
        (
            lambda s, z: s.top_k_attention(z(3, 7), z(5, 7), z(5, 2), 2, mask=z(3, 5)),
            TypeError,
            "top_k_attention: mask must be boolean with True = may look; got float64.",
        ),
        (
            lambda s, z: s.top_k_attention(z(3, 7), z(5, 6), z(5, 2), 2),
            ValueError,
            "queries and keys must have the same width d_k",
        ),
        (
            lambda s, z: s.local_mask(3, 5, -1),
            ValueError,
            "local_mask: window must be finite and not negative; got window=-1.",
        ),
        (
            lambda s, z: s.local_mask(3, 5, "2"),
            TypeError,
            "local_mask: window must be a number; got str.",
        ),
        (
            lambda s, z: s.local_mask(3, 5, 1, z(4)),
            ValueError,
            r"local_mask: centers must be \(\*b, m\) with m=3; got \(4,\).",
        ),
        (
            lambda s, z: s.local_mask(3, 5, 1, z(3) + math.inf),
            ValueError,
            "local_mask: centers must be finite; got ",
        ),
        (
            lambda s, z: s.local_attention(z(3, 7), z(5, 7), z(5, 2), z(3), 0.0),
            ValueError,
            "local_attention: window must be positive and finite; got window=0.",
        ),
        (
            lambda s, z: s.local_attention(z(3, 7), z(5, 7), z(5, 2), z(5), 1.0),
            ValueError,
            r"queries and centers must have the same number of queries m; got Q .* with m=3 and centers \(5,\) with",
        ),
        (
            lambda s, z: s.local_attention(z(3, 7), z(5, 7), z(4, 2), z(3), 1.0),
            ValueError,
            "local_attention: keys and values must have the same number of keys n; "
            r"got K \(5, 7\) with n=5 and V \(4, 2\) with n=4.",
        ),
    ],
)
def test_bad_input_gets_one_clear_sentence_from_both_twins(module, call, error, sentence):
    def zeros(*shape):
        return np.zeros(shape) if module is sparse else torch.zeros(shape, dtype=torch.float64)

    with pytest.raises(error, match=sentence):
        call(module, zeros)

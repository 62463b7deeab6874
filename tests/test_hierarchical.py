"""Two levels of attention: what is near exactly, what is far through summaries; what they cost, keep and choose."""

import math
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
import torch

from attnlib.data.results import load_result, measured
from attnlib.nn import hierarchical as nn_levels
from attnlib.nn.attention import scaled_dot_product_attention as nn_attention
from attnlib.reference import hierarchical as levels
from attnlib.reference.attention import scaled_dot_product_attention
from attnlib.reference.patterns import dense_mask
from attnlib.testing import assert_close, check_gradients, check_twin, tolerance

B, N, D_K, D_V = 2, 11, 3, 5
SHAPES = [(1, 1), (2, 1), (3, 2), (4, 1), (5, 3), (N, 1)]  # chunk and near: one token to all of them


def some(rng, batch=(B,), n=N, dtype: Any = np.float64):
    """Q, K, V and scores for pooling keys and values."""
    return [rng.normal(size=(*batch, n, d)).astype(dtype) for d in (D_K, D_K, D_V, D_K, D_V)]


def pooled(K, V, chunk, Z_K=None, Z_V=None):
    return levels.pool_chunks(K, Z_K, chunk)[0], levels.pool_chunks(V, Z_V, chunk)[0]


def past(n=N, m=None):
    return np.tril(np.ones((n, n), dtype=bool))[n - (m or n) :]


def row_by_row(Q, K, V, chunk, near, counts_as):
    """Two levels for one text, one query at a time, summaries made where they are needed."""
    O = np.zeros((len(Q), V.shape[1]))
    for i in range(len(Q)):
        begin = max(0, (i // chunk - near + 1) * chunk)
        far = range(0, begin, chunk)
        keys = [*K[begin : i + 1], *(K[a : a + chunk].mean(axis=0) for a in far)]
        values = [*V[begin : i + 1], *(V[a : a + chunk].mean(axis=0) for a in far)]
        counts = [1.0] * (i + 1 - begin) + [counts_as] * len(far)
        weights = np.array(
            [c * math.exp(Q[i] @ k / math.sqrt(D_K)) for c, k in zip(counts, keys, strict=True)]
        )
        O[i] = weights @ np.array(values) / weights.sum()
    return O


# --- what is attended to, and how much that is ----------------------------------------------------------------------


@pytest.mark.parametrize(("chunk", "near"), SHAPES)
def test_each_earlier_token_is_attended_to_once_alone_or_in_a_summary(chunk, near):
    """No token is counted twice where chunks meet, none is left out, and none is later than the query."""
    tokens = dense_mask(levels.near_tokens(chunk, near), N)
    chunks = np.arange(N // chunk)
    summaries = levels.far_chunks(chunk, near)(np.arange(N)[:, None], chunks)
    counted = tokens.astype(int)
    for c in chunks:
        counted[:, c * chunk : (c + 1) * chunk] += summaries[:, c : c + 1]
    assert np.array_equal(counted, past().astype(int))


@pytest.mark.parametrize(("chunk", "near"), SHAPES)
def test_edges_are_the_weights_above_zero(chunk, near, rng):
    Q, K, V, *_ = some(rng, ())
    _, cache = levels.two_level_attention(Q, K, V, *pooled(K, V, chunk), chunk, near)
    assert levels.two_level_edges(N, chunk, near) == (cache.P > 0).sum()


def test_two_levels_cost_least_at_the_root_of_n():
    """n (C + n / C) / 2 for each C that divides n; the least is n root n, and two equal levels are that."""
    for n in (16, 64, 256, 1024):
        costs = {C: levels.two_level_edges(n, C) for C in range(1, n + 1) if n % C == 0}
        assert costs == {C: n * (C + n // C) // 2 for C in costs}
        root = math.isqrt(n)
        assert min(costs, key=costs.get) == root  # pyright: ignore
        assert costs[root] == n * root == levels.level_edges(n, root)
        assert levels.two_level_edges(n, n) == n * (n + 1) // 2


@pytest.mark.parametrize(("branch", "count"), [(2, 12), (4, 6), (8, 4), (16, 3), (64, 2), (4096, 1)])
def test_more_levels_cost_less(branch, count):
    """n (L (branch - 1) / 2 + 1) edges with L levels, counted one query at a time."""
    n = branch**count
    assert n == 4096
    by_hand = 0
    for query in range(n):
        by_hand += 1
        while query:
            by_hand += query % branch
            query //= branch
    assert levels.level_edges(n, branch) == by_hand == n * count * (branch - 1) // 2 + n


# --- summaries -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", [1, 2, 3, N])
@pytest.mark.parametrize("batch", [(), (B,), (B, 3)])
def test_a_summary_is_a_mean_and_equal_scores_change_nothing(chunk, batch, rng):
    X = some(rng, batch)[2]
    Y, _ = levels.pool_chunks(X, None, chunk)
    for c in range(N // chunk):
        assert_close(Y[..., c, :], X[..., c * chunk : (c + 1) * chunk, :].mean(axis=-2), "float64")
    same = np.broadcast_to(rng.normal(size=D_V), X.shape).copy()
    assert_close(levels.pool_chunks(X, same, chunk)[0], Y, "float64")
    assert_close(nn_levels.pool_chunks(torch.tensor(X), None, chunk), Y, "float64")


def test_a_large_score_keeps_one_token_and_does_not_overflow(rng):
    X = some(rng, ())[2]
    Z = np.zeros_like(X)
    Z[1] = 1e4
    assert_close(levels.pool_chunks(X, Z, 3)[0][0], X[1], "float64")


def test_learned_pooling_is_that_of_deepseek_v4(rng):
    """Its heavily compressed attention, without the norm and the rotation that follow there."""
    from transformers.models.deepseek_v4 import modeling_deepseek_v4 as theirs
    from transformers.models.deepseek_v4.configuration_deepseek_v4 import DeepseekV4Config

    chunk, rates = 3, {"compressed_sparse_attention": 2, "heavily_compressed_attention": 3}
    config = DeepseekV4Config(hidden_size=7, head_dim=8, num_hidden_layers=2, compress_rates=rates)
    torch.manual_seed(0)
    layer = theirs.DeepseekV4HCACompressor(config).double()
    torch.nn.init.normal_(layer.position_bias)
    layer.kv_norm = torch.nn.Identity()

    class NoRotation(torch.nn.Module):
        def forward(self, X, position_ids, layer_type):
            angle = torch.zeros(*position_ids.shape, 1, dtype=X.dtype)
            return angle.cos(), angle.sin()

    layer.rotary_emb = NoRotation()
    H = torch.tensor(rng.normal(size=(B, N, 7)))
    with torch.no_grad():
        expected, bias = layer(H, H, torch.arange(N).expand(B, N), None, 0)
        X = layer.kv_proj(H)
        Z = layer.gate_proj(H) + layer.position_bias.repeat(-(-N // chunk), 1)[:N]
    assert_close(nn_levels.pool_chunks(X, Z, chunk), expected[:, 0], "float32")  # their softmax is in float32
    seen = bias[0, 0] == 0  # there the last token of a chunk may read the chunk's own summary
    ours = levels.far_chunks(chunk)(np.arange(N)[:, None], np.arange(N // chunk))
    assert np.array_equal(ours[1:], seen.numpy()[:-1])


@pytest.mark.parametrize("chunk", [2, 3, N])
@pytest.mark.parametrize("batch", [(), (B,)])
def test_the_backward_of_pooling_is_the_gradient_and_equals_the_twin(chunk, batch, rng):
    X, Z = some(rng, batch)[2], some(rng, batch)[4]
    check_gradients(lambda *A: levels.pool_chunks(*A, chunk), levels.pool_chunks_backward, [X, Z], rng)
    check_twin(
        lambda *A: levels.pool_chunks(*A, chunk),
        levels.pool_chunks_backward,
        lambda *A: nn_levels.pool_chunks(*A, chunk),
        [X, Z],
        rng,
    )


# --- two levels ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("chunk", "near"), SHAPES)
@pytest.mark.parametrize("counts_as", [None, 1.0])
def test_it_is_what_one_query_at_a_time_gives(chunk, near, counts_as, rng):
    Q, K, V, *_ = some(rng, ())
    O, _ = levels.two_level_attention(Q, K, V, *pooled(K, V, chunk), chunk, near, counts_as)
    assert_close(O, row_by_row(Q, K, V, chunk, near, chunk if counts_as is None else counts_as), "float64")


@pytest.mark.parametrize("chunk", [2, 3, 5])
@pytest.mark.parametrize("near", [1, 2])
def test_with_equal_scores_inside_each_chunk_summaries_lose_nothing(chunk, near, rng):
    """Keys that differ from chunk to chunk only: two levels are full attention, whatever the values are (S137)."""
    Q, K, V, *_ = some(rng)
    K = K[:, np.arange(N) // chunk]
    O, _ = levels.two_level_attention(Q, K, V, *pooled(K, V, chunk), chunk, near)
    assert_close(O, scaled_dot_product_attention(Q, K, V, past())[0], "float64")


def test_a_mean_gives_a_chunk_at_most_its_weight(rng):
    """C exp(mean score) is at most the sum of exp(score), with equality for equal scores (Jensen)."""
    Q, K, V, *_ = some(rng, (), 12)
    K_far, V_far = pooled(K, V, 4)
    exact = np.exp(Q[-1] @ K[:8].T / math.sqrt(D_K)).reshape(2, 4).sum(axis=1)
    mean = 4 * np.exp(Q[-1] @ K_far[:2].T / math.sqrt(D_K))
    assert (mean < exact).all()
    P = levels.two_level_attention(Q, K, V, K_far, V_far, 4)[1].P[-1]
    assert P[12:14].sum() < scaled_dot_product_attention(Q[-1:], K, V)[1].P[0, :8].sum()


@pytest.mark.parametrize("chunk", [1, N])
def test_chunks_of_one_token_and_one_chunk_are_plain_attention(chunk, rng):
    Q, K, V, *_ = some(rng)
    O, _ = levels.two_level_attention(Q, K, V, *pooled(K, V, chunk), chunk)
    assert_close(O, scaled_dot_product_attention(Q, K, V, past())[0], "float64")


@pytest.mark.parametrize(("chunk", "near"), SHAPES)
@pytest.mark.parametrize("m", [1, 4])
def test_fewer_queries_are_the_last_ones(chunk, near, m, rng):
    """As in generation: the rows of the whole, token by token."""
    Q, K, V, *_ = some(rng)
    far = pooled(K, V, chunk)
    O, _ = levels.two_level_attention(Q, K, V, *far, chunk, near)
    assert_close(levels.two_level_attention(Q[:, -m:], K, V, *far, chunk, near)[0], O[:, -m:], "float64")
    whole, _ = levels.coarse_to_fine_attention(Q, K, V, Q @ far[0].swapaxes(-1, -2), 0, chunk, near)
    last = Q[:, -m:]
    some_rows, _ = levels.coarse_to_fine_attention(last, K, V, last @ far[0].swapaxes(-1, -2), 0, chunk, near)
    assert_close(some_rows, whole[:, -m:], "float64")


@pytest.mark.parametrize(("chunk", "near"), SHAPES)
@pytest.mark.parametrize("batch", [(), (B,)])
def test_the_backward_of_two_levels_is_the_gradient_and_equals_the_twin(chunk, near, batch, rng):
    Q, K, V, *_ = some(rng, batch, 7)
    chunk = min(chunk, 7)
    K_far, V_far = (rng.normal(size=(*batch, 7 // chunk, d)) for d in (D_K, D_V))  # from anywhere
    arrays = [Q, K, V, K_far, V_far]

    def forward(*A):
        return levels.two_level_attention(*A, chunk, near)

    check_gradients(forward, levels.two_level_attention_backward, arrays, rng)
    check_twin(
        forward,
        levels.two_level_attention_backward,
        lambda *A: nn_levels.two_level_attention(*A, chunk, near),
        arrays,
        rng,
    )


@pytest.mark.parametrize("chunk", [2, 3])
def test_the_gradient_goes_through_the_summaries_to_the_tokens(chunk, rng):
    """Keys and values are read twice, alone and in a summary, so two gradients add up; scores of pooling get theirs."""
    arrays = some(rng, (), 7)

    def forward(Q, K, V, Z_K, Z_V):
        (K_far, of_keys), (V_far, of_values) = (
            levels.pool_chunks(K, Z_K, chunk),
            levels.pool_chunks(V, Z_V, chunk),
        )
        O, cache = levels.two_level_attention(Q, K, V, K_far, V_far, chunk)
        return O, (cache, of_keys, of_values)

    def backward(dO, caches):
        cache, of_keys, of_values = caches
        dQ, dK, dV, dK_far, dV_far = levels.two_level_attention_backward(dO, cache)
        more_K, dZ_K = levels.pool_chunks_backward(dK_far, of_keys)
        more_V, dZ_V = levels.pool_chunks_backward(dV_far, of_values)
        return dQ, dK + more_K, dV + more_V, dZ_K, dZ_V

    def twin(Q, K, V, Z_K, Z_V):
        K_far, V_far = nn_levels.pool_chunks(K, Z_K, chunk), nn_levels.pool_chunks(V, Z_V, chunk)
        return nn_levels.two_level_attention(Q, K, V, K_far, V_far, chunk)

    check_gradients(forward, backward, arrays, rng)
    check_twin(forward, backward, twin, arrays, rng)


@pytest.mark.parametrize(("chunk", "near"), SHAPES)
def test_no_output_depends_on_a_later_token(chunk, near, rng):
    """The Jacobian through pooling, attention and choice is exactly zero above the diagonal."""
    n, chunk = 7, min(chunk, 7)
    W = [torch.tensor(rng.normal(size=(D_V, d))) for d in (D_K, D_K, D_V, D_K, D_V)]

    def outputs(X):
        Q, K, V, Z_K, Z_V = (X @ one for one in W)
        K_far, V_far = nn_levels.pool_chunks(K, Z_K, chunk), nn_levels.pool_chunks(V, Z_V, chunk)
        k = min(1, n // chunk)
        bounds = nn_levels.score_bounds(Q, K, chunk)
        chosen = nn_levels.coarse_to_fine_attention(Q, K, V, bounds, k, chunk, near)
        return torch.stack([nn_levels.two_level_attention(Q, K, V, K_far, V_far, chunk, near), chosen])

    X = torch.tensor(rng.normal(size=(n, D_V)))
    J = torch.autograd.functional.jacobian(outputs, X).abs().sum(dim=(2, 4))  # pyright: ignore  (2, n, n)
    assert (J.triu(1) == 0).all() and (J.diagonal(dim1=1, dim2=2) > 0).all()
    moved = X.clone()
    moved[-1] += 1e3  # a choice has no gradient, so its causality shows in the outputs
    assert torch.equal(outputs(moved)[:, :-1], outputs(X)[:, :-1])


# --- chosen chunks -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", [1, 2, 3, 4])
@pytest.mark.parametrize("batch", [(), (B,)])
def test_no_key_of_a_chunk_scores_above_its_bound(chunk, batch, rng):
    Q, K, *_ = some(rng, batch)
    bounds = levels.score_bounds(Q, K, chunk)
    whole = N // chunk * chunk
    scores = (Q @ K.swapaxes(-1, -2) / math.sqrt(D_K))[..., :whole]
    largest = scores.reshape(*batch, N, N // chunk, chunk).max(axis=-1)
    assert (bounds >= largest - 1e-12).all()
    assert (chunk == 1) == bool(np.allclose(bounds, largest))  # tight for one token
    assert_close(nn_levels.score_bounds(torch.tensor(Q), torch.tensor(K), chunk), bounds, "float64")


@pytest.mark.parametrize(("chunk", "near"), [(2, 1), (3, 1), (2, 2), (4, 1)])
@pytest.mark.parametrize("k", [0, 1, 2])
def test_the_best_far_chunks_are_read_token_by_token(chunk, near, k, rng):
    Q, K, V, *_ = some(rng, ())
    S_far = rng.normal(size=(N, N // chunk))
    O, cache = levels.coarse_to_fine_attention(Q, K, V, S_far, k, chunk, near)
    for i in range(N):
        far = range(max(0, i // chunk - near + 1))
        best = sorted(far, key=lambda c: -S_far[i, c])[:k]
        begin = len(far) * chunk
        read = [*range(begin, i + 1), *(c * chunk + j for c in best for j in range(chunk))]
        assert np.array_equal(np.flatnonzero(cache.P[i]), sorted(read))
        expected = scaled_dot_product_attention(Q[i : i + 1], K[read], V[read])[0][0]
        assert_close(O[i], expected, "float64")


@pytest.mark.parametrize("chunk", [1, 2, 3])
def test_all_chunks_chosen_is_full_attention(chunk, rng):
    Q, K, V, *_ = some(rng)
    S_far = rng.normal(size=(B, N, N // chunk))
    O, _ = levels.coarse_to_fine_attention(Q, K, V, S_far, N // chunk, chunk)
    assert_close(O, scaled_dot_product_attention(Q, K, V, past())[0], "float64")
    T = [torch.tensor(A) for A in (Q, K, V, S_far)]
    expected = nn_attention(*T[:3], torch.tensor(past()))
    assert_close(nn_levels.coarse_to_fine_attention(*T, N // chunk, chunk), expected, "float64")


@pytest.mark.parametrize(("k", "near"), [(0, 1), (1, 1), (2, 2)])
@pytest.mark.parametrize("batch", [(), (B,)])
def test_the_backward_of_a_choice_is_the_gradient_and_equals_the_twin(k, near, batch, rng):
    arrays = some(rng, batch, 7)[:3]
    S_far = rng.normal(size=(*batch, 7, 3))

    def forward(*A):
        return levels.coarse_to_fine_attention(*A, S_far, k, 2, near)

    def twin(*A):
        return nn_levels.coarse_to_fine_attention(*A, torch.tensor(S_far), k, 2, near)

    check_gradients(forward, levels.coarse_to_fine_attention_backward, arrays, rng)
    check_twin(forward, levels.coarse_to_fine_attention_backward, twin, arrays, rng)


# --- a needle --------------------------------------------------------------------------------------------------------


def found_by_means(n: int, d: int, chunk: int, trials: int, rng: np.random.Generator) -> float:
    """How often the chunk with the query's key, of n random keys of length one, has the largest mean score."""
    hits = 0
    for _ in range(trials):
        K = rng.normal(size=(n, d))
        K /= np.linalg.norm(K, axis=1, keepdims=True)
        at = rng.integers(n)
        K_far, _ = levels.pool_chunks(K, None, chunk)
        hits += (K_far @ K[at]).argmax() == at // chunk
    return hits / trials


def law(d: int, chunk: int, chunks: int) -> float:
    """The chance that a normal number with mean root(d / chunk) is the largest of `chunks`, the others with mean 0."""
    normal, x = NormalDist(), np.linspace(-9, 9 + math.sqrt(d / chunk), 4001)
    density = np.exp(-((x - math.sqrt(d / chunk)) ** 2) / 2) / math.sqrt(2 * math.pi)
    return float(np.trapezoid(density * np.array([normal.cdf(one) for one in x]) ** (chunks - 1), x))


@pytest.mark.parametrize(("n", "d", "chunk"), [(512, 32, 8), (512, 32, 32), (512, 64, 16)])
def test_a_needle_is_found_as_often_as_its_signal_to_noise_says(n, d, chunk, rng):
    """Signal 1 / C, noise 1 / root(C d): of 400 trials within four standard errors, and 0.02 for what is not normal."""
    expected = law(d, chunk, n // chunk)
    error = math.sqrt(expected * (1 - expected) / 400)
    assert abs(found_by_means(n, d, chunk, 400, rng) - expected) < 4 * error + 0.02


def test_a_needle_that_means_lose_is_read_where_they_choose():
    """What is read is the needle's weight: little through its chunk's mean, nearly all where means choose (S137)."""
    n, d, chunk, at = 256, 64, 8, 100
    K = np.random.default_rng(0).normal(size=(n, d))
    K /= np.linalg.norm(K, axis=1, keepdims=True)
    Q, V = np.tile(10 * math.sqrt(d) * K[at], (n, 1)), (np.arange(n) == at)[:, None] * 1.0
    K_far, V_far = pooled(K, V, chunk)
    by_means, _ = levels.two_level_attention(Q, K, V, K_far, V_far, chunk)
    chosen, _ = levels.coarse_to_fine_attention(Q, K, V, Q @ K_far.T, 4, chunk)
    assert scaled_dot_product_attention(Q, K, V, past(n))[0][-1] > 0.9
    assert by_means[-1] < 0.05 and chosen[-1] > 0.95
    assert not chosen[:at].any()  # no earlier query reads it


def test_across_chunks_choosing_retrieves_what_means_lose():
    """The stored trainings: where any pair may be asked for, four times the steps."""
    result = load_result("hierarchies")
    chance = 1 / result["settings"]["values"]
    accuracy = {arm: measured(result, "any", arm, 4) for arm in result["arms"]["any"]}
    assert accuracy["within"].max() < chance + 0.02
    assert accuracy["full"].min() > 0.99
    assert accuracy["chosen"].min() > 2 * accuracy["means"].max()
    assert accuracy["chosen, finer"].min() > accuracy["chosen"].max()


# --- what a twin has to stand ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.bfloat16])
def test_low_precision_gives_nearly_the_same(dtype, rng):
    Q, K, V, Z_K, Z_V = some(rng)
    expected, _ = levels.two_level_attention(Q, K, V, *pooled(K, V, 3, Z_K, Z_V), 3)
    low = [torch.tensor(A).to(dtype) for A in (Q, K, V, Z_K, Z_V)]
    far = nn_levels.pool_chunks(low[1], low[3], 3), nn_levels.pool_chunks(low[2], low[4], 3)
    O = nn_levels.two_level_attention(*low[:3], *far, 3)
    assert O.dtype == dtype
    most, _ = tolerance(str(dtype).removeprefix("torch."))
    assert np.abs(O.double().numpy() - expected).max() < 2 * most * np.abs(expected).max()


def some_calls():
    """Both kinds of attention, with their summaries, as one function of tensors."""

    def run(Q, K, V, Z_K, Z_V):
        K_far, V_far = nn_levels.pool_chunks(K, Z_K, 3), nn_levels.pool_chunks(V, Z_V, 3)
        chosen = nn_levels.coarse_to_fine_attention(Q, K, V, Q @ K_far.mT, 1, 3)
        bounded = nn_levels.coarse_to_fine_attention(Q, K, V, nn_levels.score_bounds(Q, K, 3), 1, 3)
        return nn_levels.two_level_attention(Q, K, V, K_far, V_far, 3), chosen, bounded

    return run, [torch.tensor(A) for A in some(np.random.default_rng(0))]


def test_vmap_and_meta_and_an_empty_batch():
    run, given = some_calls()
    for ours, expected in zip(torch.func.vmap(run)(*given), run(*given), strict=True):
        assert_close(ours, expected, "float64")
    assert all(O.is_meta and O.shape == given[2].shape for O in run(*(A.to("meta") for A in given)))
    assert all(O.shape == (0, N, D_V) for O in run(*(A[:0] for A in given)))


@pytest.mark.traced
def test_the_twin_compiles():
    run, given = some_calls()
    torch._dynamo.reset()
    compiled = torch.compile(run, fullgraph=True, backend="aot_eager")
    for ours, expected in zip(compiled(*given), run(*given), strict=True):
        assert_close(ours, expected, "float64")


@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("module", "make"), [(levels, np.asarray), (nn_levels, torch.tensor)], ids=["reference", "nn"]
)
def test_summaries_that_do_not_fit_are_refused(module, make, rng):
    Q, K, V, *_ = some(rng)
    K_far, V_far = pooled(K, V, 3)
    sentence = (
        "there must be one summary for each whole chunk: n=11 tokens with chunk=4 have 2 whole chunks; got 3"
    )
    with pytest.raises(ValueError, match=f"two_level_attention: {sentence}"):
        module.two_level_attention(*map(make, (Q, K, V, K_far, V_far)), 4)
    with pytest.raises(ValueError, match=f"coarse_to_fine_attention: {sentence}"):
        module.coarse_to_fine_attention(*map(make, (Q, K, V, Q @ K_far.swapaxes(-1, -2))), 1, 4)
    with pytest.raises(ValueError, match="the queries are the last of the positions; got m=11 of n=7"):
        module.two_level_attention(*map(make, (Q, K[:, :7], V[:, :7], *pooled(K[:, :7], V[:, :7], 3))), 3)

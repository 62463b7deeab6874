"""A lightning indexer: its scores, what its choice keeps, its loss, and those of Hugging Face's DeepSeek-V3.2."""

import numpy as np
import pytest
import torch
from torch import nn

from attnlib.nn import indexer as nn_indexer
from attnlib.nn.cache import KVCache
from attnlib.nn.indexer import LightningIndexer
from attnlib.nn.positional import PartlyRotary, rotary_halves
from attnlib.reference import indexer
from attnlib.reference.attention import scaled_dot_product_attention
from attnlib.reference.ops import masked_softmax
from attnlib.testing import assert_close, check_gradients, check_twin

B, H, M, N, D_K, D, D_QUERY = 2, 3, 4, 5, 6, 11, 7


def causal(n):
    return np.tri(n, dtype=bool)


def parameters(rng, d_query=D, dtype=np.float64):
    shapes = (d_query, H * D_K), (D, D_K), (D_K,), (D_K,), (D, H)
    return indexer.IndexerParameters(*(rng.normal(size=shape).astype(dtype) for shape in shapes))


def module_of(given, d_query=D):
    dtype = torch.from_numpy(given.W_Q).dtype
    layer = LightningIndexer(d_model=D, n_heads=H, d_k=D_K, d_query=d_query).to(dtype)
    with torch.no_grad():
        for map_, W in ((layer.W_Q, given.W_Q), (layer.W_K, given.W_K), (layer.W_w, given.W_w)):
            map_.weight.copy_(torch.from_numpy(W.T))
        layer.norm_K.weight.copy_(torch.from_numpy(given.gain))
        layer.norm_K.bias.copy_(torch.from_numpy(given.shift))
    return layer


def rotation(d_rotated):
    """The first coordinates rotated in the precision of what is given."""

    def rotate(X, first):
        positions = torch.arange(first, first + X.shape[-2])
        return torch.cat([rotary_halves(X[..., :d_rotated], positions), X[..., d_rotated:]], dim=-1)

    return rotate


# --- the scores ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [(), (B,), (B, 2)])
def test_scores_are_the_weighted_products_above_zero(batch, rng):
    Q, K, w = (rng.normal(size=(*batch, *shape)) for shape in ((H, M, D_K), (N, D_K), (M, H)))
    I, _ = indexer.index_scores(Q, K, w)
    for at in np.ndindex(*batch, M, N):
        *b, i, j = at
        by_hand = sum(w[(*b, i, h)] * max(Q[(*b, h, i)] @ K[(*b, j)], 0) for h in range(H))
        assert_close(I[at], by_hand, "float64")
    assert_close(nn_indexer.index_scores(*map(torch.tensor, (Q, K, w))), I, "float64")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_gradients_of_the_scores(dtype, rng):
    arrays = [rng.normal(size=shape).astype(dtype) for shape in ((B, H, M, D_K), (B, N, D_K), (B, M, H))]
    if dtype == np.float64:
        check_gradients(indexer.index_scores, indexer.index_scores_backward, arrays, rng)
    check_twin(indexer.index_scores, indexer.index_scores_backward, nn_indexer.index_scores, arrays, rng)


def test_one_head_of_weight_one_orders_positive_products_as_they_are(rng):
    Q, K = np.abs(rng.normal(size=(1, M, D_K))), np.abs(rng.normal(size=(N, D_K)))
    I, _ = indexer.index_scores(Q, K, np.ones((M, 1)))
    assert_close(I, Q[0] @ K.T, "float64")


# --- the indexer ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d_rotated", [0, 4, D_K])
def test_gradients_of_the_indexer(d_rotated, rng):
    given = parameters(rng, D_QUERY)
    X, X_Q = rng.normal(size=(B, N, D)), rng.normal(size=(B, N, D_QUERY))

    def forward(X, X_Q, *arrays):
        made = indexer.IndexerParameters(*arrays)
        return indexer.lightning_indexer(X, made, H, X_Q, d_rotated)

    def backward(dI, cache):
        dX, dX_Q, gradients = indexer.lightning_indexer_backward(dI, cache)
        return dX, dX_Q, *gradients

    check_gradients(forward, backward, [X, X_Q, *given], rng)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("d_rotated", [0, 4])
def test_the_module_is_the_twin_with_all_gradients(d_rotated, dtype, rng):
    given = parameters(rng, D_QUERY, dtype)
    X, X_Q = (rng.normal(size=(B, N, d)).astype(dtype) for d in (D, D_QUERY))
    layer = module_of(given, D_QUERY)
    rotate = rotation(d_rotated) if d_rotated else None
    I, cache = indexer.lightning_indexer(X, given, H, X_Q, d_rotated)
    dI = rng.normal(size=I.shape).astype(dtype)
    dX, dX_Q, gradients = indexer.lightning_indexer_backward(dI, cache)
    inputs = [torch.tensor(A, requires_grad=True) for A in (X, X_Q)]
    found = layer(*inputs, rotate=rotate)
    kind = str(np.dtype(dtype))
    assert_close(found, I, kind)
    leaves = [layer.W_Q.weight, layer.W_K.weight, layer.norm_K.weight, layer.norm_K.bias, layer.W_w.weight]
    for ours, theirs in zip(
        (dX, dX_Q, *gradients),
        torch.autograd.grad(found, [*inputs, *leaves], torch.tensor(dI)),
        strict=True,
    ):
        of_map = ours.ndim == 2 and theirs.shape != ours.shape
        assert_close(theirs.T if of_map else theirs, ours, kind)


def test_without_a_rotation_the_order_of_the_keys_means_nothing_and_with_one_it_does(rng):
    given, X, order = parameters(rng), rng.normal(size=(N, D)), rng.permutation(N)
    plain = indexer.lightning_indexer(X, given, H)[0]
    assert_close(indexer.lightning_indexer(X[order], given, H)[0], plain[order][:, order], "float64")
    turned = indexer.lightning_indexer(X, given, H, d_rotated=4)[0]
    moved = indexer.lightning_indexer(X[order], given, H, d_rotated=4)[0]
    assert np.abs(moved - turned[order][:, order]).max() > 1e-3


def test_a_rotated_score_depends_on_the_distance_alone(rng):
    x, given = rng.normal(size=D), parameters(rng)
    I, _ = indexer.lightning_indexer(np.tile(x, (N, 1)), given, H, d_rotated=D_K)
    for distance in range(N):
        along = np.diagonal(I, -distance)
        assert_close(along, np.full_like(along, along[0]), "float64")


def test_scores_of_an_indexer_step_by_step_are_those_of_all_at_once(rng):
    layer, X = module_of(parameters(rng)), torch.tensor(rng.normal(size=(B, N, D)))
    rotate, cache = rotation(4), KVCache()
    whole = layer(X, rotate=rotate)
    parts = [X[:, :2], X[:, 2:3], X[:, 3:]]
    steps = [layer(part, rotate=rotate, kv_cache=cache) for part in parts]
    at = 0
    for step in steps:
        m, n = step.shape[1:]
        assert_close(step, whole[:, at : at + m, :n], "float64")
        at += m
    assert cache.nbytes == B * N * D_K * 8


def test_queries_may_be_made_from_something_else(rng):
    layer = LightningIndexer(d_model=D, n_heads=H, d_k=D_K, d_query=D_QUERY)
    with pytest.raises(
        ValueError, match="X_Q must be given where queries are not made from X; got d_query=7"
    ):
        layer(torch.zeros(N, D))


def test_float32_in_float32_out(rng):
    X = rng.normal(size=(N, D)).astype(np.float32)
    I, cache = indexer.lightning_indexer(X, parameters(rng, dtype=np.float32), H, d_rotated=2)
    dX, dX_Q, gradients = indexer.lightning_indexer_backward(I, cache)
    L, kept = indexer.index_loss(I, masked_softmax(I, causal(N)), causal(N))
    assert all(
        A.dtype == np.float32 for A in (I, dX, dX_Q, *gradients, L, indexer.index_loss_backward(L, kept))
    )


# --- the choice ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 3, N, N + 2])
def test_a_query_keeps_k_of_the_keys_that_it_may_attend_to_or_all_of_them(k, rng):
    I = rng.normal(size=(B, N, N))
    chosen = indexer.index_mask(I, k, causal(N))
    assert not (chosen & ~causal(N)).any()
    assert np.array_equal(chosen.sum(axis=-1), np.broadcast_to(np.minimum(k, np.arange(N) + 1), (B, N)))
    for i in range(N):
        left_out = causal(N)[i] & ~chosen[0, i]
        if left_out.any():
            assert I[0, i][chosen[0, i]].min() > I[0, i][left_out].max()
    assert np.array_equal(nn_indexer.index_mask(torch.tensor(I), k, torch.tensor(causal(N))), chosen)


def test_what_comes_later_changes_no_choice(rng):
    I = rng.normal(size=(N, N))
    later = np.where(causal(N), I, 100 + rng.normal(size=(N, N)))
    assert np.array_equal(indexer.index_mask(later, 2, causal(N)), indexer.index_mask(I, 2, causal(N)))


def test_the_output_moves_by_the_lost_weight_times_the_distance_of_two_averages(rng):
    """What eq-kept-mass says: o - o' = (1 - kept) (average of the left out - o')."""
    Q, K, V = (rng.normal(size=(N, d)) for d in (D_K, D_K, D))
    full, cache = scaled_dot_product_attention(Q, K, V, causal(N))
    chosen = indexer.index_mask(cache.P, 2, causal(N))
    few, _ = scaled_dot_product_attention(Q, K, V, chosen)
    kept = indexer.kept_mass(cache.P, chosen)[:, None]
    lost = np.where(chosen, 0, cache.P)
    rest = lost @ V / np.maximum(lost.sum(axis=-1, keepdims=True), 1e-300)
    assert_close(full - few, (1 - kept) * (rest - few), "float64")


def test_no_other_k_keys_for_all_heads_keep_more_than_those_of_the_largest_average_weight(rng):
    from itertools import combinations

    P = masked_softmax(3 * rng.normal(size=(H, 1, 7)))
    best = indexer.index_mask(P.mean(axis=0), 3, np.ones((1, 7), dtype=bool))
    most = max(P[..., list(some)].sum(axis=-1).mean() for some in combinations(range(7), 3))
    assert_close(indexer.kept_mass(P, best).mean(), most, "float64")
    assert_close(nn_indexer.kept_mass(torch.tensor(P), torch.tensor(best)).mean(), most, "float64")


# --- the loss ------------------------------------------------------------------------------------------------------


def target(rng, *shape):
    return masked_softmax(2 * rng.normal(size=shape), causal(shape[-1]))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_gradients_of_the_loss(dtype, rng):
    I, P = rng.normal(size=(B, N, N)).astype(dtype), target(rng, B, N, N).astype(dtype)

    def forward(I):
        return indexer.index_loss(I, P, causal(N))

    if dtype == np.float64:
        check_gradients(forward, indexer.index_loss_backward, [I], rng)
    P_, mask = torch.tensor(P), torch.tensor(causal(N))
    check_twin(forward, indexer.index_loss_backward, lambda I: nn_indexer.index_loss(I, P_, mask), [I], rng)


def test_it_is_pytorchs_divergence(rng):
    I, P = rng.normal(size=(N, N)), masked_softmax(rng.normal(size=(N, N)))
    everything = np.ones((N, N), dtype=bool)
    theirs = nn.functional.kl_div(torch.tensor(I).log_softmax(-1), torch.tensor(P), reduction="none").sum(-1)
    assert_close(indexer.index_loss(I, P, everything)[0], theirs, "float64")


def test_it_is_zero_where_the_indexer_has_the_weights_and_positive_elsewhere(rng):
    P = target(rng, N, N)
    I = np.log(np.where(causal(N), P, 1)) + rng.normal(size=(N, 1))
    assert_close(indexer.index_loss(I, P, causal(N))[0], np.zeros(N), "float64")
    assert (indexer.index_loss(I + np.arange(N), P, causal(N))[0][1:] > 1e-3).all()


def test_among_chosen_keys_the_target_is_made_to_sum_to_one(rng):
    P, I = target(rng, N, N), rng.normal(size=(N, N))
    chosen = indexer.index_mask(P, 2, causal(N))
    few = np.where(chosen, P, 0) / np.where(chosen, P, 0).sum(axis=-1, keepdims=True)
    assert_close(indexer.index_loss(I, P, chosen)[0], indexer.index_loss(I, few, chosen)[0], "float64")
    I_ = torch.tensor(I, requires_grad=True)
    nn_indexer.index_loss(I_, torch.tensor(P), torch.tensor(chosen)).sum().backward()
    assert I_.grad is not None and not I_.grad[~torch.tensor(chosen)].any()


def test_scores_of_thousands_and_rows_without_a_key_stay_finite():
    I, P = np.array([[5e3, -5e3], [1.0, 2.0]]), np.array([[0.5, 0.5], [0.5, 0.5]])
    mask = np.array([[True, True], [False, False]])
    L, cache = indexer.index_loss(I, P, mask)
    assert_close(L, [5e3 - np.log(2), 0], "float64")
    dI = indexer.index_loss_backward(np.ones(2), cache)
    I_ = torch.tensor(I, requires_grad=True)
    L_ = nn_indexer.index_loss(I_, torch.tensor(P), torch.tensor(mask))
    assert_close(L_, L, "float64")
    assert_close(torch.autograd.grad(L_.sum(), I_)[0], dI, "float64")
    assert not dI[1].any()


def test_the_target_gets_no_gradient_and_the_choice_passes_none(rng):
    I = torch.tensor(rng.normal(size=(N, N)), requires_grad=True)
    P = torch.tensor(target(rng, N, N), requires_grad=True)
    mask = torch.tensor(causal(N))
    assert torch.autograd.grad(nn_indexer.index_loss(I, P, mask).sum(), [P, I], allow_unused=True)[0] is None
    assert not nn_indexer.index_mask(I, 2, mask).requires_grad


def test_a_few_hundred_steps_bring_an_indexer_near_to_weights_that_another_made(rng):
    """The softmax of a second indexer's scores is the target, so a loss of zero is possible."""
    torch.manual_seed(0)
    X, mask = torch.tensor(rng.normal(size=(8, 16, D))).float(), torch.tensor(causal(16))
    teacher, layer = (LightningIndexer(d_model=D, n_heads=2, d_k=D_K) for _ in range(2))
    with torch.no_grad():
        P = torch.where(mask, 20 * teacher(X), -torch.inf).softmax(-1)
    optimiser = torch.optim.Adam(layer.parameters(), 0.03)
    losses = []
    for _ in range(150):
        loss = nn_indexer.index_loss(layer(X), P, mask).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 3


# --- other people's code -------------------------------------------------------------------------------------------


@pytest.fixture
def theirs(monkeypatch):
    """A small DeepSeek-V3.2 with random parameters, and a list of the scores that it takes the best of."""
    from transformers import DeepseekV32Config
    from transformers.models.deepseek_v32.modeling_deepseek_v32 import DeepseekV32Model

    config = DeepseekV32Config(
        vocab_size=37, hidden_size=24, intermediate_size=20, num_hidden_layers=3, num_attention_heads=2,
        num_key_value_heads=2, kv_lora_rank=10, q_lora_rank=14, qk_rope_head_dim=4, qk_nope_head_dim=6, v_head_dim=6,
        index_topk=5, index_head_dim=8, index_n_heads=3, first_k_dense_replace=3, max_position_embeddings=64,
        attn_implementation="eager", initializer_range=0.3,
    )  # fmt: skip
    torch.manual_seed(0)
    model = DeepseekV32Model(config).eval()
    for layer in model.layers:
        nn.init.normal_(layer.self_attn.indexer.k_norm.weight)
        nn.init.normal_(layer.self_attn.indexer.k_norm.bias)
    found, topk = [], torch.Tensor.topk

    def recorded(self, *args, **kwargs):
        best = topk(self, *args, **kwargs)
        found.append((self.clone(), best.indices.clone()))
        return best

    monkeypatch.setattr(torch.Tensor, "topk", recorded)
    return model, found


def clear_choice(scores, k, mask):
    """The queries without a tie between the k-th and the next: where no head's product is positive, scores are zero."""
    ordered = torch.where(mask, scores, -torch.inf).sort(dim=-1, descending=True).values
    return (mask.sum(-1) <= k) | (ordered[..., k - 1] > ordered[..., k] + 1e-5)


def test_scores_and_choices_of_each_layer_are_those_of_deepseek_v32(theirs):
    """Queries come from a latent, half of each key is rotated in halves, and keys pass a layer norm."""
    model, found = theirs
    given = []
    for layer in model.layers:
        layer.self_attn.indexer.register_forward_pre_hook(lambda _, args: given.append(args[:2]))
    n, k = 13, model.config.index_topk
    with torch.no_grad():
        model(torch.randint(37, (B, n), generator=torch.Generator().manual_seed(1)))
    assert len(found) == len(given) == 3
    mask = torch.ones(n, n, dtype=torch.bool).tril()
    for layer, (X, X_Q), (scores, indices) in zip(model.layers, given, found, strict=True):
        one = layer.self_attn.indexer
        ours = LightningIndexer(d_model=24, n_heads=3, d_k=8, d_query=14)
        names = {"W_Q": "wq_b", "W_K": "wk", "norm_K": "k_norm", "W_w": "weights_proj"}
        for name, other in names.items():
            getattr(ours, name).load_state_dict(getattr(one, other).state_dict())
        with torch.no_grad():
            I = ours(X, X_Q, rotate=PartlyRotary(4, context=n, layout="halves"))
        seen = mask.expand_as(I)
        assert_close(I[seen], scores[seen], "float32")
        assert (scores[~seen] < -1e30).all()
        chosen = nn_indexer.index_mask(I, k, mask)
        their = torch.zeros_like(chosen).scatter(-1, indices.long(), True) & mask
        clear = clear_choice(scores, k, mask)
        assert torch.equal(chosen[clear], their[clear])
        assert clear.float().mean() > 0.5
        arrays = indexer.IndexerParameters(
            *(A.detach().double().numpy() for A in (
                one.wq_b.weight.T, one.wk.weight.T, one.k_norm.weight, one.k_norm.bias, one.weights_proj.weight.T
            ))
        )  # fmt: skip
        reference, _ = indexer.lightning_indexer(
            X.double().numpy(), arrays, 3, X_Q.double().numpy(), d_rotated=4
        )
        assert np.abs(reference - I.numpy())[seen.numpy()].max() < 1e-5
        chosen = indexer.index_mask(reference, k, mask.numpy())
        assert np.array_equal(chosen[clear.numpy()], their[clear].numpy())


def test_the_rotation_in_the_layout_of_the_attention_gives_other_choices(theirs):
    """The fault of the first published demonstration: no error, and nothing to see while k is at least n."""
    model, found = theirs
    n, given = 13, []
    one = model.layers[0].self_attn.indexer
    one.register_forward_pre_hook(lambda _, args: given.append(args[:2]))
    with torch.no_grad():
        model(torch.randint(37, (B, n), generator=torch.Generator().manual_seed(1)))
    ours = LightningIndexer(d_model=24, n_heads=3, d_k=8, d_query=14)
    for name, other in {"W_Q": "wq_b", "W_K": "wk", "norm_K": "k_norm", "W_w": "weights_proj"}.items():
        getattr(ours, name).load_state_dict(getattr(one, other).state_dict())
    mask = torch.ones(n, n, dtype=torch.bool).tril()
    with torch.no_grad():
        right, wrong = (
            ours(*given[0], rotate=PartlyRotary(4, context=n, layout=layout))
            for layout in ("halves", "neighbours")
        )
    for k, same in ((5, False), (n, True)):
        a, b = (nn_indexer.index_mask(I, k, mask) for I in (right, wrong))
        assert torch.equal(a, b) == same


def test_an_orthogonal_matrix_on_queries_and_keys_changes_no_score(rng):
    """DeepSeek's kernels multiply both with a Hadamard matrix before they are rounded to 8 bits."""
    from scipy.linalg import hadamard

    Q, K, w = rng.normal(size=(H, M, 8)), rng.normal(size=(N, 8)), rng.normal(size=(M, H))
    turn = hadamard(8) / np.sqrt(8)
    assert_close(indexer.index_scores(Q @ turn, K @ turn, w)[0], indexer.index_scores(Q, K, w)[0], "float64")


def test_the_published_config_has_the_sizes_that_the_page_counts_with():
    from transformers import DeepseekV32Config

    config = DeepseekV32Config()
    assert (config.index_n_heads, config.index_head_dim, config.index_topk) == (64, 128, 2048)
    assert (config.num_attention_heads, config.kv_lora_rank, config.qk_rope_head_dim) == (128, 512, 64)
    assert (config.qk_nope_head_dim, config.v_head_dim) == (128, 128)


# --- what is refused -----------------------------------------------------------------------------------------------


@pytest.mark.bad_input
def test_shapes_that_do_not_fit_are_refused(rng):
    Q, K, w = rng.normal(size=(H, M, D_K)), rng.normal(size=(N, D_K)), rng.normal(size=(M, H))
    for module, make in ((indexer, np.asarray), (nn_indexer, torch.tensor)):
        with pytest.raises(ValueError, match="index_scores"):
            module.index_scores(*map(make, (Q, K[:, 1:], w)))
        with pytest.raises(ValueError, match="index_scores"):
            module.index_scores(*map(make, (Q, K, w[:, 1:])))
    with pytest.raises(ValueError, match="probabilities must not be negative"):
        indexer.index_loss(Q[0, :, :5], -np.ones((M, 5)), np.ones((M, 5), dtype=bool))

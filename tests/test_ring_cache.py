"""A ring holds the last positions: a layer with a window returns with it what it returns in one pass, at one size."""

import copy

import pytest
import torch

from attnlib.nn.cache import KVCache
from attnlib.nn.masks import window_mask
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.nn.positional import Rotary
from attnlib.nn.relative import alibi
from attnlib.nn.ring_cache import RingCache
from attnlib.reference import multihead
from attnlib.testing import assert_close

B, N, H, G, D_K, D, WINDOW = 2, 23, 6, 2, 7, 11, 4


def made(window=WINDOW, causal=True):
    torch.manual_seed(0)
    sizes = {"d_model": D, "n_heads": H, "n_kv_heads": G, "d_k": D_K}
    return MultiHeadAttention(**sizes, causal=causal, window=window).double()


@pytest.fixture
def X():
    return torch.randn(B, N, D, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def in_parts(layer, X, cache, parts, **options):
    """Masks and biases are given for the positions that have been read, those in the ring or not."""
    outputs, end = [], len(cache)
    for part in X.split(parts, dim=-2):
        first, end = end, end + part.shape[-2]
        rows = {name: A[..., first:end, :end] for name, A in options.items()}
        outputs.append(layer(part, kv_cache=cache, **rows))
    return torch.cat(outputs, dim=-2)


# --- the window -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("window", [0, 1, WINDOW, N])
def test_a_window_is_its_mask(X, window, causal):
    layer, plain = made(window, causal), made(None, causal)
    mask = window_mask(N, window, 0 if causal else window)
    assert_close(layer(X), plain(X, mask=mask), "float64")
    assert_close(layer.attention_weights(X), plain.attention_weights(X, mask=mask), "float64")
    allowed = torch.rand(B, N, N, generator=torch.Generator().manual_seed(2)) < 0.7
    assert_close(layer(X, mask=allowed), plain(X, mask=allowed & mask), "float64")
    assert "window=" in repr(layer)


def test_a_layer_with_a_window_is_that_of_numpy(X):
    layer = made()
    W = [one.weight.detach().numpy().T for one in (layer.W_Q, layer.W_K, layer.W_V, layer.W_O)]
    b = [one.bias.detach().numpy() for one in (layer.W_Q, layer.W_K, layer.W_V, layer.W_O)]
    parameters = multihead.MultiHeadParameters(*W, *b)
    mask = window_mask(N, WINDOW, 0).numpy()
    O, _ = multihead.grouped_query_attention(X.numpy(), X.numpy(), parameters, H, G, mask)
    assert_close(layer(X), O, "float64")


# --- the ring -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize("window", [0, 1, WINDOW, N - 1, N])
@pytest.mark.parametrize("parts", [[1] * N, [N], [3, 1, 1, 9, 1, 8], [1, 4, 5, 13], [2, 21]])
def test_steps_equal_one_pass_with_and_without_gradients(X, window, parts, gradients):
    layer, rotate = made(window), Rotary(D_K - 1, context=N, layout="halves")
    turn = lambda A, first: torch.cat([rotate(A[..., :-1], first), A[..., -1:]], dim=-1)  # noqa: E731
    with torch.set_grad_enabled(gradients):
        cache = layer.new_cache()
        steps = [layer(part, rotate=turn, kv_cache=cache) for part in X.split(parts, dim=-2)]
        assert_close(torch.cat(steps, dim=-2), layer(X, rotate=turn), "float64")
    held = min(N, window + 1)
    assert len(cache) == cache.length == N and cache.nbytes == 2 * B * G * held * D_K * 8


@pytest.mark.parametrize("parts", [[1] * N, [3, 1, 1, 9, 1, 8]])
@torch.no_grad()
def test_masks_and_biases_of_all_positions_meet_the_keys_that_are_held(X, parts):
    layer = made()
    mask = torch.rand(B, N, N, generator=torch.Generator().manual_seed(2)) < 0.7
    bias = alibi(H, N, N).double()
    whole = layer(X, mask=mask, bias=bias)
    assert_close(in_parts(layer, X, layer.new_cache(), parts, mask=mask, bias=bias), whole, "float64")
    everywhere = torch.ones(B, N, 1, dtype=torch.bool)  # one column for all keys
    cache = layer.new_cache()
    steps = [layer(X[:, t : t + 1], mask=everywhere[:, :1], kv_cache=cache) for t in range(N)]
    assert_close(torch.cat(steps, dim=1), layer(X), "float64")


@torch.no_grad()
def test_a_position_is_written_over_the_oldest_and_nothing_else_is_copied(X):
    layer, cache = made(), RingCache(WINDOW + 1)
    layer(X[:, :1], kv_cache=cache)
    place, before = cache._held[0].data_ptr(), None
    for t in range(1, N):
        layer(X[:, t : t + 1], kv_cache=cache)
        assert cache._held[0].data_ptr() == place
        if before is not None:
            same = (cache._held[0] == before).all(dim=-1).all(dim=1).all(dim=0)
            assert (~same).nonzero().flatten().tolist() == [t % (WINDOW + 1)]
        before = cache._held[0].clone()
    growing = KVCache()
    layer(X, kv_cache=growing)
    assert_close(cache.K, growing.K[..., -WINDOW - 1 :, :], "float64")
    assert_close(cache.V, growing.V[..., -WINDOW - 1 :, :], "float64")


@torch.no_grad()
def test_a_layer_with_a_window_also_reads_from_a_cache_that_grows(X):
    layer = made()
    assert_close(in_parts(layer, X, KVCache(), [9, 1, 1, 12]), layer(X), "float64")


def test_the_gradients_through_a_ring_are_those_of_one_pass(X):
    layer = made()
    X.requires_grad_()
    dY = torch.randn(B, N, D, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    leaves = [X, *layer.parameters()]
    whole = torch.autograd.grad(layer(X), leaves, dY)
    stepwise = torch.autograd.grad(in_parts(layer, X, layer.new_cache(), [10, 1, 1, 11]), leaves, dY)
    for one, other in zip(stepwise, whole, strict=True):
        assert_close(one, other, "float64")


def test_a_text_may_be_read_in_inference_mode_and_continued_outside(X):
    layer, cache = made(), RingCache(WINDOW + 1)
    with torch.inference_mode():
        first = layer(X[:, :8], kv_cache=cache)
    with torch.no_grad():
        second = in_parts(layer, X[:, 8:10], cache, 1)
    with torch.inference_mode():
        third = in_parts(layer, X[:, 10:], cache, 1)
    assert_close(torch.cat([first, second, third], dim=1), layer(X).detach(), "float64")


@torch.no_grad()
@pytest.mark.parametrize("read", [2, WINDOW + 1, 10])
def test_a_call_that_fails_leaves_what_later_queries_see(X, read):
    layer, cache = made(), RingCache(WINDOW + 1)
    first = layer(X[:, :read], kv_cache=cache)

    def fail(*_):
        raise RuntimeError("on purpose")

    for part in (1, 3):
        hook = layer.W_O.register_forward_hook(fail)
        with pytest.raises(RuntimeError, match="on purpose"):
            layer(torch.ones(B, part, D, dtype=torch.float64), kv_cache=cache)
        hook.remove()
        layer.attention_weights(torch.ones(B, part, D, dtype=torch.float64), kv_cache=cache)
        assert len(cache) == read
    assert_close(torch.cat([first, in_parts(layer, X[:, read:], cache, 1)], dim=1), layer(X), "float64")


@torch.no_grad()
@pytest.mark.parametrize("order", [[1, 0], [1, 1, 0], [0]])
def test_reordered_sequences_go_on_from_the_ones_chosen(X, order):
    layer, cache, order = made(), RingCache(WINDOW + 1), torch.tensor(order)
    layer(X[:, :10], kv_cache=cache)
    cache.reorder(order)
    chosen = torch.cat([X[order, :10], X[:1, 10:].expand(len(order), -1, -1)], dim=1)
    assert_close(in_parts(layer, chosen[:, 10:], cache, 1), layer(chosen)[:, 10:], "float64")


@torch.no_grad()
def test_a_ring_that_is_not_full_goes_back_and_a_full_one_only_to_nothing(X):
    layer, cache = made(), RingCache(WINDOW + 1)
    layer(X[:, :WINDOW], kv_cache=cache)
    cache.crop(2)
    assert_close(in_parts(layer, X[:, 2:], cache, 1), layer(X)[:, 2:], "float64")
    with pytest.raises(
        ValueError,
        match="RingCache.crop: n must be 0 or all 23 positions, for older ones are overwritten; got n=22. Keep a copy",
    ):
        cache.crop(N - 1)
    kept = copy.deepcopy(cache)
    cache.crop(N)
    cache.crop(0)
    assert len(cache) == cache.nbytes == 0 and len(kept) == N
    assert_close(in_parts(layer, X[:1], cache, 4), layer(X[:1]), "float64")  # of another batch, too
    kept.reset()
    assert kept.K is None and len(kept) == 0


def test_a_sequence_without_a_batch_is_remembered_too(X):
    layer = made()
    assert_close(in_parts(layer, X[0], layer.new_cache(), [5, 1, 17]), layer(X[0]), "float64")
    with pytest.raises(ValueError, match="RingCache.reorder: there must be a batch of sequences"):
        RingCache(3).reorder(torch.tensor([0]))


@pytest.mark.bad_input
def test_a_ring_that_does_not_fit_is_named(X):
    with pytest.raises(ValueError, match="RingCache: width must be at least 1; got width=0"):
        RingCache(0)
    with pytest.raises(
        ValueError, match="a RingCache must be one of a layer with a window; got one of 5. `new_cache`"
    ):
        made(None)(X, kv_cache=RingCache(5))
    with pytest.raises(
        ValueError, match="a RingCache must hold 5 positions; got one of 6. `new_cache` of the layer"
    ):
        made()(X, kv_cache=RingCache(6))
    cache = RingCache(WINDOW + 1)
    made()(X, kv_cache=cache)
    with pytest.raises(
        ValueError, match="RingCache: new keys must have the batch axes, heads and width of those"
    ):
        made()(X[:1], kv_cache=cache)
    assert len(cache) == N

"""What a decoder remembers: steps equal one pass, whatever the room, the order and what was forgotten on the way."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from attnlib.nn.cache import SMALLEST, KVCache, SourceCache
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.testing import assert_close

B, N, M, H, G, D_K, D, D_SOURCE = 2, 23, 5, 6, 2, 7, 11, 13


@pytest.fixture
def layer():
    torch.manual_seed(0)
    return MultiHeadAttention(d_model=D, n_heads=H, n_kv_heads=G, d_k=D_K, causal=True).double()


@pytest.fixture
def X():
    return torch.randn(B, N, D, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def in_parts(layer, X, cache, parts, **options):
    return torch.cat([layer(part, kv_cache=cache, **options) for part in X.split(parts, dim=-2)], dim=-2)


@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize("capacity", [None, N, 2 * N])
@pytest.mark.parametrize("parts", [[1] * N, [N], [17, 1, 5], [1, 20, 2]])
def test_steps_equal_one_pass_with_and_without_gradients(layer, X, capacity, parts, gradients):
    with torch.set_grad_enabled(gradients):
        cache = KVCache(capacity)
        assert_close(in_parts(layer, X, cache, parts), layer(X), "float64")
        assert len(cache) == N and cache.nbytes == 2 * B * G * N * D_K * 8
        assert cache.room >= N and (capacity is None or gradients or cache.room == capacity)


def test_the_slopes_through_a_cache_are_those_of_one_pass(layer, X):
    X.requires_grad_()
    dY = torch.randn(B, N, D, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    leaves = [X, *layer.parameters()]
    whole = torch.autograd.grad(layer(X), leaves, dY)
    stepwise = torch.autograd.grad(in_parts(layer, X, KVCache(), [10, 1, 12]), leaves, dY)
    for one, other in zip(stepwise, whole, strict=True):
        assert_close(one, other, "float64")


@torch.no_grad()
def test_a_new_position_is_written_behind_the_others_which_stay_where_they_are(layer, X):
    cache, moved, last = KVCache(), 0, None
    for t in range(N):
        layer(X[:, t : t + 1], kv_cache=cache)
        moved += cache.K.data_ptr() != last
        last = cache.K.data_ptr()
    assert moved == 2 and SMALLEST < N <= 2 * SMALLEST == cache.room  # the first room, then twice as much
    cache = KVCache(capacity=N)
    places = {(layer(X[:, t : t + 1], kv_cache=cache), cache.K.data_ptr())[1] for t in range(N)}
    assert len(places) == 1


def test_slopes_of_queries_alone_survive_the_next_position(layer, X):
    """Where only W_Q learns, keys have no slopes, and still the old ones must stay for those of the queries."""
    for parameter in layer.parameters():
        parameter.requires_grad_(parameter is layer.W_Q.weight)
    (whole,) = torch.autograd.grad(layer(X).square().sum(), [layer.W_Q.weight])
    stepwise = in_parts(layer, X, KVCache(capacity=N), [3, 4, 16]).square().sum()
    assert_close(torch.autograd.grad(stepwise, [layer.W_Q.weight])[0], whole, "float64")


def test_a_text_may_be_read_in_inference_mode_and_continued_outside(layer, X):
    cache = KVCache()
    with torch.inference_mode():
        first = layer(X[:, :3], kv_cache=cache)
    with torch.no_grad():
        second = layer(X[:, 3:4], kv_cache=cache)
    with torch.inference_mode():
        third = layer(X[:, 4:], kv_cache=cache)
    assert_close(torch.cat([first, second, third], dim=1), layer(X).detach(), "float64")


@torch.no_grad()
def test_a_full_cache_says_so_and_stays_as_it_was(layer, X):
    cache = KVCache(capacity=N - 1)
    first = layer(X[:, :-1], kv_cache=cache)
    with pytest.raises(
        ValueError,
        match="room for every position; got 23 for capacity=22. Give it a larger capacity, or `crop`",
    ):
        layer(X[:, -1:], kv_cache=cache)
    cache.crop(N - 2)
    again = layer(X[:, N - 2 : N - 1], kv_cache=cache)
    assert_close(again, first[:, -1:], "float64")


@torch.no_grad()
@pytest.mark.parametrize("gradients", [False, True])
def test_a_call_that_fails_has_left_nothing_behind(layer, X, gradients):
    def fail(*_):
        raise RuntimeError("on purpose")

    with torch.set_grad_enabled(gradients):
        cache = KVCache()
        first = layer(X[:, :16], kv_cache=cache)
        for module in (layer.W_O, layer.heads):
            hook = module.register_forward_hook(fail)
            with pytest.raises(RuntimeError, match="on purpose"):
                layer(X[:, 16:], kv_cache=cache)
            hook.remove()
            assert len(cache) == 16
        both = torch.cat([first, layer(X[:, 16:], kv_cache=cache)], dim=1)
        assert_close(both, layer(X), "float64")


@torch.no_grad()
def test_what_was_cropped_is_forgotten(layer, X):
    cache = KVCache()
    layer(X[:, :10], kv_cache=cache)
    layer(torch.ones(B, 4, D, dtype=torch.float64), kv_cache=cache)  # a draft that is refused
    cache.crop(10)
    assert len(cache) == 10
    assert_close(layer(X[:, 10:], kv_cache=cache), layer(X)[:, 10:], "float64")
    with pytest.raises(ValueError, match="KVCache.crop: n must be between 0 and length=23; got n=24"):
        cache.crop(N + 1)


@torch.no_grad()
@pytest.mark.parametrize("capacity", [None, N])
@pytest.mark.parametrize("order", [[1, 0], [1, 1, 0], [0]])
def test_reordered_sequences_go_on_from_the_ones_chosen(layer, X, order, capacity):
    cache, order = KVCache(capacity), torch.tensor(order)
    layer(X[:, :10], kv_cache=cache)
    room = cache.room
    cache.reorder(order)
    assert cache.room == room, "or the next position would copy all the others"
    chosen = torch.cat([X[order, :10], X[:1, 10:].expand(len(order), -1, -1)], dim=1)
    assert_close(in_parts(layer, chosen[:, 10:], cache, 1), layer(chosen)[:, 10:], "float64")


def test_with_gradients_reordered_sequences_hand_their_slopes_on():
    cache, order = KVCache(), torch.tensor([1, 1, 0])
    K, V = (torch.randn(3, G, M, D_K, requires_grad=True) for _ in range(2))
    cache.append(K, V)
    cache.reorder(order)
    assert torch.equal(cache.K, K[order]) and torch.equal(cache.V, V[order])
    (slope,) = torch.autograd.grad(cache.K.sum(), K)
    assert slope[:, 0, 0, 0].tolist() == [1, 2, 0]


@torch.no_grad()
def test_only_sequences_that_move_are_copied_and_only_what_they_hold():
    cache, order = KVCache(capacity=N), torch.tensor([0, 1, 1, 3])
    K, V = torch.randn(4, G, M, D_K), torch.randn(4, G, M, D_K)
    cache.append(K, V)
    place = cache.K.data_ptr()
    written = Copied()
    with written:
        cache.reorder(torch.arange(4))
    assert written.numbers == 0
    with written:
        cache.reorder(order)
    assert written.numbers == 2 * 2 * G * M * D_K, "one sequence of keys and one of values, out and back in"
    assert torch.equal(cache.K, K[order]) and torch.equal(cache.V, V[order]) and cache.K.data_ptr() == place


class Copied(TorchDispatchMode):
    """How many float numbers were written by what ran in it."""

    numbers = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        name = function.overloadpacket.__name__
        if name in ("index", "index_select", "copy_", "clone") and made.is_floating_point():
            self.numbers += made.numel()
        if name in ("index_put_", "_index_put_impl_"):
            self.numbers += args[2].numel()
        return made


@torch.no_grad()
def test_after_a_reset_another_batch_may_follow(layer, X):
    cache = KVCache()
    layer(X, kv_cache=cache)
    place = cache.K.data_ptr()
    cache.reset()
    assert len(cache) == 0 and cache.nbytes == 0
    assert_close(in_parts(layer, X.flip(1), cache, 6), layer(X.flip(1)), "float64")
    assert cache.K.data_ptr() == place
    cache.reset()
    assert_close(in_parts(layer, X[:1].float().double(), cache, 6), layer(X[:1].float().double()), "float64")


@torch.no_grad()
def test_a_sequence_without_a_batch_is_remembered_too(layer, X):
    assert_close(in_parts(layer, X[0], KVCache(), [5, 1, 17]), layer(X[0]), "float64")
    with pytest.raises(ValueError, match="KVCache.reorder: there must be a batch"):
        KVCache().reorder(torch.tensor([0]))


@torch.no_grad()
def test_looking_at_the_weights_of_the_next_position_leaves_the_cache_as_it_was(layer, X):
    cache = KVCache()
    layer(X[:, :10], kv_cache=cache)
    P = layer.attention_weights(X[:, 10:], kv_cache=cache)
    assert_close(P, layer.attention_weights(X)[:, :, 10:], "float64")
    assert len(cache) == 10
    assert_close(layer(X[:, 10:], kv_cache=cache), layer(X)[:, 10:], "float64")


# --- a source ---------------------------------------------------------------------------------------------------


@pytest.fixture
def crossed():
    torch.manual_seed(0)
    return MultiHeadAttention(d_model=D, n_heads=H, n_kv_heads=G, d_k=D_K, d_source=D_SOURCE).double()


@pytest.fixture
def source():
    return torch.randn(B, M, D_SOURCE, generator=torch.Generator().manual_seed(3), dtype=torch.float64)


@torch.no_grad()
def test_a_source_is_projected_once(crossed, X, source):
    heard, cache = [], SourceCache()
    for linear in (crossed.W_K, crossed.W_V):
        linear.register_forward_hook(lambda *_: heard.append(1))
    mask = torch.tensor([[[True] * 4 + [False]], [[True] * 5]])
    steps = [crossed(X[:, :1], source, mask, kv_cache=cache), crossed(X[:, 1:7], mask=mask, kv_cache=cache)]
    steps.append(crossed(X[:, 7:], source, mask, kv_cache=cache))
    assert len(heard) == 2 and len(cache) == M and cache.nbytes == 2 * B * G * M * D_K * 8
    assert_close(torch.cat(steps, dim=1), crossed(X, source, mask), "float64")


@torch.no_grad()
def test_a_source_can_be_reordered_and_forgotten(crossed, X, source):
    cache, order = SourceCache(), torch.tensor([1, 1, 0])
    crossed(X, source, kv_cache=cache)
    cache.reorder(order)
    assert_close(crossed(X[order], kv_cache=cache), crossed(X[order], source[order]), "float64")
    cache.reset()
    assert len(cache) == 0 and cache.nbytes == 0
    assert_close(crossed(X, source[:, :2], kv_cache=cache), crossed(X, source[:, :2]), "float64")


@torch.no_grad()
def test_a_first_call_that_fails_leaves_no_source_behind(crossed, X, source):
    cache = SourceCache()
    with pytest.raises(ValueError, match="bias must broadcast"):
        crossed(X, source, bias=torch.zeros(3, 3), kv_cache=cache)

    def fail(*_):
        raise RuntimeError("on purpose")

    hook = crossed.W_O.register_forward_hook(fail)
    with pytest.raises(RuntimeError, match="on purpose"):
        crossed(X, source, kv_cache=cache)
    hook.remove()
    assert len(cache) == 0


@pytest.mark.bad_input
@torch.no_grad()
def test_a_cache_that_does_not_fit_is_named(layer, crossed, X, source):
    full = SourceCache()
    crossed(X, source, kv_cache=full)
    for call, sentence in [
        (
            lambda: crossed(X, source, kv_cache=KVCache()),
            "a source needs a SourceCache; got a KVCache",
        ),
        (
            lambda: crossed(X, kv_cache=SourceCache()),
            "an empty SourceCache needs a source; got none. Pass it to the",
        ),
        (
            lambda: crossed(X, source[:, :2], kv_cache=full),
            "one source; got one of 2 positions after one of 5",
        ),
        (
            lambda: layer(X, X),
            "queries and keys must come from one sequence for a causal layer; got a source",
        ),
        (
            lambda: crossed(X, source, rotate=lambda A, first: A),
            "one sequence for positions; got a source",
        ),
        (lambda: KVCache(0), "KVCache: capacity must be at least 1; got capacity=0"),
        (
            lambda: SourceCache().reorder(torch.tensor([0])),
            "SourceCache.reorder: there must be a batch of sources",
        ),
    ]:
        with pytest.raises(ValueError, match=sentence):
            call()


def test_places_are_counted_from_zero_and_go_on_behind_what_is_held():
    torch.manual_seed(0)
    layer, told = MultiHeadAttention(d_model=6, n_heads=2, causal=True), []

    def places(A, first):
        told.append(first)
        return A

    cache, X = KVCache(), torch.randn(1, 5, 6)
    layer(X, rotate=places)
    for part in X.split([3, 2], dim=1):
        layer(part, rotate=places, kv_cache=cache)
    assert told == [0, 0, 0, 0, 3, 3]  # each of queries and keys


def test_memory_that_a_derivative_needs_is_not_written_after_a_call_that_failed(layer, X):
    """Read with gradients, a step without them that fails, a crop: the next step takes memory of its own."""
    cache = KVCache()
    first = layer(X[:, :3], kv_cache=cache)
    held = cache.K
    with torch.no_grad():
        K, V = cache.K[..., :1, :].detach(), cache.V[..., :1, :].detach()
        cache.extended(K, V)  # without `keep`, as in a call that fails
        cache.crop(2)
        before = held.detach().clone()
        cache.append(7 * K, 7 * V)
    assert torch.equal(held, before)
    first.sum().backward()

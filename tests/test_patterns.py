"""Patterns of sparse attention (Chapter 6): each is its rule pair by pair, in both twins, as a mask, in tiles and in
PyTorch's FlexAttention; its edges, its reach and its hops are counted.
"""

import math
import re
import tracemalloc
import types

import networkx
import numpy as np
import pytest
import torch

from attnlib.nn import flash as nn_flash
from attnlib.nn import patterns as nn_patterns
from attnlib.nn import tiles as nn_tiles
from attnlib.nn.attention import attend, scaled_dot_product_attention
from attnlib.nn.scores import scaled_dot_scores
from attnlib.reference import attention, flash, patterns, tiles
from attnlib.reference.graph import diameter, distance, edges, reach
from attnlib.testing import assert_close

N = 13
IDS = [0, 0, 0, 1, 1, 2, 2, 2, 2, 2, 1, 1, 3]  # document 1 goes on after document 2
TABLE = np.array([[1, 0, 0, 1], [0, 1, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0]], dtype=bool)

# The name of each pattern: how a twin makes it, and its rule for one pair.
RULES = {
    "causal": (lambda of: of.causal(), lambda i, j: j <= i),
    "window": (lambda of: of.window(3), lambda i, j: i - 3 < j <= i),
    "window of one": (lambda of: of.window(1), lambda i, j: i == j),
    "window, both sides": (lambda of: of.window(3, causal=False), lambda i, j: i - 3 < j < i + 3),
    "dilated": (lambda of: of.dilated(3, 2), lambda i, j: i - j in (0, 2, 4)),
    "dilated, both sides": (lambda of: of.dilated(2, 4, causal=False), lambda i, j: abs(i - j) in (0, 4)),
    "strided": (lambda of: of.strided(4), lambda i, j: 0 <= i - j < 4 or i - j in (4, 8, 12)),
    "strided, local": (lambda of: of.strided_local(4), lambda i, j: 0 <= i - j < 4),
    "strided, summary": (lambda of: of.strided_summary(4), lambda i, j: i - j in (0, 4, 8, 12)),
    "first": (lambda of: of.first(2), lambda i, j: j < 2),
    "global": (lambda of: of.global_tokens((2, 7)), lambda i, j: i in (2, 7) or j in (2, 7)),
    "no global": (lambda of: of.global_tokens(()), lambda i, j: False),
    "blocks": (lambda of: of.blocks(4), lambda i, j: i // 4 == j // 4),
    "documents": (lambda of: of.documents(array_of(of, np.array(IDS))), lambda i, j: IDS[i] == IDS[j]),
    "table": (lambda of: of.block_table(array_of(of, TABLE), 4), lambda i, j: TABLE[i // 4, j // 4]),
    "both": (lambda of: of.both(of.causal(), of.blocks(5)), lambda i, j: j <= i and i // 5 == j // 5),
    "either": (
        lambda of: of.either(of.window(2), of.blocks(4)),
        lambda i, j: j in (i, i - 1) or i // 4 == j // 4,
    ),
    "sinks": (
        lambda of: of.both(of.causal(), of.either(of.window(3), of.first(2))),
        lambda i, j: j <= i and (j > i - 3 or j < 2),
    ),
    "packed": (
        lambda of: of.both(of.causal(), of.documents(array_of(of, np.array(IDS)))),
        lambda i, j: j <= i and IDS[i] == IDS[j],
    ),
    "global, causal": (
        lambda of: of.both(of.causal(), of.either(of.window(2), of.global_tokens((3,)))),
        lambda i, j: j <= i and (j > i - 2 or 3 in (i, j)),
    ),
}
TWINS = {"reference": patterns, "nn": nn_patterns}


def array_of(module, array):
    return array if module is patterns else torch.tensor(array)


def by_rule(name, n=N):
    rule = RULES[name][1]
    return np.array([[bool(rule(i, j)) for j in range(n)] for i in range(n)])


def dense(name, n=N):
    return patterns.dense_mask(RULES[name][0](patterns), n)


# ---- The rules ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RULES)
def test_a_pattern_is_its_rule_pair_by_pair_in_both_twins(name):
    mask, expected = dense(name), by_rule(name)
    assert mask.dtype == bool and np.array_equal(mask, expected)
    twin = nn_patterns.dense_mask(RULES[name][0](nn_patterns), N)
    assert twin.dtype == torch.bool and np.array_equal(twin.numpy(), expected)
    assert mask.flags.writeable and not np.shares_memory(mask, dense(name))


@pytest.mark.parametrize("name", RULES)
def test_the_last_queries_are_the_last_rows(name):
    for m in (1, 4, N):
        for module in (patterns, nn_patterns):
            found = np.asarray(module.dense_mask(RULES[name][0](module), m, N))
            assert np.array_equal(found, by_rule(name)[-m:])


def test_a_rule_that_only_compares_positions_is_one_function_for_both_twins():
    shared = (
        "causal window dilated strided strided_local strided_summary first global_tokens blocks both either"
    )
    for name in shared.split():
        assert getattr(nn_patterns, name) is getattr(patterns, name)
    for name in ("documents", "block_table", "random_blocks", "dense_mask"):
        assert getattr(nn_patterns, name) is not getattr(patterns, name)


@pytest.mark.parametrize("width", [1, 2, 5, N, 99])
def test_a_window_has_exactly_its_width(width):
    """One too many, or one that looks ahead, is the usual mistake."""
    rows = patterns.dense_mask(patterns.window(width), N).sum(axis=1)
    assert rows.tolist() == [min(i + 1, width) for i in range(N)]
    two_sided = patterns.dense_mask(patterns.window(width, causal=False), N)
    assert np.array_equal(two_sided, two_sided.T) and two_sided.sum(axis=1).max() <= 2 * width - 1
    one_sided = patterns.dense_mask(patterns.both(patterns.causal(), patterns.window(width, causal=False)), N)
    assert np.array_equal(one_sided, patterns.dense_mask(patterns.window(width), N))


@pytest.mark.parametrize("step", [1, 2, 5])
def test_a_dilated_window_contains_the_position_itself(step):
    mask = patterns.dense_mask(patterns.dilated(3, step), N)
    assert mask.diagonal().all() and mask[-1].sum() == min(3, 1 + (N - 1) // step)
    if step == 1:
        assert np.array_equal(mask, patterns.dense_mask(patterns.window(3), N))


def test_the_two_heads_of_a_strided_pattern_make_it_and_share_the_position_itself():
    local, summary, union = (dense(f"strided{rest}") for rest in (", local", ", summary", ""))
    assert np.array_equal(local | summary, union) and np.array_equal(local & summary, np.eye(N, dtype=bool))
    # Child et al. (2019) give the local head one key more, the one `stride` before, which the summary has as well.
    published = patterns.dense_mask(patterns.window(5), N) | summary
    assert np.array_equal(published, union)


def test_global_tokens_have_a_row_and_a_column():
    mask = dense("global")
    assert mask[[2, 7]].all() and mask[:, [2, 7]].all() and np.array_equal(mask, mask.T)


@pytest.mark.parametrize(
    ("block", "per_row", "n"), [(1, 3, 7), (4, 2, 13), (5, 0, 17), (3, 3, 9), (64, 1, 1000)]
)
def test_random_blocks_are_that_many_different_ones_drawn_once(block, per_row, n):
    rule = patterns.random_blocks(block, per_row, 0, n)
    mask = patterns.dense_mask(rule, n)
    count = -(-n // block)
    starts = block * np.arange(count)
    table = mask[np.ix_(starts, starts)]
    assert (table.sum(axis=1) == per_row).all()
    assert np.array_equal(mask, table.repeat(block, 0).repeat(block, 1)[:n, :n])
    assert np.array_equal(mask, patterns.dense_mask(patterns.random_blocks(block, per_row, 0, n), n))
    assert np.array_equal(
        mask, nn_patterns.dense_mask(nn_patterns.random_blocks(block, per_row, 0, n), n).numpy()
    )
    if 0 < per_row < count:
        assert not np.array_equal(mask, patterns.dense_mask(patterns.random_blocks(block, per_row, 1, n), n))


def test_random_blocks_fall_on_all_blocks_alike():
    """400 seeds, 5 of 20 blocks: a share of 1/4 in each entry, with a standard error of 0.022."""
    share = np.mean([patterns._random_table(3, 5, seed, 60) for seed in range(400)], axis=0)
    assert abs(share - 0.25).max() < 5 * math.sqrt(0.25 * 0.75 / 400)  # the largest of 400 entries
    assert abs(share.mean(axis=0) - 0.25).max() < 4 * math.sqrt(0.25 * 0.75 / 8000)


# ---- Tiles ----------------------------------------------------------------------------------------------------------


def whole(found, m, n):
    """The mask that tiles stand for."""
    number, masks = (np.asarray(one) for one in found)
    return masks[number].swapaxes(1, 2).reshape(number.shape[0] * masks.shape[1], -1)[:m, :n]


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("block", [1, 2, 4, 5, 13, 64])
def test_tiles_are_the_mask_cut(name, block):
    expected = by_rule(name)
    for module, of in ((tiles, patterns), (nn_tiles, nn_patterns)):
        rule = RULES[name][0](of)
        for m in (N, 4):
            found = module.block_mask(rule, m, block, n_keys=N)
            assert np.array_equal(whole(found, m, N), expected[-m:])
            sides = -(-m // block), -(-N // block)
            parts = [
                [
                    expected[-m:][a * block : (a + 1) * block, b * block : (b + 1) * block]
                    for b in range(sides[1])
                ]
                for a in range(sides[0])
            ]
            shares = np.array([[part.mean() for part in row] for row in parts])
            assert np.array_equal(np.asarray(found.empty), shares == 0)
            assert np.array_equal(np.asarray(found.full), shares == 1)
            assert np.array_equal(np.asarray(found.partial), (shares > 0) & (shares < 1))


def test_equal_tiles_are_stored_once_and_the_twins_number_them_alike():
    for name in RULES:
        one, other = (
            module.block_mask(RULES[name][0](of), N, 3)
            for module, of in ((tiles, patterns), (nn_tiles, nn_patterns))
        )
        assert np.array_equal(one.number, other.number) and np.array_equal(one.masks, other.masks)
        assert len(np.unique(one.masks, axis=0)) == len(one.masks)
    long = tiles.block_mask(patterns.window(100), 4096, 64)
    assert len(long.masks) == 2 + 3 and long.number.shape == (64, 64)  # the diagonal and two before it


def peak_of(call):
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.timing  # results are not checked meanwhile, which would allocate
def test_tiles_and_edges_of_a_long_text_take_far_less_than_its_pairs():
    rule, n = patterns.window(64), 4096
    assert peak_of(lambda: tiles.block_mask(rule, n, 128)) < n * n / 30
    assert peak_of(lambda: edges(rule, n)) < n * n / 8
    assert peak_of(lambda: patterns.dense_mask(rule, 1024)) >= 1024 * 1024


# ---- Edges, reach, hops ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RULES)
def test_edges_are_the_entries_of_the_mask(name):
    assert edges(RULES[name][0](patterns), N) == by_rule(name).sum()


def closed_forms(n):
    w, g, b, step = 7, 3, 5, 4
    k = n // b
    yield patterns.causal(), n * (n + 1) // 2
    yield patterns.window(w), n * w - w * (w - 1) // 2
    yield patterns.window(w, causal=False), n * (2 * w - 1) - w * (w - 1)
    yield patterns.dilated(w, step), n * w - step * w * (w - 1) // 2
    yield patterns.global_tokens((0, 9, n - 1)), 2 * n * g - g**2
    yield patterns.first(g), n * g
    yield patterns.blocks(b), n * b
    yield patterns.strided_summary(b), b * k * (k + 1) // 2
    yield patterns.strided(b), n * b - b * (b - 1) // 2 + b * k * (k - 1) // 2
    yield patterns.random_blocks(b, 2, 0, n), n * 2 * b
    kept, near = n * g - g * (g - 1) // 2, n * w - w * (w - 1) // 2
    shared = sum(max(0, min(i, g - 1) - max(0, i - w + 1) + 1) for i in range(n))
    yield (
        patterns.both(patterns.causal(), patterns.either(patterns.window(w), patterns.first(g))),
        kept + near - shared,
    )


@pytest.mark.parametrize("n", [60, 65, 130])  # shorter and longer than the strips in which they are counted
def test_edges_have_their_closed_forms(n):
    for rule, count in closed_forms(n):
        assert edges(rule, n) == count


def test_edges_of_a_strided_pattern_grow_as_n_root_n():
    """Exactly 1.5 n √n - √n / 2 - n / 2 + ... for a stride of √n; a window of √n keeps n √n."""
    sides = np.array([8, 16, 32])
    counted = np.array([edges(patterns.strided(int(b)), int(b) ** 2) for b in sides])
    assert np.array_equal(counted, sides**3 - sides * (sides - 1) // 2 + sides**2 * (sides - 1) // 2)
    exponents = np.diff(np.log(counted)) / np.diff(np.log(sides**2.0))
    assert abs(exponents - 1.5).max() < 0.03


def jacobian_support(mask, layers, width=3):
    """Which inputs each output of some layers of attention depends on, by autograd: exactly zero is zero."""
    draw = torch.Generator().manual_seed(layers)
    mask, n = torch.tensor(mask), len(mask)
    maps = torch.randn(layers, 3, width, width, generator=draw, dtype=torch.float64)

    def stack(X):
        for W_Q, W_K, W_V in maps:
            X = scaled_dot_product_attention(X @ W_Q, X @ W_K, X @ W_V, mask)
        return X

    X = torch.randn(n, width, generator=draw, dtype=torch.float64)
    J = torch.autograd.functional.jacobian(stack, X)  # (n, width, n, width)
    return (J != 0).any(dim=3).any(dim=1).numpy()


@pytest.mark.parametrize("layers", [0, 1, 2, 3])
@pytest.mark.parametrize(
    "name", ["window", "dilated", "strided", "blocks", "documents", "global, causal", "table", "sinks"]
)
def test_the_derivative_is_exactly_zero_where_nothing_reaches_and_not_zero_elsewhere(name, layers):
    mask = by_rule(name)
    found = reach(mask, layers)
    assert np.array_equal(found, np.linalg.matrix_power(mask.astype(int), layers) > 0)
    assert np.array_equal(jacobian_support(mask, layers), found)


def test_with_a_residual_connection_what_was_reached_stays_reached():
    hop = patterns.dense_mask(patterns.dilated(2, 3), N) & ~np.eye(N, dtype=bool)
    alone, kept = reach(hop, 2), reach(hop | np.eye(N, dtype=bool), 2)
    assert not alone[-1, -1] and not alone[-1, -4] and alone[-1, -7]
    assert np.flatnonzero(kept[-1]).tolist() == [N - 7, N - 4, N - 1]


@pytest.mark.parametrize("name", RULES)
def test_a_distance_is_the_shortest_path_and_says_when_something_is_reached(name):
    mask = by_rule(name)
    hops = distance(mask)
    graph = networkx.from_numpy_array(mask, create_using=networkx.DiGraph)
    paths = dict(networkx.all_pairs_shortest_path_length(graph))
    assert np.array_equal(hops, [[paths[i].get(j, -1) for j in range(N)] for i in range(N)])
    assert diameter(mask) == hops.max()
    with_residual = mask | np.eye(N, dtype=bool)
    for layers in range(4):
        assert np.array_equal(reach(with_residual, layers), (hops >= 0) & (hops <= layers))


def test_what_is_known_of_the_diameters():
    n, b = 64, 8
    at = {
        "all pairs": (lambda query, key: (query >= 0) & (key >= 0), 1),
        "window": (patterns.window(5), math.ceil((n - 1) / 4)),
        "strided": (patterns.strided(b), 2),
        "local head alone": (patterns.strided_local(b), math.ceil((n - 1) / (b - 1))),
        "one global": (patterns.either(patterns.window(2, causal=False), patterns.global_tokens((17,))), 2),
        "first, causal": (patterns.both(patterns.causal(), patterns.first(1)), 1),
        "blocks": (patterns.blocks(b), 1),
    }
    for name, (rule, hops) in at.items():
        assert diameter(patterns.dense_mask(rule, n)) == hops, name
    # One hop in either head gives every position before: the last of the stride, then along its column.
    mask = patterns.dense_mask(patterns.strided(b), n)
    assert np.array_equal(reach(mask, 2), patterns.dense_mask(patterns.causal(), n))
    assert (distance(patterns.dense_mask(patterns.blocks(b), n)) == -1).sum() == n * n - n * b


# ---- The tiled kernel -----------------------------------------------------------------------------------------------

B, H, D_K, D_V = 2, 3, 5, 7
KERNELS = {"reference": flash, "nn": nn_flash}


def given(rng, m=N, n=N, batch=(B, H)):
    return [rng.normal(size=(*batch, *shape)) for shape in [(m, D_K), (n, D_K), (n, D_V)]]


def same_as_dense(arrays, mask, dO, by_reference, by_torch):
    """Outputs and gradients of both twins with these options beside dense attention with the mask, to 1e-12."""
    exact, kept = attention.scaled_dot_product_attention(*arrays, mask)
    expected = exact, *attention.scaled_dot_product_attention_backward(dO, kept)
    O, cache = flash.flash_attention(*arrays, **by_reference)
    leaves = [torch.tensor(array, requires_grad=True) for array in arrays]
    Y = nn_flash.flash_attention(*leaves, **by_torch)
    twin = Y, *torch.autograd.grad(Y, leaves, torch.tensor(dO))
    ours = O, *flash.flash_attention_backward(dO, cache), *(one.detach().numpy() for one in twin)
    for found, one in zip(ours, expected * 2, strict=True):
        np.testing.assert_allclose(found, one, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("block", [1, 3, 4, 64])
@pytest.mark.parametrize("m", [N, 5])
def test_in_tiles_it_is_masked_dense_attention_forward_and_backward(name, block, m, rng):
    options = [
        {"tiles": module.block_mask(RULES[name][0](of), m, block, n_keys=N)}
        for module, of in ((tiles, patterns), (nn_tiles, nn_patterns))
    ]
    same_as_dense(given(rng, m), by_rule(name)[-m:], rng.normal(size=(B, H, m, D_V)), *options)


@pytest.mark.parametrize("causal", [False, True])
def test_tiles_go_together_with_a_mask_and_with_causal(causal, rng):
    mask = rng.random((B, 1, N, N)) < 0.7
    seen = mask & by_rule("global") & (by_rule("causal") if causal else True)
    options = [
        {"tiles": module.block_mask(RULES["global"][0](of), N, 4), "mask": one, "causal": causal}
        for module, of, one in ((tiles, patterns, mask), (nn_tiles, nn_patterns, torch.tensor(mask)))
    ]
    same_as_dense(given(rng), seen, rng.normal(size=(B, H, N, D_V)), *options)


@pytest.mark.parametrize("which", KERNELS)
@pytest.mark.parametrize(
    ("make", "computed"),
    [
        (lambda of: of.window(5), 15),  # the diagonal and the tile before it
        (lambda of: of.window(4), 15),
        (lambda of: of.window(1), 8),
        (lambda of: of.causal(), 36),
        (lambda of: of.blocks(8), 16),
        (lambda of: of.global_tokens((0,)), 15),
        (lambda of: of.both(of.causal(), of.either(of.window(4), of.first(1))), 21),
        (lambda of: of.global_tokens(()), 0),
    ],
)
def test_empty_tiles_are_not_computed(which, make, computed, monkeypatch, rng):
    """Of 8 by 8 tiles of 4, in the forward and in the backward; a full tile is not masked either."""
    module, of = KERNELS[which], TWINS[which]
    cutter = tiles if which == "reference" else nn_tiles
    calls, scores = [], module._scores
    monkeypatch.setattr(
        module, "_scores", lambda Q, K, seen: (calls.append(seen is None), scores(Q, K, seen))[1]
    )
    found = cutter.block_mask(make(of), 32, 4)
    assert int((~found.empty).sum()) == computed
    arrays = [rng.normal(size=(32, d)) for d in (D_K, D_K, D_V)]
    if which == "reference":
        O, cache = flash.flash_attention(*arrays, tiles=found)
        forward = list(calls)
        flash.flash_attention_backward(np.ones_like(O), cache)
    else:
        O = nn_flash.flash_attention(*(torch.tensor(X, requires_grad=True) for X in arrays), tiles=found)
        forward = list(calls)
        O.sum().backward()
    assert len(forward) == computed and calls == 2 * forward and sum(forward) == int(found.full.sum())


def long_case(n=256, width=40, block=32):
    draw = torch.Generator().manual_seed(0)
    leaves = [torch.randn(2, n, 8, generator=draw, dtype=torch.float64, requires_grad=True) for _ in range(3)]
    rule = nn_patterns.both(
        nn_patterns.causal(), nn_patterns.either(nn_patterns.window(width), nn_patterns.first(2))
    )
    return leaves, rule, nn_tiles.block_mask(rule, n, block)


def test_no_mask_of_all_pairs_is_kept_for_the_backward():
    leaves, _, cut = long_case()
    kept = []

    def keep(X):
        kept.append(X)
        return X

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda X: X):
        nn_flash.flash_attention(*leaves, tiles=cut)
    booleans = [X for X in kept if X.dtype == torch.bool]
    assert [X.shape for X in booleans] == [cut.masks.shape] and len(cut.masks) <= 8
    assert max(X.numel() for X in kept if X.is_floating_point()) == 2 * 256 * 8


@pytest.mark.traced
def test_with_tiles_it_compiles_as_one_operator_and_maps():
    leaves, rule, cut = long_case()
    exact = attend(scaled_dot_scores(*leaves[:2]), leaves[2], nn_patterns.dense_mask(rule, 256))
    dO = torch.randn(exact.shape, generator=torch.Generator().manual_seed(1), dtype=exact.dtype)
    expected = torch.autograd.grad(exact, leaves, dO)
    torch._dynamo.reset()
    program = torch.compile(
        lambda *QKV: nn_flash.flash_attention(*QKV, tiles=cut), fullgraph=True, backend="aot_eager"
    )
    mapped = torch.vmap(lambda *QKV: nn_flash.flash_attention(*QKV, tiles=cut))
    for call in (program, mapped):
        O = call(*leaves)
        assert_close(O, exact, "float64")
        for one, other in zip(torch.autograd.grad(O, leaves, dO), expected, strict=True):
            assert_close(one, other, "float64")
    slopes = torch.func.grad(lambda Q: (nn_flash.flash_attention(Q, *leaves[1:], tiles=cut) * dO).sum())
    assert_close(slopes(leaves[0]), expected[0], "float64")
    O, lam = torch.ops.attnlib.flash_forward(*leaves, None, False, 32, *cut)
    detached = [X.detach() for X in (O, *leaves, O, lam)]
    for operator, arguments in (
        (torch.ops.attnlib.flash_forward.default, (*detached[1:4], None, False, 32, *cut)),
        (torch.ops.attnlib.flash_backward.default, (*detached, None, False, 32, *cut)),
    ):
        checks = torch.library.opcheck(operator, arguments, test_utils=("test_schema", "test_faketensor"))
        assert set(checks.values()) == {"SUCCESS"}


# ---- FlexAttention --------------------------------------------------------------------------------------------------


def tensors(shape=(2, 3, N), dtype=torch.float32):
    draw = torch.Generator().manual_seed(0)
    return [torch.randn(*shape, d, generator=draw, dtype=dtype) for d in (16, 16, 16)]


UNCOMPILED = pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")


@UNCOMPILED
@pytest.mark.traced
@pytest.mark.parametrize("name", RULES)
def test_flex_attention_is_attention_with_the_dense_mask(name):
    from torch.nn.attention.flex_attention import flex_attention

    for m in (N, 4):
        (Q, K, V), rule = tensors(), RULES[name][0](nn_patterns)
        O = flex_attention(Q[..., -m:, :], K, V, block_mask=nn_patterns.flex_mask(rule, m, N))
        mask = torch.tensor(by_rule(name))[-m:]
        assert_close(O, attend(scaled_dot_scores(Q[..., -m:, :], K), V, mask), "float32")
        assert not O[:, :, ~mask.any(dim=1)].any()  # a query that may look nowhere


def flex_calls(monkeypatch):
    """How often `pattern_attention` calls FlexAttention from now on."""
    calls, flex = [], nn_patterns._flex

    def counted(*tensors, **named):
        calls.append(1)
        return flex(*tensors, **named)

    monkeypatch.setattr(nn_patterns, "_flex", counted)
    return calls


def compiled(rule):
    torch._dynamo.reset()
    return torch.compile(
        lambda *QKV: nn_patterns.pattern_attention(*QKV, rule), fullgraph=True, backend="aot_eager"
    )


@pytest.mark.traced
@pytest.mark.parametrize("shape", [(N,), (3, N), (2, 1, 3, N)])
def test_within_compile_flex_attention_is_called_for_any_axes_and_fewer_queries_than_keys(shape, monkeypatch):
    calls, (Q, K, V) = flex_calls(monkeypatch), tensors(shape, torch.float64)
    rule, mask = RULES["sinks"][0](nn_patterns), torch.tensor(by_rule("sinks"))
    for m in (N, 4):
        exact = attend(scaled_dot_scores(Q[..., -m:, :], K), V, mask[-m:])
        assert_close(compiled(rule)(Q[..., -m:, :], K, V), exact, "float64")
        assert len(calls) == 1 and not calls.clear()
        assert_close(nn_patterns.pattern_attention(Q[..., -m:, :], K, V, rule), exact, "float64")
        assert not calls  # not compiled it would compute all scores


@pytest.mark.traced
def test_where_gradients_are_recorded_on_a_cpu_the_dense_mask_is_used(monkeypatch):
    calls, arrays = flex_calls(monkeypatch), tensors(dtype=torch.float64)
    rule, mask = RULES["packed"][0](nn_patterns), torch.tensor(by_rule("packed"))
    leaves, others = ([X.clone().requires_grad_() for X in arrays] for _ in range(2))
    exact = attend(scaled_dot_scores(*others[:2]), others[2], mask)
    dO = torch.randn(exact.shape, generator=torch.Generator().manual_seed(1), dtype=exact.dtype)
    expected = torch.autograd.grad(exact, others, dO)
    for call in (compiled(rule), lambda *QKV: nn_patterns.pattern_attention(*QKV, rule)):
        for one, other in zip(torch.autograd.grad(call(*leaves), leaves, dO), expected, strict=True):
            assert_close(one, other, "float64")
    assert not calls
    with torch.no_grad():
        assert_close(compiled(rule)(*leaves), exact, "float64")
    assert len(calls) == 1


@pytest.mark.traced
def test_it_maps_over_a_batch_and_takes_what_is_empty():
    arrays, rule = tensors(dtype=torch.float64), nn_patterns.window(3)
    exact = attend(scaled_dot_scores(*arrays[:2]), arrays[2], torch.tensor(by_rule("window")))

    def call(*QKV):
        return nn_patterns.pattern_attention(*QKV, rule)

    for axis in (0, 1):
        assert_close(torch.vmap(call, in_dims=axis, out_dims=axis)(*arrays), exact, "float64")
    gradient = torch.func.grad(lambda V: call(*arrays[:2], V)[..., -1, 0].sum())(arrays[2])
    assert torch.equal(gradient[..., 0] != 0, torch.tensor(by_rule("window")[-1]).expand(2, 3, N))
    empty = torch.zeros(0, N, 16)
    assert call(empty, empty, empty).shape == compiled(rule)(empty, empty, empty).shape == empty.shape
    on_meta = call(*(X.to("meta") for X in arrays))
    assert on_meta.is_meta and on_meta.shape == exact.shape


@pytest.mark.parametrize(
    ("device", "dtype", "widths", "gradients", "flexible"),
    [
        ("cuda", torch.float32, (16, 16), True, True),
        ("cuda", torch.bfloat16, (64, 16), False, True),
        ("cuda", torch.float64, (16, 16), False, False),
        ("cuda", torch.float32, (15, 16), False, False),
        ("cuda", torch.float32, (16, 15), False, False),
        ("cpu", torch.float32, (64, 64), False, False),
        ("meta", torch.float32, (64, 64), False, False),
    ],
)
def test_where_it_is_not_compiled_by_the_caller_a_gpu_alone_calls_flex_attention(
    device, dtype, widths, gradients, flexible
):
    """Stand-ins, because there need not be a GPU; what FlexAttention computes there is not tested here."""
    tensors = [
        types.SimpleNamespace(
            device=torch.device(device),
            dtype=dtype,
            shape=(2, N, d),
            requires_grad=gradients,
            numel=lambda: 1,
        )
        for d in (widths[0], *widths)
    ]
    assert nn_patterns._flexible(*tensors) is flexible


@UNCOMPILED
def test_pytorch_has_no_backward_for_it_on_a_cpu():
    """When this fails, PyTorch has one, and `_flexible` need not ask for gradients any more."""
    from torch.nn.attention.flex_attention import flex_attention

    leaves = [X.requires_grad_() for X in tensors()]
    with pytest.raises(NotImplementedError, match="does not support backward on CPU"):
        flex_attention(*leaves, block_mask=nn_patterns.flex_mask(nn_patterns.window(3), N))


@pytest.mark.parametrize("name", ["causal", "window of 100", "blocks of 128", "sinks of 3", "strided by 150"])
def test_the_blocks_of_flex_attention_are_the_tiles(name):
    of = nn_patterns
    rule = {
        "causal": of.causal(),
        "window of 100": of.window(100),
        "blocks of 128": of.blocks(128),
        "sinks of 3": of.both(of.causal(), of.either(of.window(20), of.first(3))),
        "strided by 150": of.strided_summary(150),
    }[name]
    for m, n in ((384, 384), (130, 384), (300, 300)):
        flex, cut = of.flex_mask(rule, m, n), nn_tiles.block_mask(rule, m, 128, n_keys=n)
        assert np.array_equal(flex.to_dense()[0, 0].bool(), ~cut.empty)
        wholly = flex.full_kv_num_blocks[0, 0].tolist()
        # PyTorch fills the last block with keys that nobody attends to, so it calls no cut tile full.
        uncut = cut.full[: m // 128, : n // 128].sum(dim=1).tolist()
        assert wholly == uncut + [0] * (len(wholly) - len(uncut))


# ---- Bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.bad_input
@pytest.mark.parametrize("module", TWINS.values(), ids=TWINS)
@pytest.mark.parametrize(
    ("call", "kind", "sentence"),
    [
        (lambda of: of.window(0), ValueError, "window: width must be at least 1; got width=0."),
        (lambda of: of.window(2.5), TypeError, "window: width must be an integer; got float."),
        (lambda of: of.dilated(2, 0), ValueError, "dilated: step must be at least 1; got step=0."),
        (lambda of: of.first(-1), ValueError, "first: s must be at least 0; got s=-1."),
        (lambda of: of.global_tokens([1]), TypeError, "global_tokens: indices must be a tuple; got list."),
        (lambda of: of.global_tokens((1.0,)), ValueError, "indices must be integers; got (1.0,)."),
        (
            lambda of: of.random_blocks(4, 5, 0, 13),
            ValueError,
            "random_blocks: per_row must be at most the number of blocks, 4; got per_row=5.",
        ),
        (
            lambda of: of.both(of.causal(), 3),
            TypeError,
            "both: b must be a Callable; got int. Pass the function itself.",
        ),
        (
            lambda of: of.dense_mask(of.causal, 3),
            ValueError,
            "pattern: it must be a rule for positions; got the function causal. Call it: `causal(...)`.",
        ),
        (
            lambda of: of.dense_mask(of.causal(), 3, 2),
            ValueError,
            "n_keys must be at least n_queries, because the queries are the last of the positions; "
            "got n_queries=3, n_keys=2.",
        ),
        (
            lambda of: of.dense_mask(lambda i, j: i - j, 3),
            ValueError,
            "pattern: it must return booleans, True = may look; got int64.",
        ),
    ],
)
def test_wrong_patterns_get_one_clear_sentence_from_both_twins(module, call, kind, sentence):
    with pytest.raises(kind, match=re.escape(sentence)):
        call(module)


@pytest.mark.bad_input
@pytest.mark.parametrize("which", KERNELS)
def test_tiles_of_another_length_are_refused(which, rng):
    cutter, of = (tiles, patterns) if which == "reference" else (nn_tiles, nn_patterns)
    arrays = [X if which == "reference" else torch.tensor(X) for X in given(rng)]
    rule = r"flash_attention: tiles of 4 by 4 for m=13, n=13 must be \(4, 4\); got \(3, 3\). Make them with `block_mask"
    with pytest.raises(ValueError, match=rule):
        KERNELS[which].flash_attention(*arrays, tiles=cutter.block_mask(of.causal(), 12, 4))
    with pytest.raises(TypeError, match="tiles must be Tiles with number, masks; got str"):
        KERNELS[which].flash_attention(*arrays, tiles="causal")

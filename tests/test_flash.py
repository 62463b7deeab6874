"""FlashAttention is attention (book: memory): its output and gradients, for any mask, with memory that grows with n."""

import gc
import importlib
import math
import re
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlib.data.results import load_result
from attnlib.nn import flash as nn_flash
from attnlib.nn.attention import attend
from attnlib.nn.flash import flash_attention
from attnlib.nn.scores import scaled_dot_scores
from attnlib.reference import flash
from attnlib.reference.attention import scaled_dot_product_attention, scaled_dot_product_attention_backward
from attnlib.reference.ops import log_sum_exp
from attnlib.testing import assert_close, check_gradients, check_twin
from benchmarks import flash_memory
from benchmarks.flash_memory import KINDS, PROGRAMS, SIZES, exponent, kept_bytes

B, H, N, M, D_K, D_V = 2, 3, 13, 11, 5, 7
BLOCKS = [1, 2, 4, 5, 11, 13, 64]  # of one, that divide a length, that do not, and larger than it


@pytest.fixture
def arrays(rng):
    return [rng.normal(size=(B, H, *shape)) for shape in [(M, D_K), (N, D_K), (N, D_V)]]


def masks(rng):
    """Every way in which a mask may broadcast; one that hides all keys of a query, and one whole tiles."""
    some = rng.random((B, H, M, N)) < 0.6
    some[0, 1, 2] = False
    tiles = np.ones((M, N), dtype=bool)
    tiles[:8, 4:12] = False
    shapes = {
        "all pairs": some,
        "for each head": some[:1],
        "for each text": some[:, :1],
        "of keys": some[:, :1, :1],
        "one for all": some[0, 0],
        "row": some[0, 0, 0],
        "of queries": some[..., :1],
        "whole tiles": tiles,
        "nothing": np.zeros((M, N), dtype=bool),
    }
    return {"none": None, **shapes}


MASKS = list(masks(np.random.default_rng(0)))


def visible(mask, causal, shape=(B, H, M, N)):
    """The dense mask that `mask` and `causal` stand for; the last query is at the position of the last key."""
    m, n = shape[-2:]
    past = np.arange(n) <= np.arange(n - m, n)[:, None] if causal else True
    return np.broadcast_to(past & (True if mask is None else mask), shape)


def tensors(arrays, **options):
    return [torch.tensor(array, **options) for array in arrays]


def as_tensor(mask):
    return None if mask is None else torch.tensor(mask)


def same_as_dense(arrays, mask, causal, block, dO):
    """Both twins and both gradients beside attention that keeps its weights, to 1e-12."""
    O, cache = flash.flash_attention(*arrays, mask=mask, causal=causal, block=block)
    shape = (*O.shape[:-1], arrays[1].shape[-2])
    exact, kept = scaled_dot_product_attention(*arrays, visible(mask, causal, shape))
    gradients = flash.flash_attention_backward(dO, cache)
    expected = scaled_dot_product_attention_backward(dO, kept)
    leaves = tensors(arrays, requires_grad=True)
    Y = flash_attention(*leaves, mask=as_tensor(mask), causal=causal, block=block)
    by_torch = torch.autograd.grad(Y, leaves, torch.tensor(dO))
    ours = O, *gradients, *(one.detach().numpy() for one in (Y, *by_torch))
    for found, one in zip(ours, (exact, *expected) * 2, strict=True):
        np.testing.assert_allclose(found, one, rtol=0, atol=1e-12)


@pytest.mark.parametrize("causal", [False, True], ids=["whole", "causal"])
@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("block", BLOCKS)
def test_output_and_gradients_are_those_of_attention_that_keeps_its_weights(arrays, name, causal, block, rng):
    same_as_dense(arrays, masks(rng)[name], causal, block, rng.normal(size=(B, H, M, D_V)))


@st.composite
def cases(draw):
    """Any shapes, also more queries than keys; a mask may have any of its axes, of size one or whole."""
    sizes = st.integers(1, 9)
    batch = tuple(draw(st.lists(st.integers(1, 3), max_size=3)))
    m, n, d_k, d_v = (draw(sizes) for _ in range(4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    arrays = [draw(st.sampled_from([0.1, 1.0, 3.0])) * rng.normal(size=(*batch, m, d_k))]
    arrays += [rng.normal(size=(*batch, n, d)) for d in (d_k, d_v)]
    mask = None
    if draw(st.booleans()):
        whole = (*batch, m, n)[draw(st.integers(0, len(batch))) :]
        shape = tuple(size if draw(st.booleans()) else 1 for size in whole)
        one_reading = len(batch) != 1 or len(shape) != 2 or shape[0] == 1 or batch[0] != m
        if one_reading:
            mask = rng.random(shape) < draw(st.sampled_from([0.0, 0.3, 0.9]))
    return arrays, mask, draw(st.booleans()), draw(sizes), rng.normal(size=(*batch, m, d_v))


@settings(max_examples=200)
@given(cases())
def test_it_is_attention_for_generated_shapes_masks_and_blocks(case):
    same_as_dense(*case)


@pytest.mark.parametrize("causal", [False, True], ids=["whole", "causal"])
def test_the_backward_is_the_gradient(arrays, causal, rng):
    mask = masks(rng)["all pairs"]
    small = [array[:, :1] for array in arrays]
    options = {"mask": mask[:, :1], "causal": causal, "block": 4}

    def forward(*arrays):
        return flash.flash_attention(*arrays, **options)

    def twin(*arrays):
        return flash_attention(*arrays, **options | {"mask": torch.tensor(mask[:, :1])})

    check_gradients(forward, flash.flash_attention_backward, small, rng)
    check_twin(forward, flash.flash_attention_backward, twin, small, rng)
    assert torch.autograd.gradcheck(twin, tensors(small, requires_grad=True))


@pytest.mark.parametrize("causal", [False, True], ids=["whole", "causal"])
def test_it_equals_pytorchs_operator(arrays, causal, rng):
    square = [arrays[0], arrays[1][:, :, :M], arrays[2][:, :, :M]]  # its flag means the same only for m = n
    ours, theirs = tensors(square, requires_grad=True), tensors(square, requires_grad=True)
    O, exact = (
        flash_attention(*ours, causal=causal, block=4),
        F.scaled_dot_product_attention(*theirs, is_causal=causal),
    )
    dO = torch.tensor(rng.normal(size=O.shape))
    assert_close(O, exact, "float64")
    found, expected = torch.autograd.grad(O, ours, dO), torch.autograd.grad(exact, theirs, dO)
    for one, other in zip(found, expected, strict=True):
        assert_close(one, other, "float64")


def test_lambda_is_the_logarithm_of_the_denominator(arrays):
    O, cache = flash.flash_attention(*arrays, block=4)
    Q, K, _ = arrays
    assert cache.lam.shape == O.shape[:-1]
    assert_close(cache.lam, log_sum_exp(Q @ K.swapaxes(-1, -2) / math.sqrt(D_K)), "float64")


def test_a_query_that_may_look_nowhere_gets_zeros_and_gives_none(arrays, rng):
    mask = masks(rng)["all pairs"]
    O, cache = flash.flash_attention(*arrays, mask=mask, block=4)
    dQ, dK, dV = flash.flash_attention_backward(rng.normal(size=O.shape), cache)
    assert not O[0, 1, 2].any() and not dQ[0, 1, 2].any() and cache.lam[0, 1, 2] == -math.inf
    assert all(np.isfinite(array).all() for array in (O, dQ, dK, dV))
    leaves = tensors(arrays, requires_grad=True)
    Y = flash_attention(*leaves, mask=torch.tensor(mask), block=4)
    found = torch.autograd.grad(Y.sum(), leaves)
    assert not Y[0, 1, 2].any() and not found[0][0, 1, 2].any()
    assert all(one.isfinite().all() for one in found)
    early = flash_attention(leaves[0], leaves[1][..., :4, :], leaves[2][..., :4, :], causal=True, block=3)
    assert not early[..., : M - 4, :].any() and early[..., M - 4 :, :].any(-1).all()  # more queries than keys


def test_large_scores_neither_overflow_nor_vanish(rng):
    """Without a running maximum exp(1000) is infinite, and without rescaling the first tile is lost or counts twice."""
    Q = np.array([[1.0]])
    K, V = np.array([[1000.0], [-1000.0], [1000.0 + math.log(3)]]), np.array([[4.0], [9.0], [8.0]])
    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2]):
        O, _ = flash.flash_attention(Q, K[order], V[order], block=1)
        assert_close(O, [[7.0]], "float64")
        assert_close(flash_attention(*tensors([Q, K[order], V[order]]), block=1), [[7.0]], "float64")


@pytest.mark.parametrize(
    ("dtype", "kind"), [(np.float32, "float32"), (np.float16, "float16"), (np.float64, "float64")]
)
def test_each_precision_comes_back_as_it_went_in(arrays, dtype, kind, rng):
    low = [array.astype(dtype) for array in arrays]
    O, cache = flash.flash_attention(*low, causal=True, block=4)
    wide = [array.astype(np.float64) for array in low]
    exact, kept = scaled_dot_product_attention(*wide, visible(None, True))
    dO = rng.normal(size=O.shape).astype(dtype)
    found = O, *flash.flash_attention_backward(dO, cache)
    expected = exact, *scaled_dot_product_attention_backward(dO.astype(np.float64), kept)
    leaves = tensors(low, requires_grad=True)
    Y = flash_attention(*leaves, causal=True, block=4)
    by_torch = Y, *torch.autograd.grad(Y, leaves, torch.tensor(dO))
    for one, twin, right in zip(found, by_torch, expected, strict=True):
        assert one.dtype == dtype and twin.dtype == Y.dtype == torch.tensor(low[0]).dtype
        assert_close(one.astype(np.float64), right, kind)
        assert_close(twin.double(), right, kind)


# ---- What PyTorch offers to do with a function ----------------------------------------------------------------------


def test_half_precision_and_autocast_sum_in_float32():
    """A thousand equal weights: a sum in bfloat16 stops growing at 256 ones, and the mean would be wrong."""
    draw = torch.Generator().manual_seed(0)
    Q, K = torch.zeros(3, 5), torch.randn(1000, 5, generator=draw)
    V = torch.rand(1000, 7, generator=draw)
    exact = V.bfloat16().double().mean(dim=0).expand(3, 7)
    for block in (1, 16, 128):
        low = flash_attention(Q.bfloat16(), K.bfloat16(), V.bfloat16(), block=block)
        assert low.dtype == torch.bfloat16
        np.testing.assert_allclose(low.double(), exact, rtol=2**-8)  # one rounding, that of the output
        with torch.autocast("cpu", dtype=torch.bfloat16):
            leaves = [X.clone().requires_grad_() for X in (Q, K, V)]
            within = flash_attention(*leaves, block=block)
            assert torch.equal(within, low) and F.scaled_dot_product_attention(Q, K, V).dtype == low.dtype
        within.float().sum().backward()
        assert all(leaf.grad.dtype == torch.float32 for leaf in leaves)
        np.testing.assert_allclose(leaves[2].grad, np.full((1000, 7), 3 / 1000), rtol=2**-8)


def leaves_and_mask():
    draw = torch.Generator().manual_seed(0)
    shapes = (B, H, M, D_K), (B, H, N, D_K), (B, H, N, D_V)
    leaves = [torch.randn(s, generator=draw, dtype=torch.float64, requires_grad=True) for s in shapes]
    return leaves, torch.rand(H, M, N, generator=draw) < 0.6


def plain(Q, K, V, mask):
    return attend(scaled_dot_scores(Q, K), V, mask & torch.ones_like(mask).tril(N - M))


def tiled(Q, K, V, mask):
    return flash_attention(Q, K, V, mask=mask, causal=True, block=4)


def same(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        assert_close(one.detach(), other.detach(), "float64")


@pytest.mark.traced
@pytest.mark.parametrize("whole", [True, False], ids=["compiled", "exported"])
def test_it_compiles_and_exports_as_one_operator(whole):
    leaves, mask = leaves_and_mask()
    if whole:
        torch._dynamo.reset()
        program = torch.compile(tiled, fullgraph=True, backend="aot_eager")
    else:
        module = torch.nn.Module()
        module.forward = tiled
        exported = torch.export.export(module, (*leaves, mask))
        assert [node.target for node in exported.graph.nodes if "flash" in str(node.target)] == [
            torch.ops.attnlib.flash_forward.default
        ]
        program = exported.module()
    O, exact = program(*leaves, mask), plain(*leaves, mask)
    same([O], [exact])
    dO = torch.randn(O.shape, generator=torch.Generator().manual_seed(1), dtype=O.dtype)
    if whole:
        same(torch.autograd.grad(O, leaves, dO), torch.autograd.grad(exact, leaves, dO))


def test_vmap_and_gradients_of_functions_map_over_it():
    leaves, mask = leaves_and_mask()
    exact = plain(*leaves, mask)
    for axis in (0, 1):
        of_mask = 0 if axis == 1 else None
        mapped = torch.vmap(tiled, in_dims=(axis, axis, axis, of_mask), out_dims=axis)
        same([mapped(*leaves, mask)], [exact])
    shared = torch.vmap(tiled, in_dims=(0, None, None, None))(leaves[0], leaves[1][0], leaves[2][0], mask)
    same([shared[1]], [plain(leaves[0][1], leaves[1][0], leaves[2][0], mask)])

    def loss(program):
        return lambda *given: (program(*given) ** 2).sum()

    ours, theirs = (torch.func.grad(loss(program), argnums=(0, 1, 2)) for program in (tiled, plain))
    right = theirs(*leaves, mask)
    same(ours(*leaves, mask), right)
    same(torch.vmap(ours, in_dims=(0, 0, 0, None))(*leaves, mask), right)


def test_a_second_derivative_gets_one_sentence():
    leaves, mask = leaves_and_mask()
    (slope,) = torch.autograd.grad((tiled(*leaves, mask) ** 2).sum(), leaves[0], create_graph=True)
    sentence = (
        r"flash_attention: its gradient must not be differentiated again; got a second derivative. Use `att"
    )
    with pytest.raises(NotImplementedError, match=sentence):
        slope.sum().backward()


def test_on_the_meta_device_it_has_shapes_only():
    leaves, mask = leaves_and_mask()
    O = tiled(*(X.to("meta") for X in leaves), mask.to("meta"))
    assert O.is_meta and O.shape == (B, H, M, D_V) and O.dtype == torch.float64


def test_the_operators_keep_what_pytorch_demands_of_operators():
    leaves, mask = leaves_and_mask()
    given = [X.detach() for X in leaves]
    O, lam = torch.ops.attnlib.flash_forward(*given, mask, True, 4)
    for operator, arguments in (
        (torch.ops.attnlib.flash_forward.default, (*given, mask, True, 4)),
        (torch.ops.attnlib.flash_backward.default, (O, *given, O, lam, mask, True, 4)),
    ):
        found = torch.library.opcheck(operator, arguments, test_utils=("test_schema", "test_faketensor"))
        assert set(found.values()) == {"SUCCESS"}


def test_an_empty_batch_passes_and_strides_do_not_matter():
    X = torch.zeros(0, 3, 8, requires_grad=True)
    flash_attention(X, X, X).sum().backward()
    assert X.grad.shape == X.shape
    leaves, mask = leaves_and_mask()
    turned = [X.detach().transpose(1, 2).contiguous().transpose(1, 2).requires_grad_() for X in leaves]
    O, exact = tiled(*turned, mask), plain(*leaves, mask)
    same([O], [exact])
    same(torch.autograd.grad(O.sum(), turned), torch.autograd.grad(exact.sum(), leaves))


# ---- Bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.bad_input
@pytest.mark.parametrize("module", [flash, nn_flash], ids=["reference", "nn"])
def test_wrong_calls_get_one_clear_sentence_from_both_twins(module):
    def zeros(*shape):
        return np.zeros(shape) if module is flash else torch.zeros(shape, dtype=torch.float64)

    Q, K, V = zeros(3, 7), zeros(5, 7), zeros(5, 2)
    for wrong, kind, sentence in (
        ({"block": 0}, ValueError, "flash_attention: block must be at least 1; got block=0."),
        ({"block": 2.5}, TypeError, "block must be an integer; got float."),
        ({"causal": "yes"}, TypeError, "causal must be a bool; got str."),
        ({"mask": zeros(3, 5)}, TypeError, "mask must be boolean with True = may look; got float64."),
        ({"mask": zeros(5, 3) == 0}, ValueError, r"must broadcast to the shape of the scores \(3, 5\)"),
    ):
        with pytest.raises(kind, match=sentence):
            module.flash_attention(Q, K, V, **wrong)
    with pytest.raises(ValueError, match="queries and keys must have the same width d_k"):
        module.flash_attention(Q, zeros(5, 6), V)


@pytest.mark.bad_input
def test_nan_is_refused_where_it_would_count():
    Q, K, V = np.ones((2, 2)), np.ones((3, 2)), np.ones((3, 2))
    K[2] = math.nan
    with pytest.raises(
        ValueError, match="flash_attention: scores must be finite or -inf; got 2 NaN or [+]inf"
    ):
        flash.flash_attention(Q, K, V)
    O, _ = flash.flash_attention(Q, K, V, mask=np.array([[True, True, False]]), block=2)
    assert_close(O, np.ones((2, 2)), "float64")
    V[1] = math.inf
    with pytest.raises(
        ValueError, match="flash_attention: V must be finite; got 2 NaN or infinite entries in V"
    ):
        flash.flash_attention(Q, Q, V[:2])


# ---- Work and memory ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", [flash, nn_flash], ids=["reference", "nn"])
def test_tiles_that_are_masked_entirely_are_left_out(module, monkeypatch, rng):
    """Of 8 by 8 tiles a causal call computes the 36 up to the diagonal, a window of one tile the 15 that it meets."""
    computed, scores = [], module._scores
    monkeypatch.setattr(module, "_scores", lambda *given: (computed.append(1), scores(*given))[1])
    arrays = [rng.normal(size=(32, d)) for d in (D_K, D_K, D_V)]
    i, j = np.arange(32)[:, None], np.arange(32)
    window = (j <= i) & (i - 4 <= j)

    def count(**options):
        computed.clear()
        given = arrays if module is flash else tensors(arrays, requires_grad=True)
        found = module.flash_attention(*given, block=4, **options)
        forward = len(computed)
        if module is flash:
            flash.flash_attention_backward(np.ones_like(found[0]), found[1])
        else:
            found.sum().backward()
        assert len(computed) == 2 * forward
        return forward

    assert count() == 64 and count(causal=True) == 36
    assert count(mask=window if module is flash else torch.tensor(window)) == 15


def working_memory(n, block):
    """Peak in bytes beyond the inputs, of forward and backward in NumPy."""
    arrays = np.random.default_rng(0).normal(size=(3, n, 8))
    gc.collect()  # what others have left is not freed in between
    tracemalloc.start()
    O, cache = flash.flash_attention(*arrays, block=block)
    flash.flash_attention_backward(O, cache)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.timing  # results are not checked meanwhile, which would allocate
def test_memory_in_numpy_grows_with_the_length():
    peaks = [min(working_memory(n, block=16) for _ in range(3)) for n in (128, 256, 512, 1024)]
    assert all(after <= 2.2 * before for before, after in zip(peaks, peaks[1:], strict=False))
    assert peaks[-1] < 1024**2  # a byte for each pair would be more
    arrays = np.random.default_rng(0).normal(size=(3, 1024, 8))
    tracemalloc.start()
    scaled_dot_product_attention(*arrays)
    dense = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert dense > 8 * 1024**2 > 10 * peaks[-1]


def test_pytorch_keeps_what_grows_with_the_length():
    sizes = (128, 256, 512, 1024)
    for name in ("tiles", "tiles, causal"):
        kept = [kept_bytes(PROGRAMS[name], n) for n in sizes]
        inputs_output_and_lambda = [4 * flash_memory.HEADS * n * (4 * flash_memory.WIDTH + 1) for n in sizes]
        assert kept == inputs_output_and_lambda
    dense = [kept_bytes(PROGRAMS["all weights"], n) for n in sizes]
    assert all(bytes_ >= 4 * flash_memory.HEADS * n**2 for bytes_, n in zip(dense, sizes, strict=True))


def test_the_stored_peaks_grow_with_the_length_in_tiles_and_with_its_square_otherwise():
    stored = load_result("flash-memory")
    assert tuple(stored["n"]) == SIZES and set(stored["peak_bytes"]) == set(KINDS)
    for peaks, fitted in (("peak_bytes", "exponent"), ("kept_bytes", "exponent_of_kept")):
        for kind, found in stored[peaks].items():
            assert stored[fitted][kind] == exponent(found)
            # below 2, because a short text of 512 tokens also has queries, keys and values
            assert stored[fitted][kind] < 1.1 if "tiles" in kind else stored[fitted][kind] > 1.7, kind
    most = stored["peak_bytes"]["all weights"][-1]
    assert most > stored["bytes_of_the_weights"][-1]
    assert all(stored["peak_bytes"][kind][-1] < most / 15 for kind in KINDS[1:])


# ---- Mistakes that the comparisons above must notice ----------------------------------------------------------------

FORGOTTEN = {
    "the rescaling of the sum": ("total = shrink * total +", "total = total +"),
    "the rescaling of the output": ("summed = shrink * summed +", "summed = summed +"),
    "the output in dS": (" - own[..., a, :]", ""),
    "lambda": (".sub_(base[..., a, :])", ""),
    "the scale of dQ and dK": (".mul_(scale)", ""),
    "that tiles add up": ("dK[..., b, :] += ", "dK[..., b, :] = "),
    "the diagonal": ("and keys.stop - 1 > first:", "and False:"),
    "where the last query is": ("ahead = n - m", "ahead = 0"),
    "the mask": ("return S if seen is None else S.masked_fill(~seen, -math.inf)", "return S"),
}


@pytest.mark.parametrize("what", FORGOTTEN)
def test_what_could_be_forgotten_would_be_seen(what, arrays, rng, tmp_path, monkeypatch):
    old, new = FORGOTTEN[what]
    source = Path(nn_flash.__file__).read_text()
    assert old in source
    source = re.sub(r"attnlib::flash_(\w+)", r"broken::flash_\1", source.replace(old, new))
    (tmp_path / "broken_flash.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("test_flash.flash_attention", importlib.import_module("broken_flash").flash_attention)
    try:
        with pytest.raises((AssertionError, ValueError)):
            same_as_dense(arrays, masks(rng)["all pairs"], True, 4, rng.normal(size=(B, H, M, D_V)))
    finally:
        importlib.sys.modules.pop("broken_flash")

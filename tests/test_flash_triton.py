"""The Triton programs compute what the loops over tiles do (book: memory).

On a GPU they run compiled. Elsewhere Triton's interpreter runs them on the CPU, and a compiler without a GPU shows that
they compile. Without Triton only their calls are tested.
"""

import math
import os
import subprocess
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import nbformat
import pytest
import torch

ON_A_GPU = torch.cuda.is_available()
if not ON_A_GPU:
    os.environ.setdefault("TRITON_INTERPRET", "1")  # before Triton is loaded

from attnlib.nn import flash, flash_triton, patterns  # noqa: E402
from attnlib.nn.flash import flash_attention  # noqa: E402
from attnlib.nn.tiles import EMPTY, block_mask  # noqa: E402
from attnlib.testing import assert_close  # noqa: E402

DEVICE = "cuda" if ON_A_GPU else "cpu"
M, N, D_K, D_V = 37, 53, 5, 19  # no multiple of a tile, nor a power of two
needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="needs Triton")
KINDS = [(torch.float32, "float32"), (torch.float16, "float16")]
if ON_A_GPU:  # the interpreter multiplies the bits of bfloat16 as if they were integers
    KINDS.append((torch.bfloat16, "bfloat16"))


def drawn(*shape, seed=0, dtype=torch.float32):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(DEVICE, dtype)


def cases():
    draw = torch.Generator().manual_seed(0)
    some = torch.rand(2, 3, M, N, generator=draw) < 0.5
    some[0, 1, 7] = False
    tiles = torch.ones(M, N, dtype=torch.bool)
    tiles[:20, :33] = False
    yield "no axis before", (), None, False, (M, N)
    yield "causal", (2,), None, True, (M, N)
    yield "more queries than keys, causal", (2,), None, True, (N, M)
    yield "one query", (2, 1), None, True, (1, N)
    yield "all pairs", (2, 3), some, False, (M, N)
    yield "for each head, causal", (2, 3), some[:1], True, (M, N)
    yield "for each text", (2, 3), some[:, :1], False, (M, N)
    yield "of keys", (2, 3), some[:, :1, :1], False, (M, N)
    yield "of queries", (2, 3), some[..., :1], False, (M, N)
    yield "whole tiles, and a query that may look nowhere", (2,), tiles & some[0, 1], False, (M, N)
    yield "row", (), some[0, 0, 0], True, (M, N)


def given(batch, sizes, dtype):
    m, n = sizes
    return [
        drawn(*batch, *shape, seed=seed, dtype=dtype)
        for seed, shape in enumerate([(m, D_V), (m, D_K), (n, D_K), (n, D_V)])
    ]


@needs_triton
@pytest.mark.parametrize(("dtype", "kind"), KINDS, ids=[kind for _, kind in KINDS])
@pytest.mark.parametrize(
    ("batch", "mask", "causal", "sizes"), [c[1:] for c in cases()], ids=[c[0] for c in cases()]
)
def test_the_programs_compute_what_the_tiles_do(batch, mask, causal, sizes, dtype, kind):
    dO, *arrays = given(batch, sizes, dtype)
    mask = None if mask is None else mask.to(DEVICE)
    O, lam = flash_triton._forward(*arrays, mask, causal, 16)
    exact, exact_lam = flash._forward_in_tiles(*arrays, mask, causal, 16)
    assert O.dtype == dtype and lam.dtype == torch.float32
    assert_close(O, exact, kind)
    assert torch.equal(lam.isinf(), exact_lam.isinf()) and not O[lam.isinf()].any()
    assert_close(lam.nan_to_num(neginf=0.0), exact_lam.nan_to_num(neginf=0.0), "float32")
    found = flash_triton._backward(dO, *arrays, O, lam, mask, causal, 16)
    expected = flash._backward_in_tiles(dO, *arrays, exact, exact_lam, mask, causal, 16)
    for one, other in zip(found, expected, strict=True):
        scale = max(1.0, float(other.abs().max()))
        assert one.dtype == dtype
        assert_close(one.float() / scale, other.float() / scale, kind)


@needs_triton
def test_the_function_calls_them_and_block_sizes_do_not_matter(monkeypatch):
    dO, *arrays = given((2,), (M, N), torch.float32)
    leaves = [X.requires_grad_() for X in arrays]
    exact = flash_attention(*(X.double() for X in leaves), causal=True)
    right = torch.autograd.grad(exact, leaves, dO.double())
    monkeypatch.setattr(flash, "_on_a_gpu", lambda Q, V, masks: flash_triton)
    monkeypatch.setattr(flash, "_forward_in_tiles", None)  # it would be an error to call them now
    monkeypatch.setattr(flash, "_backward_in_tiles", None)
    for block in (16, 32):
        O = flash_attention(*leaves, causal=True, block=block)
        assert_close(O.double(), exact, "float32")
        for one, other in zip(torch.autograd.grad(O, leaves, dO), right, strict=True):
            assert_close(one, other, "float32")


# ---- Patterns in tiles (Chapter 6) -----------------------------------------------------------------------------------

RULES = {
    "window": patterns.window(20),
    "window on both sides": patterns.window(9, causal=False),
    "strided": patterns.strided(8),
    "global": patterns.either(patterns.window(5, causal=False), patterns.global_tokens((0, 40))),
    "causal": patterns.causal(),
    "blocks": patterns.blocks(16),
    "nothing for some": patterns.both(patterns.causal(), patterns.first(3)),
    "random blocks": patterns.random_blocks(16, per_row=1, seed=3, n=80),
}


@needs_triton
@pytest.mark.parametrize(("dtype", "kind"), KINDS, ids=[kind for _, kind in KINDS])
@pytest.mark.parametrize("side", [16, 32, 48])
@pytest.mark.parametrize("name", RULES)
def test_of_a_pattern_they_compute_what_the_loops_over_its_tiles_do(name, side, dtype, kind):
    dO, *arrays = given((2,), (M, N), dtype)
    tiles = block_mask(RULES[name], M, side, n_keys=N, device=DEVICE)
    assert flash_triton._constants(*arrays[::2], None, False, 128, tiles.masks)["BLOCK"] == side & -side
    O, lam = flash_triton._forward(*arrays, None, False, side, *tiles)
    exact, exact_lam = flash._forward_in_tiles(*arrays, None, False, side, *tiles)
    assert_close(O, exact, kind)
    assert torch.equal(lam.isinf(), exact_lam.isinf())
    assert_close(lam.nan_to_num(neginf=0.0), exact_lam.nan_to_num(neginf=0.0), "float32")
    found = flash_triton._backward(dO, *arrays, O, lam, None, False, side, *tiles)
    expected = flash._backward_in_tiles(dO, *arrays, exact, exact_lam, None, False, side, *tiles)
    for one, other in zip(found, expected, strict=True):
        scale = max(1.0, float(other.abs().max()))
        assert_close(one.float() / scale, other.float() / scale, kind)


@needs_triton
@pytest.mark.parametrize("causal", [False, True])
def test_tiles_go_together_with_a_mask_and_with_causal_in_them_too(causal):
    _, *arrays = given((2,), (M, N), torch.float32)
    mask = torch.rand(M, N, generator=torch.Generator().manual_seed(1)).to(DEVICE) < 0.7
    tiles = block_mask(RULES["window on both sides"], M, 16, n_keys=N, device=DEVICE)
    O, _ = flash_triton._forward(*arrays, mask, causal, 16, *tiles)
    assert_close(O, flash._forward_in_tiles(*arrays, mask, causal, 16, *tiles)[0], "float32")


@needs_triton
def test_empty_tiles_are_not_read():
    """The keys and the queries of empty tiles are not a number, which every product with them would be, too."""
    dO, Q, K, V = given((1,), (64, 64), torch.float32)
    rule = patterns.both(patterns.blocks(32), lambda query, key: query >= 32)
    tiles = block_mask(rule, 64, 32, device=DEVICE)
    assert tiles.empty.sum() == 3
    K[:, :32], V[:, :32] = torch.nan, torch.nan
    O, lam = flash_triton._forward(Q, K, V, None, False, 32, *tiles)
    assert O.isfinite().all() and not O[:, :32].any()
    dQ, dK, dV = flash_triton._backward(dO, Q, K, V, O, lam, None, False, 32, *tiles)
    assert all(X.isfinite().all() for X in (dQ, dK, dV)) and not dK[:, :32].any()


@needs_triton
def test_the_function_calls_them_for_a_pattern(monkeypatch):
    dO, *arrays = given((2, 2), (M, N), torch.float32)
    leaves = [X.requires_grad_() for X in arrays]
    tiles = block_mask(RULES["strided"], M, 32, n_keys=N, device=DEVICE)
    exact = flash_attention(*(X.double() for X in leaves), tiles=tiles)
    right = torch.autograd.grad(exact, leaves, dO.double())
    monkeypatch.setattr(flash, "_on_a_gpu", lambda Q, V, masks: flash_triton)
    monkeypatch.setattr(flash, "_forward_in_tiles", None)
    monkeypatch.setattr(flash, "_backward_in_tiles", None)
    O = flash_attention(*leaves, tiles=tiles)
    assert_close(O.double(), exact, "float32")
    for one, other in zip(torch.autograd.grad(O, leaves, dO), right, strict=True):
        assert_close(one, other, "float32")


@pytest.mark.parametrize("name", RULES)
def test_the_lists_hold_the_tiles_that_are_not_empty(name):
    number, masks = block_mask(RULES[name], M, 16, n_keys=N)
    begins, columns, kinds, bits = flash_triton._lists(number, masks, torch.device("cpu"))
    listed = torch.full_like(number, EMPTY)
    for a in range(len(number)):
        mine = slice(begins[a], begins[a + 1])
        listed[a, columns[mine]] = kinds[mine]
        assert (columns[mine].diff() > 0).all()
    assert torch.equal(listed, number) and torch.equal(bits.bool(), masks)
    assert begins[0] == 0 and begins[-1] == len(columns) == len(kinds) == (number != EMPTY).sum()


PAGE = next(Path(__file__).resolve().parent.parent.glob("book/06-*/*-tiles-become-a-kernel.ipynb"))
HEAD = "import triton.language as tl\nfrom triton import jit\nfrom triton.language import constexpr\n\n\n"


def kernel_of_the_page(folder):
    """The cell of the page with its kernel, in a file, from which Triton reads it."""
    cells = nbformat.read(PAGE, as_version=4).cells
    (source,) = [one.source for one in cells if one.cell_type == "code" and "def attend(" in one.source]
    file = folder / "kernel_of_the_page.py"
    file.write_text(HEAD + source, encoding="utf-8")
    spec = spec_from_file_location(file.stem, file)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.attend


@needs_triton
@pytest.mark.parametrize("name", ["window", "strided", "causal", "blocks"])
def test_the_kernel_that_the_page_shows_runs_in_triton(name, tmp_path):
    n, d, side = 96, 32, 16
    Q, K, V = (drawn(n, d, seed=seed) for seed in range(3))
    number, masks = block_mask(RULES[name], n, side, device=DEVICE)
    lists = flash_triton._lists(number, masks, Q.device)
    O = torch.zeros_like(V)
    kernel_of_the_page(tmp_path)[n // side,](Q, K, V, O, *lists, 1 / math.sqrt(d), d, side)
    mask = patterns.dense_mask(RULES[name], n, device=DEVICE)
    assert_close(O, torch.nn.functional.scaled_dot_product_attention(Q, K, V, attn_mask=mask), "float32")


@needs_triton
def test_what_is_not_stored_in_order_is_read_as_it_is():
    dO, Q, K, V = given((2, 3), (M, N), torch.float32)
    K, dO = (X.transpose(-1, -2).contiguous().transpose(-1, -2) for X in (K, dO))
    V = torch.cat([V, V], dim=-1)[..., ::2][..., : D_V - 1]
    dO = dO[..., : D_V - 1]
    O, lam = flash_triton._forward(Q, K, V, None, False, 16)
    exact, exact_lam = flash._forward_in_tiles(Q, K, V, None, False, 16)
    assert_close(O, exact, "float32")
    found = flash_triton._backward(dO, Q, K, V, O, lam, None, False, 16)
    for one, other in zip(
        found, flash._backward_in_tiles(dO, Q, K, V, exact, exact_lam, None, False, 16), strict=True
    ):
        assert_close(one, other, "float32")


COMPILING = """
import sys
import torch
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource, compile
from attnlib.nn import flash_triton
Q = torch.zeros(1, 1, 16, dtype=torch.float16)
masks = torch.zeros(3, 32, 32, dtype=torch.bool) if sys.argv[1] == "tiles" else None
constants = flash_triton._constants(Q, Q, Q > 0, True, 16, masks)
stages = constants.pop("num_stages")
types = {"lam": "*fp32", "own": "*fp32", "mask": "*u8", "mask_of": "*i64", "masks": "*u8", "scale": "fp32"}
types |= dict.fromkeys(("begins", "listed", "kinds"), "*i64")
types |= dict.fromkeys(("m", "n", "step_m", "step_n"), "i32") | dict.fromkeys(constants, "constexpr")
for name in ("_forward_kernel", "_backward_of_queries", "_backward_of_keys"):
    kernel = getattr(flash_triton, name)
    signature = {argument: types.get(argument, "*fp16") for argument in kernel.arg_names}
    made = compile(ASTSource(kernel, signature, constants), target=GPUTarget("cuda", 80, 32))
    assert made.metadata.shared <= 99 * 1024
    print(name, len(made.asm["cubin"]))
"""


@needs_triton
@pytest.mark.parametrize("which", ["all", "tiles"])
def test_they_compile_for_a_gpu_that_is_not_there(which, tmp_path):
    environment = {**os.environ, "TRITON_INTERPRET": "0", "TRITON_CACHE_DIR": str(tmp_path)}
    here = Path(__file__).resolve().parent.parent
    done = subprocess.run(
        [sys.executable, "-c", COMPILING, which], env=environment, cwd=here, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3


# ---- Their calls ----------------------------------------------------------------------------------------------------


def test_on_the_cpu_nothing_of_triton_is_loaded():
    assert flash._on_a_gpu(torch.zeros(2, 3), torch.zeros(2, 3)) is None
    code = "import attnlib.nn.flash as f, sys; print('triton' in sys.modules, f.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False attnlib.nn.flash\n"


def test_they_are_used_for_the_precisions_and_widths_that_they_are_written_for(monkeypatch):
    X = torch.zeros(2, 64)
    monkeypatch.setattr(flash_triton, "triton", None)
    assert not flash_triton._usable(X, X)
    monkeypatch.setattr(flash_triton, "triton", object())
    assert all(flash_triton._usable(X.to(dtype), X) for dtype, _ in KINDS)
    assert not flash_triton._usable(X.double(), X.double())
    assert not flash_triton._usable(X, torch.zeros(2, 257)) and flash_triton._usable(X, torch.zeros(2, 256))
    sides = {side: flash_triton._usable(X, X, torch.zeros(2, side, side)) for side in (8, 16, 40, 48, 128)}
    assert sides == {8: False, 16: True, 40: False, 48: True, 128: True}


@pytest.mark.parametrize(
    ("block", "widest", "dtype", "edge"),
    [
        (128, 64, torch.float16, 64),
        (128, 128, torch.bfloat16, 64),
        (128, 256, torch.float16, 32),
        (128, 64, torch.float32, 32),
        (128, 256, torch.float32, 16),
        (33, 64, torch.float16, 32),
        (1, 64, torch.float16, 16),
    ],
)
def test_the_edge_of_a_tile_is_a_power_of_two_that_fits(block, widest, dtype, edge):
    assert flash_triton._edge(block, widest, dtype) == edge


@pytest.mark.parametrize("axes", [(2, 3, 5, 7), (3, 5, 7), (1, 3, 1, 7), (2, 1, 5, 1), (5, 7), (7,), ()])
def test_each_batch_entry_finds_its_part_of_the_mask(axes):
    mask = torch.rand(axes, generator=torch.Generator().manual_seed(0)) < 0.5
    stored, begins, step_m, step_n = flash_triton._flat_mask(mask, torch.zeros(2, 3, 5, 4))
    b, i, j = torch.meshgrid(torch.arange(6), torch.arange(5), torch.arange(7), indexing="ij")
    found = stored.reshape(-1)[begins[b] + i * step_m + j * step_n].bool()
    assert torch.equal(found.reshape(2, 3, 5, 7), mask.broadcast_to(2, 3, 5, 7))

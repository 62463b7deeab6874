"""The two blocks that the page on the block of today writes are those of Hugging Face's GPT-2 and Qwen3."""

from functools import partial
from pathlib import Path

import nbformat
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from attnlib.models.block_counts import BlockChoices, kept, multiplications, parameters

PAGE = Path(__file__).resolve().parent.parent / "book" / "04-transformer" / "5-the-block-of-today.ipynb"
N, D, HEADS, GROUPS, D_K, HIDDEN = 7, 24, 4, 2, 10, 13


@pytest.fixture(scope="module")
def page():
    """The classes and functions of the page, by name."""
    names = {"nn": nn, "F": F, "torch": torch, "partial": partial}
    for cell in nbformat.read(PAGE, 4).cells:
        if cell.cell_type == "code" and any(
            f"\n{line}" in f"\n{cell.source}" for line in ("class ", "def rotated", "def costs")
        ):
            exec(cell.source.partition("\n\n\ntorch.")[0], names)
    return names


def random(module):
    """The module with random parameters, gains and shifts too."""
    with torch.no_grad():
        for W in module.parameters():
            W.normal_(std=0.5)
    return module.eval()


def test_gpt2s_block_is_that_of_hugging_face(page):
    from transformers import GPT2Config
    from transformers.models.gpt2.modeling_gpt2 import GPT2Block

    config = GPT2Config(n_embd=D, n_head=HEADS, n_layer=1, attn_implementation="eager")
    theirs, ours = random(GPT2Block(config, layer_idx=0)), page["GPT2Block"](d=D, n_heads=HEADS)
    pairs = zip(
        (ours.W_Q, ours.W_K, ours.W_V),
        *(A.chunk(3, -1) for A in theirs.attn.c_attn.parameters()),
        strict=True,
    )
    maps = [*pairs, *((W, *theirs_W.parameters()) for W, theirs_W in (
        (ours.W_O, theirs.attn.c_proj), (ours.W_1, theirs.mlp.c_fc), (ours.W_2, theirs.mlp.c_proj)))]  # fmt: skip
    with torch.no_grad():
        for W, weight, bias in maps:
            W.weight.copy_(weight.T)
            W.bias.copy_(bias)
        ours.norm_1.load_state_dict(theirs.ln_1.state_dict())
        ours.norm_2.load_state_dict(theirs.ln_2.state_dict())
        X = torch.randn(1, N, D)
        mask = torch.full((N, N), float("-inf")).triu(1)[None, None]
        found = theirs(X, attention_mask=mask)
        torch.testing.assert_close(ours(X), found[0] if isinstance(found, tuple) else found)


def test_qwen3s_block_is_that_of_hugging_face(page):
    from transformers import Qwen3Config
    from transformers.models.qwen3.modeling_qwen3 import Qwen3DecoderLayer, Qwen3RotaryEmbedding

    config = Qwen3Config(
        hidden_size=D, num_attention_heads=HEADS, num_key_value_heads=GROUPS, head_dim=D_K, intermediate_size=HIDDEN,
        num_hidden_layers=1, rope_parameters={"rope_type": "default", "rope_theta": 1_000_000.0},
        attn_implementation="eager",
    )  # fmt: skip
    theirs = random(Qwen3DecoderLayer(config, layer_idx=0))
    ours = page["Qwen3Block"](d=D, n_heads=HEADS, n_kv_heads=GROUPS, d_k=D_K, d_hidden=HIDDEN)
    a, m = theirs.self_attn, theirs.mlp
    modules = {
        "norm_1": theirs.input_layernorm, "norm_2": theirs.post_attention_layernorm, "norm_Q": a.q_norm,
        "norm_K": a.k_norm, "W_Q": a.q_proj, "W_K": a.k_proj, "W_V": a.v_proj, "W_O": a.o_proj, "W_G": m.gate_proj,
        "W_1": m.up_proj, "W_2": m.down_proj,
    }  # fmt: skip
    assert set(modules) == {name for name, _ in ours.named_children()}
    for name, module in modules.items():
        getattr(ours, name).load_state_dict(module.state_dict())
    X = torch.randn(1, N, D)
    with torch.no_grad():
        angles = Qwen3RotaryEmbedding(config)(X, torch.arange(N)[None])
        mask = torch.full((N, N), float("-inf")).triu(1)[None, None]
        found = theirs(X, attention_mask=mask, position_embeddings=angles)
        torch.testing.assert_close(ours(X), found[0] if isinstance(found, tuple) else found)


def test_the_page_counts_what_the_package_counts(page):
    """Its three costs are read off the block's matrices; `block_counts` has a formula for each."""
    sizes = {"n_heads": HEADS, "n_kv_heads": GROUPS, "d_k": D_K, "d_hidden": HIDDEN}
    today = BlockChoices(d_model=D, **sizes, gated=True, shift=False, bias=False, qk_norm="each head")
    old = BlockChoices(d_model=D, n_heads=HEADS, n_kv_heads=HEADS, d_k=D // HEADS, d_hidden=4 * D)
    for block, choices in (
        (page["Qwen3Block"](d=D, **sizes), today),
        (page["GPT2Block"](d=D, n_heads=HEADS), old),
    ):
        learned, memory, work = page["costs"](block, n=N)
        assert learned == pytest.approx(sum(parameters(choices).values()) / 1e6)
        assert memory == 2 * kept(choices)
        assert work == pytest.approx(multiplications(choices, N) / 1e6)

"""Latent keys and values: expanded equals absorbed, the twin, DeepSeek-V3's own class, and what a cache holds."""

import numpy as np
import pytest
import torch

from attnlib.nn.cache import KVCache
from attnlib.nn.latent import LatentAttention
from attnlib.nn.positional import Rotary, rotary
from attnlib.reference.latent import (
    LatentParameters,
    latent_attention,
    latent_attention_absorbed,
    latent_attention_backward,
    latents,
    latents_backward,
)
from attnlib.reference.masks import causal_mask
from attnlib.testing import assert_close, check_gradients, check_twin

B, N, H, D, D_LATENT, D_ROTATED, D_K, D_V, D_QUERY = 2, 5, 3, 13, 7, 4, 6, 11, 17


def random_parameters(rng, h=H, d=D, d_latent=D_LATENT, d_rotated=D_ROTATED, d_k=D_K, d_v=D_V):
    shapes = [
        (d, h * d_k), (d, h * d_rotated), (d, d_latent), (d, d_rotated), (d_latent,),
        (d_latent, h * d_k), (d_latent, h * d_v), (h * d_v, d),
    ]  # fmt: skip
    return LatentParameters(*(rng.normal(size=shape) / np.sqrt(shape[0]) for shape in shapes))


def module(**more):
    sizes = {"d_model": D, "n_heads": H, "d_latent": D_LATENT, "d_rotated": D_ROTATED, "d_k": D_K, "d_v": D_V}
    return LatentAttention(**{**sizes, "causal": True, **more})


@pytest.mark.parametrize("masked", [False, True])
def test_absorbed_is_expanded(rng, masked):
    """The sentence of the page: the same output, to rounding; no key and no value is made."""
    X, parameters = rng.normal(size=(B, N, D)), random_parameters(rng)
    mask = causal_mask(N) if masked else None
    Y, _ = latent_attention(X, parameters, H, mask)
    np.testing.assert_allclose(latent_attention_absorbed(X, parameters, H, mask), Y, rtol=0, atol=1e-12)
    assert np.abs(Y).max() > 0.1


@pytest.mark.parametrize(("dtype", "most"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
@pytest.mark.parametrize("d_query", [None, D_QUERY])
def test_the_absorbed_module_is_the_expanded_one_with_a_cache_and_without(dtype, most, d_query):
    torch.manual_seed(0)
    layer, X = module(d_query=d_query).to(dtype), torch.randn(B, N, D, dtype=dtype)
    rotate = Rotary(D_ROTATED, context=N, layout="neighbours").to(dtype)
    with torch.no_grad():
        whole = layer(X, rotate=rotate)
        assert (layer.absorbed(X, rotate=rotate) - whole).abs().max() < most
        for step in (layer, layer.absorbed):
            cache = KVCache()
            parts = [step(part, rotate=rotate, kv_cache=cache) for part in X.split([2, 1, 1, 1], dim=1)]
            assert (torch.cat(parts, dim=1) - whole).abs().max() < most
            assert cache.nbytes == B * N * (D_LATENT + D_ROTATED) * X.element_size()


def test_the_backward_is_the_gradient(rng):
    X, parameters = rng.normal(size=(2, 3, 5)), random_parameters(rng, 2, 5, 3, 2, 2, 3)

    def forward(X, *parameters):
        return latent_attention(X, LatentParameters(*parameters), 2, causal_mask(3))

    def backward(dY, cache):
        dX, gradients = latent_attention_backward(dY, cache)
        return dX, *gradients

    check_gradients(forward, backward, [X, *parameters], rng)


def test_the_latents_and_their_backward(rng):
    """Both outputs, one after the other: their gradients add up."""
    X, parameters = rng.normal(size=(2, 3, 5)), random_parameters(rng, 2, 5, 3, 2, 2, 3)

    def forward(X, W_C, W_R, gain):
        C, R, cache = latents(X, parameters._replace(W_C=W_C, W_R=W_R, gain=gain))
        return np.concatenate([C, R], axis=-1), cache

    def backward(dY, cache):
        return latents_backward(dY[..., :3], dY[..., 3:], cache)

    check_gradients(forward, backward, [X, parameters.W_C, parameters.W_R, parameters.gain], rng)


def test_the_module_equals_the_reference_and_so_do_its_gradients(rng):
    parameters = random_parameters(rng)
    layer = module(norm=lambda d: torch.nn.RMSNorm(d, eps=1e-5)).double()
    layer.gain = layer.norm_C.weight  # the name that the reference gives it
    positions = torch.arange(N, dtype=torch.float64)
    check_twin(
        lambda X, parameters: latent_attention(X, parameters, H, causal_mask(N)),
        latent_attention_backward,
        lambda X: layer(X, rotate=lambda A, first: rotary(A, positions)),
        [rng.normal(size=(B, N, D))],
        rng,
        parameters,
        layer,
    )


def test_what_comes_later_is_not_seen_and_rotation_shifts_nothing(rng):
    X, parameters = rng.normal(size=(N, D)), random_parameters(rng)
    Y, cache = latent_attention(X, parameters, H, causal_mask(N))
    other = X.copy()
    other[3:] += 1
    assert np.array_equal(latent_attention(other, parameters, H, causal_mask(N))[0][:3], Y[:3])
    assert_close(cache.P.sum(axis=-1), np.ones((H, N)), "float64")


@pytest.mark.parametrize("d_query", [None, D_QUERY])
@pytest.mark.parametrize("interleave", [True, False])
def test_it_is_the_attention_of_deepseek_v3(d_query, interleave):
    """Their class with random parameters: our maps are slices of theirs."""
    import transformers
    from transformers.models.deepseek_v3.modeling_deepseek_v3 import (
        DeepseekV3Attention,
        DeepseekV3RotaryEmbedding,
    )

    torch.manual_seed(0)
    config = transformers.DeepseekV3Config(
        hidden_size=D, num_attention_heads=H, num_key_value_heads=H, q_lora_rank=d_query, kv_lora_rank=D_LATENT,
        qk_rope_head_dim=D_ROTATED, qk_nope_head_dim=D_K, v_head_dim=D_V, rope_interleave=interleave,
        max_position_embeddings=32, attn_implementation="eager",
    )  # fmt: skip
    theirs = DeepseekV3Attention(config, layer_idx=0).eval()
    ours = module(d_query=d_query, norm=lambda d: torch.nn.RMSNorm(d, eps=1e-6)).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.copy_(torch.randn_like(parameter) / parameter.shape[-1] ** 0.5)
        last = theirs.q_proj if d_query is None else theirs.q_b_proj
        plain, turned = last.weight.view(H, D_K + D_ROTATED, -1).split([D_K, D_ROTATED], dim=1)
        if d_query is not None:
            ours.query[0].weight.copy_(theirs.q_a_proj.weight)
            ours.query[1].weight.copy_(theirs.q_a_layernorm.weight)
        down, rotated = theirs.kv_a_proj_with_mqa.weight.split([D_LATENT, D_ROTATED])
        up = theirs.kv_b_proj.weight.view(H, D_K + D_V, D_LATENT)
        pairs = {
            ours.W_Q: plain.flatten(0, 1), ours.W_QR: turned.flatten(0, 1), ours.W_C: down, ours.W_R: rotated,
            ours.W_K: up[:, :D_K].flatten(0, 1), ours.W_V: up[:, D_K:].flatten(0, 1),
            ours.norm_C: theirs.kv_a_layernorm.weight, ours.W_O: theirs.o_proj.weight,
        }  # fmt: skip
        for mine, W in pairs.items():
            mine.weight.copy_(W)
        X = torch.randn(B, N, D)
        positions = DeepseekV3RotaryEmbedding(config)(X, torch.arange(N)[None])
        hidden = torch.full((N, N), float("-inf")).triu(1)[None, None]
        expected, _ = theirs(X, position_embeddings=positions, attention_mask=hidden)
        rotate = Rotary(D_ROTATED, context=N, layout="neighbours" if interleave else "halves")
        for found in (ours(X, rotate=rotate), ours.absorbed(X, rotate=rotate)):
            assert (found - expected).abs().max() < 1e-6
        assert expected.abs().max() > 0.1
        wrong = Rotary(D_ROTATED, context=N, layout="halves" if interleave else "neighbours")
        assert (ours(X, rotate=wrong) - expected).abs().max() > 1e-3


@pytest.mark.bad_input
def test_wrong_sizes_and_dtypes_are_refused_in_one_sentence(rng):
    with pytest.raises(
        ValueError, match="LatentAttention: d_model must split evenly into n_heads; got d_model=13"
    ):
        LatentAttention(d_model=D, n_heads=H, d_latent=2, d_rotated=2)
    with pytest.raises(TypeError, match="LatentAttention: all arrays must have the same dtype"):
        module()(torch.zeros(N, D, dtype=torch.float64))
    parameters = random_parameters(rng)
    with pytest.raises(ValueError, match="d_latent"):
        latent_attention(rng.normal(size=(N, D)), parameters._replace(W_K=parameters.W_K[1:]), H)

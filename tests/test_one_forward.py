"""Training, prefill and step are one path, in which scores are added to, queries turned and normed, weights dropped."""

import math

import pytest
import torch
from torch import nn

from attnlib.nn.attention import fused_attention
from attnlib.nn.cache import KVCache
from attnlib.nn.masks import causal_mask
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.testing import assert_close

B, N, M, H, G, D_K, D_V, D = 2, 7, 5, 6, 3, 4, 11, 13


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def layer(**options):
    torch.manual_seed(0)
    return MultiHeadAttention(**{"d_model": D, "n_heads": H, "d_k": D_K} | options).double()


def rotated(A, first):
    """Rotary positions: each pair of numbers is turned by an angle that grows with the position."""
    t = torch.arange(first, first + A.shape[-2], dtype=A.dtype, device=A.device)[:, None]
    angle = t / 100 ** (torch.arange(0, A.shape[-1], 2, device=A.device) / A.shape[-1])
    a, b = A[..., 0::2], A[..., 1::2]
    turned = a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()
    return torch.stack(turned, dim=-1).flatten(-2).to(A.dtype)


def alibi(m, n):
    """Each head subtracts the distance to the key, times a slope of its own."""
    slopes = 2.0 ** -torch.arange(1, H + 1).double()
    return slopes[:, None, None] * (torch.arange(n) - torch.arange(n - m, n)[:, None])


def by_formula(module, X, source=None, mask=None, bias=None, rotate=None):
    """The same layer with its parameters written out, one head after the other."""
    source = X if source is None else source
    Q, K, V = (
        W(A).unflatten(-1, (-1, d))
        for W, A, d in (
            (module.W_Q, X, module.d_k),
            (module.W_K, source, module.d_k),
            (module.W_V, source, module.d_v),
        )
    )
    outputs = []
    for h in range(module.n_heads):
        g = h // (module.n_heads // module.n_kv_heads)
        q, k = module.norm_Q(Q[..., h, :]), module.norm_K(K[..., g, :])
        if rotate is not None:
            q, k = rotate(q, 0), rotate(k, 0)
        S = q @ k.mT / math.sqrt(module.d_k) + (0 if bias is None else bias[h])
        if mask is not None:
            S = S.masked_fill(~mask, -math.inf)
        outputs.append(torch.softmax(S, dim=-1).nan_to_num() @ V[..., g, :])
    return module.W_O(torch.cat(outputs, dim=-1))


OPTIONS = {
    "nothing": {},
    "causal": {"causal": True},
    "other widths": {"d_v": D_V},
    "shared keys": {"n_kv_heads": G, "causal": True},
    "a norm of queries and keys": {"norm": nn.RMSNorm, "causal": True},
    "no bias": {"bias": False},
}


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("given", ["alone", "bias", "rotate", "mask", "all"])
def test_the_layer_is_the_formula_with_its_parameters_written_out(name, given):
    module, X = layer(**OPTIONS[name]), draw(B, N, D)
    options = {
        "bias": alibi(N, N) if given in ("bias", "all") else None,
        "rotate": rotated if given in ("rotate", "all") else None,
        "mask": torch.rand(B, N, N, generator=torch.Generator().manual_seed(1)) < 0.7
        if given in ("mask", "all")
        else None,
    }
    seen = options["mask"]
    if module.causal:
        seen = causal_mask(N) if seen is None else seen & causal_mask(N)
    right = by_formula(module, X, **options | {"mask": seen})
    assert_close(module(X, **options), right, "float64")
    P = module.attention_weights(X, **options)
    V = module.W_V(X).unflatten(-1, (-1, module.d_v)).transpose(1, 2)
    Z = P @ V.repeat_interleave(H // module.n_kv_heads, dim=1)
    assert_close(module.W_O(Z.transpose(1, 2).flatten(-2)), right, "float64")
    C = module.contributions(X, **options)
    assert C.shape == (B, H, N, D)
    assert_close(C.sum(1) + (0 if module.W_O.bias is None else module.W_O.bias), right, "float64")
    assert module.state_dict().keys() == layer(**OPTIONS[name]).state_dict().keys()


@pytest.mark.parametrize("parts", [[1] * N, [3, 1, 3], [N]])
@torch.no_grad()
def test_positions_and_bias_go_on_where_the_cache_ends(parts):
    module, X, cache, first, steps = (
        layer(causal=True, n_kv_heads=G, norm=nn.RMSNorm),
        draw(B, N, D),
        KVCache(),
        0,
        [],
    )
    for part in X.split(parts, dim=1):
        first += part.shape[1]
        steps.append(module(part, bias=alibi(part.shape[1], first), rotate=rotated, kv_cache=cache))
    assert_close(torch.cat(steps, dim=1), module(X, bias=alibi(N, N), rotate=rotated), "float64")


@torch.no_grad()
def test_a_mask_over_what_is_in_the_cache_hides_it():
    module, X, cache = layer(causal=True), draw(B, N, D), KVCache()
    padded = torch.arange(N) >= torch.tensor([[2], [0]])  # the first text begins two places later
    steps = [
        module(X[:, :4], mask=padded[:, None, :4], kv_cache=cache),
        module(X[:, 4:], mask=padded[:, None], kv_cache=cache),
    ]
    assert_close(torch.cat(steps, dim=1), module(X, mask=padded[:, None]), "float64")
    alone = module(X[:1, 2:])
    assert_close(torch.cat(steps, dim=1)[:1, 2:], alone, "float64")


def test_rotary_scores_depend_on_the_distance_alone():
    Q, K = draw(1, 1, N, D_K), draw(1, 1, N, D_K, seed=1)
    near, far = (rotated(Q, t) @ rotated(K, t).mT for t in (0, 1000))
    assert_close(near, far, "float64")


@pytest.mark.parametrize("m", [1, 3, N])
def test_the_last_positions_see_all_that_came_before(m):
    Q, K, V = draw(B, H, m, D_K), draw(B, H, N, D_K, seed=1), draw(B, H, N, D_K, seed=2)
    by_mask = fused_attention(Q, K, V, causal_mask(N, m))
    assert_close(fused_attention(Q, K, V, causal=True), by_mask, "float64")
    assert_close(fused_attention(Q, K, V, causal_mask(N, m), causal=True), by_mask, "float64")


def test_weights_are_dropped_while_training_and_only_then():
    module, X = layer(dropout=0.5), draw(B, N, D)
    assert not torch.equal(module(X), module(X))
    many = torch.stack([module(X) for _ in range(400)])
    module.eval()
    assert torch.equal(module(X), module(X))
    error = (many.mean(0) - module(X)).abs() / (many.std(0) / 20)
    assert error.max() < 5 and error.mean() < 1.2  # 182 means of 400 draws, in standard errors


def test_a_gradient_reaches_what_is_added_to_the_scores():
    module, X = layer(causal=True), draw(B, N, D)
    bias = draw(H, N, N).requires_grad_()
    dY = draw(B, N, D, seed=5)
    (module(X, bias=bias) * dY).sum().backward()
    other = bias.detach().clone().requires_grad_()
    (by_formula(module, X, bias=other, mask=causal_mask(N)) * dY).sum().backward()
    assert_close(bias.grad, other.grad, "float64")


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("options", [{}, {"d_v": D_V}, {"causal": True}, {"n_kv_heads": G}], ids=str)
@pytest.mark.parametrize("how", ["mask", "bias"])
def test_a_query_that_may_look_nowhere_gets_zeros_and_finite_slopes_from_the_operator(dtype, options, how):
    """torch >= 2.5 promises it in all its programs; the layer relies on that."""
    module, X = layer(**options).to(dtype), draw(B, N, D).to(dtype).requires_grad_()
    mask = torch.rand(B, N, N, generator=torch.Generator().manual_seed(1)) < 0.6
    mask[0, 2], mask[1] = False, False
    heard = []
    module.heads.register_forward_hook(lambda heads, inputs, Z: heard.append(Z))
    hidden = torch.zeros(1, 1, 1, dtype=dtype) if how == "bias" else None
    module(X, mask=mask, bias=hidden).float().square().sum().backward()
    (Z,) = heard
    assert not Z[0, :, 2].any() and not Z[1].any() and Z[0, :, 3].any()
    assert all(leaf.grad.isfinite().all() for leaf in (X, *module.parameters()))


@pytest.mark.bad_input
def test_what_is_added_to_the_scores_must_fit_them():
    module, X = layer(), draw(B, N, D)
    with pytest.raises(
        TypeError, match="bias must hold numbers to add to the scores; got bool. A boolean mask is"
    ):
        module(X, bias=causal_mask(N))
    with pytest.raises(
        ValueError, match=r"bias must broadcast to the shape of the scores \(2, 6, 7, 7\); got \(5, 7\)"
    ):
        module(X, bias=torch.zeros(M, N, dtype=torch.float64))
    for share in (-0.1, 1.0):
        with pytest.raises(ValueError, match=f"dropout must be at least 0 and below 1; got dropout={share}"):
            layer(dropout=share)

"""Update rules: PyTorch's own over a hundred steps, and what each is there for."""

import math

import numpy as np
import pytest
import torch

from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.reference import matrix_optim, optim
from attnlib.testing import assert_close, tolerance
from attnlib.train.optim import Together, decay_groups, muon_and_adamw

STEPS, D_IN, D_OUT = 100, 3, 5
PRESETS = {name: getattr(optim, name) for name in ("KINGMA_BA_2014", "VASWANI_2017", "BROWN_2020")}


def slope(W, t):
    """The gradient of a loss that is no quadratic: what one step gets wrong, the next ones feel."""
    noise = np.random.default_rng(t).normal(size=W.shape)
    return np.tanh(W) + 0.3 * np.roll(W, 1, axis=-1) + 0.1 * noise


def ours(step, W, state):
    for t in range(STEPS):
        W, state = step(W, slope(W, t), state)
    return W


def theirs(make, W):
    leaf = torch.tensor(W, requires_grad=True)
    optimizer = make([leaf])
    for t in range(STEPS):
        leaf.grad = torch.tensor(slope(leaf.detach().numpy(), t))
        optimizer.step()
    return leaf.detach().numpy()


def assert_same(step, state, make, W):
    np.testing.assert_allclose(ours(step, W, state), theirs(make, W), rtol=0, atol=1e-12)


@pytest.fixture(params=[(D_IN, D_OUT), (D_OUT, D_IN), (7,)], ids=str)
def W(request, rng):
    return rng.normal(size=request.param)


@pytest.fixture(params=[(D_IN, D_OUT), (D_OUT, D_IN)], ids=str)
def M(request, rng):
    return rng.normal(size=request.param)


def test_sgd_is_that_of_pytorch(W):
    assert_same(lambda W, dW, _: (optim.sgd(W, dW, 0.1), _), None, lambda P: torch.optim.SGD(P, lr=0.1), W)


@pytest.mark.parametrize("beta", [0.0, 0.9])
def test_momentum_is_that_of_pytorch(W, beta):
    assert_same(
        lambda W, dW, B: optim.momentum(W, dW, B, 0.02, beta),
        np.zeros_like(W),
        lambda P: torch.optim.SGD(P, lr=0.02, momentum=beta),
        W,
    )


def test_the_settings_are_the_published_ones():
    published = [(0.9, 0.999, 1e-8), (0.9, 0.98, 1e-9), (0.9, 0.95, 1e-8)]  # in the order of their years
    assert [tuple(settings) for settings in PRESETS.values()] == published


@pytest.mark.parametrize("preset", PRESETS)
def test_adam_and_adamw_are_those_of_pytorch(W, preset):
    settings = PRESETS[preset]
    given = {"lr": 0.03, "betas": settings[:2], "eps": settings.eps}
    assert_same(
        lambda W, dW, state: optim.adam(W, dW, state, 0.03, settings),
        optim.adam_state(W),
        lambda P: torch.optim.Adam(P, **given),
        W,
    )
    assert_same(
        lambda W, dW, state: optim.adamw(W, dW, state, 0.03, 0.2, settings),
        optim.adam_state(W),
        lambda P: torch.optim.AdamW(P, weight_decay=0.2, **given),
        W,
    )


def test_a_penalty_inside_adam_is_pytorchs_weight_decay_of_adam(W):
    assert_same(
        lambda W, dW, state: optim.adam(W, optim.with_l2(dW, W, 0.2), state, 0.03),
        optim.adam_state(W),
        lambda P: torch.optim.Adam(P, lr=0.03, weight_decay=0.2),
        W,
    )


def test_the_penalty_adds_its_slope(rng):
    W, aside, decay, small = rng.normal(size=7), rng.normal(size=7), 0.3, 1e-5

    def loss(W):
        return np.tanh(W) @ aside + decay / 2 * (W**2).sum()

    task = aside / np.cosh(W) ** 2
    found = [(loss(W + small * e) - loss(W - small * e)) / (2 * small) for e in np.eye(7)]
    assert_close(optim.with_l2(task, W, decay), np.array(found), "central difference")


@pytest.mark.parametrize("rate", [1e-2, 0.5])  # from the fourth step on 1 / sqrt(t) is the smaller one
@pytest.mark.parametrize("size", [1.0, 1e-5])
def test_adafactor_is_that_of_pytorch(M, rate, size):
    assert_same(
        lambda W, dW, state: matrix_optim.adafactor(W, dW, state, rate),
        matrix_optim.adafactor_state(M),
        lambda P: torch.optim.Adafactor(P, lr=rate),
        size * M,
    )


def muon_of(W, dW, B):
    return matrix_optim.muon(W, dW, B, 0.02)


def test_muon_is_that_of_pytorch_where_that_iterates_in_float64(M, monkeypatch):
    """PyTorch turns to bfloat16 before it iterates; without that turn its own code is compared digit by digit.

    A parameter of the book is (in, out) and one of PyTorch (out, in), so PyTorch gets the transposed one.
    """
    monkeypatch.setattr(torch.Tensor, "bfloat16", torch.Tensor.clone)
    turned = [np.ascontiguousarray(M.T), lambda W, t: slope(W.T, t).T]
    leaf = torch.tensor(turned[0], requires_grad=True)
    optimizer = torch.optim.Muon([leaf], lr=0.02)
    for t in range(STEPS):
        leaf.grad = torch.tensor(turned[1](leaf.detach().numpy(), t).copy())
        optimizer.step()
    np.testing.assert_allclose(
        ours(muon_of, M, np.zeros_like(M)), leaf.detach().numpy().T, rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("size", [1.0, 1e-8])
@pytest.mark.parametrize("shape", [(4, 4), (3, 5), (5, 3)])
def test_muons_iteration_keeps_the_directions_and_turns_each_singular_value_by_a_polynomial(shape, size, rng):
    G = size * rng.normal(size=shape)
    U, s, V = np.linalg.svd(G, full_matrices=False)
    s = s / max(np.linalg.norm(s), 1e-7)
    for _ in range(5):
        s = sum(factor * s**power for factor, power in zip(matrix_optim.QUINTIC, (1, 3, 5), strict=True))
    np.testing.assert_allclose(matrix_optim.orthogonalised(G), U * s @ V, rtol=0, atol=1e-10)


def test_muons_iteration_is_pytorchs_within_bfloat16(rng):
    """Each entry within bfloat16's tolerance, at most four times of it: five steps each multiply an error."""
    from torch.optim._muon import _zeropower_via_newtonschulz

    G = rng.normal(size=(16, 32))
    right = _zeropower_via_newtonschulz(torch.tensor(G), matrix_optim.QUINTIC, 5, 1e-7).double().numpy()
    found = matrix_optim.orthogonalised(G)
    assert np.linalg.norm(found - right) < 4 * tolerance("bfloat16")[0] * np.linalg.norm(found)


def test_muon_moves_all_directions_alike_and_a_gradient_does_not(rng):
    G = rng.normal(size=(8, 8)) @ np.diag(np.logspace(0, -2, 8)) @ rng.normal(size=(8, 8))
    before, after = (np.linalg.svd(X)[1] for X in (G, matrix_optim.orthogonalised(G, 8)))
    assert before.max() / before.min() > 100 and after.max() / after.min() < 2


def test_adafactor_remembers_rows_and_columns():
    W = np.zeros((1000, 300))
    sizes = [
        sum(part.size for part in state[:2])
        for state in (optim.adam_state(W), matrix_optim.adafactor_state(W))
    ]
    assert sizes == [600_000, 1300]


def test_for_sgd_a_penalty_is_decay_and_for_adam_it_is_not(rng):
    W, dW = rng.normal(size=7), rng.normal(size=7)
    assert_close(optim.sgd(W, optim.with_l2(dW, W, 0.3), 0.1), optim.sgd((1 - 0.03) * W, dW, 0.1), "float64")
    apart, inside = np.ones(1), np.ones(1)
    state = other = optim.adam_state(apart)
    for _ in range(50):
        apart, state = optim.adamw(apart, np.zeros(1), state, 0.01, 0.01)
        inside, other = optim.adam(inside, optim.with_l2(np.zeros(1), inside, 0.01), other, 0.01)
    assert abs(apart[0] - 0.9999**50) < 1e-12
    assert round(float(apart[0]), 4) == 0.9950 and round(float(inside[0]), 4) == 0.5368


def test_adams_first_step_is_the_rate_whatever_the_gradient(rng):
    dW = np.array([1e-4, -3.0, 2e5])
    W = rng.normal(size=3)
    moved = optim.adam(W, dW, optim.adam_state(W), 0.01)[0] - W
    assert_close(moved, -0.01 * np.sign(dW), "real checkpoint")


def test_without_bias_correction_the_first_steps_would_be_far_too_large(rng):
    """m has seen 1 - beta_1 and v the smaller 1 - beta_2, so their uncorrected ratio is 0.1 / sqrt(0.001) = 3.16."""
    state = optim.adam(np.ones(1), np.ones(1), optim.adam_state(np.ones(1)), 0.01)[1]
    assert abs(state.m[0] / math.sqrt(state.v[0]) - 0.1 / math.sqrt(0.001)) < 1e-9


def test_a_clipped_gradient_keeps_its_direction_and_has_at_most_the_length(rng):
    gradients = [rng.normal(size=shape) for shape in ((3, 5), (7,), (1,))]
    for max_norm in (0.1, 1.0, 1e3):
        cut = optim.clipped_by_norm(*gradients, max_norm=max_norm)
        leaves = [torch.zeros(g.shape, dtype=torch.float64, requires_grad=True) for g in gradients]
        for leaf, g in zip(leaves, gradients, strict=True):
            leaf.grad = torch.tensor(g)
        norm = torch.nn.utils.clip_grad_norm_(leaves, max_norm)
        assert_close(norm, optim.global_norm(*gradients), "float64")
        for mine, leaf in zip(cut, leaves, strict=True):  # PyTorch adds 1e-6 to the norm
            np.testing.assert_allclose(mine, leaf.grad, rtol=2e-6, atol=0)
        flat, whole = (np.concatenate([g.ravel() for g in many]) for many in (cut, gradients))
        assert abs(flat @ whole / np.linalg.norm(flat) / np.linalg.norm(whole) - 1) < 1e-12
        assert abs(optim.global_norm(*cut) - min(max_norm, optim.global_norm(*gradients))) < 1e-12


def test_clipping_each_tensor_alone_turns_the_gradient():
    g = [np.array([3.0]), np.array([0.4])]
    alone = [optim.clipped_by_norm(one, max_norm=1.0)[0] for one in g]
    assert alone[1] / alone[0] > 2 * g[1] / g[0]


def test_rules_keep_the_dtype_and_leave_what_they_are_given(rng):
    W, dW = rng.normal(size=(2, 3, 5)).astype(np.float32)
    kept = W.copy()
    for new in (
        optim.sgd(W, dW, 0.1),
        optim.momentum(W, dW, dW, 0.1)[0],
        optim.adamw(W, dW, optim.adam_state(W), 0.1, 0.1)[0],
        matrix_optim.adafactor(W, dW, matrix_optim.adafactor_state(W))[0],
        matrix_optim.muon(W, dW, dW, 0.1)[0],
        optim.clipped_by_norm(dW, max_norm=0.1)[0],
    ):
        assert new.dtype == np.float32 and np.array_equal(W, kept)


def test_a_beta_of_one_is_refused(rng):
    W = np.ones(1)
    with pytest.raises(ValueError, match="adam: beta_1 and beta_2 must be below 1; got 0.9, 1."):
        optim.adam(W, W, optim.adam_state(W), 0.1, optim.AdamSettings(0.9, 1.0, 1e-8))


@pytest.mark.parametrize("tied", [True, False])
def test_maps_decay_and_biases_norms_and_embeddings_do_not(tied):
    model = GPT(ModelConfig(vocab=11, context=5, d_model=6, n_heads=2, n_layers=1, tied=tied))
    model.norm.bias.requires_grad_(False)
    decays, spared = decay_groups(model, 0.1)
    assert (decays["weight_decay"], spared["weight_decay"]) == (0.1, 0.0)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    found = {names[id(one)] for one in decays["params"]}
    maps = {f"blocks.0.attention.W_{letter}.weight" for letter in "QKVO"}
    maps |= {f"blocks.0.feed_forward.W_{i}.weight" for i in (1, 2)}
    assert found == maps | (set() if tied else {"unembed.weight"})
    others = {names[id(one)] for one in spared["params"]}
    assert others == set(names.values()) - found - {"norm.bias"}
    torch.optim.AdamW([decays, spared], lr=0.1)


def small(**options):
    torch.manual_seed(0)
    return GPT(ModelConfig(vocab=11, context=5, d_model=6, n_heads=2, n_layers=1, **options))


def made(model, optimizers, schedules, steps):
    """Some steps on the same rows."""
    rows = torch.arange(12).reshape(2, 6) % 11
    for _ in range(steps):
        model.zero_grad()
        scores = model(rows[:, :-1]).flatten(0, 1)
        torch.nn.functional.cross_entropy(scores, rows[:, 1:].flatten()).backward()
        for one in (*optimizers, *schedules):
            one.step()


def halving(optimizer):
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.5**step)


def test_muon_turns_the_maps_of_the_blocks_and_adamw_moves_the_rest():
    model = small(tied=False)
    muon, adamw = muon_and_adamw(model, model.blocks).optimizers
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    found = [[names[id(p)] for group in one.param_groups for p in group["params"]] for one in (muon, adamw)]
    assert set(found[0]) == {name for name in names.values() if ".W_" in name and name.endswith("weight")}
    assert sorted(found[0] + found[1]) == sorted(names.values())
    decays = {
        id(p): group["weight_decay"]
        for one in (muon, adamw)
        for group in one.param_groups
        for p in group["params"]
    }
    assert {names[key] for key, decay in decays.items() if decay} == {*found[0], "unembed.weight"}


def test_two_optimisers_together_are_the_two_alone():
    both, alone = small(), small()
    for one, other in zip(both.parameters(), alone.parameters(), strict=True):
        assert torch.equal(one, other)
    optimizer, parts = muon_and_adamw(both, both.blocks), muon_and_adamw(alone, alone.blocks).optimizers
    made(both, [optimizer], [halving(optimizer)], 3)
    made(alone, parts, [halving(one) for one in parts], 3)
    assert all(
        torch.equal(one, other) for one, other in zip(both.parameters(), alone.parameters(), strict=True)
    )
    assert [group["lr"] for group in optimizer.param_groups] == [0.02 / 8, 3e-3 / 8]


def test_two_optimisers_go_on_from_their_state():
    whole, begun = small(), small()
    optimizer = muon_and_adamw(whole, whole.blocks)
    made(whole, [optimizer], [halving(optimizer)], 5)
    first = muon_and_adamw(begun, begun.blocks)
    schedule = halving(first)
    made(begun, [first], [schedule], 2)
    again = muon_and_adamw(begun, begun.blocks)
    second = halving(again)
    again.load_state_dict(first.state_dict())
    second.load_state_dict(schedule.state_dict())
    made(begun, [again], [second], 3)
    assert all(
        torch.equal(one, other) for one, other in zip(whole.parameters(), begun.parameters(), strict=True)
    )


def test_together_they_compute_no_loss_again():
    with pytest.raises(ValueError, match="Together: step takes no closure; got"):
        Together(torch.optim.SGD([torch.zeros(1)], lr=0.1)).step(lambda: 0.0)

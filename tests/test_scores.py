"""Six scores: each equal to its twin, its formula pair by pair, and its slope by central differences."""

import math

import numpy as np
import pytest
import torch

from attnlib.nn import scores as nn_scores
from attnlib.reference import scores
from attnlib.reference.ops import unit
from attnlib.testing import assert_close, check_gradients, check_twin

B, N, M, D_K, D_Q, D_A = 2, 3, 5, 7, 11, 13
# name: the shapes of the arrays, and the formula for one pair
SCORES = {
    "dot": ([(M, D_K), (N, D_K)], lambda q, k: q @ k),
    "scaled_dot": ([(M, D_K), (N, D_K)], lambda q, k: q @ k / math.sqrt(D_K)),
    "multiplicative": ([(M, D_Q), (N, D_K), (D_Q, D_K)], lambda q, k, W: q @ W @ k),
    "additive": (
        [(M, D_Q), (N, D_K), (D_Q, D_A), (D_K, D_A), (D_A,)],
        lambda q, k, W_q, W_k, v: v @ np.tanh(q @ W_q + k @ W_k),
    ),
    "cosine": ([(M, D_K), (N, D_K)], lambda q, k: unit(q) @ unit(k)),
}


def arrays_for(name, batch, rng, dtype=np.float64):
    shapes = SCORES[name][0]
    return [rng.normal(size=((*batch, *s) if i < 2 else s)).astype(dtype) for i, s in enumerate(shapes)]


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("batch", [(), (B,), (B, 1)])
def test_a_score_equals_its_formula_pair_by_pair_and_its_twin(name, batch, rng):
    arrays = arrays_for(name, batch, rng)
    S, _ = getattr(scores, f"{name}_scores")(*arrays)
    twin = getattr(nn_scores, f"{name}_scores")(*map(torch.tensor, arrays)).numpy()
    assert_close(S, twin, "float64")
    Q, K = (array.reshape(-1, *array.shape[-2:])[-1] for array in arrays[:2])
    pairs = [[SCORES[name][1](q, k, *arrays[2:]) for k in K] for q in Q]
    assert_close(S.reshape(-1, M, N)[-1], np.array(pairs), "float64")


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("batch", [(), (B,)])
def test_the_backward_is_the_slope(name, batch, rng):
    arrays = arrays_for(name, batch, rng)
    forward, backward = getattr(scores, f"{name}_scores"), getattr(scores, f"{name}_scores_backward")
    check_gradients(forward, backward, arrays, rng)
    check_twin(forward, backward, getattr(nn_scores, f"{name}_scores"), arrays, rng)


@pytest.mark.parametrize("name", SCORES)
def test_float32_in_float32_out_and_inputs_unchanged(name, rng):
    arrays = arrays_for(name, (B,), rng, np.float32)
    copies = [array.copy() for array in arrays]
    S, cache = getattr(scores, f"{name}_scores")(*arrays)
    gradients = getattr(scores, f"{name}_scores_backward")(np.ones_like(S), cache)
    assert S.dtype == np.float32 and all(gradient.dtype == np.float32 for gradient in gradients)
    assert all(np.array_equal(a, c) for a, c in zip(arrays, copies, strict=True))
    in_double, _ = getattr(scores, f"{name}_scores")(*(a.astype(np.float64) for a in arrays))
    assert_close(S, in_double.astype(np.float32), "float32")


def test_location_scores_read_the_query_alone(rng):
    Q, W = rng.normal(size=(B, M, D_Q)), rng.normal(size=(D_Q, N))
    check_gradients(scores.location_scores, scores.location_scores_backward, [Q, W], rng)
    check_twin(
        scores.location_scores, scores.location_scores_backward, nn_scores.location_scores, [Q, W], rng
    )


def test_the_additive_score_never_exceeds_the_sum_of_v(rng):
    Q, K, W_q, W_k, v = arrays_for("additive", (B,), rng)
    S, _ = scores.additive_scores(1e4 * Q, 1e4 * K, W_q, W_k, v)
    assert np.abs(S).max() <= np.abs(v).sum() * (1 + 1e-12)


def test_the_multiplicative_score_is_a_dot_product_after_a_map(rng):
    Q, K, W = arrays_for("multiplicative", (B,), rng)
    assert_close(scores.multiplicative_scores(Q, K, W)[0], scores.dot_scores(Q @ W, K)[0], "float64")


@pytest.mark.parametrize(
    ("module", "inputs"),
    [
        (nn_scores.AdditiveScore(d_q=D_Q, d_k=D_K, d_a=D_A), [(B, M, D_Q), (B, N, D_K)]),
        (nn_scores.MultiplicativeScore(d_q=D_Q, d_k=D_K), [(B, M, D_Q), (B, N, D_K)]),
        (nn_scores.LocationScore(d_q=D_Q, n=N), [(B, M, D_Q)]),
    ],
    ids=["additive", "multiplicative", "location"],
)
def test_a_module_is_its_function_with_parameters(module, inputs):
    S = module(*(torch.randn(shape) for shape in inputs))
    assert S.shape == (B, M, N)
    S.sum().backward()
    assert all(weight.grad is not None for weight in module.parameters())


def test_before_training_what_passes_through_a_parameter_keeps_its_size():
    torch.manual_seed(0)
    wide = [
        nn_scores.AdditiveScore(d_q=100, d_k=400, d_a=900),
        nn_scores.MultiplicativeScore(d_q=100, d_k=300),
        nn_scores.LocationScore(d_q=100, n=300),
    ]
    for W in (W for module in wide for W in module.parameters()):
        assert W.std().item() == pytest.approx(len(W) ** -0.5, rel=0.1)


@pytest.mark.bad_input
@pytest.mark.parametrize("module", [scores, nn_scores], ids=["reference", "nn"])
@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda s, z: s.dot_scores(z(3, 7), z(5, 6)),
            "dot_scores: queries and keys must have the same width d_k; "
            r"got Q \(3, 7\) with d_k=7 and K \(5, 6\) with d_k=6.",
        ),
        (
            lambda s, z: s.multiplicative_scores(z(3, 7), z(5, 6), z(6, 7)),
            r"keys and W must have the same width d_k; got K \(5, 6\) with d_k=6 and W \(6, 7\) with d_k=7",
        ),
        (
            lambda s, z: s.additive_scores(z(3, 7), z(5, 6), z(7, 4), z(6, 2), z(4)),
            r"W_q and W_k must have the same width d_a; got W_q \(7, 4\) with d_a=4 and W_k \(6, 2\) with d_a=2",
        ),
        (
            lambda s, z: s.additive_scores(z(3, 7), z(5, 6), z(4, 7), z(6, 4), z(4)),
            r"queries and W_q must have the same width d_q; got Q \(3, 7\) with d_q=7 and W_q .* stored \(in, out\).",
        ),
        (
            lambda s, z: s.scaled_dot_scores(z(7), z(5, 7)),
            r"Q needs two axes or more, \(\*b, m, d_k\); got \(7,\)",
        ),
        (
            lambda s, z: s.cosine_scores(z(2, 3, 7), z(3, 3, 7)),
            r"queries and keys must have the same batch axes; got Q \(2, 3, 7\) and K \(3, 3, 7\).",
        ),
    ],
)
def test_wrong_widths_get_one_clear_sentence_from_both_twins(module, call, sentence):
    def zeros(*shape):
        return np.zeros(shape) if module is scores else torch.zeros(shape)

    with pytest.raises(ValueError, match=sentence):
        call(module, zeros)

"""Dropout: slopes, twins, PyTorch's own, its mean and its variance, and where a model has it."""

import numpy as np
import pytest
import torch
from torch import nn

from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.nn import drop as twin
from attnlib.reference import drop
from attnlib.testing import assert_close, check_gradients, check_twin

B, M, N, D_K, D_V, SHARE = 2, 3, 5, 7, 11, 0.7
CAUSAL = np.tril(np.ones((M, N), dtype=bool), N - M)


def test_dropout_has_its_slope_and_its_twin(rng):
    X, kept = rng.normal(size=(B, N)), rng.random((B, N)) < SHARE
    forward = lambda X: (drop.dropout(X, kept, SHARE), None)  # noqa: E731
    backward = lambda dY, _: drop.dropout_backward(dY, kept, SHARE)  # noqa: E731
    check_gradients(forward, backward, [X], rng)
    check_twin(forward, backward, lambda X: twin.dropout(X, torch.tensor(kept), SHARE), [X], rng)


@pytest.mark.parametrize("mask", [None, CAUSAL], ids=["all", "causal"])
def test_attention_with_dropped_weights_has_its_slope_and_its_twin(mask, rng):
    arrays = [rng.normal(size=(B, *shape)) for shape in ((M, D_K), (N, D_K), (N, D_V))]
    kept = rng.random((B, M, N)) < SHARE
    forward = lambda *QKV: drop.dropped_attention(*QKV, kept, SHARE, mask)  # noqa: E731
    check_gradients(forward, drop.dropped_attention_backward, arrays, rng)
    seen = None if mask is None else torch.tensor(mask)
    other = lambda *QKV: twin.dropped_attention(*QKV, torch.tensor(kept), SHARE, seen)  # noqa: E731
    check_twin(forward, drop.dropped_attention_backward, other, arrays, rng)


def test_pytorchs_dropout_is_the_same_function_of_what_it_kept(rng):
    X = torch.tensor(rng.normal(size=(B, N)))
    torch.manual_seed(0)
    Y = nn.Dropout(1 - SHARE)(X)
    assert 0 < (Y == 0).sum() < Y.numel()
    assert_close(Y, drop.dropout(X.numpy(), (Y != 0).numpy(), SHARE), "float64")


def test_pytorchs_operator_drops_weights_behind_the_softmax(rng):
    """With values that are a unit matrix its output is the weights themselves."""
    Q, K = (torch.tensor(rng.normal(size=(1, 1, n, D_K))) for n in (M, N))
    V = torch.eye(N, dtype=torch.float64)[None, None]
    torch.manual_seed(0)
    P = nn.functional.scaled_dot_product_attention(Q, K, V, dropout_p=1 - SHARE)
    kept = (P != 0).numpy()
    assert 0 < kept.sum() < kept.size
    assert_close(P, drop.dropped_attention(Q.numpy(), K.numpy(), V.numpy(), kept, SHARE)[0], "float64")


def test_the_mean_stays_and_the_variance_is_known(rng):
    """The mean of n draws lies within 4 standard errors of x; the variance x^2 p / (1 - p) within 4 of its own."""
    n, x, p = 40_000, 3.0, 0.1
    draws = drop.dropout(np.full(n, x), rng.random(n) >= p, 1 - p)
    sigma = x * np.sqrt(p / (1 - p))
    assert abs(draws.mean() - x) < 4 * sigma / np.sqrt(n)
    squares = (draws - x) ** 2
    assert abs(squares.mean() - sigma**2) < 4 * squares.std() / np.sqrt(n)


def test_weights_that_stay_sum_to_one_on_average_only(rng):
    """Equal weights of 16 keys, p = 0.1: a row's sum has the standard deviation sqrt(p / (1 - p) / 16) = 0.083."""
    n, p, draws = 16, 0.1, 10_000
    kept = rng.random((draws, 1, n)) >= p
    Q, K, V = np.zeros((draws, 1, 2)), np.zeros((draws, n, 2)), np.ones((draws, n, 1))
    sums = drop.dropped_attention(Q, K, V, kept, 1 - p)[0][:, 0, 0]
    sigma = np.sqrt(p / (1 - p) / n)
    assert abs(sums.mean() - 1) < 4 * sigma / np.sqrt(draws)
    assert abs(sums.std() - sigma) < 4 * sigma / np.sqrt(2 * draws)
    assert sums.max() > 1 > sums.min()  # more than the largest value came out, so this is no average any more


def heard(model, tokens):
    """In which kinds of places a model drops, by what its modules did."""
    places = []
    for name, module in model.named_modules():
        if isinstance(module, nn.Dropout):
            module.register_forward_hook(lambda *_, name=name: places.append(name))
    model(tokens)
    return set(places)


def test_a_gpt_drops_in_four_places_and_only_while_it_trains():
    torch.manual_seed(0)
    config = ModelConfig(vocab=11, context=N, d_model=8, n_heads=2, n_layers=1, dropout=0.5)
    model, tokens = GPT(config), torch.zeros(1, N, dtype=torch.long)
    assert heard(model, tokens) == {"dropout", "blocks.0.dropout", "blocks.0.feed_forward.dropout"}
    assert model.blocks[0].attention.dropout == 0.5  # the fourth place is inside the operator
    assert not torch.equal(model(tokens), model(tokens))
    model.eval()
    assert torch.equal(model(tokens), model(tokens))

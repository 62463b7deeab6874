"""A feed-forward network with a depthwise convolution: slopes, twins, PyTorch's operator, and what it is for."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from attnlib.nn import convolution as twin
from attnlib.reference.convolution import (
    ConvolvedParameters,
    convolved_feed_forward,
    convolved_feed_forward_backward,
    depthwise_convolution,
    depthwise_convolution_backward,
    short_convolution,
    short_convolution_backward,
)
from attnlib.testing import assert_close, check_gradients, check_twin

B, N, D, HIDDEN, WIDTH = 2, 7, 5, 11, 3


@pytest.mark.parametrize("ahead", [0, 1, 2])
def test_a_convolution_has_its_slope_and_its_twin(ahead, rng):
    arrays = [rng.normal(size=shape) for shape in ((B, N, D), (WIDTH, D), (D,))]
    forward = lambda *given: depthwise_convolution(*given, ahead)  # noqa: E731
    check_gradients(forward, depthwise_convolution_backward, arrays, rng)
    named = lambda *given: twin.depthwise_convolution(*given, ahead)  # noqa: E731
    check_twin(forward, depthwise_convolution_backward, named, arrays, rng)


def test_it_is_pytorchs_own_operator_with_a_group_for_each_coordinate(rng):
    X, C, b = (rng.normal(size=shape) for shape in ((B, N, D), (WIDTH, D), (D,)))
    theirs = F.conv1d(*map(torch.tensor, (X.swapaxes(1, 2), C.T[:, None].copy(), b)), padding=1, groups=D)
    assert_close(depthwise_convolution(X, C, b, ahead=1)[0], theirs.mT, "float64")


def parameters(rng, dtype=np.float64):
    shapes = [(D, HIDDEN), (HIDDEN,), (WIDTH, HIDDEN), (HIDDEN,), (HIDDEN, D), (D,)]
    return ConvolvedParameters(*((rng.normal(size=shape) / 2).astype(dtype) for shape in shapes))


def test_the_network_has_its_slope(rng):
    def forward(X, *learned):
        return convolved_feed_forward(X, ConvolvedParameters(*learned), 1)

    def backward(dY, cache):
        dX, d_learned = convolved_feed_forward_backward(dY, cache)
        return dX, *d_learned

    check_gradients(forward, backward, [rng.normal(size=(B, N, D)), *parameters(rng)], rng)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_network_and_all_its_slopes_are_the_twins(dtype, rng):
    module = twin.ConvolvedFeedForward(d_model=D, d_hidden=HIDDEN).to(torch.tensor(dtype(0)).dtype)
    X, learned = rng.normal(size=(B, N, D)).astype(dtype), parameters(rng, dtype)
    check_twin(convolved_feed_forward, convolved_feed_forward_backward, module, [X], rng, learned, module)


def test_with_one_position_in_sight_it_is_the_network_of_each_position_alone(rng):
    X, learned = rng.normal(size=(B, N, D)), parameters(rng)
    alone = learned._replace(C=learned.C[:1])
    moved = X.copy()
    moved[:, 2] += 1
    for one, changed in ((alone, {2}), (learned, {2, 3, 4})):
        before, after = convolved_feed_forward(X, one)[0], convolved_feed_forward(moved, one)[0]
        assert set(np.flatnonzero(abs(before - after).max(axis=(0, 2)))) == changed


def test_it_finds_a_pattern_of_neighbours_that_no_network_of_single_positions_finds(rng):
    """S081: is this token followed by its successor? Trained without positions and without attention."""
    torch.manual_seed(0)
    X = torch.tensor(np.eye(D)[rng.integers(0, D, (64, N))], dtype=torch.float32)
    follows = (X[:, :-1] * X[:, 1:].roll(-1, dims=-1)).sum(
        -1
    ) > 0  # the next is the one after this in the alphabet
    right = {}
    for width in (1, 3):
        layer = twin.ConvolvedFeedForward(d_model=D, d_hidden=32, width=width, ahead=(width - 1) // 2)
        adam = torch.optim.Adam(layer.parameters(), lr=0.02)
        for _ in range(200):
            adam.zero_grad()
            F.binary_cross_entropy_with_logits(layer(X)[:, :-1, 0], follows.float()).backward()
            adam.step()
        right[width] = ((layer(X)[:, :-1, 0] > 0) == follows).float().mean().item()
    assert right[3] > 0.98 and right[1] < 0.9, right


@pytest.mark.parametrize("one", [depthwise_convolution, twin.depthwise_convolution])
def test_a_filter_must_see_the_position_itself_or_what_came_before(one):
    kind = torch.zeros if one is twin.depthwise_convolution else np.zeros
    with pytest.raises(ValueError, match="ahead must be below width=3; got ahead=3"):
        one(kind((N, D)), kind((3, D)), kind(D), 3)


def test_before_training_a_filter_keeps_the_size_of_what_it_mixes():
    torch.manual_seed(0)
    layer = twin.ConvolvedFeedForward(d_model=D, d_hidden=2000, width=4)
    X = torch.randn(30, 2000)
    assert 0.9 < twin.depthwise_convolution(X, layer.C, layer.b_C)[3:].std() < 1.1


# --- the short convolution before queries, keys and values ---------------------------------------------------------


@pytest.mark.parametrize("width", [1, 2, 4, 9])
@pytest.mark.parametrize("rows", [None, 2, 3, 6])
def test_a_short_convolution_has_its_slope_and_its_twin(width, rows, rng):
    arrays = [rng.normal(size=shape) for shape in ((B, N, D), (width, D))]
    arrays += [] if rows is None else [rng.normal(size=(B, rows, D))]

    def backward(dY, cache):
        return short_convolution_backward(dY, cache)[: len(arrays)]

    check_gradients(short_convolution, backward, arrays, rng)
    check_twin(short_convolution, backward, twin.short_convolution, arrays, rng)


def test_a_short_convolution_is_pytorchs_operator_and_swish(rng):
    X, C = torch.tensor(rng.normal(size=(B, N, D))), torch.tensor(rng.normal(size=(4, D)))
    theirs = F.silu(F.conv1d(F.pad(X.mT, (3, 0)), C.T[:, None], groups=D)).mT
    assert_close(twin.short_convolution(X, C), theirs, "float64")


def test_a_short_convolution_in_parts_is_that_of_the_whole(rng):
    torch.manual_seed(0)
    layer, X = twin.ShortConvolution(D, width=4).double(), torch.tensor(rng.normal(size=(B, N, D)))
    for sizes in ([1] * N, [2, 5], [5, 1, 1]):
        recent, parts = None, []
        for part in X.split(sizes, dim=1):
            parts.append(layer(part, recent))
            recent = layer.recent(part, recent)
        assert_close(torch.cat(parts, dim=1), layer(X), "float64")
        assert recent.shape == (B, 3, D)
    before = np.asarray(rng.normal(size=(B, 3, D)))
    whole, _ = short_convolution(np.concatenate([before, X.numpy()], axis=1), layer.C.detach().numpy())
    assert_close(layer(X, torch.tensor(before)), whole[:, 3:], "float64")
    assert "width=4" in repr(layer)

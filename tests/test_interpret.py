"""Reading attention: distances, offsets, patterns, captured activations (book: patterns-and-entropy, heads-at-work)."""

import math
import subprocess
import sys

import numpy as np
import pytest
import torch

from attnlib.interpret.capture import capture
from attnlib.interpret.distance import mean_distance, offset_histogram, offsets
from attnlib.interpret.patterns import (
    Pattern,
    content_share,
    evenness,
    head_distances,
    mass_on,
    measure_pattern,
    name_pattern,
)
from attnlib.nn.attention import AttentionLayer
from attnlib.reference.ops import entropy, softmax
from attnlib.testing import assert_close

B, H, N, M, D_X, D_Y, D_K, D_V = 2, 3, 5, 7, 11, 13, 17, 19


def some_weights(*shape: int) -> np.ndarray:
    return softmax(2 * np.random.default_rng(1).normal(size=shape))


# --- distance ------------------------------------------------------------------------------------------------------


def test_mean_distance_equals_the_sum_written_as_loops():
    P = some_weights(B, N, N)
    for b in range(B):
        by_loops = sum(P[b, i, j] * abs(i - j) for i in range(N) for j in range(N)) / N
        assert_close(mean_distance(P)[b], by_loops, "float64")


def test_mean_distance_of_uniform_attention_is_a_third_of_the_length():
    """The mean of |i - j| over all pairs is (n^2 - 1) / 3n."""
    assert_close(mean_distance(np.full((N, N), 1 / N)), (N**2 - 1) / (3 * N), "float64")
    assert mean_distance(np.eye(N)) == 0


def test_the_histogram_has_the_mass_of_each_diagonal_and_gives_the_mean_distance():
    P = some_weights(B, N, N)
    histogram = offset_histogram(P)
    assert histogram.shape == (B, 2 * N - 1)
    assert_close(histogram.sum(-1), np.ones(B), "float64")
    for o, share in zip(offsets(N), histogram[1], strict=True):
        assert_close(share, sum(P[1, i, i + o] for i in range(N) if 0 <= i + o < N) / N, "float64")
    assert_close((histogram * abs(offsets(N))).sum(-1), mean_distance(P), "float64")


def test_an_empty_row_counts_nothing():
    P = np.eye(N, k=-2)  # two rows look nowhere
    assert mean_distance(P) == 2 and offset_histogram(P)[offsets(N) == -2] == 1


@pytest.mark.bad_input
@pytest.mark.parametrize("measure", [mean_distance, offset_histogram])
@pytest.mark.parametrize(
    ("P", "message"),
    [
        (np.ones((2, 3)), r"got P \(2, 3\) with m=2 and n=3. Cross-attention has none"),
        (np.zeros((3, 3)), r"some query must attend to a key; got a matrix of zeros in P \(3, 3\)"),
        (-np.ones((3, 3)), "probabilities must not be negative"),
    ],
)
def test_distances_explain_what_is_wrong(measure, P: np.ndarray, message: str):
    with pytest.raises(ValueError, match=message):
        measure(P)


# --- patterns ------------------------------------------------------------------------------------------------------


def test_patterns_made_by_hand_get_their_names():
    rng = np.random.default_rng(2)
    inputs, n = 50, 11
    previous = np.tile(np.eye(n, k=-1), (inputs, 1, 1))
    first = np.zeros((inputs, n, n))
    first[..., 0] = 1
    anywhere = np.eye(n)[rng.integers(n, size=(inputs, n))]
    near = np.tile(sum(np.eye(n, k=k) for k in (-2, -1, 0, 1, 2)), (inputs, 1, 1))
    near = near / near.sum(-1, keepdims=True)
    uniform = np.full((inputs, n, n), 1 / n)
    made = {
        "positional": previous,
        "broadcast": first,
        "content": anywhere,
        "local": near,
        "diffuse": uniform,
    }
    assert {name: name_pattern(measure_pattern(P)) for name, P in made.items()} == {
        name: name for name in made
    }
    assert measure_pattern(previous).offset == -1 and measure_pattern(uniform).evenness == pytest.approx(1)


def test_a_half_does_not_give_a_name_and_more_does():
    half = Pattern(offset=0, at_offset=0.5, near=0.5, broadcast=0.5, content=0.5, evenness=0.5)
    assert name_pattern(half) == "diffuse"
    shares = {"at_offset": "positional", "broadcast": "broadcast", "content": "content", "near": "local"}
    for share, name in shares.items():
        assert name_pattern(half._replace(**{share: 0.51})) == name


@pytest.mark.parametrize("offset", range(-4, 5))
def test_near_is_at_most_two_positions_away(offset):
    looks = np.eye(11, k=offset)
    pattern = measure_pattern(np.tile(looks, (3, 1, 1)))
    assert (pattern.offset, pattern.at_offset, pattern.near) == (offset, 1, float(abs(offset) <= 2))


def test_content_share_is_zero_for_weights_that_ignore_the_input():
    P = np.tile(some_weights(N, N), (B, 1, 1))
    assert content_share(P) == 0
    assert content_share(some_weights(B, N, N)) > 0.1


def test_evenness_is_the_entropy_over_the_bound_of_what_may_be_seen():
    mask = np.tril(np.ones((N, N), dtype=bool))
    uniform = mask / mask.sum(-1, keepdims=True)
    assert math.isnan(evenness(uniform, mask)[0])
    assert_close(evenness(uniform, mask)[1:], np.ones(N - 1), "float64")
    assert math.isnan(evenness(np.zeros((1, N)))[0])
    P = some_weights(B, N, N)
    assert_close(evenness(P), entropy(P) / math.log(N), "float64")
    assert (entropy(P) > 0).all() and (entropy(P) < math.log(N)).all()


def test_mass_on_the_truth_leaves_out_rows_without_a_truth():
    truth = np.zeros((N, N))
    truth[1, 3] = truth[4, 0] = 1
    P = some_weights(B, N, N)
    assert_close(mass_on(P, truth), (P[:, 1, 3] + P[:, 4, 0]).mean() / 2, "float64")
    assert mass_on(truth, truth) == 1
    with pytest.raises(ValueError, match="some row must have a true key"):
        mass_on(P, np.zeros((N, N)))


def test_head_distances_are_zero_for_twins_and_symmetric():
    P = some_weights(B, H, N, M)  # rows N, columns M
    P[:, 2] = P[:, 0]
    D = head_distances(P)
    assert D.shape == (H, H) and D[0, 2] == 0 and D[0, 1] > 0.1
    assert_close(D, D.T, "float64")
    by_loops = np.mean([0.5 * abs(P[b, 0, m] - P[b, 1, m]).sum() for b in range(B) for m in range(N)])
    assert_close(D[0, 1], by_loops, "float64")


@pytest.mark.bad_input
def test_head_distances_explain_a_missing_axis():
    with pytest.raises(ValueError, match=r"P needs three axes or more, \(\*b, h, m, n\); got"):
        head_distances(some_weights(N, M))


# --- capture -------------------------------------------------------------------------------------------------------


class Two(torch.nn.Module):
    """Two layers of attention, one after the other; the second may be made to fail."""

    def __init__(self) -> None:
        super().__init__()
        self.first = AttentionLayer(d_model=D_X, d_source=D_Y, d_k=D_K, d_v=D_X)
        self.second = AttentionLayer(d_model=D_X, d_source=D_Y, d_k=D_K, d_v=D_V)

    def forward(self, X: torch.Tensor, Y: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        return self.second(self.first(X, Y, mask=mask), Y)


def hooks_of(model: torch.nn.Module) -> int:
    return sum(len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules())


def test_captured_weights_are_those_that_made_the_output():
    torch.manual_seed(0)
    model, X, Y = Two(), torch.randn(B, M, D_X), torch.randn(B, N, D_Y)
    mask = torch.rand(M, N) < 0.7
    plain = model(X, Y, mask)
    with capture(model) as seen:
        O = model(X, Y, mask)
    assert torch.equal(O, plain) and torch.equal(seen["output"], O)
    for name, layer in (("first", model.first), ("second", model.second)):
        assert_close(seen[f"{name}.P"] @ layer.W_V(Y), seen[name], "float32")
    assert (seen["first.P"][..., ~mask] == 0).all()
    assert not any(tensor.requires_grad for tensor in seen.values()) and O.requires_grad


def test_capture_leaves_the_model_as_it_was_even_when_it_fails():
    model = Two()
    with capture(model):
        assert hooks_of(model) == 9 + 2
    assert hooks_of(model) == 0
    with pytest.raises(ValueError, match=r"X must be \(\*b, m, d_model\) with d_model=11"), capture(model):
        model(torch.ones(B, M, D_X + 1), torch.ones(B, N, D_Y))
    assert hooks_of(model) == 0


def test_a_model_with_a_parameter_of_that_name_is_not_asked_for_its_weights():
    model = torch.nn.Linear(2, 3)
    model.attention_weights = torch.nn.Parameter(torch.ones(2))
    with capture(model) as seen:
        model(torch.ones(1, 2))
    assert sorted(seen) == ["output"]


def test_the_part_without_hooks_never_loads_torch():
    code = (
        "import sys, attnlib.interpret.distance, attnlib.interpret.patterns; "
        "assert not {'torch', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

"""Scores of heads that complete a pattern, and what a head is made to say (book: a-circuit)."""

import numpy as np
import pytest
import torch

from attnlib.interpret.circuits import prefix_matching, previous_token
from attnlib.interpret.patch import input_without, patched_head
from attnlib.nn.multihead import MultiHeadAttention

B, N, H, D = 2, 7, 3, 12


def weights(rng: np.random.Generator) -> np.ndarray:
    P = np.tril(rng.random((B, H, N, N)))
    return P / P.sum(axis=-1, keepdims=True)


def test_the_scores_are_those_of_a_reader_who_counts_place_by_place():
    rng = np.random.default_rng(0)
    P, tokens = weights(rng), rng.integers(4, size=(B, N))
    matching: list[list[float]] = [[] for _ in range(H)]
    for h in range(H):
        for b in range(B):
            for i in range(N):
                earlier = [j for j in range(i) if tokens[b, j] == tokens[b, i]]
                if earlier:
                    matching[h].append(sum(P[b, h, i, j + 1] for j in earlier))
    np.testing.assert_allclose(prefix_matching(P, tokens), [np.mean(one) for one in matching])
    back = [np.mean([P[b, h, i, i - 1] for b in range(B) for i in range(1, N)]) for h in range(H)]
    np.testing.assert_allclose(previous_token(P), back)


def test_a_text_without_a_repetition_has_no_score():
    with pytest.raises(ValueError, match="prefix_matching: some token must occur twice"):
        prefix_matching(weights(np.random.default_rng(0)), np.tile(np.arange(N), (B, 1)))


@pytest.fixture
def layer() -> MultiHeadAttention:
    torch.manual_seed(0)
    return MultiHeadAttention(d_model=D, n_heads=H, causal=True, bias=False).double()


def test_a_head_that_says_its_mean_takes_only_its_own_part_away(layer: MultiHeadAttention):
    X = torch.randn(B, N, D, dtype=torch.double)
    parts = layer.contributions(X)
    said = torch.randn(N, layer.d_v, dtype=torch.double)
    with patched_head(layer, 1, said):
        patched = layer(X)
    own = layer.W_O.weight[:, layer.d_v : 2 * layer.d_v]
    torch.testing.assert_close(patched, parts[:, 0] + said @ own.T + parts[:, 2])
    torch.testing.assert_close(layer(X), parts.sum(dim=1))


def test_patched_places_are_patched_and_no_others(layer: MultiHeadAttention):
    X, other = torch.randn(2, B, N, D, dtype=torch.double)
    places = torch.zeros(B, N, dtype=torch.bool)
    places[0, 3] = places[1, 5] = True
    theirs = layer.contributions(other)[:, 2] @ torch.linalg.pinv(layer.W_O.weight[:, -layer.d_v :].T)
    with patched_head(layer, 2, theirs, places):
        patched = layer(X)
    moved = (patched - layer(X)).abs().amax(dim=-1) > 1e-9
    assert torch.equal(moved, places)
    expected = layer.contributions(other)[0, 2, 3] + layer.contributions(X)[0, :2, 3].sum(dim=0)
    torch.testing.assert_close(patched[0, 3], expected)


def test_a_layer_that_is_deaf_in_one_ear_hears_the_part_in_the_others(layer: MultiHeadAttention):
    X, part = torch.randn(2, B, N, D, dtype=torch.double)
    with input_without(layer.W_Q, part), input_without(layer.W_K, part), input_without(layer.W_V, part):
        heard = layer(X)
    torch.testing.assert_close(heard, layer(X - part))
    with input_without(layer.W_K, part):
        scores = layer.attention_weights(X)
    Q, K = (layer.W_Q(X), layer.W_K(X - part))
    S = torch.einsum("bihd,bjhd->bhij", Q.view(B, N, H, -1), K.view(B, N, H, -1)) / layer.d_k**0.5
    S = S.masked_fill(~torch.ones(N, N, dtype=torch.bool).tril(), -torch.inf)
    torch.testing.assert_close(scores, S.softmax(-1))
    assert not layer.W_K._forward_pre_hooks

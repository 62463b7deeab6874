"""One table for vectors and scores: slopes, twins, and that its two gradients add up."""

import numpy as np
import pytest
import torch

from attnlib.nn import embedding as twin
from attnlib.reference import embedding
from attnlib.testing import assert_close, check_gradients, check_twin

B, N, VOCAB, D = 2, 7, 5, 3
TOKENS = np.array([[0, 4, 4, 1, 0, 4, 3], [2, 2, 2, 0, 1, 3, 4]])


@pytest.mark.parametrize("name", ["embed", "scaled_embed"])
def test_a_row_collects_from_all_its_places(name, rng):
    E = rng.normal(size=(VOCAB, D))
    forward = lambda E: getattr(embedding, name)(TOKENS, E)  # noqa: E731
    backward = getattr(embedding, f"{name}_backward")
    check_gradients(forward, backward, [E], rng)
    check_twin(forward, backward, lambda E: getattr(twin, name)(torch.tensor(TOKENS), E), [E], rng)


def test_a_lookup_is_a_product_with_a_row_of_zeros_and_a_one(rng):
    E = rng.normal(size=(VOCAB, D))
    assert_close(embedding.embed(TOKENS, E)[0], np.eye(VOCAB)[TOKENS] @ E, "float64")


def test_scores_have_their_slopes_and_their_twin(rng):
    arrays = [rng.normal(size=(B, N, D)), rng.normal(size=(VOCAB, D))]
    check_gradients(embedding.tied_scores, embedding.tied_scores_backward, arrays, rng)
    check_twin(embedding.tied_scores, embedding.tied_scores_backward, twin.tied_scores, arrays, rng)


def test_the_two_gradients_of_a_tied_table_add_up(rng):
    E, dS = rng.normal(size=(VOCAB, D)), rng.normal(size=(B, N, VOCAB))
    X, looked_up = embedding.scaled_embed(TOKENS, E)
    _, scored = embedding.tied_scores(X, E)
    dX, dE = embedding.tied_scores_backward(dS, scored)
    table = torch.tensor(E, requires_grad=True)
    twin.tied_scores(twin.scaled_embed(torch.tensor(TOKENS), table), table).backward(torch.tensor(dS))
    assert_close(dE + embedding.scaled_embed_backward(dX, looked_up), table.grad, "float64")


def test_the_root_brings_a_table_for_scores_to_the_size_of_vectors(rng):
    E = rng.normal(size=(1000, 64)) / 8
    assert 0.9 < embedding.scaled_embed(np.arange(1000), E)[0].std() < 1.1


def test_a_token_beyond_the_table_is_named():
    with pytest.raises(ValueError, match="from 0 to vocab - 1 = 4; got 0 to 5"):
        embedding.embed(np.array([0, 5]), np.zeros((VOCAB, D)))

"""Top-k, nucleus and sampling: what is kept, what is drawn, and the same from both twins and from transformers."""

import numpy as np
import pytest
import torch

from attnlib.nn import sampling as twin
from attnlib.reference import sampling
from attnlib.reference.ops import softmax

B, VOCAB = 5, 11


def scores(rng):
    return rng.normal(size=(B, VOCAB)) * 2


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("keep_top_k", [1, 3, VOCAB, 99]),
        ("keep_nucleus", [0.01, 0.5, 0.9, 1.0]),
        ("keep_min_p", [0.0, 0.05, 0.3, 1.0]),
    ],
)
def test_filters_equal_their_twins_and_those_of_transformers(name, values, rng):
    from transformers import MinPLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

    theirs = {
        "keep_top_k": TopKLogitsWarper,
        "keep_nucleus": TopPLogitsWarper,
        "keep_min_p": MinPLogitsWarper,
    }[name]
    S = scores(rng)
    for value in values:
        kept = getattr(sampling, name)(S, value)
        assert np.array_equal(kept, getattr(twin, name)(torch.tensor(S), value).numpy())
        assert np.array_equal(kept, theirs(value)(None, torch.tensor(S)).numpy())


def test_the_token_that_crosses_p_stays_and_no_more(rng):
    S = scores(rng)
    for p in (0.3, 0.7, 0.95):
        P = np.where(np.isfinite(sampling.keep_nucleus(S, p)), softmax(S), np.nan)
        assert (np.nansum(P, axis=-1) >= p).all()
        assert (np.nansum(P, axis=-1) - np.nanmin(P, axis=-1) < p).all()


def test_what_comes_exactly_to_p_is_enough():
    S = np.zeros((1, 4))
    kept = np.array([[0, 0, -np.inf, -np.inf]])  # two quarters; of equals the first
    assert np.array_equal(sampling.keep_nucleus(S, 0.5), kept)
    assert np.array_equal(twin.keep_nucleus(torch.tensor(S), 0.5).numpy(), kept)


def test_of_many_equals_the_first_are_kept():
    S = np.zeros((1, 64))
    kept = np.where(np.arange(64) < 32, 0.0, -np.inf)[None]
    assert np.array_equal(sampling.keep_nucleus(S, 0.5), kept)
    assert np.array_equal(twin.keep_nucleus(torch.tensor(S), 0.5).numpy(), kept)


def test_tokens_come_as_often_as_their_weights_say(rng):
    S, n = np.log(np.array([0.5, 0.3, 0.15, 0.05])), 40_000
    u = rng.uniform(size=n)
    drawn = sampling.sample(np.tile(S, (n, 1)), u)
    share = np.bincount(drawn, minlength=4) / n
    spread = np.sqrt(np.exp(S) * (1 - np.exp(S)) / n)
    assert (abs(share - np.exp(S)) < 4 * spread).all()
    assert np.array_equal(drawn, twin.sample(torch.tensor(np.tile(S, (n, 1))), torch.tensor(u)).numpy())


def test_what_was_left_out_is_never_drawn_not_even_at_the_end_of_the_interval():
    S = np.array([[0.0] * 10 + [-np.inf]])
    u = np.array([np.nextafter(1.0, 0.0)])
    assert np.cumsum(sampling.softmax(S))[-1] <= u[0]  # ten tenths, summed in floats, are less than one
    assert sampling.sample(S, u)[0] == 9 and twin.sample(torch.tensor(S), torch.tensor(u))[0] == 9

"""A transformer in NumPy, trained: the backward pass that forgets nothing is the package's, and each other is wrong."""

import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from attnlib.reference.gpt import all_arrays, first_parameters, next_token_loss

sys.path.insert(0, str(Path(__file__).parent.parent / "experiments"))

import wrong_slopes as lost  # noqa: E402


def slopes(forgets):
    parameters = first_parameters(np.random.default_rng(0), **lost.SIZES, spread=0.4)
    words, _ = lost.draw(4, np.random.default_rng(1))
    _, gradients = lost.loss_and_slopes(words, parameters, partial(lost.without, forgets))
    _, right = next_token_loss(words, parameters, lost.HEADS)
    return all_arrays(gradients), all_arrays(right)


def test_who_forgets_nothing_is_right():
    for mine, right in zip(*slopes([]), strict=True):
        np.testing.assert_allclose(mine, right, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("forgets", [terms for terms in lost.FORGETS.values() if terms], ids=str)
def test_who_forgets_a_term_is_wrong(forgets):
    pairs = zip(*slopes(forgets), strict=True)
    assert any(not np.allclose(mine, right, rtol=1e-6, atol=1e-8) for mine, right in pairs)


def test_the_bits_of_a_word_are_its_surprise_for_who_knows_the_rules():
    """3 bits for a noun or a verb, 2 for what hangs a noun on another; after a noun a coin decides."""
    words, bits = lost.draw(4000, np.random.default_rng(2))
    after_noun = (words[:, :-1] >= 4) & (words[:, :-1] < lost.VERB)
    goes_on = (words[:, 1:] < lost.VERB)[after_noun].mean()
    assert abs(goes_on - 0.5) < 4 * 0.5 / np.sqrt(after_noun.sum())  # a coin
    assert set(bits[words >= 4]) == {3} and set(bits[(words == 2) | (words == 3)]) == {2}
    assert not bits[words < 2].any()

"""The course's own model, and what it is compared with."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "experiments"))

from course_baselines import compressed, kneser_ney

from attnlib.data.results import load_result


@pytest.mark.parametrize("order", [1, 2, 3])
def test_an_n_gram_model_shares_out_all_probability(order):
    rng = np.random.default_rng(0)
    train = rng.choice(5, size=400, p=[0.4, 0.3, 0.15, 0.1, 0.05])

    def bits(text):
        return len(text) * kneser_ney(train, np.array(text), range(1, order + 1), 5)[str(order)]

    for history in ([0, 1], [4, 4], [2, 0]):
        assert sum(2 ** (bits(history) - bits([*history, x])) for x in range(5)) == pytest.approx(1)


def test_an_n_gram_model_knows_what_it_has_counted():
    train = np.tile([0, 1, 2], 200)
    bits = kneser_ney(train, np.tile([0, 1, 2], 20), range(1, 3), 3)
    assert bits["1"] == pytest.approx(np.log2(3), abs=1e-3) and bits["2"] < 0.1


def test_a_compressor_gains_by_what_it_has_read():
    words = b"".join(bytes([i, 255 - i, i // 2]) for i in range(256))
    bits = compressed(words * 3, words)
    assert bits["lzma, after training's text"] < bits["lzma, alone"]


def test_the_stored_rivals_stand_in_their_order():
    stored = load_result("course_baselines")
    tokens = list(stored["n-grams of tokens"].values())
    assert tokens == sorted(tokens, reverse=True), "more context never hurts this smoothing here"

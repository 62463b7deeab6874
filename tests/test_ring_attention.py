"""Attention whose keys go around a ring is attention: on any number of workers, with a mask, and with large scores."""

import numpy as np
import pytest

from attnlib.reference.attention import scaled_dot_product_attention
from attnlib.reference.ring_attention import attention_on_a_ring
from attnlib.testing import assert_close

D_K, D_V, M, N = 5, 7, 2, 3


def parts(rng, p, m, n, size=1.0):
    return size * rng.normal(size=(p, m, D_K)), rng.normal(size=(p, n, D_K)), rng.normal(size=(p, n, D_V))


def whole(Q, K, V, mask=None):
    flat = (one.reshape(-1, one.shape[-1]) for one in (Q, K, V))
    return scaled_dot_product_attention(*flat, mask)[0].reshape(*Q.shape[:2], D_V)


@pytest.mark.parametrize("p", [1, 2, 3, 8])
@pytest.mark.parametrize("size", [1.0, 400.0])
def test_it_is_attention_over_the_whole_text(p, size, rng):
    Q, K, V = parts(rng, p, M, N, size)
    assert_close(attention_on_a_ring(Q, K, V)[0], whole(Q, K, V), "float64")


@pytest.mark.parametrize("p", [1, 2, 3, 8])
def test_causal_no_query_sees_what_comes_behind_it_on_any_worker(p, rng):
    Q, K, V = parts(rng, p, N, N)
    mask = np.tril(np.ones((p * N, p * N), dtype=bool))
    assert_close(attention_on_a_ring(Q, K, V, causal=True)[0], whole(Q, K, V, mask), "float64")


@pytest.mark.parametrize("p", [1, 2, 5])
def test_each_worker_sends_its_tile_to_all_but_one(p, rng):
    assert set(attention_on_a_ring(*parts(rng, p, M, N))[1]) == {(p - 1) * N * (D_K + D_V)}


def test_causal_with_other_keys_than_queries_is_one_sentence(rng):
    with pytest.raises(ValueError, match="as many queries as keys; got m=2, n=3"):
        attention_on_a_ring(*parts(rng, 2, M, N), causal=True)

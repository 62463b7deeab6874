"""Attention whose keys go around a ring is attention: on any number of workers, with a mask, and with large scores."""

import numpy as np
import pytest

from attnlib.reference.attention import attend, scaled_dot_product_attention
from attnlib.reference.ring_attention import Joined, attention_on_a_ring, join_tile
from attnlib.testing import assert_close

D_K, D_V, N = 5, 7, 3


def parts(rng, p, size=1.0):
    return size * rng.normal(size=(p, N, D_K)), rng.normal(size=(p, N, D_K)), rng.normal(size=(p, N, D_V))


def whole(Q, K, V):
    flat = (one.reshape(-1, one.shape[-1]) for one in (Q, K, V))
    return scaled_dot_product_attention(*flat)[0].reshape(*Q.shape[:2], D_V)


@pytest.mark.parametrize("p", [1, 2, 3, 8])
@pytest.mark.parametrize("size", [1.0, 400.0])
def test_it_is_attention_over_the_whole_text(p, size, rng):
    Q, K, V = parts(rng, p, size)
    assert_close(attention_on_a_ring(Q, K, V)[0], whole(Q, K, V), "float64")


@pytest.mark.parametrize("p", [1, 2, 3, 8])
@pytest.mark.parametrize("dealt", ["in order", "like cards", "anyhow"])
def test_no_query_sees_what_comes_behind_it_wherever_the_tokens_lie(p, dealt, rng):
    n = p * N
    order = {
        "in order": np.arange(n),
        "like cards": np.arange(n).reshape(N, p).T.ravel(),
        "anyhow": rng.permutation(n),
    }[dealt]
    Q, K, V = (rng.normal(size=(n, d)) for d in (D_K, D_K, D_V))
    exact, _ = scaled_dot_product_attention(Q, K, V, np.tril(np.ones((n, n), dtype=bool)))
    places = order.reshape(p, N)
    assert_close(attention_on_a_ring(Q[places], K[places], V[places], places)[0], exact[places], "float64")


@pytest.mark.parametrize("p", [1, 2, 5])
def test_each_worker_sends_its_tile_to_all_but_one(p, rng):
    assert set(attention_on_a_ring(*parts(rng, p))[1]) == {(p - 1) * N * (D_K + D_V)}


def test_tiles_join_for_a_batch_and_a_query_that_may_look_nowhere_keeps_nothing(rng):
    S, V = rng.normal(size=(2, 4, 6)), rng.normal(size=(2, 6, D_V))
    mask = rng.random((4, 6)) < 0.5
    mask[:, 5] = True
    mask[1], mask[2, :3] = False, False  # query 1 sees no key at all, query 2 none of the first tile
    found = Joined(np.full((2, 4), -np.inf), np.zeros((2, 4)), np.zeros((2, 4, D_V)))
    for keys in (slice(0, 3), slice(3, 6)):
        found = join_tile(found, S[..., keys], V[:, keys], mask[:, keys])
    exact, _ = attend(S, V, mask)
    seen = [0, 2, 3]
    assert_close(found.summed[:, seen] / found.total[:, seen, None], exact[:, seen], "float64")
    assert (
        (found.largest[:, 1] == -np.inf).all()
        and not found.total[:, 1].any()
        and not found.summed[:, 1].any()
    )

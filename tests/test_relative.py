"""Numbers for distances: the published rules, the same wherever a text stands, and gradients by hand."""

import numpy as np
import pytest
import torch
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.t5.modeling_t5 import T5Attention

from attnlib.nn import relative as twin
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.reference import relative
from attnlib.testing import assert_close, central_difference

H, M, N, D, MOST = 3, 4, 6, 5, 2
ROWS = relative.clipped(relative.distances(M, N), MOST)


def test_what_is_computed_equals_its_twin(rng):
    Q, R, table = (
        rng.normal(size=(2, M, D)),
        rng.normal(size=(2 * MOST + 1, D)),
        rng.normal(size=(H, 2 * MOST + 1)),
    )
    assert relative.distances(M, N).tolist() == twin.distances(M, N).tolist()
    rows = twin.clipped(twin.distances(M, N), MOST)
    assert rows.tolist() == ROWS.tolist()
    tensors = map(torch.from_numpy, (Q, R, table))
    q, r, t = tensors
    assert_close(twin.shaw_scores(q, r, rows), relative.shaw_scores(Q, R, ROWS)[0], "float64")
    assert_close(twin.offset_bias(t, rows), relative.offset_bias(table, ROWS)[0], "float64")
    assert_close(twin.alibi(H, M, N), relative.alibi(H, M, N), "float32")


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize(("buckets", "farthest"), [(32, 128), (8, 20), (6, 4)])
def test_the_rows_of_t5_are_those_of_its_published_code(both, buckets, farthest):
    distance = np.arange(-300, 301)
    theirs = T5Attention._relative_position_bucket(
        -torch.from_numpy(distance), bidirectional=both, num_buckets=buckets, max_distance=farthest
    )
    assert relative.t5_buckets(distance, buckets, farthest, both).tolist() == theirs.tolist()
    assert twin.t5_buckets(torch.from_numpy(distance), buckets, farthest, both).tolist() == theirs.tolist()


@pytest.mark.parametrize("h", [1, 4, 6, 8, 12])
def test_alibi_gives_the_weights_of_the_published_code(h):
    """Theirs adds the slope times the place of the key: for each query another number more, which softmax drops."""
    theirs = build_alibi_tensor(torch.ones(1, N), h, torch.float64)
    past = torch.ones(N, N).tril().bool()
    assert_close(twin.alibi(h, N, N), relative.alibi(h, N, N), "float32")
    ours = torch.from_numpy(relative.alibi(h, N, N)).masked_fill(~past, -torch.inf).softmax(-1)
    assert_close(ours, theirs.masked_fill(~past, -torch.inf).softmax(-1), "float32")


def test_shaws_scores_are_those_of_a_vector_for_each_pair(rng):
    Q, R = rng.normal(size=(2, M, D)), rng.normal(size=(2 * MOST + 1, D))
    slowly = [
        [
            [Q[b, i] @ R[np.clip(N - M + i - j, -MOST, MOST) + MOST] / np.sqrt(D) for j in range(N)]
            for i in range(M)
        ]
        for b in range(2)
    ]
    assert_close(relative.shaw_scores(Q, R, ROWS)[0], np.array(slowly), "float64")


def test_gradients_by_hand(rng):
    Q, R, table = (
        rng.normal(size=(2, M, D)),
        rng.normal(size=(2 * MOST + 1, D)),
        rng.normal(size=(H, 2 * MOST + 1)),
    )
    dS, dB = rng.normal(size=(2, M, N)), rng.normal(size=(H, M, N))
    dQ, dR = relative.shaw_scores_backward(dS, relative.shaw_scores(Q, R, ROWS)[1])
    assert_close(
        dQ, central_difference(lambda A: relative.shaw_scores(A, R, ROWS)[0], Q, dS), "central difference"
    )
    assert_close(
        dR, central_difference(lambda A: relative.shaw_scores(Q, A, ROWS)[0], R, dS), "central difference"
    )
    dtable = relative.offset_bias_backward(dB, relative.offset_bias(table, ROWS)[1])
    assert_close(
        dtable,
        central_difference(lambda A: relative.offset_bias(A, ROWS)[0], table, dB),
        "central difference",
    )


def layer_with_bias(kind: str):
    torch.manual_seed(0)
    layer = MultiHeadAttention(d_model=8, n_heads=2, causal=True).double()
    if kind == "alibi":
        return layer, lambda m, n: twin.alibi(2, m, n).double()
    table = torch.randn(2, 8, dtype=torch.float64)
    return layer, lambda m, n: twin.offset_bias(
        table, twin.t5_buckets(twin.distances(m, n), 8, 20, both=False)
    )


@pytest.mark.parametrize("kind", ["alibi", "t5"])
def test_a_text_means_the_same_wherever_it_stands_and_its_order_is_heard(kind):
    """What stands before it is hidden; then a move of the text changes nothing, and an exchange of words does."""
    layer, bias = layer_with_bias(kind)
    X = torch.randn(12, 8, dtype=torch.float64)
    first = layer(X[5:], bias=bias(7, 7))
    hidden = torch.ones(12, 12).bool()
    hidden[:, :5] = False
    moved = layer(X, mask=hidden, bias=bias(12, 12))[5:]
    assert_close(moved, first, "float64")
    exchanged = layer(X[[6, 5, *range(7, 12)]], bias=bias(7, 7))
    assert (exchanged[-1] - first[-1]).abs().max() > 1e-3


@pytest.mark.parametrize("kind", ["alibi", "t5"])
def test_the_last_places_of_a_longer_text_get_their_part_of_the_whole_bias(kind):
    _, bias = layer_with_bias(kind)
    assert torch.equal(bias(3, 9), bias(9, 9)[:, -3:])

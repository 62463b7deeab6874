"""Attention: loops, matrices, twin and PyTorch's own operator give the same numbers, and the slopes agree."""

import contextlib
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from attnlib.nn import attention as nn_attention
from attnlib.nn import debug
from attnlib.nn import scores as nn_scores
from attnlib.nn.debug import checked_values
from attnlib.reference import attention
from attnlib.reference.attention import AttentionParameters
from attnlib.testing import assert_close, check_gradients, check_twin, copy_parameters

B, N, M, D_K, D_V, D_IN = 2, 3, 5, 7, 11, 13


@pytest.fixture
def arrays(rng):
    return [rng.normal(size=shape) for shape in [(B, M, D_K), (B, N, D_K), (B, N, D_V)]]


@pytest.fixture
def mask(rng):
    mask = rng.random((B, M, N)) < 0.6
    mask[0, 2] = False
    return mask


def tensors(arrays, **options):
    return [torch.tensor(array, **options) for array in arrays]


def test_loops_matrices_twin_and_pytorch_agree(arrays):
    O, cache = attention.scaled_dot_product_attention(*arrays)
    assert_close(O[1], attention.attention_by_loops(*(array[1] for array in arrays)), "float64")
    assert_close(O, nn_attention.scaled_dot_product_attention(*tensors(arrays)).numpy(), "float64")
    assert_close(O, F.scaled_dot_product_attention(*tensors(arrays)).numpy(), "float64")
    assert_close(cache.P, nn_attention.attention_weights(*tensors(arrays[:2])).numpy(), "float64")
    assert_close(cache.P.sum(axis=-1), np.ones((B, M)), "float64")


@pytest.mark.parametrize(
    ("dtype", "kind"), [("float64", "float64"), ("float32", "float32"), ("float16", "float16")]
)
def test_it_equals_pytorchs_operator_in_each_precision(arrays, dtype, kind):
    low = [array.astype(dtype) for array in arrays]
    O, cache = attention.scaled_dot_product_attention(*low)
    assert O.dtype == dtype
    assert_close(O, F.scaled_dot_product_attention(*tensors(low)).numpy(), kind)
    gradients = attention.scaled_dot_product_attention_backward(np.ones_like(O), cache)
    assert all(gradient.dtype == dtype for gradient in gradients)


@pytest.mark.parametrize("masked", [False, True])
def test_the_backward_is_the_slope(arrays, mask, masked, rng):
    seen = mask if masked else None

    def forward(*arrays):
        return attention.scaled_dot_product_attention(*arrays, seen)

    check_gradients(forward, attention.scaled_dot_product_attention_backward, arrays, rng)
    given = torch.tensor(mask) if masked else None
    check_twin(
        forward,
        attention.scaled_dot_product_attention_backward,
        lambda *arrays: nn_attention.scaled_dot_product_attention(*arrays, given),
        arrays,
        rng,
    )


def test_a_query_that_may_look_nowhere_gets_zeros_and_gives_none(arrays, mask, rng):
    O, cache = attention.scaled_dot_product_attention(*arrays, mask)
    twin = nn_attention.scaled_dot_product_attention(*tensors(arrays), torch.tensor(mask)).numpy()
    weights = nn_attention.attention_weights(*tensors(arrays[:2]), torch.tensor(mask)).numpy()
    assert_close(O, twin, "float64")
    assert_close(cache.P, weights, "float64")
    assert not O[0, 2].any() and not cache.P[0, 2].any()
    dQ, dK, dV = attention.scaled_dot_product_attention_backward(rng.normal(size=O.shape), cache)
    assert not dQ[0, 2].any()
    leaves = tensors(arrays, requires_grad=True)
    nn_attention.scaled_dot_product_attention(*leaves, torch.tensor(mask)).sum().backward()
    assert not leaves[0].grad[0, 2].any() and all(leaf.grad.isfinite().all() for leaf in leaves)
    assert all(np.isfinite(gradient).all() for gradient in (dQ, dK, dV))


@pytest.mark.parametrize("seen", ["everything", "some", "nothing"])
def test_the_fused_operator_equals_the_plain_form(arrays, mask, seen):
    chosen = {"everything": None, "some": torch.tensor(mask), "nothing": torch.zeros(B, M, N).bool()}[seen]
    fused, plain = tensors(arrays, requires_grad=True), tensors(arrays, requires_grad=True)
    by_fused = nn_attention.scaled_dot_product_attention(*fused, chosen)
    by_plain = nn_attention.attend(nn_scores.scaled_dot_scores(*plain[:2]), plain[2], chosen)
    assert_close(by_fused, by_plain, "float64")
    dO = torch.randn(by_plain.shape, generator=torch.Generator().manual_seed(0)).double()
    (by_fused * dO).sum().backward()
    (by_plain * dO).sum().backward()
    for one, other in zip(fused, plain, strict=True):
        assert_close(one.grad, other.grad, "float64")


def test_attend_takes_any_scores(arrays, mask, rng):
    S, V = rng.normal(size=(B, M, N)), arrays[2]
    O, cache = attention.attend(S, V, mask)
    assert_close(O, nn_attention.attend(*tensors([S, V]), torch.tensor(mask)).numpy(), "float64")
    check_gradients(lambda S, V: attention.attend(S, V, mask), attention.attend_backward, [S, V], rng)
    assert_close(O, cache.P @ V, "float64")


def test_a_mask_broadcasts_over_queries_and_over_the_batch(arrays, mask):
    over_queries = mask[:, :1]
    full = np.broadcast_to(over_queries, mask.shape).copy()
    short, _ = attention.scaled_dot_product_attention(*arrays, over_queries)
    long, _ = attention.scaled_dot_product_attention(*arrays, full)
    assert np.array_equal(short, long)
    twin = nn_attention.scaled_dot_product_attention(*tensors(arrays), torch.tensor(over_queries)).numpy()
    assert_close(short, twin, "float64")


@pytest.fixture
def layer(rng):
    parameters = AttentionParameters(
        *(rng.normal(size=shape) for shape in [(D_K, N), (D_IN, N), (D_IN, D_V)])
    )
    return rng.normal(size=(B, M, D_K)), rng.normal(size=(B, N, D_IN)), parameters


def test_the_layer_equals_its_module_with_the_same_parameters(layer, mask):
    X, source, parameters = layer
    module = nn_attention.AttentionLayer(d_model=D_K, d_source=D_IN, d_k=N, d_v=D_V).double()
    copy_parameters(parameters, module)
    Y, cache = attention.attention_layer(X, source, parameters, mask)
    assert_close(Y, module(*tensors([X, source, mask])).detach().numpy(), "float64")
    assert_close(cache.P, module.attention_weights(*tensors([X, source, mask])).detach().numpy(), "float64")


def test_the_layers_backward_is_the_slope(layer, rng):
    X, source, parameters = layer

    def forward(X, source, *parameters):
        return attention.attention_layer(X, source, AttentionParameters(*parameters))

    def backward(dY, cache):
        dX, dsource, d_parameters = attention.attention_layer_backward(dY, cache)
        return (dX, dsource, *d_parameters)

    check_gradients(forward, backward, [X, source, *parameters], rng)
    module = nn_attention.AttentionLayer(d_model=D_K, d_source=D_IN, d_k=N, d_v=D_V).double()
    check_twin(
        attention.attention_layer,
        attention.attention_layer_backward,
        module,
        [X, source],
        rng,
        parameters,
        module,
    )


def test_nothing_leaks_across_the_batch(arrays):
    Q, K, V = arrays
    before, _ = attention.scaled_dot_product_attention(Q, K, V)
    K[1], V[1] = 100.0, -100.0
    after, _ = attention.scaled_dot_product_attention(Q, K, V)
    assert np.array_equal(before[0], after[0])


def test_pairs_of_keys_and_values_have_no_order(arrays, rng):
    Q, K, V = arrays
    order = rng.permutation(N)
    plain, _ = attention.scaled_dot_product_attention(Q, K, V)
    shuffled, _ = attention.scaled_dot_product_attention(Q, K[:, order], V[:, order])
    assert_close(plain, shuffled, "float64")


def zeros(module, *shape):
    return np.zeros(shape) if module is attention else torch.zeros(shape, dtype=torch.float64)


@pytest.mark.bad_input
@pytest.mark.parametrize("module", [attention, nn_attention], ids=["reference", "nn"])
@pytest.mark.parametrize(
    ("shapes", "sentence"),
    [
        (
            [(3, 7), (5, 6), (5, 2)],
            "scaled_dot_product_attention: queries and keys must have the same width d_k; "
            r"got Q \(3, 7\) with d_k=7 and K \(5, 6\) with d_k=6.",
        ),
        (
            [(3, 7), (5, 7), (4, 2)],
            r"keys and values must have the same number of keys n; got K \(5, 7\) with n=5 and V",
        ),
        (
            [(2, 3, 7), (5, 7), (5, 2)],
            r"queries and keys must have the same batch axes; got Q \(2, 3, 7\) and K \(5, 7\). Repeat the smaller",
        ),
        ([(3, 7), (0, 7), (0, 2)], r"every axis must have at least one entry; got K \(0, 7\)"),
        (
            [(7,), (5, 7), (5, 2)],
            r"Q needs two axes or more, \(\*b, m, d_k\); got \(7,\). A single vector becomes a matrix",
        ),
    ],
)
def test_wrong_shapes_get_one_clear_sentence_from_both_twins(module, shapes, sentence):
    with pytest.raises(ValueError, match=sentence):
        module.scaled_dot_product_attention(*(zeros(module, *shape) for shape in shapes))


@pytest.mark.bad_input
@pytest.mark.parametrize("module", [attention, nn_attention], ids=["reference", "nn"])
def test_wrong_kinds_get_one_clear_sentence_from_both_twins(module):
    Q, K, V = (zeros(module, *shape) for shape in [(3, 7), (5, 7), (5, 2)])
    additive = zeros(module, 3, 5)
    with pytest.raises(
        TypeError, match="mask must be boolean with True = may look; got float64. An additive 0/-inf"
    ):
        module.scaled_dot_product_attention(Q, K, V, additive)
    with pytest.raises(
        ValueError, match=r"mask must broadcast to the shape of the scores \(3, 5\); got \(5, 3\)"
    ):
        module.scaled_dot_product_attention(Q, K, V, (zeros(module, 5, 3) == 0))
    with pytest.raises(TypeError, match="Q must be an array; got list"):
        module.scaled_dot_product_attention([[1.0]], K, V)
    with pytest.raises(
        ValueError, match=r"S and values must have the same number of keys n; got S \(3, 5\) with n=5"
    ):
        module.attend(zeros(module, 3, 5), zeros(module, 4, 2))


def as_kind(module, *arrays):
    return [array if module is attention else torch.tensor(array) for array in arrays]


@pytest.mark.usefixtures("checked_values")
@pytest.mark.parametrize("module", [attention, nn_attention], ids=["reference", "nn"])
def test_nan_is_refused_where_it_would_count(module):
    Q, K, V = np.ones((2, 2)), np.ones((3, 2)), np.ones((3, 2))
    bad_Q, bad_K, bad_V = Q.copy(), K.copy(), V.copy()
    bad_Q[0, 0] = bad_K[2, 0] = bad_V[2, 0] = math.nan
    with pytest.raises(
        ValueError, match="softmax: scores must be finite or -inf; got 3 NaN or [+]inf entries in S"
    ):
        module.scaled_dot_product_attention(*as_kind(module, bad_Q, K, V))
    with pytest.raises(ValueError, match="softmax: scores must be finite or -inf; got 2 NaN"):
        module.scaled_dot_product_attention(*as_kind(module, Q, bad_K, V))
    mask = np.array([[True, True, False]])
    sentence = r": V must be finite; got 1 NaN or infinite entries in V \(3, 2\)"
    with pytest.raises(ValueError, match="scaled_dot_product_attention" + sentence):
        module.scaled_dot_product_attention(*as_kind(module, Q, K, bad_V, mask))
    with pytest.raises(ValueError, match="attend" + sentence):
        module.attend(*as_kind(module, np.ones((2, 3)), bad_V, mask))


def test_nan_in_a_key_that_nobody_may_look_at_does_no_harm_in_the_formula(rng):
    Q, K, V = (rng.normal(size=shape) for shape in [(M, D_K), (N, D_K), (N, D_V)])
    mask = np.array([[True, True, False]])
    clean, _ = attention.scaled_dot_product_attention(Q, K, V, mask)
    K[2] = math.nan
    dirty, _ = attention.scaled_dot_product_attention(Q, K, V, mask)
    assert_close(dirty, clean, "float64")
    S = nn_scores.scaled_dot_scores(*tensors([Q, K]))
    assert_close(nn_attention.attend(S, *tensors([V, mask])), clean, "float64")


@pytest.mark.parametrize("n", [N, 40])
def test_nan_in_what_nobody_may_look_at_spoils_pytorchs_operator(n):
    """It adds minus infinity to hidden scores, and multiplies hidden values with zero: NaN stays NaN in both."""
    Q, K, V = (torch.ones(1, 1, rows, 8) for rows in (M, n, n))
    mask = torch.arange(n)[None] < n - 1
    bad = torch.ones_like(K)
    bad[..., -1, 0] = math.nan
    for given in ((Q, bad, V), (Q, K, bad)):
        assert nn_attention.scaled_dot_product_attention(*given, mask).isnan().any(-1).all()
        with checked_values(), contextlib.suppress(ValueError):
            nn_attention.scaled_dot_product_attention(*given, mask)
            assert given[1] is bad, "a bad value must be refused; a bad key that is hidden is not a score"


@pytest.mark.usefixtures("checked_values")
@pytest.mark.parametrize("module", [attention, nn_attention], ids=["reference", "nn"])
def test_scores_beyond_the_dtype_are_refused_and_not_averaged(module):
    Q, K, V = np.full((1, 2), 1e200), np.full((2, 2), 1e200), np.ones((2, 1))
    with (
        np.errstate(over="ignore"),
        pytest.raises(ValueError, match="scores must be finite or -inf; got 2 NaN or"),
    ):
        module.scaled_dot_product_attention(*as_kind(module, Q, K, V))


@pytest.mark.bad_input
def test_the_loops_check_widths_too():
    huge = attention.attention_by_loops(
        np.array([[1.0]]), np.array([[0.0], [2000.0]]), np.array([[1.0], [3.0]])
    )
    assert huge == 3.0, "the largest score is taken off before the exponential"
    with pytest.raises(ValueError, match="attention_by_loops: queries and keys must have the same width d_k"):
        attention.attention_by_loops(np.ones((3, 7)), np.ones((5, 6)), np.ones((5, 2)))


@pytest.mark.bad_input
def test_a_layer_names_the_parameter_that_does_not_fit():
    parameters = AttentionParameters(np.ones((2, 3)), np.ones((5, 3)), np.ones((5, 7)))
    for shapes, sentence in [
        ([(4, 3), (6, 5)], r"W_Q must .* d_model.*; got .*\(2, 3\)"),
        ([(4, 2), (6, 4)], r"W_K must .* d_source.*; got .*\(5, 3\)"),
        ([(2,), (6, 5)], r"X needs two axes or more, .*; got \(2,\)"),
    ]:
        with pytest.raises(ValueError, match="attention_layer: .*" + sentence):
            attention.attention_layer(*map(np.ones, shapes), parameters)


def test_a_module_has_three_maps_and_no_biases():
    module = nn_attention.AttentionLayer(d_model=2, d_source=5, d_k=3, d_v=7)
    sizes = {name: tuple(W.shape) for name, W in module.named_parameters()}
    assert sizes == {"W_Q.weight": (3, 2), "W_K.weight": (3, 5), "W_V.weight": (7, 5)}


@pytest.mark.bad_input
def test_a_module_says_which_input_does_not_fit():
    module = nn_attention.AttentionLayer(d_model=2, d_source=5, d_k=3, d_v=7)
    for shapes, sentence in [
        ([(4, 3), (6, 5)], r"X must be \(\*b, m, d_model\) with d_model=2; got \(4, 3\)"),
        ([(4, 2), (6, 4)], r"source must be \(\*b, n, d_source\) with d_source=5; got \(6, 4\)"),
        ([(4, 2)], r"source must be \(\*b, n, d_source\) with d_source=5; got \(4, 2\)"),
        ([(2,), (6, 5)], r"X needs two axes or more, .*; got \(2,\)"),
    ]:
        with pytest.raises(ValueError, match="AttentionLayer: " + sentence):
            module(*map(torch.ones, shapes))


@pytest.mark.usefixtures("checked_values")
@pytest.mark.parametrize("axes", [(), (1,), (1, 1), (1, 1, 1)])
def test_nan_in_a_query_is_refused_with_any_number_of_batch_axes(axes):
    Q, K, V = (torch.ones(*axes, rows, 2) for rows in (2, 3, 3))
    Q[..., 0, 0] = math.nan
    with pytest.raises(ValueError, match="softmax: scores must be finite or -inf; got 3 NaN"):
        nn_attention.scaled_dot_product_attention(Q, K, V)


def test_who_looks_at_values_sees_the_scores_of_the_layer():
    Q, K, V = torch.randn(2, 4, 3, 5), torch.randn(2, 2, 3, 5), torch.randn(2, 2, 3, 5)
    seen = debug._scores(Q, K, V, bias=1.0)
    torch.testing.assert_close(seen["S"], Q @ K.repeat_interleave(2, 1).mT / math.sqrt(5) + 1)

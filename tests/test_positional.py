"""Where a token stands: numbers that are added, and rotations after which only distances count."""

from functools import partial

import numpy as np
import pytest
import torch

from attnlib.nn import positional as twin
from attnlib.reference import positional
from attnlib.testing import assert_close, central_difference

B, N, D = 2, 5, 6


def test_indices_and_clock_hands_equal_their_twins():
    for name, sizes in [
        ("index", (N,)),
        ("normalised_index", (N,)),
        ("sinusoids", (N, D)),
        ("sinusoids", (N, 7)),
    ]:
        ours, theirs = getattr(positional, name)(*sizes), getattr(twin, name)(*sizes)
        assert ours.shape == tuple(theirs.shape)
        assert_close(ours, theirs, "float32")


def test_the_positions_are_those_of_the_book():
    assert twin.index(10).tolist() == list(range(10))
    assert_close(twin.normalised_index(4), torch.arange(4) / 3, "float32")
    assert_close(twin.normalised_index(10).diff(), torch.full((9,), 1 / 9), "float32")
    P = twin.sinusoids(N, D)
    t, i = 4, 2
    assert_close(P[t, 2 * i], np.sin(t / 10_000 ** (2 * i / D)), "float32")
    assert_close(P[t, 2 * i + 1], np.cos(t / 10_000 ** (2 * i / D)), "float32")
    assert_close((P**2).sum(-1), torch.full((N,), D / 2), "float32")
    assert twin.sinusoids(N, 5).shape == (N, 5)


def test_every_position_has_the_same_length_and_a_shift_is_one_rotation_for_all():
    P = positional.sinusoids(40, D)
    assert_close((P**2).sum(axis=-1), np.full(40, D / 2), "float64")
    k = 3
    turned = positional.rotary(P[:-k, _sine_last(D)], np.full(40 - k, float(k)))
    assert_close(turned, P[k:, _sine_last(D)], "float64")


def _sine_last(d):
    """Each pair as (cosine, sine), the order in which a rotation by a positive angle runs forward."""
    return np.arange(d).reshape(-1, 2)[:, ::-1].ravel()


def test_the_score_of_turned_vectors_depends_on_their_distance_only(rng):
    q, k = rng.normal(size=(1, D)), rng.normal(size=(1, D))
    for turn in (positional.rotary, positional.rotary_halves):
        scores = [
            (turn(q, np.array([m + s])) @ turn(k, np.array([s])).T).item()
            for s in (0.0, 7.0, 1e4)
            for m in (4.0,)
        ]
        assert_close(scores, [scores[0]] * 3, "central difference")
        assert abs(scores[0] - (q @ k.T).item()) > 1e-3


def test_a_hand_is_round_after_its_wavelength_and_the_longest_of_512_is_60611_places():
    lengths = positional.wavelengths(512)
    assert_close(lengths[[0, -1]], 2 * np.pi * np.array([1, 10_000 ** (510 / 512)]), "float64")
    assert_close(lengths[1:] / lengths[:-1], np.full(255, 10_000 ** (2 / 512)), "float64")
    assert round(lengths[-1]) == 60_611
    assert_close(np.diag(positional.angles(lengths, 512)), np.full(256, 2 * np.pi), "float64")


def test_four_hands_of_eight_numbers_are_slower_by_ten_each():
    assert_close(positional.angles(np.ones(1), 8)[0], np.array([1, 1e-1, 1e-2, 1e-3]), "float64")


def test_a_clock_of_four_numbers_has_a_hand_for_steps_and_one_for_hundreds():
    t = np.arange(7)
    table = np.stack([np.sin(t), np.cos(t), np.sin(t / 100), np.cos(t / 100)], axis=1)
    assert_close(positional.sinusoids(7, 4), table, "float64")


def test_each_hand_has_length_one_and_the_sine_alone_does_not_tell_two_hands_apart():
    hands = positional.sinusoids(40, D).reshape(40, -1, 2)
    assert_close(np.linalg.norm(hands, axis=-1), np.ones((40, D // 2)), "float64")
    up, right = positional.rotary(np.array([[1.0, 0.0]] * 2), np.array([np.pi / 6, 5 * np.pi / 6])).T
    assert_close(right, np.array([0.5, 0.5]), "float64")
    assert_close(up, np.array([1, -1]) * 3**0.5 / 2, "float64")


def test_the_turn_is_the_rule_for_the_cosine_and_the_sine_of_a_sum(rng):
    a, b = rng.uniform(-9, 9, size=(2, N))
    turned = positional.rotary(np.stack([np.cos(a), np.sin(a)], axis=1), b)
    assert_close(turned, np.stack([np.cos(a + b), np.sin(a + b)], axis=1), "float64")


def test_a_product_of_two_places_entry_by_entry_is_no_place_unless_hands_are_complex_numbers():
    P, k = positional.sinusoids(60, 16), 7
    assert abs(P[:-k] * P[k] - P[k:]).max() > 1
    Z = P[:, 1::2] + 1j * P[:, 0::2]
    assert_close(abs(Z[:-k] * Z[k] - Z[k:]).max(), 0.0, "float64")


def test_a_product_of_places_is_a_sum_of_cosines_of_their_distance():
    P = positional.sinusoids(60, 16)
    distance = np.arange(60)[:, None] - np.arange(60)
    hands = P.reshape(60, -1, 2)
    bands = np.cos(distance[..., None] * positional.angles(np.ones(1), 16)[0])
    assert_close(np.einsum("mic,nic->mni", hands, hands), bands, "float64")
    assert_close(P @ P.T, bands.sum(axis=-1), "float64")
    assert_close(
        P @ P.T, positional.sinusoids(160, 16)[100:] @ positional.sinusoids(160, 16)[100:].T, "float64"
    )
    assert np.diff((P @ P.T)[0]).max() > 0, "farther is not always less"


def test_a_query_that_is_turned_back_looks_three_places_back_from_anywhere():
    U = positional.sinusoids(3000, 32)
    back = positional.rotary(U[:, _sine_last(32)], np.full(3000, -3.0))[:, _sine_last(32)]
    for m in (3, 20, 2999):
        assert (U[: m + 1] @ back[m]).argmax() == m - 3


def test_values_are_not_turned_and_nothing_is_learned():
    from attnlib.nn.multihead import MultiHeadAttention

    turn = twin.Rotary(4, context=9, layout="halves")
    assert not list(turn.parameters())
    layer, X = MultiHeadAttention(d_model=8, n_heads=2, causal=True), torch.randn(1, 3, 8)
    first = layer(X, rotate=turn)[:, :1]  # the first token sees itself alone: its own value comes back
    assert_close(first, layer(X)[:, :1], "float32")
    assert (layer(X, rotate=turn) - layer(X)).abs().max() > 1e-3


@pytest.mark.parametrize("name", ["rotary", "rotary_halves"])
def test_turning_back_is_the_backward_in_both_layouts(name, rng):
    X, dY, places = rng.normal(size=(B, N, D)), rng.normal(size=(B, N, D)), rng.uniform(0, 9, size=N)
    turn = partial(getattr(positional, name), positions=places)
    back = partial(getattr(positional, f"{name}_backward"), positions=places)
    assert_close(back(dY), central_difference(turn, X, dY), "central difference")
    assert_close(back(turn(X)), X, "float64")


def test_the_orders_of_coordinates_undo_one_another():
    assert np.array_equal(positional.to_neighbours(D // 2)[positional.to_halves(D // 2)], np.arange(D))


@pytest.mark.bad_input
def test_an_odd_width_has_no_pairs():
    for name in ("rotary", "rotary_halves"):
        for module, X in ((positional, np.ones((N, 5))), (twin, torch.ones(N, 5))):
            with pytest.raises(
                ValueError, match=rf"{name}: the width of X must be a multiple of 2; got X \(5, 5\)"
            ):
                getattr(module, name)(X, X[:, 0])
    with pytest.raises(ValueError, match="rotary: the width must be even.*; got d_k=5"):
        twin.Rotary(5, context=N, layout="halves")


def test_rotary_equals_its_twin_and_hugging_faces_layout(rng):
    from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

    X, places = rng.normal(size=(B, N, D)), np.arange(N, dtype=np.float64)
    T = torch.tensor(X)
    for name in ("rotary", "rotary_halves"):
        assert_close(
            getattr(positional, name)(X, places), getattr(twin, name)(T, torch.tensor(places)), "float64"
        )
    angles = torch.tensor(positional.angles(places, D)).repeat(1, 2)
    theirs, _ = apply_rotary_pos_emb(T[:, None], T[:, None], angles.cos()[None], angles.sin()[None])
    assert_close(positional.rotary_halves(X, places), theirs[:, 0], "float64")


# ---- Positions as they come in other code: integers, and of each row ------------------------------------------------

TURNS = ("rotary", "rotary_halves")
OF_ROWS = np.array([[0, 1, 2, 3, 4], [7, 2, 9, 2, 0]])  # a text, and another in an order of its own


@pytest.mark.parametrize("name", TURNS)
def test_integers_are_positions_too(name, rng):
    X, places = rng.normal(size=(2, 5, D)), np.arange(5)
    right = getattr(positional, name)(X, places.astype(float))
    assert_close(getattr(positional, name)(X, places), right, "float64")
    assert_close(getattr(twin, name)(torch.tensor(X), torch.tensor(places)), right, "float64")
    back = getattr(positional, f"{name}_backward")(right, places.astype(np.uint16))
    assert_close(back, X, "float64")


@pytest.mark.parametrize("name", TURNS)
@pytest.mark.parametrize("places", [OF_ROWS, OF_ROWS.astype(float)], ids=["integers", "numbers"])
def test_each_row_has_positions_of_its_own(name, places, rng):
    X = rng.normal(size=(2, 5, D))
    turn = getattr(positional, name)
    right = np.stack([turn(row, at) for row, at in zip(X, places, strict=True)])
    assert_close(turn(X, places), right, "float64")
    assert_close(getattr(positional, f"{name}_backward")(right, places), X, "float64")
    T, P = torch.tensor(X), torch.tensor(places)
    assert_close(getattr(twin, name)(T, P), right, "float64")
    layout = "neighbours" if name == "rotary" else "halves"
    module = twin.Rotary(D, context=10, layout=layout).double()
    assert_close(module(T, P.long()), right, "float32")  # its table is in float32
    assert torch.equal(module(T, torch.arange(5)), module(T))  # one row for all


@pytest.mark.parametrize("name", TURNS)
def test_positions_of_rows_are_those_of_all_heads_when_they_say_so(name, rng):
    """Of (2, 2, 5, d) a row of positions could be a text's or a head's: two axes alone are refused, in each twin."""
    X = rng.normal(size=(2, 2, 5, D))
    right = np.stack([getattr(positional, name)(X[:, head], OF_ROWS) for head in range(2)], axis=1)
    assert_close(getattr(positional, name)(X, OF_ROWS[:, None]), right, "float64")
    T, P = torch.tensor(X), torch.tensor(OF_ROWS)
    assert_close(getattr(twin, name)(T, P[:, None]), right, "float64")
    sentence = r"rotary\w*: positions must be .*; got \(2, 5\)\. .* `positions\[:, None\]`"
    turning = twin.Rotary(D, context=10, layout="halves")
    for turn, given, at in (
        (getattr(positional, name), X, OF_ROWS),
        (getattr(twin, name), T, P),
        (turning, T, P),
    ):
        with pytest.raises(ValueError, match=sentence):
            turn(given, at)


def test_a_layer_takes_the_positions_of_each_row():
    """A text that is padded in front attends as the text alone, whose positions begin at 0."""
    from attnlib.nn.multihead import MultiHeadAttention

    torch.manual_seed(0)
    turn = twin.Rotary(4, context=9, layout="halves")
    layer, X = MultiHeadAttention(d_model=8, n_heads=2, causal=True), torch.randn(2, 5, 8)
    places, real = torch.tensor([[0, 1, 2, 3, 4], [0, 0, 0, 1, 2]]), torch.ones(2, 5, dtype=torch.bool)
    real[1, :2] = False
    Y = layer(X, rotate=lambda Q, first: turn(Q, places[:, None]), key_mask=real)
    assert_close(Y[0], layer(X[:1], rotate=turn)[0], "float32")
    assert_close(Y[1, 2:], layer(X[1:, 2:], rotate=turn)[0], "float32")


def test_far_positions_are_as_exact_in_float32(rng):
    """The angle is computed in float64: at position 100,000 its rounding to float32 alone would be felt."""
    X, far = rng.normal(size=(3, D)), np.array([99_999, 100_000, 100_001])
    right = positional.rotary(X, far)
    assert_close(twin.rotary(torch.tensor(X, dtype=torch.float32), torch.tensor(far)), right, "float32")

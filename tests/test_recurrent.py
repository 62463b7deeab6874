"""Recurrent cells equal PyTorch's, their backwards are their slopes, a gradient through time is a matrix product."""

from typing import Any

import numpy as np
import pytest
import torch

from attnlib.nn import recurrent as nn_recurrent
from attnlib.reference import recurrent
from attnlib.reference.activations import sigmoid
from attnlib.reference.recurrent import GRUParameters, LSTMParameters, LSTMState, RNNParameters
from attnlib.testing import assert_close, central_difference, check_gradients, check_twin

B, T, D_IN, D = 2, 5, 3, 7
# name: the parameters, how many blocks of width D they have, PyTorch's cell, PyTorch's layer
CELLS = {
    "rnn": (RNNParameters, 1, torch.nn.RNNCell, torch.nn.RNN),
    "gru": (GRUParameters, 3, torch.nn.GRUCell, torch.nn.GRU),
    "lstm": (LSTMParameters, 4, torch.nn.LSTMCell, torch.nn.LSTM),
}


def some_parameters(name, rng, dtype: Any = np.float64) -> Any:
    kind, blocks, *_ = CELLS[name]
    shapes = [(D_IN, blocks * D), (D, blocks * D)] + [(blocks * D,)] * (len(kind._fields) - 2)
    return kind(*(0.5 * rng.normal(size=shape).astype(dtype) for shape in shapes))


def some_state(name, rng, batch=(), dtype: Any = np.float64) -> Any:
    h, c = (rng.normal(size=(*batch, D)).astype(dtype) for _ in range(2))
    return LSTMState(h, c) if name == "lstm" else h


def flat(name, cell_or_backward, backward=False):
    """The cell as a function of plain arrays: x, h (and c), then the parameters; an LSTM's h and c side by side."""
    kind, states = CELLS[name][0], 2 if name == "lstm" else 1

    def forward(x, *rest):
        state = LSTMState(*rest[:2]) if states == 2 else rest[0]
        new, cache = cell_or_backward(x, state, kind(*rest[states:]))
        return (np.concatenate(new, axis=-1) if states == 2 else new), cache

    def back(d_new, cache):
        d_new = LSTMState(*np.split(d_new, 2, axis=-1)) if states == 2 else d_new
        dx, d_state, d_parameters = cell_or_backward(d_new, cache)
        return (dx, *(d_state if states == 2 else (d_state,)), *d_parameters)

    return back if backward else forward


def to_twin(value, requires_grad=False):
    """NumPy arrays, also in NamedTuples, as tensors."""
    if isinstance(value, tuple):
        return type(value)(*(to_twin(part, requires_grad) for part in value))
    return torch.tensor(value, requires_grad=requires_grad)


def leaves_of(*values):
    return [leaf for value in values for leaf in (value if isinstance(value, tuple) else (value,))]


def twin_loss(states, d_states) -> torch.Tensor:
    """A loss whose slope by the states is d_states."""
    pairs = zip(leaves_of(*states), leaves_of(*d_states), strict=True)
    return torch.stack([(state * torch.tensor(d)).sum() for state, d in pairs]).sum()


def h_of(state: Any) -> Any:
    return getattr(state, "h", state)


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("bias", [True, False])
def test_a_cell_equals_pytorchs_with_copied_parameters(name, bias, rng):
    torch.manual_seed(0)
    module = CELLS[name][2](D_IN, D, bias=bias, dtype=torch.float64)
    parameters = nn_recurrent.parameters_of(module)
    x, state = rng.normal(size=(B, D_IN)), some_state(name, rng, (B,))
    theirs = module(torch.tensor(x), to_twin(state))
    twin = getattr(nn_recurrent, f"{name}_cell")(torch.tensor(x), to_twin(state), parameters)
    in_numpy = CELLS[name][0](*(weight.detach().numpy() for weight in parameters))
    ours, _ = getattr(recurrent, f"{name}_cell")(x, state, in_numpy)
    for a, b, c in zip(*map(leaves_of, (ours, twin, theirs)), strict=True):
        assert np.abs(a - c.detach().numpy()).max() < 1e-12
        assert (b - c).abs().max() < 1e-12


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("batch", [(), (B,), (B, 3)])
def test_the_backward_of_a_cell_is_the_slope(name, batch, rng):
    cell, backward = getattr(recurrent, f"{name}_cell"), getattr(recurrent, f"{name}_cell_backward")
    x, state, parameters = (
        rng.normal(size=(*batch, D_IN)),
        some_state(name, rng, batch),
        some_parameters(name, rng),
    )
    arrays = leaves_of(x, state, parameters)
    check_gradients(flat(name, cell), flat(name, backward, backward=True), arrays, rng)


@pytest.mark.parametrize("name", CELLS)
def test_the_backward_of_a_cell_is_its_twins(name, rng):
    arrays = [rng.normal(size=(B, D_IN)), some_state(name, rng, (B,)), some_parameters(name, rng)]
    cell, backward = getattr(recurrent, f"{name}_cell"), getattr(recurrent, f"{name}_cell_backward")
    check_twin(cell, backward, getattr(nn_recurrent, f"{name}_cell"), arrays, rng)


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_along_a_sequence_is_pytorchs_layer(name, rng):
    torch.manual_seed(0)
    layer = CELLS[name][3](D_IN, D, batch_first=True, dtype=torch.float64)
    cell = CELLS[name][2](D_IN, D, dtype=torch.float64)
    cell.load_state_dict({key.removesuffix("_l0"): value for key, value in layer.state_dict().items()})
    parameters = nn_recurrent.parameters_of(cell)
    X, state = rng.normal(size=(B, T, D_IN)), some_state(name, rng, (B,))
    first = to_twin(state)
    theirs, _ = layer(torch.tensor(X), tuple(s[None] for s in first) if name == "lstm" else first[None])
    twin = nn_recurrent.unroll(getattr(nn_recurrent, f"{name}_cell"), torch.tensor(X), first, parameters)
    in_numpy = CELLS[name][0](*(weight.detach().numpy() for weight in parameters))
    ours, _ = recurrent.unroll(getattr(recurrent, f"{name}_cell"), X, state, in_numpy)
    assert_close(np.stack([h_of(s) for s in ours], axis=-2), theirs.detach().numpy(), "float64")
    assert_close(
        torch.stack([h_of(s) for s in twin], dim=-2).detach().numpy(), theirs.detach().numpy(), "float64"
    )


@pytest.mark.parametrize("name", CELLS)
def test_backpropagation_through_time_is_the_slope_of_all_states(name, rng):
    X, state, parameters = (
        rng.normal(size=(B, T, D_IN)),
        some_state(name, rng, (B,)),
        some_parameters(name, rng),
    )
    cell, cell_backward = getattr(recurrent, f"{name}_cell"), getattr(recurrent, f"{name}_cell_backward")

    def forward(*arrays):
        states, caches = recurrent.unroll(cell, *arrays)
        return tuple(states), caches

    def backward(d_states, caches):
        return recurrent.unroll_backward(cell_backward, d_states, caches)

    def twin(*arrays):
        return tuple(nn_recurrent.unroll(getattr(nn_recurrent, f"{name}_cell"), *arrays))

    check_twin(forward, backward, twin, [X, state, parameters], rng)
    states, caches = recurrent.unroll(cell, X, state, parameters)
    d_states = [some_state(name, rng, (B,)) for _ in states]
    dX, *_ = recurrent.unroll_backward(cell_backward, d_states, caches)

    def loss_of(X):
        new = leaves_of(*recurrent.unroll(cell, X, state, parameters)[0])
        return np.array(sum((a * b).sum() for a, b in zip(new, leaves_of(*d_states), strict=True)))

    assert_close(dX, central_difference(loss_of, X, np.array(1.0)), "central difference")


@pytest.mark.parametrize("batch", [(), (B,)])
def test_the_jacobian_is_the_slope_of_one_step(batch, rng):
    x, h, parameters = (
        rng.normal(size=(*batch, D_IN)),
        some_state("rnn", rng, batch),
        some_parameters("rnn", rng),
    )
    h_new, cache = recurrent.rnn_cell(x, h, parameters)
    J = recurrent.rnn_jacobian(h_new, parameters.W_h)
    assert_close(J, nn_recurrent.rnn_jacobian(*map(torch.tensor, (h_new, parameters.W_h))).numpy(), "float64")
    dh_new = rng.normal(size=h_new.shape)
    _, dh, _ = recurrent.rnn_cell_backward(dh_new, cache)
    assert_close(np.einsum("...a,...ac->...c", dh_new, J), dh, "float64")
    if not batch:
        rows = [
            central_difference(lambda h: recurrent.rnn_cell(x, h, parameters)[0], h, unit)
            for unit in np.eye(D)
        ]
        assert_close(J, np.stack(rows), "central difference")


def test_the_slope_of_the_last_state_is_the_product_of_the_jacobians(rng):
    """dh_T / dh_1 by moving h_1 and running the T - 1 steps again."""
    X, h_0, parameters = rng.normal(size=(T, D_IN)), some_state("rnn", rng), some_parameters("rnn", rng)
    states, _ = recurrent.unroll(recurrent.rnn_cell, X, h_0, parameters)
    hs = np.stack(states)
    product = recurrent.jacobian_through_time(parameters.W_h, hs[1:])

    def last(h_1):
        return recurrent.unroll(recurrent.rnn_cell, X[1:], h_1, parameters)[0][-1]

    rows = [central_difference(last, hs[0], unit) for unit in np.eye(D)]
    assert_close(product, np.stack(rows), "central difference")
    by_autograd = torch.autograd.functional.jacobian(
        lambda h: nn_recurrent.unroll(nn_recurrent.rnn_cell, torch.tensor(X[1:]), h, to_twin(parameters))[-1],
        torch.tensor(hs[0]),
    )
    assert_close(product, np.asarray(by_autograd), "float64")
    twin = nn_recurrent.jacobian_through_time(*map(torch.tensor, (parameters.W_h, hs[1:]))).numpy()
    assert_close(product, twin, "float64")
    batched = recurrent.jacobian_through_time(parameters.W_h, np.stack([hs, hs[::-1]]))
    assert_close(batched[0], recurrent.jacobian_through_time(parameters.W_h, hs), "float64")


@pytest.mark.parametrize("radius", [0.5, 1, 1.3])
def test_an_orthogonal_matrix_stretches_every_vector_by_its_radius(radius):
    W = recurrent.orthogonal(D, np.random.default_rng(0), radius)
    twin = nn_recurrent.orthogonal(D, torch.Generator().manual_seed(0), radius).double().numpy()
    assert_close(np.linalg.svd(W)[1], np.full(D, float(radius)), "float64")
    assert_close(np.abs(np.linalg.eigvals(W)), np.full(D, float(radius)), "float64")
    assert_close(np.linalg.svd(twin)[1], np.full(D, float(radius)), "float32")


def test_rotations_and_reflections_are_equally_likely():
    """400 draws: the share of reflections has standard error 0.025."""
    rng = np.random.default_rng(0)
    signs = [np.linalg.det(recurrent.orthogonal(3, rng)) < 0 for _ in range(400)]
    assert abs(np.mean(signs) - 0.5) < 4 * 0.025
    entries = [recurrent.orthogonal(3, rng)[0, 0] for _ in range(400)]  # mean 0, variance 1/3
    assert abs(np.mean(entries)) < 4 * np.sqrt(1 / 3 / 400)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_memory_that_forgets_little_carries_a_gradient_over_100_steps(seed):
    """Forget gates near one (bias 6) against a simple network whose matrix halves every vector.

    Without a way from state to state (W_h = 0) the forget gates alone stand between the last memory and the first.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, D_IN))
    small = {name: some_parameters(name, rng) for name in ("rnn", "lstm")}
    rnn = small["rnn"]._replace(W_h=recurrent.orthogonal(D, rng, 0.5))
    states, _ = recurrent.unroll(recurrent.rnn_cell, X, np.zeros(D), rnn)
    assert np.linalg.norm(recurrent.jacobian_through_time(rnn.W_h, np.stack(states))) < 1e-20
    b = small["lstm"].b.copy()
    b[D : 2 * D] = 6.0
    lstm = LSTMParameters(small["lstm"].W_x, np.zeros((D, 4 * D)), b)
    state = LSTMState(np.zeros(D), np.zeros(D))
    states, caches = recurrent.unroll(recurrent.lstm_cell, X, state, lstm)
    d_states = [LSTMState(np.zeros(D), np.zeros(D)) for _ in states]
    d_states[-1] = LSTMState(np.zeros(D), np.ones(D))
    _, d_first, _ = recurrent.unroll_backward(recurrent.lstm_cell_backward, d_states, caches)
    assert_close(d_first.c, np.prod([cache.f for cache in caches], axis=0), "float64")
    assert (d_first.c > 0.1).all()  # measured: 0.43 or more


def test_sigmoid_is_pytorchs_and_never_overflows(rng):
    X = np.concatenate([rng.normal(size=M) * 10 for M in (3, 5)] + [np.array([-1e4, 1e4])])
    assert_close(sigmoid(X), torch.sigmoid(torch.tensor(X)).numpy(), "float64")


@pytest.mark.parametrize("name", CELLS)
def test_float32_in_float32_out_and_inputs_unchanged(name, rng):
    X, state, parameters = (
        rng.normal(size=(B, T, D_IN)).astype(np.float32),
        some_state(name, rng, (B,), np.float32),
        some_parameters(name, rng, np.float32),
    )
    copies = [leaf.copy() for leaf in leaves_of(X, state, parameters)]
    cell, backward = getattr(recurrent, f"{name}_cell"), getattr(recurrent, f"{name}_cell_backward")
    states, caches = recurrent.unroll(cell, X, state, parameters)
    gradients = recurrent.unroll_backward(backward, states, caches)
    assert all(leaf.dtype == np.float32 for leaf in leaves_of(*states, *gradients))
    assert all(np.array_equal(a, c) for a, c in zip(leaves_of(X, state, parameters), copies, strict=True))


def seeded(module):
    return np.random.default_rng(0) if module is recurrent else torch.Generator().manual_seed(0)


def zeros_for(module, name, d_in=D_IN, d=D, state=D):
    make = np.zeros if module is recurrent else lambda shape: torch.zeros(shape, dtype=torch.float64)
    kind, blocks = getattr(module, CELLS[name][0].__name__), CELLS[name][1]
    biases = [make((blocks * d,)) for _ in kind._fields[2:]]
    return make((D_IN,)), make((state,)), kind(make((d_in, blocks * d)), make((d, blocks * d)), *biases)


@pytest.mark.bad_input
@pytest.mark.parametrize("module", [recurrent, nn_recurrent], ids=["reference", "nn"])
@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (
            lambda r: r.rnn_cell(*zeros_for(r, "rnn", d_in=4)),
            ValueError,
            r"rnn_cell: x and parameters.W_x must have the same width d_in; got x \(3,\) with d_in=3 and parameters",
        ),
        (
            lambda r: r.gru_cell(
                *zeros_for(r, "gru")[:2], zeros_for(r, "gru")[2]._replace(W_x=zeros_for(r, "gru", d=6)[2].W_x)
            ),
            ValueError,
            r"gru_cell: parameters.W_x must be \(d_in, 3d\) with 3d=21; got \(3, 18\). "
            r"Parameters are stored \(in, out\).",
        ),
        (
            lambda r: r.rnn_cell(
                *zeros_for(r, "rnn")[:2], zeros_for(r, "rnn")[2]._replace(b=zeros_for(r, "gru")[2][2])
            ),
            ValueError,
            r"rnn_cell: h and parameters.b must have the same width d; got h \(7,\) with d=7 and parameters.b \(21,",
        ),
        (
            lambda r: r.rnn_cell(zeros_for(r, "rnn")[0][None], *zeros_for(r, "rnn")[1:]),
            ValueError,
            r"rnn_cell: x and h must have the same batch axes; got x \(1, 3\) and h \(7,\).",
        ),
        (
            lambda r: r.lstm_cell(
                zeros_for(r, "lstm")[0],
                r.LSTMState(zeros_for(r, "lstm")[1], zeros_for(r, "lstm", state=6)[1]),
                zeros_for(r, "lstm")[2],
            ),
            ValueError,
            r"lstm_cell: state.h and state.c must have the same shape; got state.h \(7,\) and state.c \(6,\).",
        ),
        (
            lambda r: r.rnn_jacobian(zeros_for(r, "rnn", state=6)[1], zeros_for(r, "rnn")[2].W_h),
            ValueError,
            r"rnn_jacobian: h and W_h must have the same width d; got h \(6,\) with d=6 and W_h \(7, 7\) with d=7",
        ),
        (
            lambda r: r.orthogonal(3, seeded(r), -1.0),
            ValueError,
            "orthogonal: spectral_radius must be positive and finite; got spectral_radius=-1.",
        ),
        (
            lambda r: r.orthogonal(3, 0),
            TypeError,
            r"orthogonal: rng must be a Generator; got int. Make one from a seed with `(np|torch)\.",
        ),
    ],
)
def test_bad_input_gets_one_clear_sentence_from_both_twins(module, call, error, sentence):
    with pytest.raises(error, match=sentence):
        call(module)


@pytest.mark.bad_input
def test_each_step_needs_one_gradient():
    with pytest.raises(
        ValueError, match="unroll_backward: there must be one gradient for each step; got 1 for 0 steps."
    ):
        recurrent.unroll_backward(recurrent.rnn_cell_backward, [np.zeros(D)], [])

"""Recurrent cells: a state of fixed size that is rewritten at every step, and the Jacobian that one step multiplies.

The book derives them in eq-recurrence, eq-rnn, eq-gru, eq-lstm, eq-rnn-jacobian and eq-jacobian-product (Chapter 1).
The twin with the backwards written out is `attnlib.reference.recurrent`, whose tuples hold tensors here; PyTorch's own
cells compute the same, and `parameters_of` brings their parameters into the book's shape (in, out).
"""

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor

from attnlib.nn.ops import linear
from attnlib.reference.recurrent import GRUParameters, LSTMParameters, LSTMState, RNNParameters
from attnlib.shapes import Float, Number, checked

State = TypeVar("State")


@checked
def parameters_of(cell: torch.nn.RNNCellBase) -> RNNParameters | GRUParameters | LSTMParameters:
    """The parameters of a PyTorch cell, shaped (in, out) as in the book; gradients reach the cell's own.

    >>> parameters_of(torch.nn.GRUCell(2, 3)).W_x.shape
    torch.Size([2, 9])
    """
    W_x, W_h = cell.weight_ih.T, cell.weight_hh.T
    b_x = cell.bias_ih if cell.bias else W_x.new_zeros(W_x.shape[1])
    b_h = cell.bias_hh if cell.bias else W_h.new_zeros(W_h.shape[1])
    if isinstance(cell, torch.nn.GRUCell):
        return GRUParameters(W_x, W_h, b_x, b_h)
    kind = LSTMParameters if isinstance(cell, torch.nn.LSTMCell) else RNNParameters
    return kind(W_x, W_h, b_x + b_h)


@checked
def rnn_cell(
    x: Float[Tensor, "*b d_in"], h: Float[Tensor, "*b d"], parameters: RNNParameters
) -> Float[Tensor, "*b d"]:
    """The next state of a simple recurrent network: linear maps of state and input, then tanh (eq-rnn).

    >>> parameters = RNNParameters(torch.tensor([[1.0]]), torch.tensor([[0.5]]), torch.tensor([0.0]))
    >>> rnn_cell(torch.tensor([1.0]), torch.tensor([-2.0]), parameters)
    tensor([0.])
    """
    return torch.tanh(x @ parameters.W_x + h @ parameters.W_h + parameters.b)  # eq-rnn  (*b, d)


@checked
def rnn_jacobian(h: Float[Tensor, "*b d"], W_h: Float[Tensor, "d d"]) -> Float[Tensor, "*b d d"]:
    """The derivative of the state h that `rnn_cell` returned with respect to the state before it (eq-rnn-jacobian).

    Row a, column c: the derivative of entry a of the new state with respect to entry c of the old one.
    """
    return (1 - h**2)[..., None] * W_h.T  # eq-rnn-jacobian  (*b, d, d)


@checked
def jacobian_through_time(W_h: Float[Tensor, "d d"], hs: Float[Tensor, "*b T d"]) -> Float[Tensor, "*b d d"]:
    """The derivative of the last state in hs with respect to the one before the first (eq-jacobian-product)."""
    steps = rnn_jacobian(hs, W_h)
    J = steps[..., 0, :, :]
    for t in range(1, hs.shape[-2]):
        J = steps[..., t, :, :] @ J  # eq-jacobian-product  (*b, d, d)
    return J


@checked
def orthogonal(
    d: Number[int, "1.."], rng: torch.Generator, spectral_radius: Number[float, "0<.."] = 1.0
) -> Float[Tensor, "{d} {d}"]:
    """A random rotation or reflection times a number: every vector is stretched by it alike (eq-orthogonal)."""
    Q, R = torch.linalg.qr(torch.randn(d, d, generator=rng, device=rng.device))
    return spectral_radius * Q * torch.sign(torch.diagonal(R))  # eq-orthogonal


@checked
def gru_cell(
    x: Float[Tensor, "*b d_in"], h: Float[Tensor, "*b d"], parameters: GRUParameters
) -> Float[Tensor, "*b d"]:
    """The next state of a gated recurrent unit: the gate z keeps the old state or takes the candidate g (eq-gru).

    >>> parameters = GRUParameters(torch.zeros(1, 3), torch.zeros(1, 3), torch.zeros(3), torch.zeros(3))
    >>> gru_cell(torch.tensor([7.0]), torch.tensor([1.0]), parameters)
    tensor([0.5000])
    """
    a_xr, a_xz, a_xg = linear(x, parameters.W_x, parameters.b_x).chunk(3, dim=-1)
    a_hr, a_hz, a_hg = linear(h, parameters.W_h, parameters.b_h).chunk(3, dim=-1)
    r, z = torch.sigmoid(a_xr + a_hr), torch.sigmoid(a_xz + a_hz)  # eq-gru-gates
    g = torch.tanh(a_xg + r * a_hg)  #                               eq-gru-candidate
    return (1 - z) * g + z * h  #                                    eq-gru  (*b, d)


@checked
def lstm_cell(
    x: Float[Tensor, "*b d_in"], state: LSTMState | tuple[Tensor, Tensor], parameters: LSTMParameters
) -> LSTMState:
    """The next state of a long short-term memory: the gates forget, write and output (eq-lstm).

    >>> parameters = LSTMParameters(torch.zeros(1, 4), torch.zeros(1, 4), torch.zeros(4))
    >>> lstm_cell(torch.tensor([7.0]), LSTMState(h=torch.tensor([0.0]), c=torch.tensor([1.0])), parameters).c
    tensor([0.5000])
    """
    h, c = state
    a_i, a_f, a_g, a_o = (x @ parameters.W_x + h @ parameters.W_h + parameters.b).chunk(4, dim=-1)
    i, f, o = torch.sigmoid(a_i), torch.sigmoid(a_f), torch.sigmoid(a_o)  # eq-lstm-gates
    g = torch.tanh(a_g)  #                                                  eq-lstm-candidate
    c_new = f * c + i * g  #                                                eq-lstm-memory  (*b, d)
    return LSTMState(o * torch.tanh(c_new), c_new)  #                       eq-lstm         (*b, d)


@checked
def unroll(
    cell: Callable[[Tensor, State, Any], State], X: Float[Tensor, "*b T d_in"], state: State, parameters: Any
) -> list[State]:
    """One cell applied along a sequence: the T states (eq-recurrence).

    state       the state before the first input
    """
    states = []
    for t in range(X.shape[-2]):
        state = cell(X[..., t, :], state, parameters)  # eq-recurrence
        states.append(state)
    return states

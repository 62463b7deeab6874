"""Optimisers for matrices: Adafactor, which stores less, and Muon, whose steps have equal size in all directions.

Chapter 5 derives them. `torch.optim.Adafactor` and `torch.optim.Muon` are the same for use in PyTorch.
"""

import math
from typing import NamedTuple

import numpy as np

from attnlib.shapes import Array, Float, Number, checked

QUINTIC = (
    3.4445,
    -4.7750,
    2.0315,
)  # Jordan and others, 2024: steep at zero, so that five steps suffice


class AdafactorState(NamedTuple):
    """Moving averages of the squared gradient for each row and each column, and the number of steps."""

    rows: Float[Array, "d_in 1"]
    columns: Float[Array, "1 d_out"]
    t: Number[int, "0.."]


@checked
def adafactor_state(W: Float[Array, "d_in d_out"]) -> AdafactorState:
    """The initial state: two vectors, where Adam has two matrices.

    >>> [part.size for part in adafactor_state(np.zeros((1000, 300)))[:2]]
    [1000, 300]
    """
    return AdafactorState(np.zeros_like(W[:, :1]), np.zeros_like(W[:1]), 0)


def _root_mean_square(X: Array) -> float:
    return float(np.sqrt((X**2).mean()))


@checked
def adafactor(
    W: Float[Array, "d_in d_out"],
    dW: Float[Array, "d_in d_out"],
    state: AdafactorState,
    rate: Number[float, "0.."] = 1e-2,
    forgets: Number[float, "0..1"] = 0.8,
    smallest: Number[float, "0<.."] = 1e-3,
) -> tuple[Float[Array, "d_in d_out"], AdafactorState]:
    """A step of Adafactor: Adam's mean squares approximated from those of rows and columns, without momentum.

    A step is relative to the size of W (root mean square), and is clipped to a root mean square of 1 before that.

    forgets     decay of the averages: the t-th gradient gets the weight t^-forgets
    smallest    the least size of W that is used for the size of a step

    >>> W = np.ones((2, 2))
    >>> adafactor(W, np.array([[1.0, 2.0], [2.0, 4.0]]), adafactor_state(W))[0]  # squares of rank one: all steps equal
    array([[0.99, 0.99],
           [0.99, 0.99]])
    """
    t, tiny = state.t + 1, float(np.finfo(W.dtype).eps)
    new = t**-forgets
    rows = state.rows + new * ((dW**2).mean(axis=1, keepdims=True) - state.rows)
    columns = state.columns + new * ((dW**2).mean(axis=0) - state.columns)
    V = rows @ columns / max(float(rows.mean()), tiny)  #                 (d_in, d_out), of rank one
    U = dW / np.sqrt(np.maximum(V, tiny**2))
    U = U / max(1.0, _root_mean_square(U))
    alpha = max(smallest, _root_mean_square(W)) * min(rate, 1 / math.sqrt(t))
    return W - alpha * U, AdafactorState(rows, columns, t)


@checked
def orthogonalised(
    G: Float[Array, "d_in d_out"], steps: Number[int, "0.."] = 5
) -> Float[Array, "d_in d_out"]:
    """G with all its singular values brought near 1, with matrix products only: Newton-Schulz steps.

    Each step sends a singular value s to 3.4445 s - 4.775 s^3 + 2.0315 s^5, which stays near 1 without
    converging.

    >>> np.linalg.svd(orthogonalised(np.diag([9.0, 1.0])))[1].round()
    array([1., 1.])
    """
    a, b, c = QUINTIC
    X = G.T if len(G) > G.shape[1] else G
    X = X / max(float(np.linalg.norm(X)), 1e-7)
    for _ in range(steps):
        A = X @ X.T
        X = a * X + (b * A + c * A @ A) @ X
    return X.T if len(G) > G.shape[1] else X


@checked
def muon(
    W: Float[Array, "d_in d_out"],
    dW: Float[Array, "d_in d_out"],
    B: Float[Array, "d_in d_out"],
    rate: Number[float, "0.."],
    beta: Number[float, "0..1"] = 0.95,
    decay: Number[float, "0.."] = 0.1,
) -> tuple[Float[Array, "d_in d_out"], Float[Array, "d_in d_out"]]:
    """A step of Muon: the momentum, orthogonalised, so it has the same size in all directions. B begins as zeros.

    The momentum is Nesterov's: the gradient is added to it once more. Weight decay is separate, as in AdamW.

    >>> W, B = muon(np.zeros((2, 2)), np.diag([9.0, 9.0]), np.zeros((2, 2)), rate=0.1)
    >>> W.round(2)
    array([[-0.11,  0.  ],
           [ 0.  , -0.11]])
    """
    B = beta * B + (1 - beta) * dW
    O = orthogonalised(beta * B + (1 - beta) * dW)
    wider = math.sqrt(max(1.0, W.shape[1] / W.shape[0]))  # so that the outputs change by the same amount
    return (1 - rate * decay) * W - rate * wider * O, B

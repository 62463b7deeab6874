"""The twin of `attnlib.reference.selective_scan`: a state space whose step and maps come from the token (Mamba).

The book derives it in eq-selective (Chapter 6). `SelectiveScan` holds the maps, and `attnlib.nn.state_space.StateSpace`
is the layer around it.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlib.nn.linear_attention import _in_full, _of_state
from attnlib.shapes import Float, Number, checked


def _discretised(X: Tensor, step: Tensor, A: Tensor, B: Tensor) -> tuple[Tensor, Tensor]:
    """What is kept of the state at each token, and what is added: both (*b, n, d, d_state)."""
    decay = torch.exp(step[..., None] * A)  #            eq-selective
    added = (step * X)[..., None] * B[..., None, :]  #   eq-selective
    return decay, added


def _first(state: Tensor | None, X: Tensor, A: Tensor) -> Tensor:
    return torch.zeros_like(X[..., 0, :, None] * A) if state is None else state


@checked
def selective_scan(
    X: Float[Tensor, "*b n d"],
    step: Float[Tensor, "*b n d"],
    A: Float[Tensor, "d d_state"],
    B: Float[Tensor, "*b n d_state"],
    C: Float[Tensor, "*b n d_state"],
    state: Float[Tensor, "*b d d_state"] | None = None,
) -> tuple[Float[Tensor, "*b n d"], Float[Tensor, "*b d d_state"]]:
    """What each token reads after its own write, token after token, and the last state (eq-selective).

    step     of each channel at each token; at zero the token is passed over: nothing is forgotten and nothing written
    A        negative; the larger, the faster the state forgets
    B, C     what the token writes into each number of the state, and how it reads them
    state    what earlier tokens left; by default zeros

    >>> X, one = torch.tensor([[3.0], [5.0], [7.0]]), torch.ones(3, 1)
    >>> selective_scan(X, torch.tensor([[1.0], [0.0], [1.0]]), torch.zeros(1, 1), one, one)[0].flatten()
    tensor([ 3.,  3., 10.])
    """
    decay, added = _discretised(X, step, A, B)
    h, outputs = _first(state, X, A), []
    for t in range(X.shape[-2]):
        h = decay[..., t, :, :] * h + added[..., t, :, :]  #  eq-selective
        outputs.append((h @ C[..., t, :, None])[..., 0])  #   eq-selective
    return torch.stack(outputs, dim=-2), h


@checked
def associative_scan(
    decay: Float[Tensor, "*b n d d_state"], added: Float[Tensor, "*b n d d_state"]
) -> Float[Tensor, "*b n d d_state"]:
    """All states of h_t = decay_t h_(t-1) + added_t from a state of zeros, with about 2 log2(n) steps in a row.

    >>> ones = torch.ones(4, 1, 1)
    >>> associative_scan(0.5 * ones, ones).flatten()
    tensor([1.0000, 1.5000, 1.7500, 1.8750])
    """
    n = added.shape[-3]
    if n == 1:
        return added
    a, x = (
        one.narrow(-3, 0, n - n % 2).unflatten(-3, (-1, 2)) for one in (decay, added)
    )  # (*b, n / 2, 2, d, s)
    (a_1, a_2), (x_1, x_2) = a.unbind(-3), x.unbind(-3)
    second = associative_scan(a_2 * a_1, a_2 * x_1 + x_2)  # the states after each pair
    before = torch.cat([torch.zeros_like(second[..., :1, :, :]), second], dim=-3)
    first = a_1 * before[..., :-1, :, :] + x_1
    states = torch.stack([first, second], dim=-3).flatten(-4, -3)
    if n % 2:
        last = decay[..., -1:, :, :] * before[..., -1:, :, :] + added[..., -1:, :, :]
        states = torch.cat([states, last], dim=-3)
    return states


@checked
def selective_scan_parallel(
    X: Float[Tensor, "*b n d"],
    step: Float[Tensor, "*b n d"],
    A: Float[Tensor, "d d_state"],
    B: Float[Tensor, "*b n d_state"],
    C: Float[Tensor, "*b n d_state"],
    state: Float[Tensor, "*b d d_state"] | None = None,
) -> tuple[Float[Tensor, "*b n d"], Float[Tensor, "*b d d_state"]]:
    """The same output, all tokens at once by `associative_scan`, and the last state (eq-selective)."""
    decay, added = _discretised(X, step, A, B)
    begun = decay[..., :1, :, :] * _first(state, X, A)[..., None, :, :] + added[..., :1, :, :]
    states = associative_scan(decay, torch.cat([begun, added[..., 1:, :, :]], dim=-3))
    return (states @ C[..., None])[..., 0], states[..., -1, :, :]


def _first_steps(d: int) -> Tensor:
    """A step for each channel, from 0.001 to 0.1, as likely in each part of a logarithmic scale."""
    return torch.exp(torch.empty(d).uniform_(math.log(0.001), math.log(0.1)))


class SelectiveScan(nn.Module):
    """The scan of Mamba with its maps: step, B and C are computed from each token (eq-selective).

    step_rank    width of the map from a token to its steps

    It begins with the eigenvalues of HiPPO, -1, -2, ..., in every channel (`attnlib.reference.hippo.s4d_real`).
    """

    @checked
    def __init__(
        self, *, d: Number[int, "1.."], d_state: Number[int, "1.."], step_rank: Number[int, "1.."]
    ) -> None:
        super().__init__()
        self.W_B, self.W_C = nn.Linear(d, d_state, bias=False), nn.Linear(d, d_state, bias=False)
        self.W_low, self.W_step = nn.Linear(d, step_rank, bias=False), nn.Linear(step_rank, d)
        self.A_log = nn.Parameter(torch.arange(1.0, d_state + 1).log().repeat(d, 1))
        self.begin()

    @torch.no_grad()
    def begin(self) -> None:
        """The steps with which a training begins."""
        steps = _first_steps(len(self.W_step.bias))
        self.W_step.bias.copy_(steps + torch.log(-torch.expm1(-steps)))  # softplus makes it the step again

    @checked
    def forward(
        self, X: Float[Tensor, "*b n d"], state: Float[Tensor, "*b d d_state"] | None = None
    ) -> tuple[Float[Tensor, "*b n d"], Float[Tensor, "*b d d_state"]]:
        """What each token reads, and the last state, at least in float32."""
        B, C, step = (_of_state(one) for one in (self.W_B(X), self.W_C(X), self.W_step(self.W_low(X))))
        with _in_full(X):
            A = -torch.exp(_of_state(self.A_log))
            return selective_scan_parallel(_of_state(X), F.softplus(step), A, B, C, state)  # eq-selective

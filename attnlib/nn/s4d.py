"""The twin of `attnlib.reference.s4d`: diagonal state spaces (S4D), one complex number for each conjugate pair.

The book derives it in eq-diagonal (Chapter 6). `DiagonalStateSpace` holds its parameters.
"""

import math

import torch
from torch import Tensor, nn

from attnlib import rules
from attnlib.nn.linear_attention import _in_full, _of_state
from attnlib.nn.long_convolution import causal_convolution
from attnlib.nn.selective_scan import _first_steps
from attnlib.shapes import Complex, Float, Number, checked


@checked
def diagonal_zero_order_hold(
    A: Complex[Tensor, "d d_state"], B: Complex[Tensor, "d d_state"], step: Float[Tensor, "d"]
) -> tuple[Complex[Tensor, "d d_state"], Complex[Tensor, "d d_state"]]:
    """A and B for steps of a fixed length, exact for an input that is constant during each step (eq-discretised)."""
    kept = torch.exp(step[:, None] * A)
    return kept, (kept - 1) / A * B  # eq-discretised


@checked
def diagonal_bilinear(
    A: Complex[Tensor, "d d_state"], B: Complex[Tensor, "d d_state"], step: Float[Tensor, "d"]
) -> tuple[Complex[Tensor, "d d_state"], Complex[Tensor, "d d_state"]]:
    """A and B for steps of a fixed length by the bilinear rule, a division for each number."""
    half = step[:, None] / 2 * A
    return (1 + half) / (1 - half), step[:, None] * B / (1 - half)


@checked
def diagonal_kernel(
    A: Complex[Tensor, "d d_state"],
    B: Complex[Tensor, "d d_state"],
    C: Complex[Tensor, "d d_state"],
    n: Number[int, "1.."],
) -> Float[Tensor, "n d"]:
    """What an input adds to the output 0, 1, ..., n - 1 tokens later: C B times a table of powers (eq-diagonal)."""
    exponents = torch.arange(n, device=A.device)
    powers = A[..., None] ** exponents  # Vandermonde  (d, d_state, n)
    return 2 * ((C * B)[..., None, :] @ powers)[..., 0, :].real.mT  # eq-diagonal


@checked
def diagonal_recurrence(
    X: Float[Tensor, "*b n d"],
    A: Complex[Tensor, "d d_state"],
    B: Complex[Tensor, "d d_state"],
    C: Complex[Tensor, "d d_state"],
    state: Complex[Tensor, "*b d d_state"] | None = None,
) -> tuple[Float[Tensor, "*b n d"], Complex[Tensor, "*b d d_state"]]:
    """What is read after each token, and the last state, with discretised A and B (eq-ssm-recurrence).

    state    what earlier tokens left; by default zeros
    """
    h = torch.zeros_like(X[..., 0, :, None] * A) if state is None else state
    outputs = []
    for t in range(X.shape[-2]):
        h = A * h + B * X[..., t, :, None]  # eq-ssm-recurrence
        outputs.append(2 * (C * h).sum(dim=-1).real)
    return torch.stack(outputs, dim=-2), h


class DiagonalStateSpace(nn.Module):
    """S4D with its parameters, which are the same for all tokens: so there is a kernel (eq-diagonal).

    d_state    real numbers of each channel's state, two for each pair

    It begins with the diagonal of S4D-Lin (`attnlib.reference.hippo.s4d_lin`). B is one, because C scales as it does.
    """

    @checked
    def __init__(self, *, d: Number[int, "1.."], d_state: Number[int, "2.."]) -> None:
        super().__init__()
        rule = f"d_state must be even, two for each pair; got d_state={d_state}."
        rules.must(d_state % 2 == 0, type(self).__name__, rule)
        pairs = d_state // 2
        self.A_log = nn.Parameter(torch.full((d, pairs), math.log(0.5)))
        self.A_angle = nn.Parameter(math.pi * torch.arange(float(pairs)).repeat(d, 1))
        self.C = nn.Parameter(torch.randn(d, pairs, 2) * math.sqrt(0.5))
        self.step_log = nn.Parameter(_first_steps(d).log())

    @checked
    def forward(
        self, X: Float[Tensor, "*b n d"], state: Float[Tensor, "*b d d_state"] | None = None
    ) -> tuple[Float[Tensor, "*b n d"], Float[Tensor, "*b d d_state"]]:
        """What each token reads, and the last state as pairs of real numbers, at least in float32."""
        with _in_full(X):
            A = torch.complex(-torch.exp(_of_state(self.A_log)), _of_state(self.A_angle))
            C = torch.view_as_complex(_of_state(self.C))
            A, B = diagonal_zero_order_hold(A, torch.ones_like(A), _of_state(self.step_log).exp())
            X = _of_state(X)
            if state is not None:  # goes on, mostly with one token
                pairs = torch.view_as_complex(state.unflatten(-1, (-1, 2)).contiguous())
                Y, h = diagonal_recurrence(X, A, B, C, pairs)
            else:
                Y = causal_convolution(X, diagonal_kernel(A, B, C, X.shape[-2]))  # eq-diagonal
                h = _last(X, A, B)
        return Y, torch.view_as_real(h).flatten(-2)


def _last(X: Tensor, A: Tensor, B: Tensor) -> Tensor:
    """The state after all tokens: each token times the power of A for the tokens after it."""
    left = A[..., None] ** torch.arange(X.shape[-2] - 1, -1, -1, device=A.device)  # (d, pairs, n)
    return (left @ torch.complex(X, torch.zeros_like(X)).mT[..., None])[..., 0] * B

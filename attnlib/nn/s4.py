"""The twin of `attnlib.reference.s4`: a state matrix that is a diagonal minus a matrix of rank one (S4).

The book derives it in eq-dplr (Chapter 6).
"""

import math

import torch
from torch import Tensor

from attnlib.shapes import Complex, Float, Number, checked


def _times_rank_one(h: Tensor, P: Tensor) -> Tensor:
    """P P* h."""
    return (h @ P.conj())[..., None] * P


@checked
def dplr_recurrence(
    x: Float[Tensor, "*b n"],
    Lambda: Complex[Tensor, "d_state"],
    P: Complex[Tensor, "d_state"],
    B: Complex[Tensor, "d_state"],
    C: Complex[Tensor, "d_state"],
    step: Number[float, "0<.."],
    state: Complex[Tensor, "*b d_state"] | None = None,
) -> tuple[Float[Tensor, "*b n"], Complex[Tensor, "*b d_state"]]:
    """What is read after each input, and the last state, discretised by the bilinear rule (eq-dplr).

    state    what earlier inputs left; by default zeros
    """
    D = 1 / (1 - step / 2 * Lambda)
    share = step / 2 / (1 + step / 2 * (P.conj() * D * P).sum())
    h = torch.zeros_like(x[..., 0, None] * B) if state is None else state
    outputs = []
    for t in range(x.shape[-1]):
        right = h + step / 2 * (Lambda * h - _times_rank_one(h, P)) + step * B * x[..., t, None]
        h = D * right - share * D * _times_rank_one(D * right, P)
        outputs.append((h @ C).real)
    return torch.stack(outputs, dim=-1), h


@checked
def dplr_kernel(
    Lambda: Complex[Tensor, "d_state"],
    P: Complex[Tensor, "d_state"],
    B: Complex[Tensor, "d_state"],
    C: Complex[Tensor, "d_state"],
    step: Number[float, "0<.."],
    n: Number[int, "1.."],
) -> Float[Tensor, "n"]:
    """What an input adds to the output 0, 1, ..., n - 1 tokens later, by its generating function (eq-dplr)."""
    C = C - _after(n, Lambda, P, C, step)
    angles = -2 * math.pi / n * torch.arange(n, device=P.device, dtype=P.real.dtype)
    z = torch.complex(angles.cos(), angles.sin())[:, None]
    W = 1 / (2 / step * (1 - z) - Lambda * (1 + z))  # Cauchy  (n, d_state)
    CB, CP, PB, PP = (W @ (a * b) for a, b in ((C, B), (C, P), (P.conj(), B), (P.conj(), P)))
    once = 1 + z[:, 0]
    return torch.fft.ifft(2 * (CB - once * CP * PB / (1 + once * PP))).real  # the formula of Woodbury


def _after(n: int, Lambda: Tensor, P: Tensor, C: Tensor, step: float) -> Tensor:
    """C A^n for the discretised A, by squaring."""
    A = torch.diag(Lambda) - torch.outer(P, P.conj())
    I = torch.eye(len(A), dtype=A.dtype, device=A.device)
    return C @ torch.linalg.matrix_power(torch.linalg.solve(I - step / 2 * A, I + step / 2 * A), n)

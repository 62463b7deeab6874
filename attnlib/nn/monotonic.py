"""Monotonic attention: a reader moves over the keys from left to right only, and stops at one for each query.

The book derives it in eq-monotonic-scan, eq-monotonic-reach and eq-monotonic-alignment (Chapter 1), after Raffel et al.
(2017). The twin with the backward written out is `attnlib.reference.monotonic`.
"""

import torch
from torch import Tensor

from attnlib.shapes import Bool, Float, checked


@checked
def monotonic_scan(Z: Bool[Tensor, "*b m n"]) -> Bool[Tensor, "*b m n"]:
    """The alignment of a reader that stops at key j of query i wherever Z[i, j] says so (eq-monotonic-scan).

    A reader that passes the last key without stopping is at the end: this query and all later ones look nowhere.

    >>> monotonic_scan(torch.tensor([[False, True, True], [True, False, True], [True, True, False]])).int()
    tensor([[0, 1, 0],
            [0, 0, 1],
            [0, 0, 0]], dtype=torch.int32)
    """
    m, n = Z.shape[-2:]
    keys = torch.arange(n, device=Z.device)
    start = torch.zeros((*Z.shape[:-2], 1), dtype=torch.long, device=Z.device)
    rows = []
    for i in range(m):
        stops = Z[..., i, :] & (keys >= start)
        start = torch.where(stops, keys, n).amin(-1, keepdim=True)
        rows.append(keys == start)  # eq-monotonic-scan
    return torch.stack(rows, -2)


@checked
def hard_monotonic_alignment(p: Float[Tensor, "*b m n"]) -> Float[Tensor, "*b m n"]:
    """The alignment at test time: the reader stops where stopping is likelier than not (eq-monotonic-scan).

    >>> hard_monotonic_alignment(torch.tensor([[0.4, 0.9, 0.8], [0.9, 0.3, 0.6]]))
    tensor([[0., 1., 0.],
            [0., 0., 1.]])
    """
    return monotonic_scan(p > 0.5).to(p.dtype)  # eq-monotonic-scan  (*b, m, n)


@checked
def sample_monotonic_alignment(p: Float[Tensor, "*b m n"], rng: torch.Generator) -> Float[Tensor, "*b m n"]:
    """One random alignment: at each key that it reaches, the reader stops with probability p (eq-monotonic-scan).

    >>> sample_monotonic_alignment(torch.tensor([[0.0, 1.0], [0.0, 1.0]]), torch.Generator().manual_seed(0))
    tensor([[0., 1.],
            [0., 1.]])
    """
    u = torch.rand(p.shape, generator=rng, dtype=torch.float64, device=rng.device).to(p.device)
    return monotonic_scan(u < p).to(p.dtype)  # eq-monotonic-scan  (*b, m, n)


@checked
def monotonic_alignment(p: Float[Tensor, "*b m n"]) -> Float[Tensor, "*b m n"]:
    """The mean of all random alignments, which is differentiable, unlike a single one (eq-monotonic-alignment).

    p[i, j]     the probability that the reader stops at key j for query i, if it comes there. Zero hides a key.

    >>> monotonic_alignment(torch.tensor([[0.5, 0.5], [0.5, 1.0]]))
    tensor([[0.5000, 0.2500],
            [0.2500, 0.5000]])
    """
    m, n = p.shape[-2:]
    before = torch.zeros_like(p[..., 0, :])
    before[..., 0] = 1  # the reader starts at the first key
    rows = []
    for i in range(m):
        q = [before[..., 0]]
        for j in range(1, n):
            q.append((1 - p[..., i, j - 1]) * q[-1] + before[..., j])  # eq-monotonic-reach
        before = p[..., i, :] * torch.stack(q, -1)  # eq-monotonic-alignment
        rows.append(before)
    return torch.stack(rows, -2)  # (*b, m, n)

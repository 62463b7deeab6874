"""The twin of `attnlib.reference.relative`: numbers that are added to the scores, one for each distance.

The book derives them in eq-offset-bias, eq-shaw and eq-alibi (Chapter 4). What is returned goes into the argument
`bias` of `MultiHeadAttention`; `OffsetBias` and `Alibi` make it for all blocks of a stack.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from attnlib import rules
from attnlib.shapes import Float, Int, Number, checked


@checked
def distances(m: Number[int, "1.."], n: Number[int, "1.."]) -> Int[Tensor, "{m} {n}"]:
    """How many positions each of n keys stands before each of the last m of them."""
    return torch.arange(n - m, n)[:, None] - torch.arange(n)


@checked
def clipped(distance: Int[Tensor, "..."], most: Number[int, "1.."]) -> Int[Tensor, "..."]:
    """A row of a table with 2 most + 1 rows: one for each distance up to `most`, and those beyond share the last."""
    return distance.clamp(-most, most) + most


@checked
def t5_buckets(
    distance: Int[Tensor, "..."],
    buckets: Number[int, "4.."] = 32,
    farthest: Number[int, "2.."] = 128,
    both: bool = True,
) -> Int[Tensor, "..."]:
    """T5's rows: near distances have one each, farther ones share ever wider rows, and all from `farthest` on the last.

    both    half of the rows are for keys that come after; without it these count as distance zero
    """
    half = buckets // 2 if both else buckets
    after = (distance < 0) * half if both else torch.zeros_like(distance)
    far = distance.abs() if both else distance.clamp(min=0)
    exact = half // 2
    room = f"farthest must be above {exact}, up to which each distance has a row; got {farthest=}."
    rules.must(farthest > exact, "t5_buckets", room)
    grown = (far.clamp(min=1).double() / exact).log() / math.log(farthest / exact) * (half - exact)
    shared = (exact + grown.trunc().long()).clamp(max=half - 1)
    return torch.where(far < exact, far, shared) + after


@checked
def offset_bias(table: Float[Tensor, "h rows"], rows: Int[Tensor, "m n"]) -> Float[Tensor, "h m n"]:
    """For each head the number of each distance, to be added to the scores (eq-offset-bias)."""
    return table[:, rows]


@checked
def shaw_scores(
    Q: Float[Tensor, "*b m d_k"], R: Float[Tensor, "rows d_k"], rows: Int[Tensor, "m n"]
) -> Float[Tensor, "*b m n"]:
    """Each query times the vector of each distance, divided by the root of d_k as the scores are (eq-shaw)."""
    S = Q @ R.T / math.sqrt(Q.shape[-1])
    return S.gather(-1, rows.expand(*S.shape[:-1], -1))


@checked
def alibi_slopes(h: Number[int, "1.."]) -> Float[Tensor, "{h}"]:
    """How fast each head's scores fall with the distance: from a half down to 1/256 where h = 8."""
    whole = 2 ** int(math.log2(h))
    slopes = 2.0 ** (-8 / whole * torch.arange(1, whole + 1))
    more = 2.0 ** (-4 / whole * torch.arange(1, 2 * whole + 1, 2))
    return torch.cat([slopes, more[: h - whole]])


@checked
def alibi(
    h: Number[int, "1.."], m: Number[int, "1.."], n: Number[int, "1.."]
) -> Float[Tensor, "{h} {m} {n}"]:
    """A penalty that grows with the distance, with nothing to learn (eq-alibi)."""
    return -alibi_slopes(h)[:, None, None] * distances(m, n).abs()


class OffsetBias(nn.Module):
    """A learned number for each head and each row that `sort` puts a distance into; zero before training."""

    def __init__(self, n_heads: int, rows: int, sort: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.weight, self.sort = nn.Parameter(torch.zeros(n_heads, rows)), sort

    def forward(self, m: int, n: int) -> Float[Tensor, "h m n"]:
        return offset_bias(self.weight, self.sort(distances(m, n)).to(self.weight.device))


class Alibi(nn.Module):
    """The penalties of eq-alibi, in the format and on the device of the model."""

    slopes: Tensor

    def __init__(self, n_heads: int) -> None:
        super().__init__()
        self.register_buffer("slopes", alibi_slopes(n_heads), persistent=False)

    def forward(self, m: int, n: int) -> Float[Tensor, "h m n"]:
        return -self.slopes[:, None, None] * distances(m, n).abs().to(self.slopes.device)

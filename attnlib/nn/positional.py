"""The twin of `attnlib.reference.positional`: where a token stands, in PyTorch.

The book meets eq-simple-index and eq-normalised-index in Chapter 2, and derives eq-sinusoids, eq-shift and eq-relative
in Chapter 4.
"""

import math

import torch
from torch import Tensor, nn

from attnlib import rules
from attnlib.shapes import Float, Int, Number, checked


@checked
def index(n: Number[int, "1.."]) -> Float[Tensor, "{n}"]:
    """P_t = t: every step is one, and there is no end to it (eq-simple-index).

    >>> index(4)
    tensor([0., 1., 2., 3.])
    """
    return torch.arange(n, dtype=torch.get_default_dtype())  # eq-simple-index


@checked
def normalised_index(n: Number[int, "2.."]) -> Float[Tensor, "{n}"]:
    """P_t = t / (n - 1): always from 0 to 1, so that a step depends on the length (eq-normalised-index).

    >>> normalised_index(5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    return index(n) / (n - 1)  # eq-normalised-index


@checked
def wavelengths(d: Number[int, "1.."], base: Number[float, "0<.."] = 10_000.0) -> Float[Tensor, "pairs"]:
    """After how many positions each pair of coordinates is back where it was: from 2 pi to almost 2 pi times base."""
    return 2 * math.pi * base ** (torch.arange(0, d, 2, dtype=torch.float64) / d)


@checked
def angles(
    positions: Float[Tensor, "*b n"] | Int[Tensor, "*b n"],
    d: Number[int, "1.."],
    base: Number[float, "0<.."] = 10_000.0,
) -> Float[Tensor, "*b n pairs"]:
    """By which angle each pair of coordinates is rotated at each position; computed in float64."""
    per_step = 2 * math.pi / wavelengths(d, base).to(positions.device)
    dtype = positions.dtype if positions.is_floating_point() else torch.get_default_dtype()
    return (positions.double()[..., None] * per_step).to(dtype)


@checked
def sinusoids(
    n: Number[int, "1.."], d: Number[int, "1.."], base: Number[float, "0<.."] = 10_000.0
) -> Float[Tensor, "{n} {d}"]:
    """Sines and cosines of falling frequency, side by side: each pair rotates like the hand of a clock (eq-sinusoids).

    >>> sinusoids(2, 2)
    tensor([[0.0000, 1.0000],
            [0.8415, 0.5403]])
    """
    A = angles(index(n), d, base)
    return torch.stack([A.sin(), A.cos()], dim=-1).flatten(1)[:, :d]


@checked
def rotary(
    X: Float[Tensor, "*b n 2pairs"],
    positions: Float[Tensor, "*#b n"] | Int[Tensor, "*#b n"],
    base: Number[float, "0<.."] = 10_000.0,
) -> Float[Tensor, "*b n 2pairs"]:
    """Rotate each pair of neighbouring coordinates by its angle at the vector's position (eq-relative).

    positions    numbers or integers, (n,) for all rows, or (*b, n) for each, with an axis of size one where they agree
    """
    return _rotate_neighbours(X, *_at("rotary", X, positions, base))


@checked
def rotary_halves(
    X: Float[Tensor, "*b n 2pairs"],
    positions: Float[Tensor, "*#b n"] | Int[Tensor, "*#b n"],
    base: Number[float, "0<.."] = 10_000.0,
) -> Float[Tensor, "*b n 2pairs"]:
    """The same with coordinate i and i + d/2 as a pair, Hugging Face's layout of Llama's parameters."""
    return _rotate_halves(X, *_at("rotary_halves", X, positions, base))


def _at(who: str, X: Tensor, positions: Tensor, base: float) -> tuple[Tensor, Tensor]:
    """Cosine and sine of each angle, in the dtype of the vectors."""
    rules.one_row_or_all(who, tuple(positions.shape), X.shape[:-1])
    A = angles(positions.double(), X.shape[-1], base)
    return A.cos().to(X.dtype), A.sin().to(X.dtype)


def _rotate_neighbours(X: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    return torch.stack(_rotated(X[..., 0::2], X[..., 1::2], cos, sin), dim=-1).flatten(-2)


def _rotate_halves(X: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = X.chunk(2, dim=-1)
    return torch.cat(_rotated(first, second, cos, sin), dim=-1)


def _rotated(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    return a * cos - b * sin, a * sin + b * cos


LAYOUTS = {"neighbours": _rotate_neighbours, "halves": _rotate_halves}


class Rotary(nn.Module):
    """Rotates queries and keys by their positions: what `MultiHeadAttention` takes as `rotate`.

    d_k        width of a head
    context    how many positions there are angles for
    layout     coordinates that make a pair: "neighbours" (2i, 2i + 1), as in the paper and in Meta's own files of
               Llama, or "halves" (i, i + d_k / 2), as in Hugging Face's files. It has no default: parameters that were
               trained with one layout give wrong numbers with the other, and no error

    >>> Rotary(2, context=3, layout="halves")(torch.tensor([[1.0, 0.0]]), first=0)
    tensor([[1., 0.]])
    """

    cos: Tensor
    sin: Tensor

    def __init__(self, d_k: int, *, context: int, base: float = 10_000.0, layout: str) -> None:
        super().__init__()
        even = f"the width must be even, because coordinates are rotated in pairs; got {d_k=}."
        rules.must(d_k % 2 == 0, "rotary", even)
        rules.one_of("rotary", "layout", layout, LAYOUTS)
        self.rotated, self.context = LAYOUTS[layout], context
        A = angles(torch.arange(context, dtype=torch.float64), d_k, base)
        self.register_buffer("cos", A.cos().to(torch.get_default_dtype()), persistent=False)
        self.register_buffer("sin", A.sin().to(torch.get_default_dtype()), persistent=False)

    def forward(
        self, X: Float[Tensor, "*b n d_k"], first: int | Int[Tensor, "*#b n"] = 0
    ) -> Float[Tensor, "*b n d_k"]:
        """The rotated vectors.

        first    the position of the first, which the others follow; or the positions themselves: integers, (n,) for all
                 rows, or (*b, n) for each, an axis of size one where they do not differ
        """
        if isinstance(first, Tensor):
            rules.one_row_or_all("rotary", tuple(first.shape), X.shape[:-1])
            return self.rotated(X, self.cos[first].to(X.dtype), self.sin[first].to(X.dtype))
        end = first + X.shape[-2]
        _within_context("rotary", end, self.context)
        return self.rotated(X, self.cos[first:end].to(X.dtype), self.sin[first:end].to(X.dtype))


class PartlyRotary(nn.Module):
    """Rotates the first d_rotated coordinates of queries and keys, and leaves the others: they have no position.

    >>> layer = PartlyRotary(2, context=3, layout="halves")
    >>> layer(torch.tensor([[[1.0, 0.0, 5.0]]]), first=0)
    tensor([[[1., 0., 5.]]])
    """

    def __init__(self, d_rotated: int, *, context: int, base: float = 10_000.0, layout: str) -> None:
        super().__init__()
        self.d_rotated = d_rotated
        self.rotary = Rotary(d_rotated, context=context, base=base, layout=layout)

    def forward(self, X: Float[Tensor, "*b n d_k"], first: int = 0) -> Float[Tensor, "*b n d_k"]:
        rotated, rest = X[..., : self.d_rotated], X[..., self.d_rotated :]
        return torch.cat([self.rotary(rotated, first), rest], dim=-1)


def _within_context(who: str, end: int, context: int) -> None:
    """Says it where there are more positions than the model was built for."""
    then = "Keep the last ones, or build the model with a larger `context`."
    rules.must(
        end <= context, who, f"every token needs a position; got {end} tokens for context={context}. {then}"
    )


# What is added to the vectors of tokens to say where they stand: `positions(X, first)`, the first one at `first`.


class NoPositions(nn.Module):
    """Adds nothing: positions enter the model in its attention, or not at all.

    >>> X = torch.zeros(3, 2)
    >>> NoPositions(5, 2)(X) is X
    True
    """

    def __init__(self, context: int, d: int) -> None:
        super().__init__()

    def forward(self, X: Float[Tensor, "*b n d"], first: int = 0) -> Float[Tensor, "*b n d"]:
        return X


class LearnedPositions(nn.Module):
    """A row of a learned table for each position up to `context`.

    >>> layer, X = LearnedPositions(5, 2), torch.zeros(3, 2)
    >>> torch.equal(layer(X, first=1), layer.weight[1:4])
    True
    """

    def __init__(self, context: int, d: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(context, d))
        nn.init.normal_(self.weight)

    def forward(self, X: Float[Tensor, "*b n d"], first: int = 0) -> Float[Tensor, "*b n d"]:
        end = first + X.shape[-2]
        _within_context("learned positions", end, len(self.weight))
        return X + self.weight[first:end]


class SinusoidalPositions(nn.Module):
    """Sines and cosines, with nothing to learn (eq-sinusoids)."""

    waves: Tensor

    def __init__(self, context: int, d: int) -> None:
        super().__init__()
        self.register_buffer("waves", sinusoids(context, d), persistent=False)

    def forward(self, X: Float[Tensor, "*b n d"], first: int = 0) -> Float[Tensor, "*b n d"]:
        end = first + X.shape[-2]
        _within_context("sinusoids", end, len(self.waves))
        return X + self.waves[first:end].to(X.dtype)


class IndexPositions(nn.Module):
    """The position's number, added to all coordinates (eq-simple-index)."""

    def __init__(self, context: int, d: int) -> None:
        super().__init__()

    def forward(self, X: Float[Tensor, "*b n d"], first: int = 0) -> Float[Tensor, "*b n d"]:
        return X + index(first + X.shape[-2]).to(X)[first:, None]


class NormalisedIndexPositions(nn.Module):
    """The position as a share of the text, added to all coordinates (eq-normalised-index): it needs the whole text."""

    def __init__(self, context: int, d: int) -> None:
        super().__init__()

    def forward(self, X: Float[Tensor, "*b n d"], first: int = 0) -> Float[Tensor, "*b n d"]:
        rules.must(first == 0, "normalised index", f"the text must be read at once; got {first=}.")
        return X + normalised_index(X.shape[-2]).to(X)[:, None]

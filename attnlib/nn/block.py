"""The twin of `attnlib.reference.block`: blocks one after another, and what all of them share.

The book derives it in eq-pre-norm and eq-memory (Chapter 4). A GPT, an encoder and a decoder are such a stack between
an embedding and a head; each block is an `attnlib.nn.transformer.Block`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from torch import Tensor, nn

from attnlib.nn.cache import SourceCache
from attnlib.nn.heads import mask_for_heads
from attnlib.nn.masks import window_mask
from attnlib.nn.multihead import Rotate
from attnlib.nn.transformer import LayerCache
from attnlib.shapes import Bool, Float

ScoreBias = Callable[
    [int, int], Tensor | None
]  # of m queries, the last of n positions, and n keys: (h, m, n)


def _no_bias(m: int, n: int) -> None:
    """Nothing is added to the scores."""


def _everywhere(X: Tensor, n: int, mask: Tensor | None) -> Tensor | None:
    """The mask as it was given."""
    return mask


def _within(before: int, after: int, X: Tensor, n: int, mask: Tensor | None) -> Bool[Tensor, "*b h m n"]:
    """Of the n positions that the mask allows, those near each of the last ones, which X are; (*b, h, m, n)."""
    near = window_mask(n, before, after, device=X.device)[n - X.shape[-2] :]
    near = near[(None,) * (X.dim() - 1)]  # with all axes it is read in one way, whatever the sizes are
    wide = mask_for_heads(mask, X.dim())
    return near if wide is None else near & wide


class BlockStack(nn.Module):
    """Blocks one after another. They are numbered: the parameters of the first one are `0.norm_1.weight` and so on.

    rotate        what rotates the queries and keys of every block that has some, as `attnlib.nn.positional.Rotary` does
    score_bias    what is added to the scores of every block that has some, as `attnlib.nn.relative.Alibi` does
    window        how many neighbours on its left and on its right each position sees in every block; by default all
    first         the number of the first block: of a part of a larger stack
    """

    def __init__(
        self,
        blocks: Iterable[nn.Module],
        *,
        rotate: Rotate | None = None,
        score_bias: ScoreBias | None = None,
        window: tuple[int, int] | None = None,
        first: int = 0,
    ) -> None:
        super().__init__()
        self.numbers: list[str] = []
        for i, block in enumerate(blocks, start=first):
            self.numbers.append(str(i))
            self.add_module(str(i), block)
        self.rotate, self.score_bias, self.window = rotate, score_bias or _no_bias, window
        self.near = _everywhere if window is None else partial(_within, *window)

    def forward(
        self,
        X: Float[Tensor, "*b m d_model"],
        mask: Tensor | None = None,
        kv_cache: Sequence[LayerCache] | None = None,
        memory: Float[Tensor, "*b n d_source"] | None = None,
        source_mask: Tensor | None = None,
        source_cache: Sequence[SourceCache] | None = None,
    ) -> Float[Tensor, "*b m d_model"]:
        """What each block takes, and a cache for each of them."""
        nothing = [None] * len(self)
        n = X.shape[-2] if kv_cache is None else kv_cache[0].length + X.shape[-2]
        shared: dict[str, Any] = {
            "mask": self.near(X, n, mask),
            "bias": self.score_bias(X.shape[-2], n),
            "rotate": self.rotate,
            "memory": memory,
            "source_mask": source_mask,
        }
        for number, kv, source in zip(
            self.numbers, kv_cache or nothing, source_cache or nothing, strict=True
        ):
            X = getattr(self, number)(X, **shared, kv_cache=kv, source_cache=source)
        return X

    def part(self, which: range) -> "BlockStack":
        """Some of the blocks in a row, under the numbers that they have here: a stage of a pipeline."""
        blocks = [self[i] for i in which]
        shared: dict[str, Any] = {"rotate": self.rotate, "score_bias": self.score_bias, "window": self.window}
        return BlockStack(blocks, **shared, first=which.start)

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Any]:
        return (getattr(self, number) for number in self.numbers)

    def __getitem__(self, i: int) -> Any:
        return getattr(self, self.numbers[i])

"""The twin of `attnlib.reference.block`: blocks one after another, and what all of them share.

The book derives it in eq-pre-norm and eq-memory (Chapter 4). A GPT, an encoder and a decoder are such a stack between
an embedding and a head; each block is an `attnlib.nn.transformer.Block`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from torch import Tensor, nn

from attnlib.nn.cache import KVCache, SourceCache
from attnlib.nn.masks import window_mask
from attnlib.nn.multihead import Rotate
from attnlib.shapes import Bool, Float

ScoreBias = Callable[
    [int, int], Tensor | None
]  # of m queries, the last of n positions, and n keys: (h, m, n)
Window = Callable[[Tensor, int, Tensor | None], Tensor | None]  # of X, n keys and the mask that was given


def no_bias(m: int, n: int) -> None:
    """Nothing is added to the scores."""


def no_window(X: Tensor, n: int, mask: Tensor | None) -> Tensor | None:
    """The mask as it was given."""
    return mask


def window(before: int, after: int = 0) -> Window:
    """Each position sees `before` neighbours on its left and `after` on its right, of those that the mask allows."""
    return partial(_within, before, after)


def _within(before: int, after: int, X: Tensor, n: int, mask: Tensor | None) -> Bool[Tensor, "*b m n"]:
    near = window_mask(n, before, after, device=X.device)[n - X.shape[-2] :]
    return near if mask is None else near & mask


class BlockStack(nn.Module):
    """Blocks one after another. They are numbered: the parameters of the first one are `0.norm_1.weight` and so on.

    rotate        what turns the queries and keys of every block, as `attnlib.nn.positional.Rotary` does
    score_bias    what is added to the scores of every block, as `attnlib.nn.relative.Alibi` does
    near          which neighbours every block may see: `window(before, after)`
    first         the number of the first block: of a part of a larger stack
    """

    def __init__(
        self,
        blocks: Iterable[nn.Module],
        *,
        rotate: Rotate | None = None,
        score_bias: ScoreBias = no_bias,
        near: Window = no_window,
        first: int = 0,
    ) -> None:
        super().__init__()
        self.numbers: list[str] = []
        for i, block in enumerate(blocks, start=first):
            self.numbers.append(str(i))
            self.add_module(str(i), block)
        self.rotate, self.score_bias, self.near = rotate, score_bias, near

    def forward(
        self,
        X: Float[Tensor, "*b m d_model"],
        mask: Tensor | None = None,
        kv_cache: Sequence[KVCache] | None = None,
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
        shared = {"rotate": self.rotate, "score_bias": self.score_bias, "near": self.near}
        return BlockStack(blocks, **shared, first=which.start)

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Any]:
        return (getattr(self, number) for number in self.numbers)

    def __getitem__(self, i: int) -> Any:
        return getattr(self, self.numbers[i])

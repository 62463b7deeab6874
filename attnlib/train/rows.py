"""The data loader of a language model: documents packed one after the other, and read from the disk in rows.

Chapter 5 uses it. The order of the rows depends on the seed alone, so its position, which is a number, is all that a
checkpoint needs; and no row comes twice before all have come.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch

from attnlib import rules
from attnlib.shapes import Array, Int, Number, checked


@checked
def packed_tokens(texts: Iterable[Sequence[int]], end: Number[int, "0.."]) -> Int[Array, "n"]:
    """All documents as one row of tokens, with `end` before each, so that no padding is needed.

    A token takes two bytes where they are enough, else four.

    >>> packed_tokens([[5, 6], [7]], end=0)
    array([0, 5, 6, 0, 7], dtype=uint16)
    """
    rows = [np.array([end, *text], dtype=np.int64) for text in texts]
    rules.must(len(rows) > 0, "packed_tokens", "there must be one text or more; got none.")
    tokens = np.concatenate(rows)
    rules.between("packed_tokens", "tokens", tokens, "the largest of four bytes", 2**32 - 1)
    return tokens.astype(np.uint16 if tokens.max() < 2**16 else np.uint32)


def save_tokens(file: str | Path, tokens: Int[Array, "n"]) -> None:
    """Write a row of tokens as one `.npy` file; an interruption leaves either the whole file or none."""
    file = Path(file)
    part = file.with_name(f"{file.name}.part")
    with part.open("wb") as handle:
        np.save(handle, tokens)
    part.replace(file)


def load_tokens(file: str | Path) -> Int[Array, "n"]:
    """The row of tokens in a file, memory-mapped: it may be larger than the memory."""
    return np.load(file, mmap_mode="r", allow_pickle=False)


class TokenRows(Iterator[Int[torch.Tensor, "b m"]]):
    """Endless batches of rows of n + 1 tokens: the first n are the model's input, the last n the targets.

    In each epoch the text is cut into rows at other positions, which come in another order. After the last token comes
    the first again, so that every token is a target in every epoch: once, but for fewer than n of them, which are
    targets twice where n does not divide the text. `position` counts the rows that have come; set it, or load a
    `state_dict`, and the batches go on from there.

    >>> rows = TokenRows(np.arange(6), n=3, batch=2)
    >>> first = next(rows)
    >>> first.shape, sorted(first[:, 1:].flatten().tolist()), rows.position
    (torch.Size([2, 4]), [0, 1, 2, 3, 4, 5], 2)
    """

    @checked
    def __init__(
        self,
        tokens: Int[Array, "length"],
        *,
        n: Number[int, "1.."],
        batch: Number[int, "1.."],
        seed: Number[int, "0.."] = 0,
    ) -> None:
        came = f"got {len(tokens)} for {n=}. Take more text, or shorter rows."
        rules.must(len(tokens) >= 2 * n, "TokenRows", f"tokens must be at least two rows long; {came}")
        self.tokens, self.n, self.batch, self.seed = tokens, n, batch, seed
        self.n_rows = math.ceil(len(tokens) / n)
        self.position = 0
        self._order = (-1, np.zeros(0, dtype=np.int64))  # an epoch, and the positions at which its rows begin

    def _begins(self, k: int) -> int:
        """The position in the text at which the k-th row of all begins."""
        epoch, i = divmod(k, self.n_rows)
        if self._order[0] != epoch:
            rng = np.random.default_rng([self.seed, epoch])
            self._order = epoch, rng.integers(len(self.tokens)) + self.n * rng.permutation(self.n_rows)
        return int(self._order[1][i])

    def __next__(self) -> Int[torch.Tensor, "b m"]:
        begins = [self._begins(self.position + i) for i in range(self.batch)]
        self.position += self.batch
        positions = np.add.outer(begins, np.arange(self.n + 1)) % len(self.tokens)
        return torch.from_numpy(self.tokens[positions].astype(np.int64))

    def state_dict(self) -> dict[str, int]:
        """The position, and the settings for which it is valid."""
        return {"position": self.position, "seed": self.seed, "n": self.n, "length": len(self.tokens)}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Go on from a position of the same text, cut into the same rows."""
        mine = self.state_dict()
        differ = [key for key in mine if key != "position" and mine[key] != state[key]]
        came = ", ".join(f"{key}={mine[key]} after {key}={state[key]}" for key in differ)
        rules.must(not differ, "TokenRows", f"data must be those of the position; got {came}.")
        self.position = state["position"]

"""Text for a language model: documents packed one behind the other, read from the disk in rows, from an exact position.

Chapter 5 uses it. Which row comes when follows from the seed and from how many came before: nothing else has to be
remembered, and no row comes twice before all have come.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import torch

from attnlib import rules
from attnlib.shapes import Array, Int, Number, checked


@checked
def packed_tokens(texts: Iterable[Sequence[int]], end: Number[int, "0.."]) -> Int[Array, "n"]:
    """All documents as one row of tokens, with `end` before each: no place is lost to padding.

    Two bytes a token where they are enough.

    >>> packed_tokens([[5, 6], [7]], end=0)
    array([0, 5, 6, 0, 7], dtype=uint16)
    """
    rows = [np.array([end, *text], dtype=np.int64) for text in texts]
    rules.must(len(rows) > 0, "packed_tokens", "there must be one text or more; got none.")
    tokens = np.concatenate(rows)
    rules.between("packed_tokens", "tokens", tokens, "the largest of four bytes", 2**32 - 1)
    return tokens.astype(np.uint16 if tokens.max() < 2**16 else np.uint32)


def save_tokens(file: Path, tokens: Int[Array, "n"]) -> None:
    """Write a row of tokens as one `.npy` file, at once: who is stopped leaves no half of it."""
    half = file.with_name(f"{file.name}.part")
    with half.open("wb") as handle:
        np.save(handle, tokens)
    half.replace(file)


def load_tokens(file: Path) -> Int[Array, "n"]:
    """The row of tokens in a file; what is not looked at stays on the disk, so it may be larger than the memory."""
    return np.load(file, mmap_mode="r", allow_pickle=False)


class TokenRows(Iterator[Int[torch.Tensor, "b m"]]):
    """Endless batches of rows of n + 1 tokens: the first n are read, the last n are what was to be said.

    Each time all rows have come they are cut at other places and come in another order. `position` is how many have
    come; set it, or load a `state_dict`, and the batches go on from there.

    >>> rows = TokenRows(np.arange(100), n=10, batch=4)
    >>> first = next(rows)
    >>> first.shape, bool((first[:, 1:] - first[:, :-1] == 1).all()), rows.position
    (torch.Size([4, 11]), True, 4)
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
        self.n_rows = (len(tokens) - n) // n  # wherever the first one begins
        self.position = 0
        self._order = (-1, np.zeros(0, dtype=np.int64))  # of which round, and where its rows begin

    def _begins(self, k: int) -> int:
        """Where the k-th row of all begins."""
        which, i = divmod(k, self.n_rows)
        if self._order[0] != which:
            rng = np.random.default_rng([self.seed, which])
            self._order = which, rng.integers(self.n) + self.n * rng.permutation(self.n_rows)
        return int(self._order[1][i])

    def __next__(self) -> Int[torch.Tensor, "b m"]:
        begins = [self._begins(self.position + i) for i in range(self.batch)]
        self.position += self.batch
        rows = np.stack([self.tokens[i : i + self.n + 1] for i in begins])
        return torch.from_numpy(rows.astype(np.int64))

    def state_dict(self) -> dict[str, int]:
        """The position, and what it is counted in."""
        return {"position": self.position, "seed": self.seed, "n": self.n, "length": len(self.tokens)}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Go on where another left off; with other data or rows, a position means nothing."""
        mine = self.state_dict()
        differ = [key for key in mine if key != "position" and mine[key] != state[key]]
        came = ", ".join(f"{key}={mine[key]} after {key}={state[key]}" for key in differ)
        rules.must(not differ, "TokenRows", f"data must be those of the position; got {came}.")
        self.position = state["position"]

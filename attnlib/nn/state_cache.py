"""What a layer with a state remembers between calls: a matrix for each head, however many positions it has read.

The book derives it in eq-linear-state (Chapter 6). A block passes it as `kv_cache=`, as it does a `KVCache`, so the
layers of one stack may differ in what they keep. A call that fails leaves its cache as it was.
"""

from torch import Tensor

from attnlib import rules
from attnlib.shapes import Float, Int, Number, checked


class StateCache:
    """The state of all positions that a layer has read, (*b, h, d_k, d_v), and their number.

    A layer with a short convolution also keeps the last rows before it, (*b, width - 1, d): `recent`.

    A state cannot go back: what a token has added to it is not kept by itself, so `crop` forgets all or nothing. To try
    several continuations, copy the cache (`copy.deepcopy`), which costs the same after any number of tokens.

    >>> import torch
    >>> cache = StateCache()
    >>> for _ in range(1000):
    ...     cache.hold(torch.zeros(2, 3, 5), 1)
    >>> len(cache), cache.nbytes  # of the last state alone
    (1000, 120)
    """

    def __init__(self) -> None:
        self.length = 0
        self.state: Tensor | None = None
        self.recent: Tensor | None = None

    def __len__(self) -> int:
        return self.length

    @property
    def nbytes(self) -> int:
        """What the state takes, with the recent rows."""
        return sum(A.nbytes for A in (self.state, self.recent) if A is not None)

    @property
    def earliest(self) -> int:
        """The fewest positions, beside none, that it can be cropped to."""
        return self.length

    def before(self, K: Float[Tensor, "*b n d_k"], V: Float[Tensor, "*b n d_v"]) -> Tensor | None:
        """The state that is held, for a function that goes on from it with these keys and values."""
        if self.state is not None:
            fitting, held = (*K.shape[:-2], K.shape[-1], V.shape[-1]), tuple(self.state.shape)
            then = "Another batch or layer needs a cache of its own."
            rules.must(held == fitting, "StateCache", f"the state must be {fitting}; got {held}. {then}")
        return self.state

    def rows_before(self, X: Float[Tensor, "*b n d"]) -> Tensor | None:
        """The recent rows, for a convolution that goes on with X."""
        if self.recent is not None:
            fitting, held = (*X.shape[:-2], X.shape[-1]), (*self.recent.shape[:-2], self.recent.shape[-1])
            then = "Another batch or layer needs a cache of its own."
            rules.must(held == fitting, "StateCache", f"recent rows must be {fitting}; got {held}. {then}")
        return self.recent

    def hold(self, state: Tensor, positions: int, recent: Tensor | None = None) -> None:
        """The state after that many more positions, and the rows that the next convolution has to know."""
        self.state, self.recent, self.length = state, recent, self.length + positions

    @checked
    def crop(self, n: Number[int, "0..self.length"]) -> None:
        """A state cannot go back, so all positions may be forgotten, or none."""
        then = "Keep the state that is to be continued, or read the text again."
        rules.must(
            n in (0, self.length),
            "StateCache.crop",
            f"n must be 0 or all {self.length} positions; got n={n}. {then}",
        )
        if n == 0:
            self.reset()

    def reorder(self, order: Int[Tensor, "k"]) -> None:
        """Sequence i goes on from what sequence order[i] was, as in a beam search."""
        if self.state is None or self.state.dim() < 4:
            raise ValueError(
                "StateCache.reorder: there must be a batch of sequences to choose from; got none."
            )
        self.state = self.state.index_select(0, order)
        self.recent = None if self.recent is None else self.recent.index_select(0, order)

    def reset(self) -> None:
        """Forget everything."""
        self.state, self.recent, self.length = None, None, 0

"""What a layer with a state remembers between calls: a matrix for each head, however many positions it has read.

The book derives it in eq-linear-state (Chapter 6). A block passes it as `kv_cache=`, as it does a `KVCache`, so the
layers of one stack may differ in what they keep. A call that fails leaves its cache as it was.
"""

from torch import Tensor

from attnlib import rules
from attnlib.shapes import Float, Int, Number, checked


class StateCache:
    """The state of all positions that a layer has read, (*b, h, d_k, d_v), and their number.

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

    def __len__(self) -> int:
        return self.length

    @property
    def nbytes(self) -> int:
        """What the state takes."""
        return 0 if self.state is None else self.state.nbytes

    def before(self, K: Float[Tensor, "*b n d_k"], V: Float[Tensor, "*b n d_v"]) -> Tensor | None:
        """The state that is held, for a function that goes on from it with these keys and values."""
        if self.state is not None:
            fitting, held = (*K.shape[:-2], K.shape[-1], V.shape[-1]), tuple(self.state.shape)
            then = "Another batch or layer needs a cache of its own."
            rules.must(held == fitting, "StateCache", f"the state must be {fitting}; got {held}. {then}")
        return self.state

    def hold(self, state: Tensor, positions: int) -> None:
        """The state after that many more positions."""
        self.state, self.length = state, self.length + positions

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

    def reset(self) -> None:
        """Forget everything."""
        self.state, self.length = None, 0

"""What a decoder remembers: the keys and values of what it has read, and those of a source, projected once.

The book derives it in eq-cache-size (Chapter 3). A layer takes a cache as `kv_cache=`; the caller makes one for each
layer and each batch. A call that fails leaves its cache as it was.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnlib import rules
from attnlib.shapes import Array, Float, Int, Number, checked

Pair = tuple[Float[Tensor, "*b g n d_k"], Float[Tensor, "*b g n d_v"]]
SMALLEST = 16  # positions for which a growing cache takes memory at first


def _written_like(K: Tensor, V: Tensor) -> Any:
    """What decides where new positions are written; None where they are joined to new tensors."""
    if torch.is_grad_enabled() or torch.compiler.is_compiling():
        return None
    return K.shape, V.shape, K.dtype, V.dtype, K.device, torch.is_inference_mode_enabled()


class KVCache:
    """Keys and values of all positions that a layer has read, (*b, g, n, d_k) and (*b, g, n, d_v).

    capacity    memory for that many positions is taken once, and more are refused; by default it doubles when full

    Under `torch.no_grad()` new positions are written after those that are held, which are not copied. Where gradients
    are recorded all are joined to a new tensor instead: a derivative needs the old one as it was.

    >>> cache = KVCache()
    >>> for key in (1.0, 2.0):
    ...     K, V = cache.append(torch.tensor([[key]]), torch.tensor([[10 * key]]))
    >>> K, len(cache)
    (tensor([[1.],
            [2.]]), 2)
    """

    @checked
    def __init__(self, capacity: Number[int, "1.."] | None = None) -> None:
        self.capacity = capacity
        self.length = 0
        self._held: Pair | None = None  # the first `length` positions are filled
        self._next: tuple[Pair, int, Any] | None = None
        self._last: Any = (
            None  # what the positions are like that were kept last: more like them fit, if there is room
        )

    def __len__(self) -> int:
        return self.length

    @property
    def K(self) -> Tensor | None:
        """The keys that are held."""
        return None if self._held is None else self._held[0][..., : self.length, :]

    @property
    def V(self) -> Tensor | None:
        """The values that are held."""
        return None if self._held is None else self._held[1][..., : self.length, :]

    @property
    def nbytes(self) -> int:
        """What the positions that are held take."""
        return 0 if self.K is None or self.V is None else self.K.nbytes + self.V.nbytes

    @property
    def earliest(self) -> int:
        """The fewest positions that it can be cropped to."""
        return 0

    @property
    def room(self) -> int:
        """How many positions fit into the memory that is taken already."""
        return 0 if self._held is None else self._held[0].shape[-2]

    def extended(self, K: Tensor, V: Tensor) -> Pair:
        """Everything held, with new positions after it; `keep` makes them stay."""
        n = self.length + K.shape[-2]
        like = _written_like(K, V)
        if like is not None and like == self._last and self._held is not None and n <= self.room:
            return self._put(self._held, K, V, n, like)
        if self.capacity is not None and n > self.capacity:
            raise ValueError(
                f"KVCache: there must be room for every position; got {n} for capacity={self.capacity}. "
                "Give it a larger capacity, or `crop` it first."
            )
        if self.length and not self._continues(K):
            rules.follows("KVCache", K, self.K)
        if torch.is_grad_enabled():
            pair = self._joined(K, V)
            self._next = pair, n, None
            return pair[0].narrow(-2, 0, n), pair[1].narrow(-2, 0, n)
        return self._put(self._with_room(K, V, n), K, V, n, like)

    def _put(self, pair: Pair, K: Tensor, V: Tensor, n: int, like: Any) -> Pair:
        """Write the new positions after those that are held, into memory that has room for n."""
        self._next = pair, n, like
        together = pair[0].narrow(-2, 0, n), pair[1].narrow(-2, 0, n)
        together[0].narrow(-2, self.length, n - self.length).copy_(K)
        together[1].narrow(-2, self.length, n - self.length).copy_(V)
        return together

    def with_next(self, like: Any) -> tuple[Array, Array] | None:
        """Keys and values of one sequence as arrays, (g, n, d), with room at the end for one position, to be written.

        like    `_written_like` of the position. None is returned where one unlike it was kept last, or there is no room
        """
        n = self.length + 1
        if like != self._last or self._held is None or n > self.room:
            return None
        self._next = self._held, n, like
        K, V = self._held
        return K.numpy()[0, :, :n], V.numpy()[0, :, :n]

    def keep(self) -> None:
        """The new positions of the last `extended` stay."""
        if self._next is not None:
            self._held, self.length, self._last = self._next
            self._next = None

    def of_keys(self, A: Tensor | None) -> Tensor | None:
        """A mask or bias with a column for each position that was read, for the keys that `extended` returns: all."""
        return A

    def append(self, K: Tensor, V: Tensor) -> Pair:
        """Both at once."""
        pair = self.extended(K, V)
        self.keep()
        return pair

    @checked
    def crop(self, n: Number[int, "0..self.length"]) -> None:
        """Forget all but the first n positions, for example those of a draft that was refused."""
        self.length = n

    def reorder(self, order: Int[Tensor, "k"]) -> None:
        """Sequence i goes on from what sequence order[i] was: what a beam search keeps, as often as it keeps it.

        A sequence that keeps its row is not copied, nor is memory that is still empty.
        """
        if self._held is None or self._held[0].dim() < 4:
            raise ValueError("KVCache.reorder: there must be a batch of sequences to choose from; got none.")
        K, V = self._held
        self._held, self._last = (self._chosen(K, order), self._chosen(V, order)), None

    def reset(self) -> None:
        """Forget everything; the memory is taken again by the next sequence if its shape is the same."""
        self.length = 0

    def _chosen(self, A: Tensor, order: Tensor) -> Tensor:
        """The sequences of A in another order."""
        if torch.is_grad_enabled():
            return A.index_select(0, order)
        held = A[..., : self.length, :]
        if len(order) == len(A) and self._may_write(A):
            moved = (order != torch.arange(len(A), device=order.device)).nonzero()[:, 0]
            if len(moved):
                held[moved] = held[order[moved]]
            return A
        chosen = A.new_empty((len(order), *A.shape[1:]))
        chosen[..., : self.length, :] = held.index_select(0, order)
        return chosen

    def _joined(self, K: Tensor, V: Tensor) -> Pair:
        if self._held is None or not self.length:
            return K, V
        old_K, old_V = (A[..., : self.length, :] for A in self._held)
        return torch.cat([old_K, K], dim=-2), torch.cat([old_V, V], dim=-2)

    def _with_room(self, K: Tensor, V: Tensor, n: int) -> Pair:
        """The tensors that are held if n positions fit into them, otherwise larger ones with a copy of what is held."""
        if self._held is not None and self._fits(K, V, n):
            return self._held
        room = self.capacity or max(SMALLEST, 2 * self.room, n)
        larger = (
            K.new_empty((*K.shape[:-2], room, K.shape[-1])),
            V.new_empty((*V.shape[:-2], room, V.shape[-1])),
        )
        if self._held is not None and self.length:
            for A, old in zip(larger, self._held, strict=True):
                A[..., : self.length, :] = old[..., : self.length, :]
        return larger

    def _fits(self, K: Tensor, V: Tensor, n: int) -> bool:
        """Positions are written only into memory that no derivative needs, of the same kind and size."""
        assert self._held is not None
        old_K, old_V = self._held
        return (
            n <= old_K.shape[-2]
            and self._may_write(old_K)
            and self._may_write(old_V)
            and (old_K.dtype, old_V.dtype, old_K.device) == (K.dtype, V.dtype, K.device)
            and (self.length > 0 or self._continues(K))
            and old_V.shape[-1] == V.shape[-1]
        )

    def _may_write(self, A: Tensor) -> bool:
        """No derivative needs what is there, and PyTorch lets it be changed in this mode."""
        return not A.requires_grad and (
            torch.compiler.is_compiling() or A.is_inference() == torch.is_inference_mode_enabled()
        )

    def _continues(self, K: Tensor) -> bool:
        """New keys have the batch axes, heads and width of those that are held."""
        held = self._held[0].shape if self._held is not None else K.shape
        return held[:-2] == K.shape[:-2] and held[-1] == K.shape[-1]


class SourceCache:
    """Keys and values of a source, which is projected at the first call; later calls may leave the source out.

    >>> cache = SourceCache()
    >>> K, V = cache.once(lambda: (torch.tensor([[1.0]]), torch.tensor([[2.0]])))
    >>> cache.keep()
    >>> len(cache), cache.nbytes
    (1, 8)
    """

    def __init__(self) -> None:
        self._held: Pair | None = None
        self._next: Pair | None = None

    def __len__(self) -> int:
        return 0 if self._held is None else self._held[0].shape[-2]

    @property
    def nbytes(self) -> int:
        """What the keys and values take."""
        return 0 if self._held is None else sum(A.nbytes for A in self._held)

    def once(self, project: Callable[[], Pair]) -> Pair:
        """What is held, or else what `project` makes; `keep` makes it stay."""
        self._next = project() if self._held is None else self._held
        return self._next

    def of_keys(self, A: Tensor | None) -> Tensor | None:
        """A mask or bias with a column for each position of the source: the keys are those of all."""
        return A

    def keep(self) -> None:
        """What the last `once` returned stays."""
        if self._next is not None:
            self._held, self._next = self._next, None

    def reorder(self, order: Int[Tensor, "k"]) -> None:
        """Sequence i goes on with the source of sequence order[i]."""
        if self._held is None or self._held[0].dim() < 4:
            raise ValueError(
                "SourceCache.reorder: there must be a batch of sources to choose from; got none."
            )
        K, V = self._held
        self._held = K.index_select(0, order), V.index_select(0, order)

    def reset(self) -> None:
        """Forget the source."""
        self._held = None


class DecoderCache(NamedTuple):
    """What the blocks of a decoder remember from step to step: the target, which grows, and the source, which stays."""

    target: list[Any]  # what the mixer of each block keeps: a KVCache, a RingCache or a StateCache
    source: list[SourceCache]

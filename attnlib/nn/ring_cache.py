"""What a layer with a window remembers: the keys and values of the last positions, however many it has read.

The book uses it in Chapter 6 (eq-cache-size). It is a ring: position t lies in slot t mod `width`, so that a new
position takes the memory of the oldest one, which no later query attends to. A call that fails leaves what later
queries attend to as it was.
"""

import torch
from torch import Tensor

from attnlib import rules
from attnlib.nn.cache import Pair
from attnlib.shapes import Int, Number, checked


class RingCache:
    """Keys and values of the last `width` positions of those that a layer has read, (*b, g, width, d_k).

    width    how many positions a query attends to, itself included

    A full ring cannot go back: the position that would come into the window again has been overwritten.

    >>> cache = RingCache(width=2)
    >>> for key in (1.0, 2.0, 3.0):
    ...     K, V = cache.append(torch.tensor([[key]]), torch.tensor([[10 * key]]))
    >>> len(cache), cache.K.tolist(), cache.nbytes  # two keys and two values of 4 bytes
    (3, [[2.0], [3.0]], 16)
    """

    @checked
    def __init__(self, width: Number[int, "1.."]) -> None:
        self.width = width
        self.length = 0
        self._held: Pair | None = None
        self._next: tuple[Pair, int, bool] | None = None

    def __len__(self) -> int:
        return self.length

    @property
    def K(self) -> Tensor | None:
        """The keys that are held, the earliest first."""
        return None if self._held is None else self._in_order(self._held[0])

    @property
    def V(self) -> Tensor | None:
        """The values that are held, the earliest first."""
        return None if self._held is None else self._in_order(self._held[1])

    @property
    def nbytes(self) -> int:
        """What the positions that are held take."""
        if self._held is None or not self.length:
            return 0
        return sum(A[..., : self.length, :].nbytes for A in self._held)

    @property
    def earliest(self) -> int:
        """The fewest positions, beside none, that it can be cropped to."""
        return 0 if self.length < self.width else self.length

    def extended(self, K: Tensor, V: Tensor) -> Pair:
        """The keys and values that new positions attend to, their own included; `keep` makes these stay.

        One position is written into the ring, whose slots are returned as they lie: `of_keys` brings the columns of a
        mask into their order. Several are joined, in order, to those before them.
        """
        self._check(K)
        n = self.length + K.shape[-2]
        if self._held is not None and K.shape[-2] == 1 and self._may_write(K, V):
            for A, new in zip(self._held, (K, V), strict=True):
                A.narrow(-2, self.length % self.width, 1).copy_(new)
            self._next = self._held, n, True
            return self._held[0][..., :n, :], self._held[1][..., :n, :]
        pair = self._joined(self.K, K), self._joined(self.V, V)
        self._next = pair, n, False
        return pair

    def of_keys(self, A: Tensor | None) -> Tensor | None:
        """A mask or bias with a column for each position that was read, with those of the keys of `extended`."""
        if A is None or A.shape[-1] == 1 or self._next is None:
            return A
        (K, _), n, in_slots = self._next
        if not in_slots:
            return A[..., -K.shape[-2] :]
        slots = torch.arange(min(n, self.width), device=A.device)
        return A[
            ..., n - 1 - (n - 1 - slots) % self.width
        ]  # the last position that was written into each slot

    def keep(self) -> None:
        """The new positions of the last `extended` stay."""
        if self._next is not None:
            pair, n, in_slots = self._next
            self._held = pair if in_slots else (self._in_slots(pair[0], n), self._in_slots(pair[1], n))
            self.length, self._next = n, None

    def append(self, K: Tensor, V: Tensor) -> Pair:
        """Both at once."""
        pair = self.extended(K, V)
        self.keep()
        return pair

    @checked
    def crop(self, n: Number[int, "0..self.length"]) -> None:
        """Forget all but the first n positions, which a full ring cannot do unless n is 0 or all of them."""
        then = "Keep a copy of the cache, or read the text again."
        rules.must(
            n == 0 or n >= self.earliest,
            "RingCache.crop",
            f"n must be 0 or all {self.length} positions, for older ones are overwritten; got n={n}. {then}",
        )
        self.length = n

    def reorder(self, order: Int[Tensor, "k"]) -> None:
        """Sequence i goes on from what sequence order[i] was, as in a beam search."""
        if self._held is None or self._held[0].dim() < 4:
            raise ValueError(
                "RingCache.reorder: there must be a batch of sequences to choose from; got none."
            )
        K, V = self._held
        self._held = K.index_select(0, order), V.index_select(0, order)

    def reset(self) -> None:
        """Forget everything; the next sequence may have another shape."""
        self._held, self._next, self.length = None, None, 0

    def _check(self, K: Tensor) -> None:
        """New keys have the shape of those that are held; after a `crop` to none, any shape may come."""
        if not self.length:
            self._held = None
        if self._held is not None:
            rules.follows("RingCache", K, self._held[0])

    def _joined(self, held: Tensor | None, new: Tensor) -> Tensor:
        """New positions after the last width - 1 of those that are held: no new query attends to more."""
        if held is None:
            return new
        seen = min(held.shape[-2], self.width - 1)
        return torch.cat([held.narrow(-2, held.shape[-2] - seen, seen), new], dim=-2)

    def _in_order(self, A: Tensor) -> Tensor:
        """The positions that are held, the earliest first."""
        return (
            A[..., : self.length, :] if self.length <= self.width else A.roll(-(self.length % self.width), -2)
        )

    def _in_slots(self, A: Tensor, n: int) -> Tensor:
        """The last positions of A, of which the very last is the n-th that was read, each in its slot."""
        A = A[..., max(0, A.shape[-2] - self.width) :, :]
        if n > self.width:
            return A.roll(n % self.width, -2)
        room = A.new_zeros((*A.shape[:-2], self.width, A.shape[-1]))
        return torch.cat([A, room[..., n:, :]], dim=-2)

    def _may_write(self, K: Tensor, V: Tensor) -> bool:
        """No derivative needs what is there, and PyTorch lets it be changed in this mode."""
        assert self._held is not None
        held = self._held[0]
        plain = not (torch.is_grad_enabled() or torch.compiler.is_compiling() or held.requires_grad)
        like = (held.dtype, held.device) == (K.dtype, K.device) and V.dtype == K.dtype
        return plain and like and held.is_inference() == torch.is_inference_mode_enabled()

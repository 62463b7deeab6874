"""Words to numbers and back, and batches of sentences of different lengths, padded to one array.

Book: the-bottleneck. Masks are boolean and True means a real word.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from attnlib.shapes import Array, Bool, Int

PAD, BOS, EOS = 0, 1, 2
SPECIAL = ("<pad>", "<bos>", "<end>")


@runtime_checkable
class HasWords(Protocol):
    """Anything with a source and a target sentence, for example `attnlib.data.bilingual.Pair`."""

    @property
    def source(self) -> tuple[str, ...]: ...

    @property
    def target(self) -> tuple[str, ...]: ...


class Vocab:
    """A fixed list of words; numbers 0, 1, 2 are padding, beginning and end.

    >>> vocab = Vocab(["the", "cat", "black"])
    >>> vocab.encode(["the", "black", "cat"])
    [5, 3, 4, 2]
    >>> vocab.decode([5, 3, 4, 2, 0, 0])
    ('the', 'black', 'cat')
    """

    def __init__(self, words: Iterable[str]) -> None:
        self.words = (*SPECIAL, *sorted(set(words) - set(SPECIAL)))
        self._number = {word: i for i, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, words: Sequence[str], *, end: bool = True) -> list[int]:
        """The number of each word, then that of the end token unless `end` is false."""
        unknown = [word for word in words if word not in self._number]
        if unknown:
            raise ValueError(
                f"Vocab.encode: every word must be one of the {len(self) - len(SPECIAL)} words of the vocabulary; "
                f'got {unknown[0]!r}. Words are in lower case and separated, as in "l\'", "accord".'
            )
        return [self._number[word] for word in words] + [EOS] * end

    def decode(self, numbers: Iterable[int] | Int[Array, "n"]) -> tuple[str, ...]:
        """The words up to the first end token, without padding and beginning."""
        words: list[str] = []
        for number in numbers:
            if number == EOS:
                break
            if number not in (PAD, BOS):
                words.append(self.words[int(number)])
        return tuple(words)


class Batch(NamedTuple):
    """Padded sentences. The decoder reads `target_in`, which begins with <bos>, and predicts `target_out`."""

    source: Int[Array, "b n"]
    source_mask: Bool[Array, "b n"]
    target_in: Int[Array, "b m"]
    target_out: Int[Array, "b m"]
    target_mask: Bool[Array, "b m"]


def pad(rows: Sequence[Sequence[int]]) -> tuple[Int[Array, "b n"], Bool[Array, "b n"]]:
    """The rows padded to one length as an array, and a mask that is True at real words.

    >>> padded, mask = pad([[7, 8], [9]])
    >>> padded.tolist(), mask.tolist()
    ([[7, 8], [9, 0]], [[True, True], [True, False]])
    """
    longest = max(len(row) for row in rows)
    mask = np.arange(longest) < np.array([[len(row)] for row in rows])
    padded = np.full(mask.shape, PAD, dtype=np.int64)
    padded[mask] = np.concatenate([np.asarray(row, dtype=np.int64) for row in rows])
    return padded, mask


def batch(pairs: Sequence[HasWords], source: Vocab, target: Vocab) -> Batch:
    """One batch of all the pairs; source and target end with the end token."""
    return _batch(
        [source.encode(pair.source) for pair in pairs], [target.encode(pair.target) for pair in pairs]
    )


def symbol_batch(source: Int[Array, "b n"], target: Int[Array, "b m"]) -> Batch:
    """One batch of symbol sequences 0, 1, 2, ... of one length (`attnlib.data.tasks`), after the special tokens.

    >>> data = symbol_batch(np.array([[0, 4]]), np.array([[4, 0]]))
    >>> data.source.tolist(), data.target_in.tolist(), data.target_out.tolist()
    ([[3, 7, 2]], [[1, 7, 3]], [[7, 3, 2]])
    """
    X, Y = ([[*row, EOS] for row in (symbols + len(SPECIAL)).tolist()] for symbols in (source, target))
    return _batch(X, Y)


def _batch(source: Sequence[Sequence[int]], target: Sequence[Sequence[int]]) -> Batch:
    X, source_mask = pad(source)
    Y, target_mask = pad(target)
    Y_in = np.concatenate([np.full((len(Y), 1), BOS, dtype=np.int64), Y[:, :-1]], axis=1)
    return Batch(X, source_mask, Y_in, Y, target_mask)


def batches(
    pairs: Sequence[HasWords],
    source: Vocab,
    target: Vocab,
    size: int,
    *,
    seed: int = 0,
    epochs: int | None = 1,
) -> Iterator[Batch]:
    """All pairs in shuffled batches of about equally long sentences, again in each epoch; `epochs=None` never ends."""
    rng = np.random.default_rng(seed)
    pool = 16 * size
    epoch = 0
    while epochs is None or epoch < epochs:
        order = rng.permutation(len(pairs))
        groups = [
            sorted(order[i : i + pool], key=lambda k: len(pairs[k].source))
            for i in range(0, len(order), pool)
        ]
        parts = [group[i : i + size] for group in groups for i in range(0, len(group), size)]
        for part in rng.permutation(len(parts)):
            yield batch([pairs[k] for k in parts[part]], source, target)
        epoch += 1

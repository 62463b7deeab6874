"""From text to token numbers and back without loss (book: Chapter 4).

It takes text in any script, bytes that are not valid text, and streams of either. A special token is always one number,
and no merge applies to it.
"""

import codecs
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from attnlib.data.bpe._check import check_merges, check_numbers, check_special
from attnlib.data.bpe.alphabet import BYTES, bytes_of_name, spelled
from attnlib.data.bpe.merging import Merge
from attnlib.data.bpe.pretokenize import settled_words, split_words
from attnlib.data.bpe.queued import merge_by_queue
from attnlib.data.bpe.special import pattern_of
from attnlib.data.bpe.streams import readable, texts_of
from attnlib.data.bpe.training import count_words, learn_merges

REMEMBERED = 2048  # words whose tokens are cached: about half a megabyte
LONGEST_REMEMBERED = 32  # characters; a longer word is unlikely to be repeated
BLOCK = 4_096  # bytes of a file that are read at a time


class Tokenizer:
    """The merges in the order of their ranks, the special tokens, and the number of each token.

    Without `numbers` (a dictionary as in `vocab.json`) the bytes come first, then the merges, then the special tokens.
    A name in it that is none of these is a token that no text is encoded to; its number is decoded to the name.

    >>> tokenizer = Tokenizer([(b"h", b"e"), (b"t", b"he")], special=["<end>"])
    >>> tokenizer.encode("then<end>"), tokenizer.decode([257, 77, 258])
    ([257, 77, 258], 'then<end>')
    """

    def __init__(
        self,
        merges: Iterable[Merge],
        special: Iterable[str] = (),
        *,
        numbers: Mapping[str, int] | None = None,
    ) -> None:
        self.merges, self.special = tuple(merges), tuple(special)
        check_merges(self.merges)
        tokens = dict.fromkeys([*BYTES, *(left + right for left, right in self.merges)])
        check_special(self.special, tokens)
        names = [*map(spelled, tokens), *self.special]
        self.numbers = {name: i for i, name in enumerate(names)} if numbers is None else dict(numbers)
        check_numbers(self.numbers, names)
        self._ranks = {pair: rank for rank, pair in enumerate(self.merges)}
        self._number = {token: self.numbers[spelled(token)] for token in tokens}
        self._token = {number: token for token, number in self._number.items()}
        self._token |= {self.numbers[token]: token.encode() for token in self.special}
        beyond = self.numbers.keys() - names
        self._token |= {self.numbers[name]: bytes_of_name(name) for name in beyond}
        self._special = pattern_of(self.special)
        self._remembered: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return len(self.numbers)

    def encode(self, text: str | bytes) -> list[int]:
        """The numbers of a text; each special token in it becomes its one number."""
        return list(self._encode(readable(text)))

    def encode_ordinary(self, text: str | bytes) -> list[int]:
        """The numbers of a text in which special tokens are treated as ordinary text, as untrusted input needs."""
        return list(self._encode_words(readable(text)))

    def encode_stream(self, chunks: Iterable[str] | Iterable[bytes]) -> Iterator[int]:
        """The numbers of a text that arrives in chunks, split anywhere; the whole text is never in memory.

        >>> list(Tokenizer([(b"h", b"e"), (b"t", b"he")]).encode_stream(["t", "he", "n"]))
        [257, 77]
        """
        longest, held = max(map(len, self.special), default=1), ""
        for text in texts_of(chunks):
            held, done = held + text, 0
            seen = len(held) - longest + 1  # a special token that begins before this index is complete
            for match in self._special.finditer(held):
                if match.start() >= seen:
                    break
                yield from self._encode(held[done : match.end()])
                done = match.end()
            for word in settled_words(held[done : max(done, seen)]):
                yield from self._encode_word(word)
                done += len(word)
            held = held[done:]
        yield from self._encode(held)

    def encode_file(self, path: str | Path) -> Iterator[int]:
        """The numbers of a file, whatever bytes it contains, read block by block."""
        with open(path, "rb") as file:
            yield from self.encode_stream(iter(lambda: file.read(BLOCK), b""))

    def decode(self, numbers: Iterable[int]) -> str:
        """The text; bytes that are no text are shown as �."""
        return self.decode_bytes(numbers).decode(errors="replace")

    def decode_bytes(self, numbers: Iterable[int]) -> bytes:
        """The bytes of all tokens joined together: exactly those that were encoded."""
        return b"".join(map(self.token, numbers))

    def decode_stream(self, numbers: Iterable[int]) -> Iterator[str]:
        """One text for each number, empty while a character is incomplete; at the end the remaining bytes.

        >>> bare = Tokenizer([])
        >>> list(bare.decode_stream(bare.encode("né")))
        ['n', '', 'é']
        """
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        for number in numbers:
            yield decoder.decode(self.token(number))
        if rest := decoder.decode(b"", final=True):
            yield rest

    def token(self, number: int) -> bytes:
        """The bytes of one token.

        >>> Tokenizer([]).token(220)
        b' '
        """
        if number not in self._token:
            raise ValueError(
                f"Tokenizer.token: a number must be one of the vocabulary's, 0 to {len(self) - 1}; got {number!r}. "
                "Was the text encoded with another vocabulary?"
            )
        return self._token[number]

    def _encode(self, text: str) -> Iterator[int]:
        done = 0
        for match in self._special.finditer(text):
            yield from self._encode_words(text[done : match.start()])
            yield self.numbers[match[0]]
            done = match.end()
        yield from self._encode_words(text[done:])

    def _encode_words(self, text: str) -> Iterator[int]:
        for word in split_words(text):
            yield from self._encode_word(word)

    def _encode_word(self, word: str) -> list[int]:
        if word in self._remembered:
            return self._remembered[word]
        tokens = merge_by_queue(word.encode(errors="surrogateescape"), self._ranks)
        numbers = [self._number[token] for token in tokens]
        if len(word) <= LONGEST_REMEMBERED:
            if len(self._remembered) >= REMEMBERED:
                self._remembered.clear()
            self._remembered[word] = numbers
        return numbers


def train_tokenizer(
    texts: Iterable[str], n_merges: int, special: Sequence[str] = (), *, ties: str = "numbers"
) -> Tokenizer:
    """A tokenizer with merges learned from the texts; special tokens in the texts are left out.

    ties    which of equally frequent pairs is joined first: that with the smaller "numbers", or with the larger "bytes"

    >>> train_tokenizer(["the then<end>the hen"], 2, ["<end>"]).merges
    ((b'h', b'e'), (b't', b'he'))
    """
    pattern = pattern_of(special)
    words = count_words(part for text in texts for part in pattern.split(text))
    return Tokenizer(learn_merges(words, n_merges, ties), special)

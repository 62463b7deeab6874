"""Which pairs get a rank: the most frequent pair is joined everywhere, then counted again, and so on (book: Chapter 4).

`learn_merges_by_recounting` is the definition. `learn_merges` gives the same list and counts again only words in which
a pair was joined. Which of equally frequent pairs comes first is a convention, one of TIES.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any

from attnlib import rules
from attnlib.data.bpe.alphabet import BYTES
from attnlib.data.bpe.merging import Merge, merge
from attnlib.data.bpe.pretokenize import split_words

NUMBER_OF_BYTE = {token[0]: number for number, token in enumerate(BYTES)}
Pair = tuple[int, int]


class Largest:
    """A value of which the largest comes first in a sorted list or a queue.

    >>> sorted(["b", "a", "c"], key=Largest)
    ['c', 'b', 'a']
    """

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: "Largest") -> bool:
        return self.value > other.value


# Of equally frequent pairs the one with the smallest key comes first. It is made from the numbers of the two tokens and
# the list of all tokens. "numbers" is the rule of Hugging Face's tokenizers; "bytes" compares the tokens themselves.
TIES: dict[str, Callable[[Pair, Sequence[bytes]], Any]] = {
    "numbers": lambda pair, tokens: pair,  # the smaller numbers first: the pair that was known earlier
    "bytes": lambda pair, tokens: Largest((tokens[pair[0]], tokens[pair[1]])),  # the larger bytes first
}


def count_words(texts: Iterable[str]) -> Counter[bytes]:
    """How often each word occurs: all that training needs of the texts.

    >>> count_words(["a b", " b"])
    Counter({b' b': 2, b'a': 1})
    """
    words = Counter(word for text in texts for word in split_words(text))
    return Counter({word.encode(): count for word, count in words.items()})


def learn_merges_by_recounting(
    words: Mapping[bytes, int], n_merges: int, ties: str = "numbers"
) -> list[Merge]:
    """The definition: count all pairs, join the most frequent one everywhere, and repeat.

    ties    which of equally frequent pairs comes first, one of TIES

    >>> learn_merges_by_recounting({b"the": 2, b"then": 1, b"hen": 1}, 2)
    [(b'h', b'e'), (b't', b'he')]
    """
    rules.one_of("learn_merges", "ties", ties, TIES)
    tokens, numbers = list(BYTES), {token: number for number, token in enumerate(BYTES)}
    spelled = {word: [bytes([byte]) for byte in word] for word in words}
    merges: list[Merge] = []
    for _ in range(n_merges):
        counts = Counter()
        for word, parts in spelled.items():
            for pair in pairwise(parts):
                counts[pair] += words[word]
        if not counts:
            break
        numbered = {(numbers[left], numbers[right]): count for (left, right), count in counts.items()}
        first = min(numbered, key=lambda pair: (-numbered[pair], TIES[ties](pair, tokens)))
        left, right = tokens[first[0]], tokens[first[1]]
        if left + right not in numbers:
            numbers[left + right] = len(tokens)
            tokens.append(left + right)
        spelled = {word: merge(parts, (left, right), left + right) for word, parts in spelled.items()}
        merges.append((left, right))
    return merges


class PairCounts:
    """How often each pair of numbers occurs side by side, updated while pairs are joined."""

    def __init__(self, words: Mapping[bytes, int], key: Callable[[Pair], Any] = lambda pair: pair) -> None:
        self.words = [[NUMBER_OF_BYTE[byte] for byte in word] for word in words]
        self.times, self.key = list(words.values()), key
        self.counts: Counter[Pair] = Counter()
        self.where: defaultdict[Pair, set[int]] = defaultdict(
            set
        )  # for each pair the words in which it occurs, or did before a merge
        for i, (parts, times) in enumerate(zip(self.words, self.times, strict=True)):
            for pair in pairwise(parts):
                self.counts[pair] += times
                self.where[pair].add(i)
        self.queue = [(-count, key(pair), pair) for pair, count in self.counts.items()]
        heapify(self.queue)

    def most_frequent(self) -> Pair | None:
        """The pair to join next, or None. Counts in the queue may be outdated: too high, but never too low."""
        while self.queue:
            queued, key, pair = heappop(self.queue)
            count = self.counts[pair]
            if count == -queued:
                return pair
            if count > 0:
                heappush(self.queue, (-count, key, pair))
        return None

    def join(self, pair: Pair, whole: int) -> None:
        """Replace the pair by `whole` in every word; only words that contain it are counted again."""
        changed = set()
        for i in self.where.pop(pair):
            for old in pairwise(self.words[i]):
                self.counts[old] -= self.times[i]
            self.words[i] = merge(self.words[i], pair, whole)
            for new in pairwise(self.words[i]):
                self.counts[new] += self.times[i]
                if whole in new:
                    self.where[new].add(i)
                    changed.add(new)
        for new in changed:
            heappush(self.queue, (-self.counts[new], self.key(new), new))


def learn_merges(words: Mapping[bytes, int], n_merges: int, ties: str = "numbers") -> list[Merge]:
    """The same list as by recounting, but after each merge only the words that it changed are counted again.

    ties    which of equally frequent pairs comes first, one of TIES

    >>> learn_merges({b"the": 2, b"then": 1, b"hen": 1}, 2)
    [(b'h', b'e'), (b't', b'he')]
    >>> [learn_merges({b"ab": 1, b"cd": 1}, 1, ties=rule) for rule in TIES]
    [[(b'a', b'b')], [(b'c', b'd')]]
    """
    rules.one_of("learn_merges", "ties", ties, TIES)
    tokens = list(BYTES)
    pairs = PairCounts(words, lambda pair: TIES[ties](pair, tokens))
    numbers = {token: number for number, token in enumerate(tokens)}
    merges: list[Merge] = []
    while len(merges) < n_merges and (pair := pairs.most_frequent()):
        left, right = tokens[pair[0]], tokens[pair[1]]
        if left + right not in numbers:
            numbers[left + right] = len(tokens)
            tokens.append(left + right)
        pairs.join(pair, numbers[left + right])
        merges.append((left, right))
    return merges

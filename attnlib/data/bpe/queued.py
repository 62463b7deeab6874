"""The same merges of a word, without a scan of the word after each one (book: Chapter 4).

Pairs are kept in a priority queue by rank, and a merge adds only the two new pairs beside it. So the time grows
little faster than the length of the word, even for a very long one without a space, such as a genome.
"""

from collections.abc import Mapping
from heapq import heappop, heappush

from attnlib.data.bpe.merging import Merge, single_bytes


def merge_by_queue(word: bytes, ranks: Mapping[Merge, int]) -> list[bytes]:
    """The same tokens as `merge_word` gives, if every merge has a higher rank than the merges that made its halves.

    >>> merge_by_queue(b"there", {(b"h", b"e"): 0, (b"t", b"he"): 1})
    [b'the', b'r', b'e']
    """
    parts, n = single_bytes(word), len(word)  # a part that was joined to the one before is empty
    before, after = [*range(-1, n - 1)], [*range(1, n + 1)]
    queue: list[tuple[int, int, Merge]] = []

    def wait(i: int, j: int) -> None:
        if i >= 0 and j < n and (rank := ranks.get((parts[i], parts[j]))) is not None:
            heappush(queue, (rank, i, (parts[i], parts[j])))

    for i in range(n - 1):
        wait(i, i + 1)
    while queue:
        _, i, pair = heappop(queue)
        j = after[i]
        if j == n or (parts[i], parts[j]) != pair:
            continue  # one of the two has been merged in the meantime
        parts[i], parts[j], after[i] = pair[0] + pair[1], b"", after[j]
        if after[j] < n:
            before[after[j]] = i
        wait(before[i], i)
        wait(i, after[i])
    return [part for part in parts if part]

"""Near-duplicates among many texts: shingles, Jaccard similarity, MinHash, and banding (locality-sensitive hashing).

Book: what-to-train-on, eq-jaccard, eq-minhash, eq-bands. A text becomes the set of its shingles, all runs of k words.
Two texts are as alike as their sets overlap. A signature of a few numbers estimates that, and equal bands of two
signatures pick the few pairs that are worth a comparison.
"""

import re
import zlib
from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np

from attnlib import rules
from attnlib.shapes import Array, Bool, Float, Int, Number, checked

PRIME = 2**31 - 1  # the products of two numbers below it fit into 64 bits
WORD = re.compile(r"\w+|[^\w\s]")


def words(text: str) -> list[str]:
    """The words of a text or program; each other sign is a word too.

    >>> words("if x: return x+1")
    ['if', 'x', ':', 'return', 'x', '+', '1']
    """
    return WORD.findall(text)


def shingles(text: str, k: int = 5) -> frozenset[str]:
    """All runs of k words of a text, as a set; a text of fewer words is one shingle.

    >>> sorted(shingles("we like cats and dogs", k=3))
    ['cats and dogs', 'like cats and', 'we like cats']
    """
    found = words(text)
    return frozenset(" ".join(found[i : i + k]) for i in range(max(1, len(found) - k + 1)))


def jaccard(A: frozenset[str], B: frozenset[str]) -> float:
    """What two sets have in common, as a share of all that either has (eq-jaccard).

    >>> jaccard(frozenset("abc"), frozenset("bcd"))
    0.5
    """
    return len(A & B) / len(A | B) if A or B else 1.0


@checked
def signatures(
    sets: Sequence[frozenset[str]], n_hashes: Number[int, "1.."] = 128, seed: Number[int, "0.."] = 0
) -> Int[Array, "texts hashes"]:
    """The MinHash of each set: for each of `n_hashes` random orders, the least number of its members (eq-minhash).

    The orders are x -> (a x + c) mod p of a checksum x, with random a and c.

    >>> S = signatures([frozenset("abc"), frozenset("abc"), frozenset("xyz")], n_hashes=4)
    >>> S.shape, bool((S[0] == S[1]).all()), int((S[0] == S[2]).sum())
    ((3, 4), True, 0)
    """
    rules.must(all(sets), "signatures", "each set must have a member; one is empty. Leave empty texts out.")
    rng = np.random.default_rng(seed)
    a, c = rng.integers(1, PRIME, n_hashes), rng.integers(0, PRIME, n_hashes)

    def least(members: Iterable[str]) -> Int[Array, "hashes"]:
        x = np.array([zlib.crc32(one.encode()) % PRIME for one in members])
        return ((x[:, None] * a + c) % PRIME).min(axis=0)

    return np.stack([least(one) for one in sets])


@checked
def found_share(
    s: Float[Array, "*n"], bands: Number[int, "1.."], rows: Number[int, "1.."]
) -> Float[Array, "*n"]:
    """The probability that two texts of similarity s have an equal band: 1 - (1 - s^rows)^bands (eq-bands).

    >>> found_share(np.array([0.2, 0.5, 0.8]), bands=16, rows=4).round(3)
    array([0.025, 0.644, 1.   ])
    """
    return 1 - (1 - s**rows) ** bands


@checked
def candidates(S: Int[Array, "texts hashes"], bands: Number[int, "1.."], rows: Number[int, "1.."]) -> Array:
    """The pairs of texts, i < j, that agree in all rows of at least one band; (pairs, 2), perhaps none.

    >>> candidates(np.array([[1, 2, 3, 4], [1, 2, 9, 9], [5, 2, 3, 4], [5, 5, 5, 5]]), bands=2, rows=2).tolist()
    [[0, 1], [0, 2]]
    """
    rules.must(
        bands * rows <= S.shape[1],
        "candidates",
        f"bands * rows must be at most the number of hashes; got {bands} * {rows} and {S.shape[1]} hashes.",
    )
    pairs: set[tuple[int, int]] = set()
    for band in range(bands):
        part = np.ascontiguousarray(S[:, band * rows : (band + 1) * rows])
        buckets: dict[bytes, list[int]] = {}
        for i, row in enumerate(part):
            buckets.setdefault(row.tobytes(), []).append(i)
        for bucket in buckets.values():
            pairs.update(combinations(bucket, 2))
    return np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)


def similar_pairs(sets: Sequence[frozenset[str]], least: float) -> tuple[Array, Float[Array, "pairs"]]:
    """All pairs with a Jaccard similarity of at least `least`, which is above 0: exactly, by the shingles they share.

    >>> pairs, J = similar_pairs([frozenset("abc"), frozenset("bcd"), frozenset("x")], 0.5)
    >>> pairs.tolist(), J.tolist()
    ([[0, 1]], [0.5])
    """
    rules.must(0 < least <= 1, "similar_pairs", f"least must be above 0 and at most 1; got {least}.")
    having: dict[str, list[int]] = {}
    for i, one in enumerate(sets):
        for shingle in one:
            having.setdefault(shingle, []).append(i)
    n, codes = len(sets), [np.zeros(0, dtype=np.int64)]
    for texts in having.values():
        if len(texts) > 1:
            first, second = np.triu_indices(len(texts), 1)
            where = np.array(texts)
            codes.append(where[first] * n + where[second])
    code, common = np.unique(np.concatenate(codes), return_counts=True)
    pairs = np.stack([code // n, code % n], axis=1)
    sizes = np.array([len(one) for one in sets])
    alike = common / (sizes[pairs].sum(axis=1) - common) if len(pairs) else np.zeros(0)
    return pairs[alike >= least], alike[alike >= least]


def clusters(n: int, pairs: Iterable[Sequence[int]]) -> Int[Array, "n"]:
    """For each of n texts the smallest number of a text that a chain of pairs joins it with.

    >>> clusters(5, [(1, 3), (3, 4)]).tolist()
    [0, 1, 2, 1, 1]
    """
    root = list(range(n))

    def top(i: int) -> int:
        while root[i] != i:
            root[i] = root[root[i]]
            i = root[i]
        return i

    for i, j in pairs:
        a, b = sorted((top(int(i)), top(int(j))))
        root[b] = a
    return np.array([top(i) for i in range(n)])


def first_of_each(n: int, pairs: Iterable[Sequence[int]]) -> Bool[Array, "n"]:
    """True for the texts that are kept: the first of each cluster.

    >>> first_of_each(4, [(1, 3)]).tolist()
    [True, True, True, False]
    """
    return clusters(n, pairs) == np.arange(n)


def near_duplicates(
    sets: Sequence[frozenset[str]], threshold: float, bands: int = 32, rows: int = 4, seed: int = 0
) -> tuple[Array, int]:
    """The pairs with an equal band whose Jaccard similarity is at least `threshold`, and how many were compared."""
    pairs = candidates(signatures(sets, bands * rows, seed), bands, rows)
    alike = np.array([jaccard(sets[i], sets[j]) for i, j in pairs.tolist()])
    return pairs[alike >= threshold], len(pairs)

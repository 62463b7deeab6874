"""What the course's own model is compared with: counts of n-grams, and two compressors, on the same held-out modules.

Every figure is in bits a byte of the held-out text. An n-gram model is smoothed after Kneser and Ney: what a context
of n - 1 symbols has been seen to go on with, mixed with what the shorter context says. The compressors get the
held-out text alone, and behind the text of training, of which they may remember what fits their window.

    python experiments/course_baselines.py
"""

import gzip
import lzma
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from attnlib.data import stdlib
from attnlib.data.results import save_result
from attnlib.models.course import END, course_tokenizer

BYTE_ORDERS, TOKEN_ORDERS = range(1, 13), range(1, 7)
PRIME = np.uint64(1_099_511_628_211)


def grams(symbols: np.ndarray, n: int) -> np.ndarray:
    """A hash of the n symbols that end at each position from n - 1 on."""
    hashed = np.zeros(len(symbols) - n + 1, np.uint64)
    for i in range(n):
        hashed = (hashed ^ symbols[i : i + len(hashed)].astype(np.uint64) + np.uint64(1)) * PRIME
        hashed ^= hashed >> np.uint64(29)
    return hashed


def look_up(values: np.ndarray, counts: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The count of each wanted value, zero where it was never seen."""
    places = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    return np.where(values[places] == wanted, counts[places], 0)


class Counts(NamedTuple):
    """For each position of the held-out text: counts of its n-gram, of its context, and of what follows that."""

    seen: np.ndarray
    total: np.ndarray
    kinds: np.ndarray
    discount: float

    def mixed(self, shorter: np.ndarray) -> np.ndarray:
        """The discounted counts; what was taken away goes to the shorter context."""
        share = np.maximum(self.seen - self.discount, 0) + self.discount * self.kinds * shorter
        return np.where(self.total > 0, share / np.maximum(self.total, 1), shorter)


def counts_of(train: np.ndarray, held: np.ndarray, n: int, places: np.ndarray) -> Counts:
    """Counts of n-grams of the training text that end at `places`; for every n-gram of the held-out text."""
    values, counts = np.unique(grams(train, n)[places - n + 1], return_counts=True)
    once, twice = (counts == 1).sum(), (counts == 2).sum()
    discount = float(once / max(once + 2 * twice, 1))
    if n == 1:
        total, kinds = np.array([len(places)]), np.array([len(values)])
    else:
        first = np.unique(grams(train, n)[places - n + 1], return_index=True)[1]
        before, wanted = grams(train, n - 1)[places - n + 1], grams(held, n - 1)[:-1]
        total = look_up(*np.unique(before, return_counts=True), wanted)
        kinds = look_up(*np.unique(before[first], return_counts=True), wanted)
    return Counts(look_up(values, counts, grams(held, n)), total, kinds, discount)


def kneser_ney(
    train: np.ndarray, held: np.ndarray, orders: Sequence[int], n_symbols: int
) -> dict[str, float]:
    """Bits a symbol of the held-out text, for models of each order; the text's first symbols have the context there is.

    The longest context counts how often, the shorter ones behind how many different symbols a gram was seen.
    """
    below, bits = np.full(len(held), 1 / n_symbols), {}
    for n in orders:
        p = below.copy()
        p[n - 1 :] = counts_of(train, held, n, np.arange(n - 1, len(train))).mixed(below[n - 1 :])
        bits[str(n)] = float(-np.log2(p).mean())
        different = np.unique(grams(train, n + 1), return_index=True)[1] + n  # where a new (n+1)-gram ends
        below[n - 1 :] = counts_of(train, held, n, different).mixed(below[n - 1 :])
    return bits


def compressed(train: bytes, held: bytes) -> dict[str, float]:
    """Bits a byte of the held-out text, alone and after the training text."""
    xz = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 1 << 26}]
    makers = {
        "gzip": lambda text: gzip.compress(text, 9),
        "lzma": lambda text: lzma.compress(text, lzma.FORMAT_XZ, filters=xz),
    }
    bits = {}
    for name, make in makers.items():
        alone, before, both = (len(make(text)) for text in (held, train, train + held))
        bits[f"{name}, alone"] = round(8 * alone / len(held), 4)
        bits[f"{name}, after training's text"] = round(8 * (both - before) / len(held), 4)
    return bits


def main() -> None:
    started = time.process_time()
    tokenizer = course_tokenizer()
    end = tokenizer.encode(END)
    text, tokens = {}, {}
    for split in ("train", "held out"):
        files = [one for _, one in stdlib.texts(split)]
        text[split] = "".join(files).encode()
        tokens[split] = np.concatenate([np.array(end + tokenizer.encode_ordinary(one)) for one in files])
    a_byte = len(tokens["held out"]) / len(text["held out"])
    in_bytes = [np.frombuffer(text[split], np.uint8) for split in text]
    by_bytes = kneser_ney(*in_bytes, BYTE_ORDERS, 256)
    by_tokens = kneser_ney(tokens["train"], tokens["held out"], TOKEN_ORDERS, len(tokenizer))
    data = {
        "settings": {"smoothing": "Kneser-Ney, interpolated", "gzip": 9, "lzma": "9e, window 64 MiB"},
        "n-grams of bytes": {n: round(bits, 4) for n, bits in by_bytes.items()},
        "n-grams of tokens": {n: round(bits * a_byte, 4) for n, bits in by_tokens.items()},
        "compressors": compressed(text["train"], text["held out"]),
    }
    print(data)
    save_result(
        "course_baselines",
        data,
        seeds=[],
        command="python experiments/course_baselines.py",
        seconds=time.process_time() - started,
    )


if __name__ == "__main__":
    main()

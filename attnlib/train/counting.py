"""What a text costs by counting alone: how often each token has followed each other one. A model has to beat it.

The counts of pairs are mixed with those of single tokens, as in `attnlib.models.ngrams`, but all at once.
"""

import numpy as np

from attnlib.shapes import Array, Int

DISCOUNT = 0.75  # taken from each count of a pair, and given to the single tokens
MOST = 5_000_000  # tokens that are counted: enough for pairs, and a second of time


def cost_by_counting(tokens: Int[Array, "n"], unseen: Int[Array, "m"], vocab: int) -> float:
    """Nats for each token of a text that was not counted, but for its first.

    >>> text = np.array([0, 1, 0, 1, 0, 1, 0, 1])
    >>> cost_by_counting(text, text, vocab=2) < 0.69
    True
    """
    read = np.asarray(tokens[:MOST], dtype=np.int64)
    known, counts = np.unique(read[:-1] * vocab + read[1:], return_counts=True)
    first = known // vocab
    times = np.bincount(first, counts, minlength=vocab)  # how often a token was followed by any
    kinds = np.bincount(first, minlength=vocab)  # by how many different ones
    single = (np.bincount(read, minlength=vocab) + 1) / (len(read) + vocab)
    new = np.asarray(unseen, dtype=np.int64)
    pairs = new[:-1] * vocab + new[1:]
    where = np.minimum(np.searchsorted(known, pairs), len(known) - 1)
    seen = np.where(known[where] == pairs, counts[where] - DISCOUNT, 0.0)
    before = new[:-1]
    share = np.where(times[before] > 0, DISCOUNT * kinds[before], 1.0)
    P = (seen + share * single[new[1:]]) / np.maximum(times[before], 1)
    return float(-np.log(P).mean())

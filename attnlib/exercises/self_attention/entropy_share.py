"""A fair entropy for causal rows

write · ★★ · 12 min · 02-self-attention/6-patterns-and-entropy · after foundations.entropy

Rows of a causal mask see 1, 2, 3, ... keys, so their entropies cannot be compared as they are. Return each
row's entropy divided by the largest that its visible keys allow; 0 for a row that sees one key or none.

1. Which weights give the largest entropy over k visible keys, and how large is it?
2. Count the visible keys of each row; the bound is the logarithm of that count.
3. Mind two places: the logarithm of a weight that is zero, and a division by the logarithm of one.

Early rows look sure because they have no choice. Averages over a causal table mix that with what the head
does; the share removes it.
"""

import math

import numpy as np

from attnlib.exercises.kit.given import softmax


def entropy_share(P, mask):
    """(..., m): each row's entropy over the largest that its visible keys allow; 0 where it sees one or none."""
    logs = np.log(np.where(P > 0, P, 1))
    entropy = -(P * logs).sum(axis=-1)
    largest = np.log(np.maximum(mask.sum(axis=-1), 1))
    return np.where(largest > 0, entropy / np.where(largest > 0, largest, 1), 0)


def cases(rng):
    def case(mask, sharp=1.5):
        return softmax(np.where(mask, sharp * rng.normal(size=mask.shape), -np.inf)), mask

    tril = np.tri(4, 4, dtype=bool)
    return {
        "three queries, five keys": case(np.ones((3, 5), dtype=bool)),
        "causal": case(tril),
        "causal, two sequences": case(np.stack([tril, tril])),
        "uniform over the visible": (tril / tril.sum(axis=1, keepdims=True), tril),
        "two keys of four": (
            np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.9, 0.0, 0.1]]),
            np.ones((2, 4), dtype=bool),
        ),
    }


def share_by_loops(P, mask):
    result = np.zeros(P.shape[:-1])
    for where in np.ndindex(result.shape):
        p = P[where][mask[where]]
        if len(p) > 1:
            p = p[p > 0]
            result[where] = -np.sum(p * np.log(p)) / math.log(mask[where].sum())
    return result


VARIANTS = """
    share_by_loops
    np.log(np.where(P > 0, P, 1)) => np.log(P + (P == 0))
"""
MISTAKES = """
divided by the logarithm of all keys | Hidden keys are no choice: the bound of a row counts what it may see.
    np.log(np.maximum(mask.sum(axis=-1), 1)) => np.log(np.full(P.shape[:-1], P.shape[-1]))
not divided | This is the entropy itself.
    entropy / np.where(largest > 0, largest, 1) => entropy
negative | The entropy is minus the sum: logarithms of weights are negative.
    -(P * logs) => (P * logs)
nan where a weight is zero | 0 log 0 counts as zero, but NumPy says nan.
    np.where(P > 0, P, 1) => P
nan where one key is visible | The bound is log 1 = 0 there, and 0 / 0 is nan.
    np.where(largest > 0, entropy / np.where(largest > 0, largest, 1), 0) => entropy / largest
divided by the number of visible keys | The largest entropy over k keys is log k.
    largest = np.log(np.maximum(mask.sum(axis=-1), 1)) => largest = np.maximum(mask.sum(axis=-1), 1)
keys that it does not use were left out | A key that may be seen and gets no weight is a choice too: count
  the mask, not the positive weights.
    mask.sum(axis=-1) => (P > 0).sum(axis=-1)
two bases | The entropy has logarithms to base 2 and the bound natural ones. Take the same for both.
    np.log(np.where => np.log2(np.where
something tiny over something tiny | With a small number added inside the logarithms a row with one visible
  key becomes tiny over tiny, here -1. It was to be 0.
    np.log(np.where(P > 0, P, 1))
        => np.log(P + 1e-12)
        ;; np.where(largest > 0, entropy / np.where(largest > 0, largest, 1), 0)
        => entropy / np.log(mask.sum(axis=-1) + 1e-12)
one minus the share | This is how sure a row is. Asked for was how spread out.
    entropy / np.where(largest > 0, largest, 1) => 1 - entropy / np.where(largest > 0, largest, 1)
"""

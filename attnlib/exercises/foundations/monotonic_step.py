"""Where does the reader stop?

write · ★★★ · 15 min · 01-foundations/12-only-forward

A reader that moves over the keys from left to right stood at key j with probability `before[j]` (..., n). For the next
query it goes on from there, to the right only: at each key that it comes to, the one where it stands included, it
stops with probability p[j] (..., n) and goes on otherwise. Return the probability of stopping at each key.

1. In which two ways can the reader come to key j for this query?
2. It stood there already, or it came to key j - 1 and did not stop there. Work out the probability of
   coming to each key from left to right.
3. Keep the probabilities of coming to each key in an array that starts as a copy of `before`; each gets the
   previous one times the probability of not stopping there. At the end multiply each with its p.

The closed form with cumulative products divides by the product of all 1 - p so far, which is zero as soon
as one stop is certain. The recursion does not divide.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit import laws


def monotonic_step(p, before):
    """The probability of stopping at each key now, from that of the query before."""
    reach = before.copy()
    for j in range(1, p.shape[-1]):
        reach[..., j] += (1 - p[..., j - 1]) * reach[..., j - 1]
    return p * reach


def reference(p, before):
    """Two rows of the package's alignment: the first is made so that it gives `before`."""
    from attnlib.reference import monotonic

    left = 1 - (before.cumsum(axis=-1) - before)
    first = np.where(left > 1e-12, before / np.where(left > 1e-12, left, 1), 0).clip(0, 1)
    return monotonic.monotonic_alignment(np.stack([first, p], axis=-2))[..., 1, :].astype(p.dtype)


def from_the_next_key(p, before):
    out, comes = np.zeros_like(p), np.zeros_like(p[..., 0])
    for j in range(p.shape[-1]):
        out[..., j] = p[..., j] * comes
        comes = comes * (1 - p[..., j]) + before[..., j]
    return out


def cases(rng):
    def case(*size, dtype: type = np.float64):
        before = rng.random(size)
        before *= 0.9 / before.sum(axis=-1, keepdims=True)
        return (0.1 + 0.8 * rng.random(size)).astype(dtype), before.astype(dtype)

    sure = case(2, 4)
    sure[0][..., 1] = 1.0
    return {
        "four keys": case(4),
        "a batch of two": case(2, 5),
        "the first query": (case(2, 5)[0], np.eye(5)[[0, 0]]),
        "a stop that is certain": sure,
        "as many sequences as keys": case(4, 4),
        "float32": case(4, dtype=np.float32),
    }


def step_by_starts(p, before):
    out = np.zeros_like(p)
    for i in range(p.shape[-1]):
        arrives = before[..., i]
        for j in range(i, p.shape[-1]):
            out[..., j] += arrives * p[..., j]
            arrives = arrives * (1 - p[..., j])
    return out


def step_by_matrix(p, before):
    n = p.shape[-1]
    passed = np.zeros((*p.shape, n), dtype=p.dtype)
    for i in range(n):
        passed[..., i, i] = 1
        passed[..., i, i + 1 :] = np.cumprod(1 - p[..., i:-1], axis=-1)
    return np.einsum("...i,...ij->...j", before, passed) * p


LAWS = (laws.separate_batches(0, 1, dimensions=2),)
VARIANTS = (step_by_starts, step_by_matrix, {"before.copy()": "before.astype(np.float64)"})
MISTAKES = (
    Mistake("the key where it stands is skipped", "At the key where it stands it may stop once more; here it goes on "
        "from there at once.", from_the_next_key),
    Mistake("never goes on", "This is the probability of standing there and stopping at once; the reader may also "
        "come from the left.", {"reach[..., j] += (1 - p[..., j - 1]) * reach[..., j - 1]": "pass"}),
    Mistake("going on with the wrong key's probability", "To come to a key, the reader must have gone on from the key "
        "before it; whether it stops at this one is decided afterwards.", {"1 - p[..., j - 1]": "1 - p[..., j]"}),
    Mistake("always goes on", "Here the reader passes each key whether it stops there or not, so it can stop more "
        "than once.", {"(1 - p[..., j - 1]) * reach": "reach"}),
    Mistake("goes on where it stopped", "The reader goes on where it did not stop: with probability 1 - p, not p.",
        {"(1 - p[..., j - 1])": "p[..., j - 1]"}),
    Mistake("starts at the first key again", "This reader always begins on the left; a monotonic one goes on from "
        "where it was.", {"reach = before.copy()": "reach = np.zeros_like(before)\n    reach[..., 0] = 1"}),
    Mistake("may not stay", "The reader may stop at the key where it stands; here it moves on before it decides.",
        {"return p * reach":
             "reach[..., 1:] = (reach - before)[..., 1:]\n    reach[..., 0] = 0\n    return p * reach"}),
    Mistake("the last stop is missing", "These are the probabilities of coming to each key; it still has to stop "
        "there.", {"return p * reach": "return reach"}),
    Mistake("divided by zero after a certain stop", "The closed form divides by the product of 1 - p up to each key, "
        "and a certain stop makes it zero: nan.",
        lambda p, before: p * ( q := np.concatenate( [np.ones_like(p[..., :1]), np.cumprod(1 - p, axis=-1)[...,
            :-1]], axis=-1 ) ) * np.cumsum(before / q, axis=-1)),
    Mistake("before was changed in place", "The numbers are right, but the caller's array now holds something else. "
        "Work on a copy.", {"before.copy()": "before"}),
)  # fmt: skip

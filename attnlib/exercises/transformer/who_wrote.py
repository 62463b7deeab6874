"""What does each layer add to a score?

write · ★★ · 15 min · 04-transformer/2-the-block

written (parts, n, d) holds what each part of a model (the embedding, each attention layer, each feed-forward network)
added to the residual stream of n tokens; the stream is their sum. A last layer norm with gain (d,) and no shift
follows (its eps is so small that you may leave it out), and a direction u (d,) turns its output into one score for
each token. Divide each score among the parts: return (parts, n), the contribution of each part, with the standard
deviation of the norm held fixed, so that the sum over the parts is the score.

1. The sum over the parts can be drawn through everything that is linear. Which step of the norm is not?
2. Hold the standard deviation fixed at that of the whole stream. Subtracting the mean is linear.
3. For each part: take its own mean away, divide by the standard deviation of the *sum*, multiply by the gain,
   take the product with u.

This is direct attribution: exact as a sum, since the norm divides every part by the same number. It does not show what
would happen without a part: then that number would change, and the outputs of later parts, too.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def who_wrote(written, gain, u):
    """What each part adds to the score of each token; (parts, n)."""
    stream = written.sum(axis=0)
    size = stream.std(axis=-1, keepdims=True)
    centred = written - written.mean(axis=-1, keepdims=True)
    return centred / size @ (gain * u)


def by_loop(written, gain, u):
    parts, n, _ = written.shape
    shares = np.empty((parts, n))
    for i in range(n):
        stream = np.sum([written[p, i] for p in range(parts)], axis=0)
        size = np.sqrt(((stream - stream.mean()) ** 2).mean())
        for p in range(parts):
            shares[p, i] = ((written[p, i] - written[p, i].mean()) * gain * u).sum() / size
    return shares


def direction_first(written, gain, u):
    v = gain * u
    v = v - v.mean()
    return np.einsum("pnd,d->pn", written, v) / written.sum(axis=0).std(axis=-1)


def so_far(written, gain, u):
    """The score of a model that ends after each part."""
    stream = np.cumsum(written, axis=0)
    centred = stream - stream.mean(axis=-1, keepdims=True)
    return centred / stream.std(axis=-1, keepdims=True) @ (gain * u)


def cases(rng):
    return {
        "three parts, two tokens": drawn(rng, (3, 2, 5), 5, 5),
        "one part": drawn(rng, (1, 3, 4), 4, 4),
        "more parts than numbers": drawn(rng, (7, 3, 2), 2, 2),
        "all sizes equal": drawn(rng, (3, 3, 3), 3, 3),
    }


VARIANTS = (by_loop, direction_first)
MISTAKES = (
    Mistake("not normed", "The standard deviation of the stream is missing: the shares add up to the score before the "
        "norm.", {"centred / size @": "centred @"}),
    Mistake("the mean stays", "The norm subtracts the mean, of each part as of the sum.",
        {"centred = written - written.mean(axis=-1, keepdims=True)": "centred = written"}),
    Mistake("the mean of the sum", "The mean of the whole stream was subtracted from each part. Subtract the part's "
        "own mean.", {"centred = written - written.mean(": "centred = written - stream.mean("}),
    Mistake("a root mean square", "The sum was divided by the root of its mean square. The norm subtracts the mean "
        "first.",
        {"size = stream.std(axis=-1, keepdims=True)": "size = np.sqrt((stream**2).mean(axis=-1, keepdims=True))"}),
    Mistake("the whole score for each", "Every part got the whole score.",
        lambda written, gain, u: np.broadcast_to(who_wrote(written, gain, u).sum(axis=0), written.shape[:2])),
    Mistake("equal shares", "The score was divided equally. That adds up, but does not depend on what each part wrote.",
        lambda written, gain, u: np.broadcast_to(who_wrote(written, gain, u).mean(axis=0), written.shape[:2])),
    Mistake("the score so far", "The norm was applied to each partial sum. There is one norm, after the whole sum.",
        so_far),
    Mistake("what each part changed", "The score after each part minus the score before it: that adds up, but each "
        "term has a standard deviation of its own, and depends on the order of the parts.",
        lambda written, gain, u: np.diff(so_far(written, gain, u), axis=0, prepend=0)),
    Mistake("the gain is missing", "The norm multiplies by its gain before the direction is read.",
        {"(gain * u)": "u"}),
    Mistake("the gain twice", "The gain is multiplied in once.", {"(gain * u)": "(gain * gain * u)"}),
    Mistake("shares of one", "The shares were divided by their sum. They must add up to the score, not to one.",
        {"return centred / size @ (gain * u)": "s = centred / size @ (gain * u); return s / s.sum(axis=0)"}),
    Mistake("divided by the variance", "The root is missing.", {"stream.std(": "stream.var("}),
)  # fmt: skip

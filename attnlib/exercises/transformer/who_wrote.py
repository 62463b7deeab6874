"""Who wrote what is read?

write · ★★ · 15 min · 04-transformer/2-the-block

written (parts, n, d) holds what each part of a model added to the residual stream of n tokens, the embedding
first; the stream is their sum. A last layer norm with gain (d,) and no shift follows (its eps is so small that
you may leave it out), and a direction u (d,) turns its output into one score for each token. Share each score
out among the parts: return (parts, n), whose sum over the parts is the score.

1. The sum over the parts can be drawn through everything that is linear. Which step of the norm is not?
2. Hold the standard deviation fixed at that of the whole stream. Taking the mean away is linear.
3. For each part: take its own mean away, divide by the standard deviation of the *sum*, multiply by the gain,
   take the product with u.

This is direct attribution: exact as a sum, since the norm divides every part by the same number. It is no answer to
what would happen without a part: then that number would change, and what later parts write, too.
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
    """The score that a model would give that ended behind each part."""
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
    Mistake("the mean stays", "The norm takes the mean away, of each part as of the sum.",
        {"centred = written - written.mean(axis=-1, keepdims=True)": "centred = written"}),
    Mistake("the mean of the sum", "From each part the mean of the whole stream was taken away, once for each part. A "
        "part takes away its own.", {"centred = written - written.mean(": "centred = written - stream.mean("}),
    Mistake("a root mean square", "The sum was divided by the root of its mean square. The norm takes the mean away "
        "before.",
        {"size = stream.std(axis=-1, keepdims=True)": "size = np.sqrt((stream**2).mean(axis=-1, keepdims=True))"}),
    Mistake("the whole score for each", "Every part got the whole score.",
        lambda written, gain, u: np.broadcast_to(who_wrote(written, gain, u).sum(axis=0), written.shape[:2])),
    Mistake("equal shares", "The score was shared out equally. That adds up, and says nothing of what each part wrote.",
        lambda written, gain, u: np.broadcast_to(who_wrote(written, gain, u).mean(axis=0), written.shape[:2])),
    Mistake("the score so far", "The norm stood behind each partial sum. There is one norm, behind the whole sum.",
        so_far),
    Mistake("what each part changed", "The score behind each part minus the score before it: that adds up, but each "
        "term has a standard deviation of its own, and depends on the order of the parts.",
        lambda written, gain, u: np.diff(so_far(written, gain, u), axis=0, prepend=0)),
    Mistake("the gain is missing", "The norm multiplies by its gain before the direction is read.",
        {"(gain * u)": "u"}),
    Mistake("the gain twice", "The gain is multiplied in once.", {"(gain * u)": "(gain * gain * u)"}),
    Mistake("shares of one", "The shares were divided by their sum. They must add up to the score, not to one.",
        {"return centred / size @ (gain * u)": "s = centred / size @ (gain * u); return s / s.sum(axis=0)"}),
    Mistake("divided by the variance", "The root is missing.", {"stream.std(": "stream.var("}),
)  # fmt: skip

"""One step from several batches

write · ★★ · 12 min · 05-training/3-how-fast

A step is made of m batches that differ in size. dA (m, a, b) and dB (m, c) hold, for two parameters, the
gradient of each batch's *mean* loss, and tokens (m,) how many tokens each mean is of. Return the two gradients
of the mean loss over all tokens, (a, b) and (c,). If both, taken as one vector, are longer than `longest`, bring
them to that length.

1. What must a mean be multiplied with, so that it is a sum again?
2. The length is that of the whole gradient, after the batches were put together.
3. Both parameters get the same factor, and only if the length is above `longest`.

Weighted with its tokens, a step from m batches is the step from one large batch, to the last bits. The order
counts, too: a batch that is clipped by itself has lost the length of its gradient.
"""

import math

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn

RETURNS = ("gradient of A", "gradient of B")


def one_step(dA, dB, tokens, longest):
    """dA (m, a, b), dB (m, c), tokens (m,); two clipped gradients."""
    share = tokens / tokens.sum()
    A = np.einsum("m,mab->ab", share, dA)
    B = np.einsum("m,mc->c", share, dB)
    norm = np.sqrt((A**2).sum() + (B**2).sum())
    factor = min(1, longest / norm)
    return factor * A, factor * B


def by_loop(dA, dB, tokens, longest):
    A, B, total = np.zeros(dA.shape[1:]), np.zeros(dB.shape[1:]), 0
    for a, b, n in zip(dA, dB, tokens, strict=True):
        A, B, total = A + n * a, B + n * b, total + n
    A, B = A / total, B / total
    length = np.linalg.norm(np.concatenate([A.ravel(), B]))
    if length > longest:
        A, B = A * longest / length, B * longest / length
    return A, B


def as_one(dA, dB, tokens, longest):
    flat = np.concatenate([dA.reshape(len(dA), -1), dB], axis=1)
    mean = np.average(flat, axis=0, weights=tokens)
    mean = mean / max(1, np.linalg.norm(mean) / longest)
    cut = dA[0].size
    return mean[:cut].reshape(dA.shape[1:]), mean[cut:]


def each_batch(dA, dB, tokens, longest):
    norms = np.sqrt((dA**2).sum(axis=(1, 2)) + (dB**2).sum(axis=1))
    factors = np.minimum(1, longest / norms) * tokens / tokens.sum()
    return np.einsum("m,mab->ab", factors, dA), np.einsum("m,mc->c", factors, dB)


def larger(dA, dB, tokens, longest):
    A, B = (np.average(one, axis=0, weights=tokens) for one in (dA, dB))
    longer = max(1, longest / math.hypot(np.linalg.norm(A), np.linalg.norm(B)))
    return longer * A, longer * B


def cases(rng):
    def parts(m, a, b, c, longest):
        return (*drawn(rng, (m, a, b), (m, c)), rng.integers(1, 20, m), longest)

    return {
        "two batches": parts(2, 2, 3, 4, 0.5),
        "short enough": parts(3, 2, 3, 5, 100.0),
        "a large batch and a small one": (*drawn(rng, (2, 3, 2), (2, 3)), np.array([1, 99]), 1.0),
        "B is much longer": (*drawn(rng, (2, 2, 3)), 50 * drawn(rng, (2, 4))[0], np.array([3, 5]), 2.0),
        "one batch": parts(1, 3, 2, 4, 0.7),
    }


VARIANTS = (by_loop, as_one)
MISTAKES = (
    Mistake("not divided by the tokens", "That is the gradient of the sum over all tokens. Return that of the mean.",
        {"share = tokens / tokens.sum()": "share = 1.0 * tokens"}),
    Mistake("each tensor alone", "Each parameter was clipped by its own length. That turns the whole gradient: the "
        "long part loses more than the short one.",
        {"return factor * A, factor * B": "return tuple(g * min(1, longest / np.linalg.norm(g)) for g in (A, B))"}),
    Mistake("each batch alone", "Each batch was clipped before they were put together. Clip the gradient of the step.",
        each_batch),
    Mistake("never clipped", "The gradient may be longer than `longest`.",
        {"factor = min(1, longest / norm)": "factor = 1"}),
    Mistake("always brought to the length", "A gradient that is short enough stays as it is.",
        {"factor = min(1, longest / norm)": "factor = longest / norm"}),
    Mistake("the squared length", "The length is the root of the sum of squares.",
        {"norm = np.sqrt((A**2).sum() + (B**2).sum())": "norm = (A**2).sum() + (B**2).sum()"}),
    Mistake("clipped number by number", "Each number was cut at `longest`. That changes the direction; one factor for "
        "all keeps it.",
        {"return factor * A, factor * B": "return np.clip(A, -longest, longest), np.clip(B, -longest, longest)"}),
    Mistake("divided by the batches, too", "The shares of the tokens sum to one already; the sum was divided by the "
        "number of batches as well.",
        {"share = tokens / tokens.sum()": "share = tokens / (len(tokens) * tokens.sum())"}),
    Mistake("the first batch alone", "Only the first batch was used.",
        {"share = tokens / tokens.sum()": "share = 1.0 * (np.arange(len(tokens)) == 0)"}),
    Mistake("the length of all batches", "The length is that of the gradient of the step, and not of the batches' "
        "gradients one after another.",
        {"norm = np.sqrt((A**2).sum() + (B**2).sum())": "norm = np.sqrt((dA**2).sum() + (dB**2).sum())"}),
    Mistake("the larger factor", "The larger of 1 and longest / length was taken: short gradients grow, and long ones "
        "stay.", larger),
    Mistake("the length of one for both", "The length of one of the two gradients was taken for both.",
        {"norm = np.sqrt((A**2).sum() + (B**2).sum())": "norm = np.sqrt((A**2).sum())"},
        {"norm = np.sqrt((A**2).sum() + (B**2).sum())": "norm = np.sqrt((B**2).sum())"}),
)  # fmt: skip

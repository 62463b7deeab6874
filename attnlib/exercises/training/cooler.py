"""How much cooler?

write · ★★ · 10 min · 05-training/10-calibration

S (n, vocab) are a model's scores for n held-out examples, and targets (n,) are the right answers. Of the given
temperatures (k,), in no particular order, return the one that makes the mean surprise of the right answers smallest
when the scores are divided by it.

1. What is the surprise at one right answer, as a function of the scores divided by T?
2. Scores may be as large as 800: take the largest of each row away before the exponential.
3. For each T compute the mean of log-sum-exp(S / T) minus the right score divided by T; return the T with the least.

The accuracy plays no part, because dividing all scores by the same number changes no answer. In one over the
temperature the loss is convex, so between the given ones there is a single best number, which `best_temperature` of
the package finds by bisection.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def cooler(S, targets, temperatures):
    """The best temperature; S (n, vocab), targets (n,), temperatures (k,)."""
    losses = []
    for T in temperatures:
        Z = S / T
        Z = Z - Z.max(axis=-1, keepdims=True)
        L = Z - np.log(np.exp(Z).sum(axis=-1, keepdims=True))
        losses.append(-L[np.arange(len(S)), targets].mean())
    return temperatures[np.argmin(losses)]


def all_at_once(S, targets, temperatures):
    Z = S / np.reshape(temperatures, (-1, 1, 1))
    top = Z.max(axis=-1)
    surprise = top + np.log(np.exp(Z - top[..., None]).sum(axis=-1)) - Z[:, np.arange(len(S)), targets]
    return temperatures[surprise.sum(axis=1).argmin()]


def example_by_example(S, targets, temperatures):
    best = (np.inf, None)
    for T in temperatures:
        total = 0.0
        for row, y in zip(S, targets, strict=True):
            total += np.logaddexp.reduce(row / T) - row[y] / T
        if total < best[0]:
            best = (total, T)
    return best[1]


def probabilities(S, T):
    E = np.exp((S - S.max(axis=-1, keepdims=True)) / T)
    return E / E.sum(axis=-1, keepdims=True)


def by_probability(S, targets, temperatures):
    said = [probabilities(S, T)[np.arange(len(S)), targets].mean() for T in temperatures]
    return temperatures[np.argmax(said)]


def by_the_worst_example(S, targets, temperatures):
    right = [probabilities(S, T)[np.arange(len(S)), targets] for T in temperatures]
    with np.errstate(divide="ignore"):
        return temperatures[np.argmin([-np.log(P.min()) for P in right])]


def by_divided_probabilities(S, targets, temperatures):
    right = probabilities(S, 1.0)[np.arange(len(S)), targets]
    return temperatures[np.argmin([-np.log(right / T).mean() for T in temperatures])]


def by_confidence(S, targets, temperatures):
    right = (S.argmax(axis=-1) == targets).mean()
    return temperatures[
        np.argmin([abs(probabilities(S, T).max(axis=-1).mean() - right) for T in temperatures])
    ]


def by_the_likeliest(S, targets, temperatures):
    return temperatures[np.argmin([-np.log(probabilities(S, T).max(axis=-1)).mean() for T in temperatures])]


def by_squares(S, targets, temperatures):
    right = [probabilities(S, T)[np.arange(len(S)), targets] for T in temperatures]
    return temperatures[np.argmin([((1 - P) ** 2).mean() for P in right])]


def cases(rng):
    def sure(n, vocab, size, share, level=0.0):
        (S,) = drawn(rng, (n, vocab))
        likeliest = S.argmax(axis=-1)
        targets = np.where(np.arange(n) < share * n, likeliest, rng.integers(0, vocab, n))
        return level + size * S, targets, np.exp(rng.uniform(-2, 3, 11)).round(2)

    few = np.array([[4.0, 0.0], [4.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    (second,) = drawn(rng, (20, 6))
    rare = np.zeros((10, 3))
    rare[:, 0], rare[9] = 6.0, (0.0, 30.0, 0.0)
    return {
        "three of four are right": (few, np.zeros(4, dtype=int), np.array([1.0, 4.0, 2.0, 16.0])),
        "too sure": sure(40, 5, 6.0, 0.5),
        "not sure enough": sure(30, 4, 0.8, 1.0),
        "one mistake of great confidence": (
            rare,
            np.zeros(10, dtype=int),
            np.array([2.0, 0.6, 9.0, 1.2, 5.0, 0.2, 17.0]),
        ),
        "scores around 800": sure(50, 3, 9.0, 0.6, level=800.0),
        "the second likeliest is right": (
            second,
            second.argsort(axis=-1)[:, -2],
            np.array([0.5, 3.0, 1.4, 8.0]),
        ),
        "about right": sure(60, 6, 1.5, 0.2),
        "too sure by little": sure(50, 4, 2.0, 0.4),
        "hardly better than chance": sure(60, 4, 5.0, 0.1),
        "all sizes equal": sure(11, 11, 4.0, 0.6),
        "second by little": (
            np.array([[1.0, 0.9, -9.0], [2.0, 1.7, -5.0]]),
            np.array([1, 1]),
            np.array([0.1, 1.0, 3.0, 30.0]),
        ),
    }


VARIANTS = (all_at_once, example_by_example)
MISTAKES = (
    Mistake("the worst example decides", "The largest surprise of all examples was made least; their mean is wanted.",
        by_the_worst_example),
    Mistake("the probabilities were divided", "A temperature divides the scores, before the softmax. Probabilities "
        "that are divided no longer sum to one.", by_divided_probabilities),
    Mistake("multiplied", "The scores were multiplied by T. A temperature divides: above one it makes a model less "
        "sure.", {"Z = S / T": "Z = S * T"}),
    Mistake("the worst", "This temperature makes the surprise largest.", {"np.argmin(losses)": "np.argmax(losses)"}),
    Mistake("the most probability", "The right answers got the most probability, on average. The surprise is the "
        "logarithm of each, so one sure mistake counts for much.", by_probability),
    Mistake("confidence and accuracy alike", "The mean confidence was brought near to the share of right answers. That "
        "is one bin of a reliability diagram; here the loss on the right answers decides.", by_confidence),
    Mistake("the smallest", "This temperature is the smallest of all. It makes the likeliest answers surer, be they "
        "right or wrong.",
        by_the_likeliest,
        {"Z = S / T": "Z = S",
         "losses.append(-L[np.arange(len(S)), targets].mean())":
             "losses.append(np.log(T) - L[np.arange(len(S)), targets].mean())"}),
    Mistake("the loss", "That is the least loss. Return the temperature that has it.",
        {"return temperatures[np.argmin(losses)]": "return np.min(losses)"}),
    Mistake("the index in the list", "That is the index of the temperature. Return the temperature itself.",
        {"return temperatures[np.argmin(losses)]": "return np.argmin(losses)"}),
    Mistake("the first of the list", "That is the temperature that stands first, whatever the scores. As many answers "
        "are right with each of them, so their number decides nothing.",
        lambda S, targets, temperatures: temperatures[0]),
    Mistake("a single example decides", "Take the mean over all examples.",
        {"losses.append(-L[np.arange(len(S)), targets].mean())": "losses.append(-L[0, targets[0]])"},
        {"losses.append(-L[np.arange(len(S)), targets].mean())":
             "losses.append(-np.median(L[np.arange(len(S)), targets]))"}),
    Mistake("squared distances", "This temperature makes the squared distance from one least. The surprise is a "
        "logarithm.", by_squares),
    Mistake("too large for exp", "Where the scores are around 800, the exponential overflows. Take the largest of "
        "each row away first.",
        {"Z = Z - Z.max(axis=-1, keepdims=True)": "",
         "L = Z - np.log(np.exp(Z).sum(axis=-1, keepdims=True))":
             "L = np.log(np.exp(Z) / np.exp(Z).sum(axis=-1, keepdims=True))"}),
)  # fmt: skip

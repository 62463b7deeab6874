"""The score of a text that has ended

write · ★★ · 10 min · 04-transformer/7-what-to-say-next

A beam search has found some texts: `said` (b, n) are their tokens, and log_p (b, n) the log-probability of each token.
A text ends with the token `end`; what follows it is padding, whose log_p has no meaning. A text without `end` has all
its n tokens. Return the scores (b,): the sum of a text's log-probabilities, divided by ((5 + L) / 6) to the power
alpha. The end token belongs to the text, in the sum and in the length L.

1. How many tokens has each text, with the end and without the padding?
2. Use a mask of the positions below L for the sum, and L itself for the divisor.
3. L is the index of the first `end` plus one, or n if there is none.

That a text ends here, and not later, is a prediction like any other, with a probability of its own. Without it, the
probability of ending is left out of the score.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def scores(said, log_p, end, alpha):
    """Sums divided by ((5 + L) / 6)^alpha; said and log_p (b, n) give (b,)."""
    n = said.shape[1]
    ends = said == end
    L = np.where(ends.any(axis=1), ends.argmax(axis=1) + 1, n)
    real = np.arange(n) < L[:, None]
    return np.where(real, log_p, 0).sum(axis=1) / ((5 + L) / 6) ** alpha


def by_loop(said, log_p, end, alpha):
    results = []
    for tokens, values in zip(said, log_p, strict=True):
        total, length = 0.0, 0
        for token, value in zip(tokens, values, strict=True):
            total, length = total + value, length + 1
            if token == end:
                break
        results.append(total * (6 / (length + 5)) ** alpha)
    return np.array(results)


def by_counting(said, log_p, end, alpha):
    before = np.cumsum(said == end, axis=1) - (said == end)  # ends before a position
    real = before == 0
    total = (np.where(real, log_p, 0)).sum(axis=1)
    return total * np.exp(-alpha * np.log((real.sum(axis=1) + 5) / 6))


def cases(rng):
    def texts(lengths, n, alpha):
        said = rng.integers(3, 9, (len(lengths), n))
        for row, length in zip(said, lengths, strict=True):
            if length < n or length % 2:
                row[length - 1] = 2
            row[length:] = rng.integers(0, 3, n - length)
        return said, -rng.uniform(0.1, 2, (len(lengths), n)), 2, alpha

    return {
        "two texts": texts([3, 5], 5, 0.6),
        "a text of one token": texts([1, 4, 6], 6, 1.0),
        "one that has not ended": texts([4, 2], 4, 0.8),
        "both end early": (
            np.array([[4, 2, 0, 1, 1], [5, 3, 2, 1, 0]]),
            -rng.uniform(0.1, 2, (2, 5)),
            2,
            0.7,
        ),
        "lengths do not count": texts([2, 5, 3], 5, 0.0),
    }


VARIANTS = (by_loop, by_counting)
MISTAKES = (
    Mistake("divided by the padded length", "The length is that of the padded row. Padding is no part of a text.",
        {"/ ((5 + L) / 6)": "/ ((5 + n) / 6)"}),
    Mistake("padding is added", "Log-probabilities after the end were added, too.",
        {"np.where(real, log_p, 0).sum(axis=1)": "log_p.sum(axis=1)"}),
    Mistake("the end is not counted", "The length leaves the end token out.",
        {"/ ((5 + L) / 6)": "/ ((5 + np.where(ends.any(axis=1), L - 1, L)) / 6)"}),
    Mistake("the end is not added", "The sum leaves the end token out, as if ending were free.",
        {"real = np.arange(n) < L[:, None]": "real = (np.arange(n) < L[:, None]) & ~ends"}),
    Mistake("the longest length for all", "Each text is divided by its own length, and not by that of the longest.",
        {"/ ((5 + L) / 6)": "/ ((5 + L.max()) / 6)"}),
    Mistake("log-probabilities multiplied", "Log-probabilities were multiplied. Probabilities are multiplied; their "
        "logarithms are added.", {"np.where(real, log_p, 0).sum(axis=1)": "np.where(real, log_p, 1).prod(axis=1)"}),
    Mistake("probabilities added", "Probabilities were added. They are multiplied, so their logarithms are added.",
        {"np.where(real, log_p, 0).sum(axis=1)": "np.where(real, np.exp(log_p), 0).sum(axis=1)"}),
    Mistake("the plain length", "This divides by L to the power alpha. The divisor is ((5 + L) / 6) to that power.",
        {"((5 + L) / 6)": "(1.0 * L)"}),
    Mistake("multiplied", "The sum was multiplied with the penalty; it is divided.",
        {".sum(axis=1) / ((5 + L) / 6)": ".sum(axis=1) * ((5 + L) / 6)"}),
    Mistake("alpha multiplies", "alpha is a power, not a factor.",
        {"** alpha": "* alpha + (alpha == 0)"}, {"** alpha": "* alpha"}),
    Mistake("only the five is divided", "The six divides the whole bracket, 5 + L.", {"((5 + L) / 6)": "(5 + L / 6)"}),
    Mistake("six is missing", "The bracket is divided by six, so that a text of one token is divided by one.",
        {"((5 + L) / 6)": "(5.0 + L)"}),
    Mistake("five is missing", "Five is added to the length before it is divided by six.",
        {"((5 + L) / 6)": "(L / 6)"}),
    Mistake("not normalised", "The penalty is missing.", {"/ ((5 + L) / 6) ** alpha": ""}),
    Mistake("texts without an end have no length", "A text without `end` has all its n tokens.",
        {"np.where(ends.any(axis=1), ends.argmax(axis=1) + 1, n)": "ends.argmax(axis=1) + 1"},
        {"np.where(ends.any(axis=1), ends.argmax(axis=1) + 1, n)":
             "np.where(ends.any(axis=1), ends.argmax(axis=1) + 1, 0)"}),
    Mistake("texts without an end are excluded", "A text without `end` has a score like any other.",
        {"return np.where(real": "return np.where(ends.any(axis=1), 0, -np.inf) + np.where(real"}),
    Mistake("the last end", "An `end` after the first one is padding, too.",
        {"ends.argmax(axis=1) + 1": "n - ends[:, ::-1].argmax(axis=1)"}),
    Mistake("alpha is missing", "The bracket is used without its power.", {"** alpha": ""}),
    Mistake("five and six exchanged", "Five is added, and six divides.", {"((5 + L) / 6)": "((6 + L) / 5)"}),
    Mistake("a mean instead of the sum", "The sum was divided by L as well.", {".sum(axis=1) /": ".sum(axis=1) / L /"}),
    Mistake("the probability of the text", "The exponential of the sum was taken. Use the sum itself.",
        {"np.where(real, log_p, 0).sum(axis=1)": "np.exp(np.where(real, log_p, 0).sum(axis=1))"}),
    Mistake("the last token alone", "Only the last token of each text is here. All of them are added.",
        {"np.where(real, log_p, 0).sum(axis=1)": "log_p[np.arange(len(said)), L - 1]"}),
)  # fmt: skip

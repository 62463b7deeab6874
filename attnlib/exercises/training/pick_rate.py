"""Which rate do you take?

write · ★★ · 10 min · 05-training/3-how-fast

A sweep has tried some rates, (r,), in no particular order, each with the same s seeds: losses (r, s) on held-out text,
and nan where a training broke down. A rate at which any seed broke down is excluded. Find the smallest mean loss of
the others. Among all rates whose mean is at most `tie` above it, return the smallest rate.

1. What is the mean of numbers of which one is nan, and what do functions make of it that look for a minimum?
2. Compare means, not single seeds; only then look at the rates themselves.
3. Where a mean is nan, put infinity; keep the rates whose mean is at most the least plus `tie`; return the
   smallest of them.

The mean over the seeds that survived would favour a rate that breaks three trainings in four. And the seeds
that choose a rate should not be those that are reported afterwards.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake

SWEEPS = ((5, 0.2, 1), (6, 0.3, 2), (7, 0.25, 3), (8, 0.15, 4), (9, 0.35, 5))


def pick_rate(rates, losses, tie):
    """The rate to go on with; rates (r,), losses (r, s)."""
    means = losses.mean(axis=1)
    means = np.where(np.isnan(means), np.inf, means)
    good = means <= means.min() + tie
    return rates[good].min()


def by_loop(rates, losses, tie):
    found = {}
    for rate, row in zip(rates, losses, strict=True):
        if not any(np.isnan(one) for one in row):
            found[rate] = sum(row) / len(row)
    best = min(found.values())
    return min(rate for rate, mean in found.items() if mean - best <= tie)


def by_sorting(rates, losses, tie):
    whole = np.isfinite(losses).all(axis=1)
    rates, means = rates[whole], losses[whole].sum(axis=1) / losses.shape[1]
    order = np.argsort(rates)
    return rates[order][np.argmax(means[order] <= means.min() + tie)]


def cases(rng):
    nan = np.nan

    def sweep(r, s, tie, broken=0):
        losses = 3 + 0.5 * rng.normal(size=(r, s))
        losses[rng.permutation(r)[:broken], rng.integers(s)] = nan
        return rng.permutation(0.1 * 0.5 ** np.arange(r)), losses, tie

    plain = np.array([[3.3, 3.5], [3.0, 3.2], [3.1, 3.08], [4.4, 4.6]])
    return {
        "four rates": (np.array([0.001, 0.003, 0.01, 0.03]), plain, 0.05),
        "no ties": (np.array([0.03, 0.001, 0.01]), np.array([[4.0, 4.1], [3.6, 3.5], [3.0, 3.1]]), 0.0),
        "the best has a seed that broke down": (
            np.array([0.03, 0.01, 0.003]),
            np.array([[2.0, 2.1, nan], [2.9, 3.1, 3.0], [3.3, 3.2, 3.4]]),
            0.1,
        ),
        "a smaller one ties, in another order": (
            np.array([0.1, 0.02, 0.05, 0.01]),
            np.array([[2.5, 2.6, 2.4], [2.55, 2.52, 2.54], [nan, nan, nan], [2.8, 3.0, 2.7]]),
            0.05,
        ),
        "just at the tie": (
            np.array([0.02, 0.04, 0.01]),
            np.array([[2.0, 2.0], [1.75, 1.75], [2.5, 2.5]]),
            0.25,
        ),
        "just at the tie, of three": (
            np.array([0.3, 0.03, 0.1]),
            np.array([[4.0, 4.0, 4.0], [3.5, 3.5, 3.5], [3.0, 3.0, 3.0]]),
            0.5,
        ),
        "one bad seed": (
            np.array([0.04, 0.02, 0.01]),
            np.array([[2.0, 2.0, 3.5], [2.2, 2.3, 2.2], [2.6, 2.5, 2.7]]),
            0.1,
        ),
        "one lucky seed": (
            np.array([0.01, 0.04, 0.02]),
            np.array([[2.4, 2.5, 2.45], [1.9, 3.6, 3.5], [2.2, 2.3, 2.3]]),
            0.02,
        ),
        **{f"{broken} of {r} rates broke down": sweep(r, 3, tie, broken) for r, tie, broken in SWEEPS},
    }


VARIANTS = (by_loop, by_sorting)
MISTAKES = (
    Mistake("the index in the list", "That is the index of the rate. Return the rate.",
        {"return rates[good].min()": "return np.flatnonzero(good)[0]"}),
    Mistake("broken seeds are left out", "The mean is over the seeds that survived. A rate at which any seed broke "
        "down is excluded.",
        {"losses.mean(axis=1)":
             "np.nanmean(np.where(np.isnan(losses).all(axis=1, keepdims=True), 99.0, losses), axis=1)"}),
    Mistake("ties are overlooked", "The rate with the smallest mean was taken. Of those that tie with it, take the "
        "smallest rate.", {"means.min() + tie": "means.min()"}),
    Mistake("the largest of those that tie", "Of the rates that tie, take the smallest.",
        {"rates[good].min()": "rates[good].max()"}),
    Mistake("the first of those that tie", "Of the rates that tie, take the smallest, not the first one.",
        {"rates[good].min()": "rates[good][0]"}),
    Mistake("the smallest rate of all", "The smallest rate that did not break down was taken. It has to tie with the "
        "best.",
        {"means <= means.min() + tie": "np.isfinite(means)"}, lambda rates, losses, tie: rates.min()),
    Mistake("the loss", "That is the loss of the rate, and not the rate.",
        {"return rates[good].min()": "return means.min()"}),
    Mistake("the worst", "A smaller loss is better.",
        {"good = means <= means.min() + tie":
             "m = np.where(np.isinf(means), -np.inf, means); good = m >= m.max() - tie"}),
    Mistake("nan wins", "`np.argmin` takes nan for the smallest, so a rate that broke down was taken.",
        lambda rates, losses, tie: rates[np.argmin(losses.mean(axis=1))]),
    Mistake("an index and not a rate", "That is the index of the rate. Return the rate itself.",
        {"return rates[good].min()": "return np.argmin(np.where(good, rates, np.inf))"}),
    Mistake("the median", "The median over the seeds was taken. Take the mean.",
        {"losses.mean(axis=1)": "np.median(losses, axis=1)"}),
    Mistake("less than the tie", "A rate whose mean is `tie` above the least still ties: at most, not less.",
        lambda rates, losses, tie: pick_rate(rates, losses, tie - 1e-9),
        lambda rates, losses, tie: pick_rate(rates, losses, max(tie - 1e-9, 0))),
    Mistake("a broken seed counts as zero", "nan was taken for zero, the best loss of all. A rate at which any seed "
        "broke down is excluded.", {"losses.mean(axis=1)": "np.nan_to_num(losses).mean(axis=1)"}),
    Mistake("the tie as a share", "The tie was taken as a share of the least mean. It is a difference of losses.",
        {"means <= means.min() + tie": "means <= means.min() * (1 + tie)"},
        {"means <= means.min() + tie": "means <= means.min() / (1 - tie)"}),
)  # fmt: skip

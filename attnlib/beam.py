"""Beam search: several partial texts (hypotheses) are kept at every step, and the best complete ones are returned.

Chapter 4 derives it (what-to-say-next: eq-best-text, eq-length). A model is given as `next_log_probs(prefix)`, as in
`attnlib.decode`; one that caches what it has read also has a method `reorder(order)`, as `GPT.predictor` has.
"""

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from attnlib.decode import NextLogProbs, library_of, like

Penalty = Callable[[int], float]


def power(alpha: float) -> Penalty:
    """Divide by L^alpha (eq-length): alpha = 0 scores by the sum of log-probabilities, alpha = 1 by their mean.

    >>> round(-2.0 / power(0.6)(4), 2), round(-2.3 / power(0.6)(6), 2)
    (-0.87, -0.78)
    """
    return lambda length: length**alpha


def gnmt(alpha: float) -> Penalty:
    """Divide by ((5 + L) / 6)^alpha, the form of Google's translation system (GNMT); it is 1 for a single token.

    >>> gnmt(0.6)(1)
    1.0
    """
    return lambda length: ((5 + length) / 6) ** alpha


SUM = power(0)  # the length does not matter


@dataclass(frozen=True)
class Hypothesis:
    """A possible continuation of the prefix, complete or not."""

    tokens: tuple[int, ...] = ()  # including the stop token, if it has ended
    log_prob: float = 0.0  # the sum of the log-probabilities of its tokens
    score: float = 0.0  # that sum, divided by the length penalty
    ended: bool = False  # with a stop token; False if it only reached the maximal length

    def grown(self, token: int, log_prob: float, penalty: Penalty, stop: Sequence[int]) -> "Hypothesis":
        """The hypothesis with one more token; a stop token counts in sum and length like any other."""
        tokens, total = (*self.tokens, token), self.log_prob + log_prob
        return Hypothesis(tokens, total, total / penalty(len(tokens)), token in stop)


@dataclass
class Beam:
    """The hypotheses of one sentence: those to be expanded, best first, and those that have ended."""

    open: list[Hypothesis] = field(default_factory=lambda: [Hypothesis()])
    ended: list[Hypothesis] = field(default_factory=list)

    def end(self, hypotheses: Sequence[Hypothesis], n_best: int) -> None:
        """Add hypotheses that have ended, and keep the best `n_best` of all that have."""
        self.ended = sorted([*self.ended, *hypotheses], key=lambda one: -one.score)[:n_best]

    def is_settled(self, n_best: int, max_new_tokens: int, penalty: Penalty) -> bool:
        """Whether no open hypothesis can still become better than the `n_best` that have ended."""
        if len(self.ended) < n_best:
            return not self.open
        return all(best_score(one, max_new_tokens, penalty) <= self.ended[-1].score for one in self.open)


def best_score(hypothesis: Hypothesis, max_new_tokens: int, penalty: Penalty) -> float:
    """An upper bound for the score of every continuation: as if all further tokens had probability one.

    Further tokens can only lower the sum of log-probabilities. But dividing by a larger penalty raises a negative
    score, so the present sum is divided by the largest penalty that can still come.
    """
    to_come = range(len(hypothesis.tokens) + 1, max_new_tokens + 1)
    return hypothesis.log_prob / max(map(penalty, to_come))


def beam_search(
    next_log_probs: NextLogProbs,
    prefix: Any,
    *,
    width: int,
    max_new_tokens: int,
    stop: Sequence[int] = (),
    penalty: Penalty = SUM,
    n_best: int = 1,
) -> list[list[Hypothesis]]:
    """The `n_best` continuations found for each prefix, (b, n), best first; fewer if there are not as many.

    width             hypotheses of each sentence that are expanded at every step
    max_new_tokens    length at which open hypotheses stop and are ranked as they are
    stop              tokens that end a text
    penalty           by length, the divisor of the sum of log-probabilities: `power` or `gnmt`

    A sentence is finished as soon as none of its open hypotheses can overtake the `n_best` that have ended; its rows
    leave the batch, and the other sentences go on. With a width as large as the number of texts the search is exact.

    >>> after = np.log([[0.0001, 0.6, 0.3999], [0.4, 0.3, 0.3], [0.9, 0.05, 0.05]])
    >>> for width in (1, 2):
    ...     (best,), = beam_search(lambda prefix: after[prefix[:, -1]], np.array([[0]]), width=width, max_new_tokens=2)
    ...     print(best.tokens, round(math.exp(best.score), 2))
    (1, 0) 0.24
    (2, 0) 0.36
    """
    if width < 1 or not 1 <= n_best <= width:
        raise ValueError(
            f"beam_search: n_best must be between 1 and width, and width at least 1; got {n_best=}, {width=}."
        )
    beams = [Beam() for _ in range(prefix.shape[0])]
    alive = {row: beam for row, beam in enumerate(beams) if max_new_tokens}
    while alive:
        log_probs, tokens = _likeliest(next_log_probs(prefix), width + len(set(stop)))
        rows, new, first = [], [], 0
        for number, beam in list(alive.items()):
            here = slice(first, first := first + len(beam.open))
            grown = _grown(beam.open, log_probs[here], tokens[here], penalty, stop)
            beam.end([one for _, one in grown[:width] if one.ended], n_best)
            goes_on = [(parent, one) for parent, one in grown if not one.ended][:width]
            beam.open = [one for _, one in goes_on]
            if beam.open and len(beam.open[0].tokens) == max_new_tokens:
                beam.end(beam.open, n_best)
                beam.open = []
            if beam.is_settled(n_best, max_new_tokens, penalty):
                del alive[number]
                continue
            rows += [here.start + parent for parent, _ in goes_on]
            new += [one.tokens[-1] for one in beam.open]
        if alive:
            prefix = _next_prefix(next_log_probs, prefix, rows, new)
    return [beam.ended for beam in beams]


def _likeliest(log_probs: Any, k: int) -> tuple[list[list[float]], list[list[int]]]:
    """The k likeliest tokens of each row, with their log-probabilities; further ones could not enter the beam."""
    k = min(k, log_probs.shape[-1])
    if library_of(log_probs) is np:
        tokens = np.argsort(-log_probs, axis=-1, kind="stable")[:, :k]
        values = np.take_along_axis(log_probs, tokens, axis=-1)
    else:
        values, tokens = log_probs.topk(k, dim=-1)
    values = values.tolist()
    if not all(row[0] <= 1e-4 for row in values):
        raise ValueError(
            "beam_search: next_log_probs must give log-probabilities, which are at most zero; "
            f"got {max(row[0] for row in values):.3g}. Apply the log-softmax to scores."
        )
    return values, tokens.tolist()


def _grown(
    parents: list[Hypothesis],
    log_probs: list[list[float]],
    tokens: list[list[int]],
    penalty: Penalty,
    stop: Sequence[int],
) -> list[tuple[int, Hypothesis]]:
    """All hypotheses that are one token longer, likeliest first, each with the index of its parent."""
    grown = [
        (index, parent.grown(token, log_prob, penalty, stop))
        for index, parent in enumerate(parents)
        for token, log_prob in zip(tokens[index], log_probs[index], strict=True)
        if log_prob > -math.inf
    ]
    return sorted(grown, key=lambda one: -one[1].log_prob)


def _next_prefix(next_log_probs: NextLogProbs, prefix: Any, rows: list[int], new: list[int]) -> Any:
    """The prefixes of the hypotheses that are kept; the model's cache is put into the same order."""
    order, tokens = like(prefix, rows), like(prefix, new)
    if rows != list(range(prefix.shape[0])):
        prefix = prefix[order]
        if hasattr(next_log_probs, "reorder"):
            next_log_probs.reorder(order)  # type: ignore[attr-defined]
    return library_of(prefix).concatenate([prefix, tokens[:, None]], 1)


def exact_search(
    next_log_probs: NextLogProbs,
    prefix: Any,
    *,
    max_new_tokens: int,
    stop: Sequence[int] = (),
    penalty: Penalty = SUM,
    n_best: int = 1,
    at_most: int = 10_000,
) -> list[Hypothesis]:
    """The best of all continuations of one prefix, (1, n), best first: exact, so other searches are compared with it.

    at_most    hypotheses that may be expanded before an error is raised; there are vocab^m texts of m tokens

    The hypothesis with the highest bound `best_score` is expanded first. If a complete one is first, then no other can
    become better, so most of the tree is never visited. The model must have no cache: prefixes come in no order.

    >>> after = np.log([[0.0001, 0.6, 0.3999], [0.4, 0.3, 0.3], [0.9, 0.05, 0.05]])
    >>> exact_search(lambda prefix: after[prefix[:, -1]], np.array([[0]]), max_new_tokens=2)[0].tokens
    (2, 0)
    """
    waiting: list[tuple[float, int, Hypothesis]] = [(0.0, 0, Hypothesis())]
    found, expanded, count = [], 0, 1
    while waiting and len(found) < n_best:
        _, _, best = heapq.heappop(waiting)
        if best.ended or len(best.tokens) == max_new_tokens:
            found.append(best)
            continue
        expanded += 1
        if expanded > at_most:
            raise ValueError(
                f"exact_search: the tree must be small enough to search; {at_most:,} hypotheses were expanded and "
                f"the best text is not known yet. Lower {max_new_tokens=}, or raise at_most."
            )
        new = like(prefix, [best.tokens]) if best.tokens else prefix[:, :0]
        log_probs = next_log_probs(library_of(prefix).concatenate([prefix, new], 1))
        for _, one in _grown([best], *_likeliest(log_probs, log_probs.shape[-1]), penalty, stop):
            complete = one.ended or len(one.tokens) == max_new_tokens
            bound = one.score if complete else best_score(one, max_new_tokens, penalty)
            heapq.heappush(waiting, (-bound, count, one))
            count += 1
    return found

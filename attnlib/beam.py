"""Beam search: several beginnings are kept at every step, and the best whole text is said.

Chapter 4 derives it (what-to-say-next: eq-best-text, eq-length). A model comes in as `next_log_probs(prefix)`, as in
`attnlib.decode`; one that remembers what it has read has a method `reorder(order)`, too, as `GPT.speaker` has.
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
    """Divide by L^alpha (eq-length): with alpha zero the score is the sum of the logarithms, with one their mean.

    >>> round(-2.0 / power(0.6)(4), 2), round(-2.3 / power(0.6)(6), 2)
    (-0.87, -0.78)
    """
    return lambda length: length**alpha


def gnmt(alpha: float) -> Penalty:
    """Divide by ((5 + L) / 6)^alpha, the form that Google's translation system published: one for a single token.

    >>> gnmt(0.6)(1)
    1.0
    """
    return lambda length: ((5 + length) / 6) ** alpha


SUM = power(0)  # lengths do not count


@dataclass(frozen=True)
class Hypothesis:
    """What may be said after the prefix."""

    tokens: tuple[int, ...] = ()  # with the token that ends it
    log_prob: float = 0.0  # the sum over its tokens
    score: float = 0.0  # the sum divided by the penalty of its length
    ended: bool = False  # by a stop, not because it is as long as allowed

    def grown(self, token: int, log_prob: float, penalty: Penalty, stop: Sequence[int]) -> "Hypothesis":
        """One token on; the token that ends it counts like any other, in the sum and in the length."""
        tokens, total = (*self.tokens, token), self.log_prob + log_prob
        return Hypothesis(tokens, total, total / penalty(len(tokens)), token in stop)


@dataclass
class Beam:
    """One sentence: what goes on, best first, and what has ended, which is never expanded."""

    open: list[Hypothesis] = field(default_factory=lambda: [Hypothesis()])
    ended: list[Hypothesis] = field(default_factory=list)

    def end(self, hypotheses: Sequence[Hypothesis], n_best: int) -> None:
        """Keep the best of them beside what has ended before."""
        self.ended = sorted([*self.ended, *hypotheses], key=lambda one: -one.score)[:n_best]

    def is_settled(self, n_best: int, max_new_tokens: int, penalty: Penalty) -> bool:
        """Nothing that is open can still overtake."""
        if len(self.ended) < n_best:
            return not self.open
        return all(best_score(one, max_new_tokens, penalty) <= self.ended[-1].score for one in self.open)


def best_score(hypothesis: Hypothesis, max_new_tokens: int, penalty: Penalty) -> float:
    """The score it would have if all that follows were certain, at the best length: none that goes on has a higher one.

    A sum of logarithms only falls. But a score that is divided by a length may rise, so the sum of today is divided
    by the largest penalty that is still to come.
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
    """The best that was found to say after each prefix, (b, n), best first: `n_best` or as many as there are.

    width      how many beginnings of each sentence go on at every step
    max_new_tokens    tokens; what is still open then competes as it is
    stop       tokens that end a text
    penalty    what the sum is divided by before hypotheses of different lengths are compared: `power` or `gnmt`

    It ends as soon as no open hypothesis can overtake the `n_best` that have ended. Then its rows are dropped, and the
    other sentences go on. As wide as the tree it is exact.

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
        rows, said, first = [], [], 0
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
            said += [one.tokens[-1] for one in beam.open]
        if alive:
            prefix = _next_prefix(next_log_probs, prefix, rows, said)
    return [beam.ended for beam in beams]


def _likeliest(log_probs: Any, k: int) -> tuple[list[list[float]], list[list[int]]]:
    """The k likeliest tokens of each row: no more of one parent can be among the best of a sentence."""
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
            f"got {max(row[0] for row in values):.3g}. Of scores take the log-softmax."
        )
    return values, tokens.tolist()


def _grown(
    parents: list[Hypothesis],
    log_probs: list[list[float]],
    tokens: list[list[int]],
    penalty: Penalty,
    stop: Sequence[int],
) -> list[tuple[int, Hypothesis]]:
    """Everything possible that is one token longer, likeliest first, each with the place of its parent."""
    grown = [
        (place, parent.grown(token, log_prob, penalty, stop))
        for place, parent in enumerate(parents)
        for token, log_prob in zip(tokens[place], log_probs[place], strict=True)
        if log_prob > -math.inf
    ]
    return sorted(grown, key=lambda one: -one[1].log_prob)


def _next_prefix(next_log_probs: NextLogProbs, prefix: Any, rows: list[int], said: list[int]) -> Any:
    """The beginnings that go on, and the memory of the model in the same order."""
    order, tokens = like(prefix, rows), like(prefix, said)
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
    """The best of all that can be said after one prefix, (1, n), best first: the judge of every other search.

    at_most    how many beginnings may be expanded before it gives up; all texts of m tokens have vocab^m

    The beginning with the highest `best_score` is expanded first. What is complete and comes to the top is better than
    all that is left, so most of the tree is never seen. The model must not remember: it is asked here and there.

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
                f"exact_search: the tree must be small enough to search; {at_most:,} beginnings were expanded and "
                f"the best text is not known yet. Lower {max_new_tokens=}, or raise at_most."
            )
        said = like(prefix, [best.tokens]) if best.tokens else prefix[:, :0]
        log_probs = next_log_probs(library_of(prefix).concatenate([prefix, said], 1))
        for _, one in _grown([best], *_likeliest(log_probs, log_probs.shape[-1]), penalty, stop):
            complete = one.ended or len(one.tokens) == max_new_tokens
            bound = one.score if complete else best_score(one, max_new_tokens, penalty)
            heapq.heappush(waiting, (-bound, count, one))
            count += 1
    return found

"""Guess and check: a cheap model drafts several tokens, the model that counts reads them in one pass.

Chapter 4 proves it (guess-and-check: eq-accept, eq-residual): what is said has the very distribution of the model that
counts, the *target*, whatever the draft says. Of a draft q(x) and a target p(x), x is kept with probability
min(1, p(x) / q(x)); where it is refused, another is drawn from what p has more than q. A token x then comes with
min(q, p) + (1 - sum of min(q, p)) · (p - min(q, p)) / (1 - sum of min(q, p)) = p(x).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from attnlib.decode import NextLogProbs, library_of, like
from attnlib.shapes import Array, Float

Draw = Callable[[Float[Array, "n"]], int]


def drawn_by(rng: np.random.Generator) -> Draw:
    """One of n outcomes, by their probabilities: the only thing here that is random."""
    return lambda P: min(int((np.cumsum(P) <= rng.random() * P.sum()).sum()), int(P.nonzero()[0][-1]))


def residual(p: Float[Array, "vocab"], q: Float[Array, "vocab"]) -> Float[Array, "vocab"]:
    """What the target has more than the draft, as a distribution (eq-residual).

    >>> residual(np.array([0.5, 0.3, 0.2]), np.array([0.7, 0.1, 0.2])).round(2)
    array([0., 1., 0.])
    """
    more = np.maximum(p - q, 0)
    return more / more.sum()


class Round(NamedTuple):
    """What one pass of the target has settled: the tokens that are said, and how many of them the draft had guessed."""

    tokens: list[int]
    accepted: int


def verify(
    P: Float[Array, "k1 vocab"], Q: Float[Array, "k vocab"], drafted: Sequence[int], draw: Draw
) -> Round:
    """Keep drafted tokens up to the first that is refused, and say one more, which costs no further pass.

    P    the target's distribution behind the prefix and behind each drafted token, one more than there are drafted
    Q    the draft's, from which each token was drawn
    """
    for i, token in enumerate(drafted):
        kept = min(1.0, P[i, token] / Q[i, token])  # eq-accept
        if kept < 1 and draw(np.array([kept, 1 - kept])) == 1:
            return Round([*drafted[:i], draw(residual(P[i], Q[i]))], i)
    return Round([*drafted, draw(P[len(drafted)])], len(drafted))


def speculate(
    target: Any,
    draft: NextLogProbs,
    prefix: Any,
    draw: Draw,
    *,
    max_new_tokens: int,
    n_drafted: int = 4,
    stop: Sequence[int] = (),
) -> Iterator[Round]:
    """Round after round, what the target says after a prefix (1, n), until a stop or `max_new_tokens` tokens.

    target       `after_each(prefix)`: the log-probabilities behind each token that it has not read, (1, k, vocab), as
                 `GPT.speaker` has; and `crop(n)`, which forgets all but n tokens
    draft        `next_log_probs(prefix)`; if it remembers, it has `crop(n)`, too
    n_drafted    how many tokens are guessed before the target is asked

    A temperature or a filter belongs to both: wrap them, and the promise holds for what is wrapped.
    """
    if n_drafted < 1:
        raise ValueError(f"speculate: there must be a token to guess; got {n_drafted=}.")
    return _rounds(target, draft, prefix, draw, max_new_tokens, n_drafted, stop)


def _rounds(
    target: Any, draft: Any, prefix: Any, draw: Draw, max_new_tokens: int, n_drafted: int, stop: Sequence[int]
) -> Iterator[Round]:
    said, start = 0, prefix.shape[1]
    while said < max_new_tokens:
        guessed, Q = _drafted(draft, prefix, draw, min(n_drafted, max_new_tokens - said - 1))
        log_probs = target.after_each(guessed)[0, -len(Q) - 1 :]
        tokens, accepted = verify(_probabilities(log_probs), Q, guessed[0, start + said :].tolist(), draw)
        ends = [i for i, token in enumerate(tokens) if token in stop]
        tokens = tokens[: ends[0] + 1] if ends else tokens
        prefix = _with(prefix, tokens)
        said += len(tokens)
        yield Round(tokens, min(accepted, len(tokens)))
        if ends or said == max_new_tokens:
            return
        for speaker in (target, draft):  # they have read tokens that were refused
            if hasattr(speaker, "crop"):
                speaker.crop(min(start + said - 1, guessed.shape[1] - (speaker is draft)))


def _drafted(draft: NextLogProbs, prefix: Any, draw: Draw, k: int) -> tuple[Any, Float[Array, "k vocab"]]:
    """The prefix with k guesses behind it, and the distributions from which they were drawn."""
    Q = []
    for _ in range(k):
        Q.append(_probabilities(draft(prefix))[0])
        prefix = _with(prefix, [draw(Q[-1])])
    return prefix, np.array(Q)


def _with(prefix: Any, tokens: Sequence[int]) -> Any:
    return library_of(prefix).concatenate([prefix, like(prefix, [tokens])], 1)


def _probabilities(log_probs: Any) -> Float[Array, "*b vocab"]:
    """In float64, with the sum one."""
    if library_of(log_probs) is not np:
        log_probs = log_probs.double().cpu().numpy()
    P = np.exp(log_probs.astype(np.float64))
    return P / P.sum(-1, keepdims=True)

"""Speculative sampling: a cheap *draft* model guesses several tokens, which the *target* model verifies in one pass.

Chapter 4 proves (guess-and-check: eq-accept, eq-residual) that the tokens have exactly the target's distribution,
whatever the draft is. A token x that was drawn from the draft's q is accepted with probability min(1, p(x) / q(x)), for
the target's p; otherwise another one is drawn from the positive part of p - q. In total x then has probability
min(q, p) + (1 - sum of min(q, p)) · (p - min(q, p)) / (1 - sum of min(q, p)) = p(x).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from attnlib.decode import NextLogProbs, library_of, like
from attnlib.shapes import Array, Float

Draw = Callable[[Float[Array, "n"]], int]


def drawn_by(rng: np.random.Generator) -> Draw:
    """A function that draws one of n outcomes by their probabilities; nothing else here is random."""
    return lambda P: min(int((np.cumsum(P) <= rng.random() * P.sum()).sum()), int(P.nonzero()[0][-1]))


def residual(p: Float[Array, "vocab"], q: Float[Array, "vocab"]) -> Float[Array, "vocab"]:
    """The positive part of p - q, scaled to sum to one: from it a rejected token is replaced (eq-residual).

    >>> residual(np.array([0.5, 0.3, 0.2]), np.array([0.7, 0.1, 0.2])).round(2)
    array([0., 1., 0.])
    """
    more = np.maximum(p - q, 0)
    return more / more.sum()


class Round(NamedTuple):
    """The result of one pass of the target: the new tokens, and how many of them the draft had guessed."""

    tokens: list[int]
    accepted: int


def verify(
    P: Float[Array, "k1 vocab"], Q: Float[Array, "k vocab"], drafted: Sequence[int], draw: Draw
) -> Round:
    """Accept drafted tokens up to the first that is rejected, and draw one more token without a further pass.

    P    the target's distributions after the prefix and after each drafted token: one more than drafted tokens
    Q    the draft's distributions, from which the tokens were drawn
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
    """Continue a prefix (1, n), round by round, until a stop token or `max_new_tokens` tokens.

    target       has `after_each(prefix)`, the log-probabilities after each token that it has not read yet,
                 (1, k, vocab), and `crop(n)`, which forgets all but n tokens; `GPT.predictor` makes one
    draft        `next_log_probs(prefix)`; if it caches what it has read, it has `crop(n)`, too
    n_drafted    tokens that are guessed before each pass of the target

    To sample with a temperature or a filter, wrap both models in it: the result then has the wrapped target's
    distribution.
    """
    if n_drafted < 1:
        raise ValueError(f"speculate: there must be a token to guess; got {n_drafted=}.")
    return _rounds(target, draft, prefix, draw, max_new_tokens, n_drafted, stop)


def _rounds(
    target: Any, draft: Any, prefix: Any, draw: Draw, max_new_tokens: int, n_drafted: int, stop: Sequence[int]
) -> Iterator[Round]:
    written, start = 0, prefix.shape[1]
    while written < max_new_tokens:
        guessed, Q = _drafted(draft, prefix, draw, min(n_drafted, max_new_tokens - written - 1))
        log_probs = target.after_each(guessed)[0, -len(Q) - 1 :]
        tokens, accepted = verify(_probabilities(log_probs), Q, guessed[0, start + written :].tolist(), draw)
        ends = [i for i, token in enumerate(tokens) if token in stop]
        tokens = tokens[: ends[0] + 1] if ends else tokens
        prefix = _with(prefix, tokens)
        written += len(tokens)
        yield Round(tokens, min(accepted, len(tokens)))
        if ends or written == max_new_tokens:
            return
        for predictor in (target, draft):  # both have read tokens that were rejected
            if hasattr(predictor, "crop"):
                predictor.crop(min(start + written - 1, guessed.shape[1] - (predictor is draft)))


def _drafted(draft: NextLogProbs, prefix: Any, draw: Draw, k: int) -> tuple[Any, Float[Array, "k vocab"]]:
    """The prefix followed by k drafted tokens, and the distributions from which these were drawn."""
    Q = []
    for _ in range(k):
        Q.append(_probabilities(draft(prefix))[0])
        prefix = _with(prefix, [draw(Q[-1])])
    return prefix, np.array(Q)


def _with(prefix: Any, tokens: Sequence[int]) -> Any:
    return library_of(prefix).concatenate([prefix, like(prefix, [tokens])], 1)


def _probabilities(log_probs: Any) -> Float[Array, "*b vocab"]:
    """The probabilities in float64, scaled to sum to one."""
    if library_of(log_probs) is not np:
        log_probs = log_probs.double().cpu().numpy()
    P = np.exp(log_probs.astype(np.float64))
    return P / P.sum(-1, keepdims=True)

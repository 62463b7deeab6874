"""Generation, token after token: how the next token is chosen, and when generation stops.

Chapter 4 derives it. A model is given as a function `next_log_probs(prefix)`, from the tokens so far, (b, n), to the
log-probabilities of the next one, (b, vocab), in NumPy or in PyTorch. `GPT.predictor` and `Seq2Seq.predictor` make such
functions, which keep what they computed for earlier tokens.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

NextLogProbs = Callable[[Any], Any]
Choose = Callable[[Any], Any]
Stop = Sequence[int | Sequence[int]]


def greedy(S: Any) -> Any:
    """The token with the highest score in each row."""
    return S.argmax(-1)


def sampler(
    rng: np.random.Generator,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    nucleus: float | None = None,
    min_p: float | None = None,
) -> Choose:
    """A function that draws a token for each row of scores; the same seed draws the same in NumPy and PyTorch.

    temperature    below one likely tokens become likelier; towards zero this becomes `greedy`
    top_k          draw from the k likeliest tokens only
    nucleus        draw only from the fewest tokens that together have this probability (top-p)
    min_p          draw only from tokens that have this share of the likeliest one's probability
    """
    if not temperature > 0:
        raise ValueError(
            f"sampler: temperature must be above zero; got {temperature=}. `greedy` is its limit at zero."
        )

    def choose(S: Any) -> Any:
        filters = _twin(S)
        S = S / temperature
        S = S if top_k is None else filters.keep_top_k(S, top_k)
        S = S if nucleus is None else filters.keep_nucleus(S, nucleus)
        S = S if min_p is None else filters.keep_min_p(S, min_p)
        return filters.sample(S, like(S, rng.random(len(S))))

    return choose


def stream(
    next_log_probs: NextLogProbs,
    prefix: Any,
    choose: Choose = greedy,
    *,
    max_new_tokens: int,
    stop: Stop = (),
    pad: int = 0,
) -> Iterator[Any]:
    """Yields the next token of each sequence, (b,), until all have ended or have `max_new_tokens` new tokens.

    stop    tokens, or sequences of tokens, after which a sequence has ended; those in the prefix do not count
    pad     the token that a sequence gets that has ended, while others go on

    >>> after = np.log(np.array([[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.6, 0.3, 0.1]]))  # 1 follows 0, 2 follows 1
    >>> bigram = lambda prefix: after[prefix[:, -1]]
    >>> [token.item() for token in stream(bigram, np.array([[0]]), max_new_tokens=9, stop=[2])]
    [1, 2]
    """
    ends = [[one] if isinstance(one, int) else list(one) for one in stop]
    if not all(ends):
        raise ValueError("stream: a stop sequence must have one token or more; got none.")
    return _stream(next_log_probs, prefix, choose, max_new_tokens, ends, pad)


def _stream(
    next_log_probs: NextLogProbs,
    prefix: Any,
    choose: Choose,
    max_new_tokens: int,
    ends: list[list[int]],
    pad: int,
) -> Iterator[Any]:
    library, start = library_of(prefix), prefix.shape[1]
    ended = prefix[:, 0] != prefix[:, 0]
    while prefix.shape[1] < start + max_new_tokens and not (ends and bool(ended.all())):
        token = choose(next_log_probs(prefix))
        if ends:
            token = library.where(ended, like(prefix, pad), token)
        prefix = library.concatenate([prefix, token[:, None]], 1)
        for end in ends:
            if prefix.shape[1] - start >= len(end):
                ended = ended | (prefix[:, -len(end) :] == like(prefix, end)).all(1)
        yield token


def tokens(next_log_probs: NextLogProbs, prefix: Any, choose: Choose = greedy, **options: Any) -> Any:
    """All tokens that `stream` yields, (b, m): the continuation of the prefix."""
    new = list(stream(next_log_probs, prefix, choose, **options))
    return library_of(prefix).stack(new, 1) if new else prefix[:, :0]


def until(texts: Iterable[str], stop: Sequence[str]) -> Iterator[str]:
    """The pieces of text up to the first stop string; a stop may begin in one piece and end in a later one.

    >>> list(until(["one", "\\n", "\\ntwo"], stop=["\\n\\n"]))
    ['one']
    >>> list(until(["a", "\\n", "b"], stop=["\\n\\n"]))
    ['a', '\\nb']
    """
    waiting = ""
    for text in texts:
        waiting += text
        found = [place for one in stop if (place := waiting.find(one)) >= 0]
        if found:
            if min(found):
                yield waiting[: min(found)]
            return
        begun = max((k for one in stop for k in range(1, len(one)) if waiting.endswith(one[:k])), default=0)
        safe = len(waiting) - begun
        if safe:
            yield waiting[:safe]
        waiting = waiting[safe:]
    if waiting:
        yield waiting


def library_of(array: Any) -> Any:
    """The array's library, NumPy or torch; the functions used here have the same names in both."""
    return sys.modules["torch"] if hasattr(array, "detach") else np


def like(array: Any, numbers: Any) -> Any:
    """The numbers as an array of the same library, dtype and device as `array`."""
    if hasattr(array, "detach"):
        return library_of(array).as_tensor(numbers, dtype=array.dtype, device=array.device)
    return np.asarray(numbers, dtype=array.dtype)


def _twin(array: Any) -> Any:
    """The module `sampling` of the array's library; torch is imported only for tensors."""
    if hasattr(array, "detach"):
        from attnlib.nn import sampling
    else:
        from attnlib.reference import sampling
    return sampling

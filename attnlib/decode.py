"""Token after token: what a model says next, and when it stops.

Chapter 4 derives it. A model comes in as one function, `next_log_probs(prefix)`: the tokens so far, (b, n), give the
log-probabilities of the next one, (b, vocab). Arrays and tensors will do; `GPT.speaker` and `Seq2Seq.speaker` make
such functions, which read each token once.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

NextLogProbs = Callable[[Any], Any]
Choose = Callable[[Any], Any]
Stop = Sequence[int | Sequence[int]]


def likeliest(S: Any) -> Any:
    """The token of the highest score in each row: greedy."""
    return S.argmax(-1)


def sampler(
    rng: np.random.Generator,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    nucleus: float | None = None,
) -> Choose:
    """Draws a token for each row; a seed draws the same from both twins.

    temperature    below one likely tokens become likelier; towards zero this is `likeliest`
    top_k          of the k likeliest tokens alone
    nucleus        of the fewest tokens that together have this probability alone
    """
    if not temperature > 0:
        raise ValueError(
            f"sampler: temperature must be above zero; got {temperature=}. `likeliest` is its limit at zero."
        )

    def choose(S: Any) -> Any:
        filters = _twin(S)
        S = S / temperature
        S = S if top_k is None else filters.keep_top_k(S, top_k)
        S = S if nucleus is None else filters.keep_nucleus(S, nucleus)
        return filters.sample(S, like(S, rng.random(len(S))))

    return choose


def stream(
    next_log_probs: NextLogProbs,
    prefix: Any,
    choose: Choose = likeliest,
    *,
    max_new_tokens: int,
    stop: Stop = (),
    pad: int = 0,
) -> Iterator[Any]:
    """The next token of each sequence, (b,), as soon as it is chosen, until all have ended or are `max_new_tokens` tokens on.

    stop    tokens, or sequences of tokens, behind which a sequence has ended; what stands in the prefix does not count
    pad     what a sequence says that has ended, while others go on

    >>> after = np.log(np.array([[0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.6, 0.3, 0.1]]))  # of 0 comes 1, of 1 comes 2
    >>> [token.item() for token in stream(lambda prefix: after[prefix[:, -1]], np.array([[0]]), max_new_tokens=9, stop=[2])]
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


def tokens(next_log_probs: NextLogProbs, prefix: Any, choose: Choose = likeliest, **options: Any) -> Any:
    """All that `stream` yields, (b, m): what has been said after the prefix."""
    said = list(stream(next_log_probs, prefix, choose, **options))
    return library_of(prefix).stack(said, 1) if said else prefix[:, :0]


def until(texts: Iterable[str], stop: Sequence[str]) -> Iterator[str]:
    """Pieces of text up to the first stop, wherever the pieces are cut; what may become a stop waits for what follows.

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
    """NumPy or torch, which call what is needed here by the same names."""
    return sys.modules["torch"] if hasattr(array, "detach") else np


def like(array: Any, numbers: Any) -> Any:
    """Numbers beside an array: in its library, of its kind, where it is."""
    if hasattr(array, "detach"):
        return library_of(array).as_tensor(numbers, dtype=array.dtype, device=array.device)
    return np.asarray(numbers, dtype=array.dtype)


def _twin(array: Any) -> Any:
    """The sampling of the twin that the array belongs to; only that one is loaded."""
    if hasattr(array, "detach"):
        from attnlib.nn import sampling
    else:
        from attnlib.reference import sampling
    return sampling

"""N-grams: how often each token has followed the last few, counted. The cheapest language model.

Chapter 4 drafts with it (guess-and-check). Counts of a long context are mixed with those of a shorter one: from each
count a discount is taken away, and what that leaves over goes to the shorter context.
"""

from collections import Counter, defaultdict
from typing import Any

import numpy as np

from attnlib.decode import library_of
from attnlib.shapes import Array, Float, Int


class NGrams:
    """Counts of up to `order` tokens in a row, for `attnlib.decode`.

    >>> model = NGrams(np.array([0, 1, 0, 1, 0, 2]), vocab=3, order=2, discount=0.5)
    >>> np.exp(model(np.array([[0]]))).round(3)  # after 0 came 1 twice and 2 once
    array([[0.167, 0.611, 0.222]])
    """

    def __init__(self, tokens: Int[Array, "n"], *, vocab: int, order: int, discount: float = 0.75) -> None:
        self.vocab, self.discount = vocab, discount
        self.follows = [counted(tokens.tolist(), n) for n in range(order)]

    def __call__(self, prefix: Any) -> Any:
        """`next_log_probs` of each row, in the library of the prefix."""
        log_P = np.log([self.after(tuple(row)) for row in prefix.tolist()])
        library = library_of(prefix)
        return log_P if library is np else library.from_numpy(log_P).to(prefix.device)

    def after(self, text: tuple[int, ...]) -> Float[Array, "vocab"]:
        """The distribution of the next token; a context that was never seen leaves it to the shorter ones."""
        P = np.full(self.vocab, 1 / self.vocab)
        for n, follows in enumerate(self.follows):
            found = follows.get(text[len(text) - n :])
            if found is None:
                break
            tokens, counts = found
            P *= self.discount * len(tokens) / counts.sum()
            P[tokens] += (counts - self.discount) / counts.sum()
        return P


def counted(tokens: list[int], n: int) -> dict[tuple[int, ...], tuple[Int[Array, "k"], Int[Array, "k"]]]:
    """For each context of n tokens, which tokens have followed it, and how often."""
    follows: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    for i in range(len(tokens) - n):
        follows[tuple(tokens[i : i + n])][tokens[i + n]] += 1
    return {context: (np.array(list(c)), np.array(list(c.values()))) for context, c in follows.items()}

"""No one sees the future

write · ★ · 8 min · 02-self-attention/3-masks · after foundations.masked-softmax

Return a boolean mask (m, n), True where a query may look. There are n tokens, and the last m of them ask
(all, if m = n; only the newest, if m = 1). Each sees itself and the tokens before it.

1. Which token does row 0 belong to, when the last m of n ask?
2. Number the queries n - m, ..., n - 1 and the keys 0, ..., n - 1. When may a query look at a key?
3. Compare a row of key numbers with a column of query numbers: a key may be seen if it is not later.

The newest token sees everything, so its row is all True: a decoder that keeps its keys needs no mask for
one new token. For m < n the diagonal starts at n - m, not at 0.
"""

import numpy as np


def causal_mask(n, m):
    """(m, n), True where a query may look; the last m of n tokens ask."""
    query = np.arange(n - m, n)[:, None]
    key = np.arange(n)
    return key <= query


def reference(n, m):
    from attnlib.reference import masks

    return masks.causal_mask(n, m)


def cases(rng):
    return {
        "four tokens, all ask": (4, 4),
        "five tokens, the last two ask": (5, 2),
        "the newest of six": (6, 1),
        "one token": (1, 1),
    }


VARIANTS = """
    return key <= query => return np.tril(np.ones((m, n), dtype=bool), k=n - m)
    return key <= query => return ~(key > query)
"""
MISTAKES = """
off by one: the next token is seen | The token after the query is visible: at training time the answer is
  read off.
    key <= query => key <= query + 1
off by one: a token does not see itself | Each token may look at itself. Without that, the first one would
  have nothing to look at.
    key <= query => key < query
inverted mask | True means: may look. Here the future is visible and the past is hidden.
    key <= query => key > query
    key <= query => key >= query
all n tokens ask | There is a row for each of the n tokens. Only the last m of them ask.
    np.arange(n - m, n) => np.arange(n)
the first m ask | These rows belong to the first m tokens. Where there are fewer queries than keys, it is
  the last ones that ask.
    np.arange(n - m, n) => np.arange(m)
numbers, not booleans | The values are right, but they are numbers. Masks are boolean here: with numbers,
  `~` and `np.where` do something else.
    return key <= query => return (key <= query).astype(float)
    return key <= query => return (key <= query).astype(int)
an additive mask | This mask is to be added to scores. Asked for was a boolean one, True where a query may
  look.
    return key <= query => return np.where(key <= query, 0.0, -np.inf)
"""

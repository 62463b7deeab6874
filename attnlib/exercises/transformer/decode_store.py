"""A text from one array

write · ★★ · 10 min · 04-transformer/1-from-text-to-vectors

Small programs that run a model keep all tokens in one array: `store` holds the bytes of token 0, then those of token
1, and so on, and token t is store[starts[t] : starts[t + 1]]; the last number of `starts` is where the last token
ends. Ids larger than that of the last token are special tokens, which have no bytes. Return the bytes of the text
that `numbers` (n,) encode, as one array of integers.

1. How many ordinary tokens are there, if `starts` has one entry more than there are tokens?
2. The spaces are inside the tokens, so nothing comes between them, and nothing is taken away.
3. Look each ordinary number's bytes up and concatenate them; an empty text must work, too.

Only the joined bytes are a text. A character of several bytes may begin in one token and end in the next, so decoding
token by token shows � even where a model that writes Greek is right.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def decode(numbers, store, starts):
    """The bytes of the text; special tokens have none."""
    n_ordinary = len(starts) - 1
    tokens = [store[starts[t] : starts[t + 1]] for t in numbers if t < n_ordinary]
    return np.concatenate([store[:0], *tokens])


def by_index(numbers, store, starts):
    ordinary = numbers[numbers < len(starts) - 1]
    places = [np.arange(starts[t], starts[t + 1]) for t in ordinary]
    return store[np.concatenate([np.zeros(0, dtype=int), *places])]


def byte_by_byte(numbers, store, starts):
    text = []
    for t in numbers:
        if t + 1 < len(starts):
            for i in range(starts[t], starts[t + 1]):
                text.append(store[i])
    return np.array(text, dtype=store.dtype)


def without_spaces(numbers, store, starts):
    tokens = [store[starts[t] : starts[t + 1]] for t in numbers if t < len(starts) - 1]
    tokens = [token[1:] if token[0] == 32 else token for token in tokens]
    return np.concatenate([store[:0], *tokens])


def without_the_first_space(numbers, store, starts):
    text = decode(numbers, store, starts)
    return text[1:] if len(text) and text[0] == 32 else text


def trimmed(numbers, store, starts):
    return np.array([*bytes(decode(numbers, store, starts).tolist()).strip()], dtype=store.dtype)


def with_spaces(numbers, store, starts):
    tokens = [store[starts[t] : starts[t + 1]] for t in numbers if t < len(starts) - 1]
    spaced = [part for token in tokens for part in (np.array([32]), token)]
    return np.concatenate([store[:0], *spaced[1:]])


def token_by_token(numbers, store, starts):
    tokens = [bytes(store[starts[t] : starts[t + 1]].tolist()) for t in numbers if t < len(starts) - 1]
    kept = "".join(token.decode(errors="ignore") for token in tokens)
    return np.array([*kept.encode()], dtype=store.dtype)


def shown_as_unknown(numbers, store, starts):
    tokens = [bytes(store[starts[t] : starts[t + 1]].tolist()) for t in numbers if t < len(starts) - 1]
    shown = "".join(token.decode(errors="replace") for token in tokens)
    return np.array([*shown.encode()], dtype=store.dtype)


def up_to_a_special_token(numbers, store, starts):
    special = np.flatnonzero(numbers >= len(starts) - 1)
    return decode(numbers[: special[0]] if len(special) else numbers, store, starts)


def cases(rng):
    tokens = [b"the", b" hen", b"n", b" ", "é".encode()[:1], "é".encode()[1:], b" a"]
    store = np.array([*b"".join(tokens)])
    starts = np.cumsum([0, *map(len, tokens)])
    end = len(tokens)
    texts = {
        "two words": [0, 1],
        "a space before the text": [1, 3, 1, 2],
        "one character in two tokens": [2, 4, 5, 6, 0],
        "special tokens": [end, 0, 6, 1, end, 1, 2, end + 1],
        "special tokens inside": [0, 1, 2, end, 6, 0, end, 1],
        "a space at the end": [0, 6, 2, 3],
        "drawn": [*rng.choice([0, 1, 2, 3, 6], size=9)],
        "an empty text": [end],
    }
    return {name: (np.array(text), store, starts) for name, text in texts.items()}


VARIANTS = (by_index, byte_by_byte)
MISTAKES = (
    Mistake("a space lost in decoding", "A space is missing that was part of a token. Tokens contain their own spaces, "
        "so nothing is removed, not even at the edges of a text.",
        without_spaces, without_the_first_space, trimmed),
    Mistake("a space between tokens", "There are spaces between the tokens. Tokens contain their own.", with_spaces),
    Mistake("each token decoded by itself", "A character whose bytes lie in two tokens is lost. Join the bytes first; "
        "they are the text.",
        token_by_token, shown_as_unknown),
    Mistake("stopped at a special token", "A special token has no bytes, but the text may go on after it.",
        up_to_a_special_token),
    Mistake("each token once", "A token that comes again must be decoded again.",
        {"for t in numbers": "for t in dict.fromkeys(numbers.tolist())"}),
)  # fmt: skip

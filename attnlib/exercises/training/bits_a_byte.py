"""Bytes are not letters

write · ★ · 8 min · 05-training/1-what-is-minimised

A model was evaluated on some texts. texts is a list of them, nats (b,) the mean surprise of a token in each, in nats,
and tokens (b,) how many tokens each has. Return the model's bits per byte on all texts together, where the bytes are
those of UTF-8, `text.encode()`.

1. What is the surprise of all texts together, in nats?
2. Every text brings its nats a token times its tokens, and its bytes. Add up first, divide at the end.
3. The sum of nats times tokens, divided by the logarithm of two and by the number of all bytes.

A letter of Russian has two bytes and one of Chinese three, so bits per letter and bits per byte rank languages
differently. For two models on one text either unit will do, if it is the same for both.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def bits_a_byte(texts, nats, tokens):
    """Bits a byte of all texts together; nats and tokens (b,)."""
    n_bytes = sum(len(text.encode()) for text in texts)
    return (nats * tokens).sum() / np.log(2) / n_bytes


def by_loop(texts, nats, tokens):
    bits, n_bytes = 0.0, 0
    for text, one, n in zip(texts, nats, tokens, strict=True):
        bits += one / np.log(2) * n
        n_bytes += len(bytes(text, "utf-8"))
    return bits / n_bytes


def cases(rng):
    def case(*texts):
        b = len(texts)
        return list(texts), rng.uniform(1, 5, size=b), rng.integers(2, 9, size=b)

    return {
        "one text": case("attention"),
        "two texts": case("all", "you need to know"),
        "letters of two bytes": case("naïve", "шум и ярость"),
        "letters of three and four bytes": case("日本語", "a 🙂", "plain"),
    }


VARIANTS = (
    by_loop,
    {"return (nats * tokens).sum() / np.log(2) / n_bytes": "return np.dot(nats, tokens) * np.log2(np.e) / n_bytes"},
)  # fmt: skip
MISTAKES = (
    Mistake("a letter, not a byte", "This is bits a letter. Some letters have two, three or four bytes in UTF-8.",
        {"len(text.encode())": "len(text)"}),
    Mistake("a token, not a byte", "This is bits a token.", {"/ n_bytes": "/ tokens.sum()"}),
    Mistake("in nats", "These are nats a byte. A bit is the logarithm of two.",
        {"/ np.log(2) / n_bytes": "/ n_bytes"}),
    Mistake("times the logarithm of two", "From nats to bits one divides by the logarithm of two. Bits are the "
        "smaller unit, so there are more of them.", {"/ np.log(2)": "* np.log(2)"}),
    Mistake("a mean of means", "Each text has its own bits a byte here, and they are averaged, so a short text counts "
        "as much as a long one.",
        lambda texts, nats, tokens: np.mean([bits_a_byte([x], nats[i : i + 1], tokens[i : i + 1]) for i, x in
            enumerate(texts)])),
    Mistake("every text with as many tokens", "The mean nats a token of all texts was taken whatever the number of "
        "tokens in each.", {"(nats * tokens).sum()": "nats.mean() * tokens.sum()"}),
    Mistake("the tokens are forgotten", "The nats a token were added up. Each text brings as many as it has tokens.",
        {"(nats * tokens).sum()": "nats.sum()"}),
    Mistake("per text", "This is bits a text.", {"/ n_bytes": "/ len(texts)"}),
    Mistake("bytes of another encoding", "These are the bytes of UTF-16, of which plain letters have two, and a text "
        "two more at its start.", {"text.encode()": 'text.encode("utf-16")'}),
    Mistake("a word, not a byte", "This is bits a word.", {"len(text.encode())": "len(text.split())"}),
    Mistake("a bit, not a byte", "The bytes were counted eightfold: this is bits a bit of the text.",
        {"/ n_bytes": "/ (8 * n_bytes)"}),
    Mistake("the first text alone", "Only the first text was counted.",
        lambda texts, nats, tokens: nats[0] * tokens[0] / np.log(2) / len(texts[0].encode())),
    Mistake("bytes between the texts", "The texts were joined by something that no text contains, and its bytes were "
        "counted.",
        {"n_bytes = sum(len(text.encode()) for text in texts)": 'n_bytes = len(" ".join(texts).encode())'}),
    Mistake("the mean number of bytes", "All bits were divided by the mean number of bytes of a text. Divide by the "
        "sum.",
        {"/ n_bytes": "/ (n_bytes / len(texts))"}),
    Mistake("a perplexity a byte", "Two to the power of the bits is a perplexity of bytes. Return the bits.",
        {"return (nats * tokens).sum() / np.log(2) / n_bytes":
             "return 2 ** ((nats * tokens).sum() / np.log(2) / n_bytes)"}),
    Mistake("a logarithm of the nats", "Nats are logarithms already; another unit is another factor.",
        {"(nats * tokens).sum() / np.log(2)": "(np.log2(nats) * tokens).sum()"}),
    Mistake("divided by the tokens", "The mean surprise of a token, times the tokens, is that of the text.",
        {"(nats * tokens)": "(nats / tokens)"}),
)  # fmt: skip

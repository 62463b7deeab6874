"""The first loss in bits per byte

predict · ★ · 4 min · 04-transformer/1-from-text-to-vectors

A new model has the 50,257 tokens of GPT-2 and 768 numbers in each vector. One of its tokens stands for 4.2 bytes on
average. Before any training it should give all tokens nearly the same probability. What is its loss then, in bits per
byte of the text? Give it to two decimals.

1. What is the first loss in nats, for one token?
2. A nat is 1 / ln 2 bits.
3. A token's loss is shared by its 4.2 bytes.

A guess among 256 bytes would cost 8 bits per byte. So before it has learned anything a model with long tokens looks
better per byte, because its vocabulary already holds frequent groups of bytes.
"""

import math

from attnlib.exercises.engine.model import Mistake


def answer():
    return math.log2(50257) / 4.2


WITHIN = 0.02
MISTAKES = (
    Mistake("in nats", "That is in nats. A bit is ln 2 nats.", math.log(50257) / 4.2),
    Mistake("for a token, in bits", "That is the loss of a token. It stands for 4.2 bytes, which share it.",
        math.log2(50257)),
    Mistake("for a token, in nats", "That is the loss of a token, in nats. Change it to bits, and divide by its bytes.",
        math.log(50257)),
    Mistake("multiplied by the bytes", "The bytes of a token share its loss; they do not multiply it.",
        math.log2(50257) * 4.2),
    Mistake("log of the width", "The softmax runs over the vocabulary; the width of the vectors is not in it.",
        math.log2(768) / 4.2),
    Mistake("a guess among bytes", "That is a guess among 256 bytes. This model guesses among its tokens.", 8),
    Mistake("with the logarithm to ten", "A bit is a logarithm to base two.", math.log10(50257) / 4.2),
)  # fmt: skip

"""What a language model's loss says in other units: perplexity, and bits a byte.

Chapter 5 compares them (what-is-minimised). A loss is in nats: the mean of -log p over tokens.
"""

import math

from attnlib.shapes import Number, checked


@checked
def perplexity(nats: Number[float, "0.."]) -> float:
    """Among how many equally likely tokens one would have to guess, to be as surprised: exp of the mean nats a token.

    >>> round(perplexity(math.log(50)), 9)
    50.0
    """
    return math.exp(nats)


@checked
def bits_per_byte(
    nats: Number[float, "0.."], tokens: Number[int, "1.."], n_bytes: Number[int, "1.."]
) -> float:
    """The bits of all tokens, shared out over the bytes of the text: so models with other tokenizers can be compared.

    nats    a token, in the mean

    >>> bits_per_byte(2 * math.log(2), tokens=100, n_bytes=400)  # 2 bits a token, 4 bytes a token
    0.5
    """
    return nats * tokens / (math.log(2) * n_bytes)

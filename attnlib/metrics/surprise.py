"""A language model's loss in other units: perplexity, and bits per byte.

Chapter 5 compares them (what-is-minimised). A loss is in nats: the mean of -log p over tokens.
"""

import math

from attnlib.shapes import Number, checked


@checked
def perplexity(nats: Number[float, "0.."]) -> float:
    """exp of the mean loss in nats: the number of equally likely tokens among which guessing has the same loss.

    >>> round(perplexity(math.log(50)), 9)
    50.0
    """
    return math.exp(nats)


@checked
def bits_per_byte(
    nats: Number[float, "0.."], tokens: Number[int, "1.."], n_bytes: Number[int, "1.."]
) -> float:
    """The loss of all tokens in bits, divided by the bytes of the text: it compares models with different tokenizers.

    nats    mean loss of a token

    >>> bits_per_byte(2 * math.log(2), tokens=100, n_bytes=400)  # 2 bits a token, 4 bytes a token
    0.5
    """
    return nats * tokens / (math.log(2) * n_bytes)

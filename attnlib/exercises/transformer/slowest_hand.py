"""The period of the slowest rotary pair

predict · ★ · 4 min · 04-transformer/3-where-am-i

Llama 3 rotates the queries and keys of heads that are 128 wide with the base 500,000: pair i, counted from 0, turns by
500,000^(-2i/128) radians per position. After how many positions has the slowest pair completed a round? (To the nearest
10,000.)

1. How many pairs does a head of 128 numbers have, and which number has the last one, counted from 0?
2. The speed of pair i is base to the power of -2i/d, in radians a position.
3. i is 63, so the exponent is 126/128; one round is 2π radians.

About 2.6 million positions, many more than the 8,192 tokens of the texts that it was trained on. With the base 10,000
it would be 54,410. A larger base keeps the angles of far positions distinct, and leaves fewer pairs with clearly
different angles at near positions.
"""

import math

from attnlib.exercises.engine.model import Mistake

D, BASE = 128, 500_000


def answer():
    return 2 * math.pi * BASE ** ((D - 2) / D)


WITHIN = 10_000
MISTAKES = (
    Mistake("one pair too many", "That is pair 64. The last of 64 pairs is number 63, since they count from 0.",
        2 * math.pi * BASE),
    Mistake("in radians", "After that many positions it has turned by one radian. A full turn has 2π of them.",
        BASE ** ((D - 2) / D)),
    Mistake("the exponent without its 2", "The exponent is 2i/d. With i/d the slowest pair would be as fast as the "
        "middle one.", 2 * math.pi * BASE ** ((D - 2) / 2 / D)),
    Mistake("the exponent doubled", "The exponent is 2i/d, and i stops at 63.",
        2 * math.pi * BASE ** (2 * (D - 2) / D)),
    Mistake("the base of 2017", "This model has the base 500,000.", 2 * math.pi * 10_000 ** ((D - 2) / D)),
    Mistake("in degrees", "Angles are in radians here.", 360 * BASE ** ((D - 2) / D)),
)  # fmt: skip

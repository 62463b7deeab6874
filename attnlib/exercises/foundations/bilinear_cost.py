"""The cheaper order

predict · ★ · 4 min · 01-foundations/5-scoring-functions

One query of width 64 meets 50 keys of width 256 in the bilinear score. How many multiply-adds are needed if
the query is mapped first?

1. How many multiply-adds does it take to map one vector from 64 numbers to 256?
2. After that there are 50 dot products of width 256.
3. Add 64 times 256 and 50 times 256.

Mapping each key first costs 50 · 64 · 256 and then 50 dot products of width 64: 28 times as much.
"""


def answer():
    return 64 * 256 + 50 * 256


WITHIN = 0.5
MISTAKES = """
each key mapped | That maps each of the 50 keys, the dear order.
    = 50 * 64 * 256 + 50 * 64
the query mapped for each key | The query needs to be mapped once, not again for each key.
    = 50 * (64 * 256 + 256)
without the dot products | That is the map alone; 50 dot products follow.
    = 64 * 256
without the map | Those are the dot products alone; the query has to be mapped first.
    = 50 * 256
dot products of width 64 | After the map the query has the width of the keys.
    = 64 * 256 + 50 * 64
"""

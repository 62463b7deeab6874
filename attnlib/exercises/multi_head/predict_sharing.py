"""What sharing saves

predict · ★ · 3 min · 03-multi-head/3-memory · after multi-head.cache-bytes

32 query heads share 8 heads of keys and values. Which share of the full cache is left, as a number between
0 and 1?

1. Does the cache hold anything of the queries?
2. How many heads' keys and values are kept, and how many would be?
3. Divide the one by the other.

A quarter, for keys and for values alike. The scores are as many as before: sharing saves memory and its
traffic, not multiplications of the attention itself.
"""

CACHE_HEADS, CACHE_KV = 32, 8


def answer():
    return CACHE_KV / CACHE_HEADS


MISTAKES = """
half of that | Keys and values are both shared, and both were kept before.
    = CACHE_KV / CACHE_HEADS / 2
what is saved | That is the share that is saved. What is left was asked for.
    = 1 - CACHE_KV / CACHE_HEADS
queries are in the cache | That counts a query for each key and value, 32 + 8 + 8 of 96. Queries are not
  kept.
    = (CACHE_HEADS + 2 * CACHE_KV) / (3 * CACHE_HEADS)
one head | That is multi-query attention, with one head of keys and values.
    = 1 / CACHE_HEADS
turned round | The answer is below one.
    = CACHE_HEADS / CACHE_KV
"""

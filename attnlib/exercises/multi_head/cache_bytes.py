"""How large is the cache?

write · ★ · 6 min · 03-multi-head/3-memory

A decoder keeps the keys and the values of all n tokens so far, in every layer, for n_kv_heads heads of
d_head numbers, `bytes_each` bytes a number. Return the number of bytes.

1. How many numbers does one token leave behind in one head of one layer?
2. A key and a value, of d_head numbers each.
3. Multiply: two, layers, heads, width of a head, tokens, bytes.

Queries are not kept: each is asked once. Heads that share keys and values shrink the cache by the same
factor, which is why it is done.
"""


def cache_bytes(layers, n_kv_heads, d_head, n, bytes_each):
    """The bytes of the keys and values that a decoder keeps of n tokens."""
    return 2 * layers * n_kv_heads * d_head * n * bytes_each


def cases(rng):
    return {
        "a small model": (2, 4, 8, 10, 4),
        "one shared head": (2, 1, 8, 10, 4),
        "a model of 12 layers, half precision": (12, 12, 64, 1024, 2),
        "one token": (3, 2, 5, 1, 4),
    }


VARIANTS = """
    2 * layers * n_kv_heads * d_head * n => layers * n * sum([n_kv_heads * d_head] * 2)
    2 * layers * n_kv_heads * d_head * n => math.prod((2, layers, n_kv_heads, d_head, n))
"""
MISTAKES = """
keys alone | The values are kept as well.
    2 * layers => layers
queries are kept too | A query is used once, when its token is new. Keys and values are read again.
    2 * layers => 3 * layers
bits, not bytes | A byte has eight bits; the bytes were asked for.
    2 * layers => 16 * layers
one layer only | Every layer keeps its own.
    2 * layers => 2
one head only | Every head keeps keys and values of its own.
    n_kv_heads * =>
numbers, not bytes | This counts the numbers.
    * bytes_each =>
mebibytes, not bytes | The result was divided by a power of 1024. Bytes were asked for.
    * bytes_each => * bytes_each / 2**20
    * bytes_each => * bytes_each / 2**30
    * bytes_each => * bytes_each / 2**10
the square of the tokens | Every token leaves a key and a value once, however many come after it.
    d_head * n => d_head * n * n
the table of weights | The weights, n by n, are not kept. What is kept grows with n, not with its square.
    d_head * n => n * n
"""

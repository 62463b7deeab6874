"""The price of looking everywhere

predict · ★ · 4 min · 01-foundations/5-in-matrices

12 attention heads read one sequence of 4096 tokens, and each token looks at all of them. How many MiB (2^20
bytes) do the weights of all heads take in float32?

1. How many weights has one head, if every token has one for every token?
2. A float32 has 32 bits, and a byte has 8.
3. 4096 is 2 to the power 12, so one head has 2 to the power 24 weights. Multiply by the bytes of one number
   and by the heads, and divide by 2 to the power 20.

Twice the tokens take four times the memory. That is why fast attention never stores P as a whole.
"""

HEADS, TOKENS, BYTES = 12, 4096, 4


def answer():
    return HEADS * TOKENS**2 * BYTES / 2**20


WITHIN = 0.5
MISTAKES = """
one head | That is one head; each head has its own weights.
    = TOKENS ** 2 * BYTES / 2 ** 20
numbers, not bytes | So many million numbers (2^20) it is; each takes more than one byte.
    = HEADS * TOKENS ** 2 / 2 ** 20
float64 | Eight bytes are a float64; a float32 is half as long.
    = HEADS * TOKENS ** 2 * 8 / 2 ** 20
bits | A float32 has 32 bits; bytes were asked for.
    = HEADS * TOKENS ** 2 * 32 / 2 ** 20
float16 | Two bytes are a float16; a float32 is twice as long.
    = HEADS * TOKENS ** 2 * 2 / 2 ** 20
million bytes | That is in millions of bytes; a MiB is 2^20 of them.
    = HEADS * TOKENS ** 2 * BYTES / 1000000.0
one number for each token | Each token has a weight for every token, not a single one.
    = HEADS * TOKENS * BYTES / 2 ** 20
    = HEADS * TOKENS * BYTES
bytes | Those are bytes; divide by 2^20 for MiB.
    = HEADS * TOKENS ** 2 * BYTES
"""

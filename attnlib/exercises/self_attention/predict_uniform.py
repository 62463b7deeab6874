"""The most undecided row

predict · ★ · 3 min · 02-self-attention/6-patterns-and-entropy

In a causal layer the row of token number 8 (counting from one) has the largest entropy that it can have.
How many nats is that?

1. How many keys does this row see?
2. The entropy is largest when all weights are equal.
3. All weights are one over the number of keys: the entropy is the logarithm of that number.

log 8. The first row has entropy 0 whatever the head does.
"""

import math

SEEN = 8


def answer():
    return math.log(SEEN)


WITHIN = 0.025
MISTAKES = """
the number of keys | So many keys it sees. The entropy is the logarithm of that.
    = SEEN
one weight | That is the weight of each key; their entropy was asked for.
    = 1 / SEEN
bits | That is in bits, with the logarithm to base 2. Nats have the natural one.
    = math.log2(SEEN)
it does not see itself | A token sees itself too.
    = math.log(SEEN - 1)
one key too many | The next token is hidden.
    = math.log(SEEN + 1)
the sum of the weights | The weights sum to one; their entropy was asked for.
    = 1.0
negative | An entropy is minus the sum of p log p, and not negative.
    = -math.log(SEEN)
"""

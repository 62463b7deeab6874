r"""Half on one, and nearly even

predict · ★★ · 5 min · 02-self-attention/6-patterns-and-entropy

A row sees nine keys. It gives half of its weight to the first of them and shares the other half evenly among the other
eight. How large is its entropy, divided by the largest that nine keys allow? Give it to two decimals.

1. The entropy is $\tfrac12 \log 2$ for the first key. What do the eight others add, with $\tfrac1{16}$ each?
2. $8 \cdot \tfrac1{16} \log 16 = \tfrac12 \log 16$.
3. Divide the sum, $2.5 \log 2$, by $\log 9$.

Four fifths of the way to "looks everywhere", although one key has eight times as much as any other. Entropy measures
how many keys share the weight, and shows little of how unequal they are: look at the largest weight as well.
"""

import math

from attnlib.exercises.engine.model import Mistake

KEYS = 9


def answer():
    return 2.5 * math.log(2) / math.log(KEYS)


WITHIN = 0.006
MISTAKES = (
    Mistake("not divided", "That is the entropy in nats. Divide it by the entropy of nine equal weights.",
        2.5 * math.log(2)),
    Mistake("in bits, not divided", "That is the entropy in bits. Divide it by the entropy of nine equal weights.",
        2.5),
    Mistake("over the bound of eight", "The row sees nine keys: the bound is that of nine equal weights.",
        2.5 * math.log(2) / math.log(8)),
    Mistake("half because half is sure", "Entropy is not the share of the weight that is spread out. Add up $p "
        r"\log(1/p)$.", 0.5),
    Mistake("divided by nine", "The largest entropy over nine keys is the logarithm of nine.",
        2.5 * math.log(2) / KEYS),
    Mistake("bits over nats", "The logarithms above and below the fraction have two bases.", 2.5 / math.log(KEYS)),
    Mistake("the first key was forgotten", "It adds half of log 2.", 2 * math.log(2) / math.log(KEYS)),
    Mistake("the other keys once", "There are eight of them.",
        (0.5 * math.log(2) + math.log(16) / 16) / math.log(KEYS)),
    Mistake("one minus it", "That is how far the row is from even.", 1 - 2.5 * math.log(2) / math.log(KEYS)),
)  # fmt: skip

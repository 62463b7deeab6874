"""How fast may a state forget?

predict · ★ · 4 min · 06-efficient-attention/2-three-faces-of-one-equation

The state of a linear attention layer is multiplied by the same decay at every token, before the token adds its own
term. After 1,000 further tokens a tenth of a token's term should be left. Which decay does that?

1. By how much has the term been multiplied after two further tokens?
2. After m further tokens by the decay to the power of m.
3. Which number has 0.1 as its 1,000th power?

A model that learns its decays does not learn the number itself, but one that a sigmoid or an exponential maps to it:
between 0.99 and 0.999 lies the difference between a sentence and a page.
"""

import math

from attnlib.exercises.engine.model import Mistake

FURTHER, LEFT = 1000, 0.1


def answer():
    return LEFT ** (1 / FURTHER)


WITHIN = 0.00005
MISTAKES = (
    Mistake("a half is left", "That is the decay after which a half of the term is left.", 0.5 ** (1 / FURTHER)),
    Mistake("a tenth is lost", "Then nine tenths are left after 1,000 tokens.", (1 - LEFT) ** (1 / FURTHER)),
    Mistake("one tenth is lost for each token", "The decay is used 1,000 times: what is left is its 1,000th power.",
        1 - LEFT),
    Mistake("one tenth is left for each token", "Then a tenth is left after the first further token, and nearly "
        "nothing after 1,000.", LEFT),
    Mistake("divided by the number of tokens", "Then nearly nothing is left after one further token: the term is "
        "multiplied by the decay each time.", LEFT / FURTHER),
    Mistake("a thousandth is lost for each token", "Each time a thousandth of what is left is lost: after 1,000 tokens "
        "about 1 / e, 0.37, is left.", 1 - 1 / FURTHER, math.exp(-1 / FURTHER)),
    Mistake("base and exponent are exchanged", "The decay is the base: it is raised to the power of 1,000.",
        FURTHER**-LEFT),
    Mistake("the loss is divided evenly", "A term does not lose the same amount at every token: each time it loses the "
        "same share of what is left.", 1 - (1 - LEFT) / FURTHER),
    Mistake("what is lost at each token", "That is the share which a token takes away. The decay is the share which it "
        "leaves.", 1 - LEFT ** (1 / FURTHER)),
)  # fmt: skip

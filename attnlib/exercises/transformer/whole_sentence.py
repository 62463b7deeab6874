"""From words to sentences

predict · ★ · 3 min · 04-transformer/5-beams-and-bleu

A translator says each token right in 98 % of the cases as long as everything before it is right, independently of the
others. Which share of sentences with 12 words does it translate without any error? The end of the sentence has to be
said, too. Two decimals will do.

1. How many tokens must be right, one after the other?
2. Each is right with probability 0.98, given that those before are.
3. Multiply 0.98 with itself once for each token.

Two per cent of wrong tokens are nearly a quarter of wrong sentences. That is why the exact match is the harder figure,
and why it falls with the length even if no token of a long sentence is harder.
"""

from attnlib.exercises.engine.model import Mistake

RIGHT, WORDS = 0.98, 12


def answer():
    return RIGHT ** (WORDS + 1)


WITHIN = 0.006
MISTAKES = (
    Mistake("the end mark forgotten", "The end of the sentence is a token, too: there are 13.", RIGHT**WORDS),
    Mistake("errors added", "Added up, errors are counted twice where a sentence has two. Multiply what is right.",
        1 - (WORDS + 1) * (1 - RIGHT)),
    Mistake("errors of the words added", "Added up, errors are counted twice where a sentence has two, and the end is "
        "a token, too.", 1 - WORDS * (1 - RIGHT)),
    Mistake("one token", "That is one token. All of them must be right.", RIGHT),
    Mistake("the share with an error", "That is the share with an error. Asked for is the rest.",
        1 - RIGHT ** (WORDS + 1)),
    Mistake("a token too many", "Words and end are 13 tokens. The mark of the beginning is given, not said.",
        RIGHT ** (WORDS + 2)),
    Mistake("how many are right", "That is how many tokens of a sentence are right on average.", RIGHT * (WORDS + 1)),
    Mistake("a token too few", "Twelve words and the end are 13 tokens.", RIGHT ** (WORDS - 1)),
)  # fmt: skip

"""From words to sentences

predict · ★ · 3 min · 04-transformer/16-beams-and-bleu

A translator generates a sentence token by token. If all tokens before a token are right, the token is right with a
probability of 98 %. Which share of sentences with 12 words does it translate without any error? Each word is one
token, and the token for the end of the sentence must be right, too. Two decimals will do.

1. How many tokens must be right?
2. Each is right with probability 0.98, given that all tokens before it are right.
3. Multiply 0.98 by itself: one factor for each token.

With two per cent of wrong tokens nearly a quarter of the sentences are wrong. That is why the exact match is a harder
measure than the share of right tokens. It falls with the length even if no token of a long sentence is harder.
"""

from attnlib.exercises.engine.model import Mistake

RIGHT, WORDS = 0.98, 12


def answer():
    return RIGHT ** (WORDS + 1)


WITHIN = 0.006
MISTAKES = (
    Mistake("the end token left out", "The end of the sentence is a token, too: there are 13.",
        RIGHT**WORDS),
    Mistake("errors added", "If the probabilities of errors are added, a sentence with two errors counts twice. "
        "Multiply the probabilities of right tokens.",
        1 - (WORDS + 1) * (1 - RIGHT)),
    Mistake("errors of the words added", "If the probabilities of errors are added, a sentence with two errors "
        "counts twice. And the end is a token, too.",
        1 - WORDS * (1 - RIGHT)),
    Mistake("one token", "That is the probability of one token. All tokens must be right.",
        RIGHT),
    Mistake("the share with an error", "That is the share with an error. The question is about the rest.",
        1 - RIGHT ** (WORDS + 1)),
    Mistake("a token too many", "Words and end are 13 tokens. The token for the beginning is given, not generated.",
        RIGHT ** (WORDS + 2)),
    Mistake("the mean number of right tokens", "That is how many tokens of a sentence are right on average.",
        RIGHT * (WORDS + 1)),
    Mistake("a token too few", "Twelve words and the end are 13 tokens.",
        RIGHT ** (WORDS - 1)),
)  # fmt: skip

"""How many guesses?

predict · ★★ · 8 min · 04-transformer/14-guess-and-check

A guess is kept with probability 0.6, each independently of the others, and a guess costs a tenth of a pass of
the model. How
many guesses before each pass say the most tokens in a given time?

1. How many tokens does a round with k guesses say on average, and what does it cost, in passes?
2. The first is 1 + 0.6 + 0.6² + ... with k + 1 terms.
3. Divide it by 1 + 0.1 k for one value of k after the other, and look where it is largest.

The last guesses of a long draft are nearly always thrown away, because all before them must be right. So the
best number is
small even where guesses are cheap, and it grows with how often they are right.
"""


def answer():
    def tokens_in_a_pass(k):
        return sum(0.6**i for i in range(k + 1)) / (1 + 0.1 * k)

    return max(range(1, 30), key=tokens_in_a_pass)


MISTAKES = """
as many as possible | With many guesses the last are thrown away nearly always, and each costs a tenth of a pass.
    = 10
    = 29
one | A second guess is kept in 0.36 of the rounds, and costs a tenth of a pass.
    = 1
one too many | Compare with one guess fewer: what the last one adds to the tokens is less than its share of the cost.
    = 4
    = 5
one too few | Compare with one guess more.
    = 2
"""

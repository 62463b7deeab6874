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

from attnlib.exercises.engine.model import Mistake


def answer():
    def tokens_in_a_pass(k):
        return sum(0.6**i for i in range(k + 1)) / (1 + 0.1 * k)

    return max(range(1, 30), key=tokens_in_a_pass)


MISTAKES = (
    Mistake("as many as possible", "With many guesses the last are thrown away nearly always, and each costs a tenth "
        "of a pass.",
        10, 29),
    Mistake("one", "A second guess is kept in 0.36 of the rounds, and costs a tenth of a pass.", 1),
    Mistake("one too many", "Compare with one guess fewer: what the last one adds is less than its share of the cost. "
        "The model's own token counts as well: it is said whatever becomes of the guesses.", 4),
    Mistake("too many", "Compare with fewer guesses: the last ones add less than their share of the cost.",
        5, 6, 7),
    Mistake("one too few", "Compare with one guess more.", 2),
    Mistake("the tokens of a round", "That is how many tokens a round says. Asked for is how many guesses it should "
        "have.",
        sum(0.6**i for i in range(answer() + 1)), 1 / (1 - 0.6)),
    Mistake("the speed", "That is how many tokens are said in the time of one pass. Asked for is the number of "
        "guesses.", sum(0.6**i for i in range(answer() + 1)) / (1 + 0.1 * answer())),
    Mistake("none", "Without a guess a pass says one token. One guess adds 0.6 of a token for a tenth of a pass.", 0),
)  # fmt: skip

"""How many tokens should a draft propose?

predict · ★★ · 8 min · 04-transformer/14-guess-and-check

In speculative decoding a draft proposes k tokens, then one pass of the model checks them. The tokens before the first
wrong one are kept, and the model adds one token of its own. Each proposed token is right with probability 0.6,
independently of the others, and costs a tenth of a pass of the model. Which k generates the most tokens in a given
time?

1. How many tokens does a round with k proposals generate on average, and what does it cost, in passes?
2. The first is 1 + 0.6 + 0.6² + ... with k + 1 terms.
3. Divide it by 1 + 0.1 k for one value of k after the other, and find where it is largest.

The last tokens of a long draft are nearly always discarded, because all before them must be right. So the best number
is small even where proposals are cheap, and it grows with how often they are right.
"""

from attnlib.exercises.engine.model import Mistake


def answer():
    def tokens_in_a_pass(k):
        return sum(0.6**i for i in range(k + 1)) / (1 + 0.1 * k)

    return max(range(1, 30), key=tokens_in_a_pass)


MISTAKES = (
    Mistake("as many as possible", "With many proposals the last are nearly always discarded, and each costs a tenth "
        "of a pass.",
        10, 29),
    Mistake("one", "A second proposal is kept in 0.36 of the rounds, and costs a tenth of a pass.", 1),
    Mistake("one too many", "Compare with one proposal fewer: what the last one adds is less than its share of the "
        "cost. The model's own token counts as well: each round has one.", 4),
    Mistake("too many", "Compare with fewer proposals: the last ones add less than their share of the cost.",
        5, 6, 7),
    Mistake("one too few", "Compare with one proposal more.", 2),
    Mistake("the tokens of a round", "That is how many tokens a round generates. Give the number of proposals.",
        sum(0.6**i for i in range(answer() + 1)), 1 / (1 - 0.6)),
    Mistake("the speed", "That is how many tokens are generated in the time of one pass. Give the number of proposals.",
        sum(0.6**i for i in range(answer() + 1)) / (1 + 0.1 * answer())),
    Mistake("none", "Without a draft a pass generates one token. One proposal adds 0.6 of a token for a tenth of a "
        "pass.", 0),
)  # fmt: skip

"""A bag with unequal shares

predict · ★ · 4 min · 03-multi-head/1-why-several-heads

A symbol is a one-hot vector of 10 numbers. One head with fixed weights gives 0.6 to the left neighbour and 0.4
to the right one and returns the weighted mean. A decoder computes anything it likes from this mean, and must name the
symbol on the left and the symbol on the right. How often can it get both right, as a number between 0 and 1?

1. Write the mean down for the symbols 3 and 7. Which two numbers are in it, and at which positions?
2. And for 7 and 3?
3. What is there if both symbols are the same?

Equal shares lose the order, unequal ones keep it: 0.6 at symbol 3 shows that the 3 stood on the left. A layer that
reads this mean with a linear map and takes the largest score finds the symbol with the largest share, but no linear
map finds the one with the second largest. A feed-forward network can.
"""

from attnlib.exercises.engine.model import Mistake

LEFT, RIGHT, SYMBOLS = 0.6, 0.4, 10


def answer():
    means = {
        (a, b): tuple(LEFT * (s == a) + RIGHT * (s == b) for s in range(SYMBOLS))
        for a in range(SYMBOLS)
        for b in range(SYMBOLS)
    }
    return len(set(means.values())) / len(means)  # how many pairs have a mean of their own


MISTAKES = (
    Mistake("a guess from a bag", "That holds for equal shares, where the mean of 3 and 7 is that of 7 and 3. Here "
        "they differ.", (1 + 1 / SYMBOLS) / 2),
    Mistake("equal symbols only", "Equal symbols are the easy case. Look at the two numbers of the mean if they "
        "differ.", 1 / SYMBOLS),
    Mistake("the larger share", "The share is how much of a symbol arrives, not how often it is recognised.", LEFT),
    Mistake("one of the two", "The mean contains both, and the shares show which is which.", 0.5),
    Mistake("both shares", "The product of the shares has no meaning here: the mean is one vector, and nothing is "
        "drawn at random.", LEFT * RIGHT),
)  # fmt: skip

"""A beam search that changes its result

predict · ★ · 4 min · 04-transformer/7-what-to-say-next

Texts have three words. The first is *the* (0.6) or *a* (0.4). After *the* comes *cat* (0.55) or *dog* (0.45), after
*a* *dog* (0.9) or *cat* (0.1). The last word is *slept* or *ran*; *slept* has 0.6 after *the cat*, and *ran* has 0.7
after *the dog* and x after *a dog*. With x = 0.9 a beam search of width two returns *a dog ran*. Now x is lowered. At
which value of x does it begin to return another text? Give it to two decimals.

1. Which text does it return instead, and how probable is that one?
2. Write down the product for *a dog ran* with x in place of 0.9.
3. 0.4 · 0.9 · x equals the product of the text that greedy decoding finds.

The last word decides by its product with all before it, so a text that was less probable after two words may still
win, and one that led may still lose. A beam can wait for that, as long as the text is among those it keeps.
"""

from attnlib.exercises.engine.model import Mistake


def answer():
    return 0.6 * 0.55 * 0.6 / (0.4 * 0.9)


WITHIN = 0.004
MISTAKES = (
    Mistake("as probable as its rival's last word", "That is the probability of the last word of the other text. What "
        "must be equal are the products.", 0.6),
    Mistake("where both words are even", "At one half *ran* and *slept* are equally probable after *a dog*. The rival "
        "is another text, which begins with *the*.", 0.5),
    Mistake("the probability of the rival", "That is the product of the whole other text. Divide it by what *a dog* "
        "has before its last word.", 0.198),
    Mistake("against the second text of the same beginning", "That compares with *the dog ran*. Another text that "
        "begins with *the* is more probable.", 0.6 * 0.45 * 0.7 / (0.4 * 0.9)),
    Mistake("after two words", "That compares the first two words. The last word of the rival counts, too.",
        0.6 * 0.55 / (0.4 * 0.9)),
    Mistake("divided by the first word alone", "The second word, *dog*, is part of the product, too.", 0.198 / 0.4),
    Mistake("divided by the second word alone", "The first word, *a*, is part of the product, too.", 0.198 / 0.9),
    Mistake("how far it falls", "That is how far x falls. Give the value that it reaches.",
        0.9 - 0.6 * 0.55 * 0.6 / (0.4 * 0.9)),
    Mistake("a share of what it was", "That is by which factor the text may fall. Its last word had 0.9 before.",
        0.198 / (0.4 * 0.9 * 0.9)),
    Mistake("the first words alone", "That compares the first words. The others are part of the products, too.",
        0.4 / 0.6),
    Mistake("the text itself", "That is the product of *a dog ran* as it was.", 0.4 * 0.9 * 0.9),
    Mistake("where it stood", "At 0.9 the search does return *a dog ran*.", 0.9),
    Mistake("never", "The other text has a probability of its own, and overtakes long before zero.", 0),
)  # fmt: skip

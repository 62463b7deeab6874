"""One length is no control

predict · ★ · 4 min · 03-multi-head/4-a-circuit

A report feeds a model 50 random tokens and then the same 50 again. A head gives 0.6 of its weight to the position 49
back, where the token stands that came after the earlier occurrence. The report calls it an induction head. Another
reader objects: "It may look 49 positions back, whatever token is there." Which one experiment decides between the two?

1. On these texts, at which position does the one head look, and at which the other?
2. What must change so that the two positions are no longer the same?
3. Other tokens, other seeds and more texts leave the distance as it is. What changes the distance?

Let the same model read 30 random tokens twice. A head that completes now looks 29 back, one that counts still 49.
Every control works this way: find what the other explanation depends on, and change that alone.
"""

from attnlib.exercises.engine.model import Mistake

CHOICES = (
    "other random tokens, again 50 and the same 50",
    "30 random tokens and the same 30",
    "the same texts, in a model with another seed",
    "ten times as many texts of this kind",
)


def answer():
    return CHOICES[1]


CHOICES = CHOICES
MISTAKES = (
    Mistake("other tokens", "The position 49 back would still be the position after the earlier occurrence: both "
        "explain what is seen.", CHOICES[0]),
    Mistake("another model", "That tests whether other models do the same, whatever it is.", CHOICES[2]),
    Mistake("more of the same", "More texts make 0.6 more exact. They do not show what the head follows.", CHOICES[3]),
)  # fmt: skip

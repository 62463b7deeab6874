"""A hundred times the budget

predict · ★ · 5 min · 05-training/7-compute-data-size

A law of loss has the exponents a = 0.36 for the number of parameters and b = 0.24 for the number of tokens, and a
training costs 6 N D operations. The best size for one budget has been trained, and now the budget is a hundred times
as large. By which factor should the number of parameters grow?

1. At the best size, one more percent of parameters gains what one more percent of tokens gains.
2. The best size is a power of the budget. Which exponent of the law is in its numerator?
3. The exponent is b / (a + b): the term that falls more slowly gets more of the budget.

The number of tokens grows by the other factor, 100^0.6 = 15.8. With equal exponents both would grow tenfold. Published
fits differ in just this: Kaplan and others gave parameters a power of 0.73 of the budget, Hoffmann and others about a
half.
"""

from attnlib.exercises.engine.model import Mistake

A, B, GROWS = 0.36, 0.24, 100


def answer():
    return GROWS ** (B / (A + B))


WITHIN = 0.05
MISTAKES = (
    Mistake("exponents exchanged", "That is by how much the *tokens* grow: parameters lower the loss faster here, so "
        "fewer of them are wanted.", GROWS ** (A / (A + B))),
    Mistake("both alike", "Equal factors are right for equal exponents alone.", GROWS**0.5),
    Mistake("all for the size", "Then nothing would be left for more text.", GROWS),
    Mistake("the exponent alone", "The exponent says how the loss falls with the size. The best size is a power "
        "b / (a + b) of the budget.", GROWS**A, GROWS**B),
    Mistake("a share and no power", "The budget was divided as the exponents are. The factors are powers of the "
        "budget, and their product is the factor of the budget.", GROWS * B / (A + B), GROWS * A / (A + B)),
    Mistake("a ratio of exponents", "The two powers of the budget add up to one.", GROWS ** (B / A)),
    Mistake("the exponent", "That is the exponent. The budget grows a hundredfold.", B / (A + B)),
    Mistake("the other exponent", "That is an exponent, and of the tokens: the size grows by 100 to the power of "
        "b / (a + b).", A / (A + B)),
    Mistake("the six stays", "The 6 stands in both budgets and cancels.", (GROWS / 6) ** (B / (A + B))),
)  # fmt: skip

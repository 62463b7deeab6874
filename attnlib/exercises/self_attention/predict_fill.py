"""Minus a billion everywhere

predict · ★★ · 4 min · 02-self-attention/3-masks · after foundations.masked-softmax

A query may look nowhere: all of its n scores are replaced by -1e9, and the softmax subtracts the maximum.
In float32, what weight does each hidden key get?

1. What is the maximum of n equal numbers, and what is left after it is subtracted?
2. exp(0) is 1, n times.
3. Divide one by their number.

All scores are equally low, so each key gets 1/n: this query reads everything. With minus infinity the row
is nan instead, in float16 too, where -1e9 becomes minus infinity by itself.
"""

CHOICES = ("exactly 0", "the same as every other key", "1e-9", "nan")


def answer():
    return CHOICES[1]


CHOICES = CHOICES
MISTAKES = """
hidden for certain | The softmax looks at differences of scores, and here all are equal.
    = CHOICES[0]
minus infinity | That is what minus infinity gives. A finite number can be subtracted from itself.
    = CHOICES[3]
a small number | No score is far below the others: the maximum is as low as they are.
    = CHOICES[2]
"""

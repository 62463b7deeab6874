"""Three variables rotate

write · ★★ · 10 min · 06-efficient-attention/3-what-a-state-can-keep

S (d_k, d_v) is a state. keys (3, d_k) are the keys of the variables x, y and z, of length 1 and perpendicular to each
other. Return the state after `x, y, z = y, z, x`: for the key of x it gives what S gives for that of y, for y what S
gives for z, and for z what S gives for x. For a query perpendicular to the three keys nothing changes.

1. One write with value zero and step 2 exchanges two variables. Which two exchanges, in which order, do it?
2. Exchange x and y first. Then x is right. Which two must change now?
3. y and z. The key of an exchange is the difference of two keys, scaled to length 1.

Two reflections in a row are a rotation: this one turns by 120 degrees. One write a token cannot rotate, two can; with
more writes a token every rearrangement of any number of variables is possible.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def rotated(S, keys):
    """(d_k, d_v): the state after x has the value of y, y that of z, and z that of x."""
    for one, other in ((0, 1), (1, 2)):
        k = (keys[one] - keys[other]) / np.sqrt(2)
        S = S - 2 * np.outer(k, k @ S)
    return S


def by_rewriting(S, keys):
    return S + keys.T @ (np.roll(keys, -1, axis=0) - keys) @ S


def by_other_exchanges(S, keys):
    for one, other in ((0, 2), (0, 1)):
        k = keys[one] - keys[other]
        S = S - 2 * np.outer(k, k @ S) / (k @ k)
    return S


def by_one_matrix(S, keys):
    rest = np.eye(len(S)) - keys.T @ keys
    return (rest + sum(np.outer(keys[i], keys[(i + 1) % 3]) for i in range(3))) @ S


def one_after_another(S, keys):
    for i in range(3):
        S = S + np.outer(keys[i], (keys[(i + 1) % 3] - keys[i]) @ S)
    return S


def rows_rotated(S, keys):
    S = S.copy()
    S[[0, 1, 2]] = S[[1, 2, 0]]
    return S


def cases(rng):
    def one(d_k, d_v):
        keys = np.linalg.qr(drawn(rng, (d_k, 3))[0])[0].T
        return (*drawn(rng, (d_k, d_v)), keys)

    return {
        "five numbers in a key": one(5, 2),
        "the keys are axes": (drawn(rng, (4, 3))[0], np.eye(4)[[2, 0, 1]]),
        "nothing is perpendicular to them": one(3, 4),
        "as many rows as columns": one(4, 4),
    }


VARIANTS = (by_rewriting, by_other_exchanges, by_one_matrix)
MISTAKES = (
    Mistake("the other way round", "Here x has got the value of z. It should have that of y.",
        {"((0, 1), (1, 2))": "((1, 2), (0, 1))"}, lambda S, keys: S + keys.T @ (np.roll(keys, 1, axis=0) - keys) @ S),
    Mistake("only one exchange", "Two variables have changed their values, the third has kept its own.",
        {"((0, 1), (1, 2))": "((0, 1),)"}, {"((0, 1), (1, 2))": "((1, 2),)"}, {"((0, 1), (1, 2))": "((0, 2),)"}),
    Mistake("overwritten before it is read", "When z gets the value of x, x has already got that of y. Take all three "
        "values first.", one_after_another),
    Mistake("erased before the values are read", "The three keys give zero now. Read the values before they are "
        "erased.", lambda S, keys: S - keys.T @ keys @ S),
    Mistake("the new values are taken away", "Add the new values, and take the old ones away.",
        lambda S, keys: S - keys.T @ np.roll(keys, -1, axis=0) @ S),
    Mistake("the rows are rotated", "A variable is read with its key. Its value is no row of the state.", rows_rotated),
    Mistake("half an exchange", "Variables give averages of two values: a write goes only half as far as an exchange.",
        {"2 * np.outer": "np.outer"}),
    Mistake("the difference is not scaled to length 1", "The difference of two such keys has the length sqrt(2). With "
        "a key of another length than 1 a step of 2 is no exchange.", {" / np.sqrt(2)": ""}),
    Mistake("the rest is lost", "For queries perpendicular to the three keys the state should give what it gave "
        "before.", lambda S, keys: keys.T @ np.roll(keys, -1, axis=0) @ S),
    Mistake("added on top", "The variables give their old values and the new ones together. Take the old ones away.",
        lambda S, keys: S + keys.T @ np.roll(keys, -1, axis=0) @ S),
)  # fmt: skip

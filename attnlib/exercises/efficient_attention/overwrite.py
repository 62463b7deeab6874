"""Exactly this, and nothing else

write · ★★ · 8 min · 06-efficient-attention/2-three-faces-of-one-equation

S (d_k, d_v) is the state of a layer, k (d_k,) a key, and v (d_v,) a value. Return a state that gives exactly v when it
is read with k, and for every query perpendicular to k gives what S gives. k is not zero; its length need not be 1.

1. What does S give for k now, and what is missing?
2. Add the outer product of some vector with what is missing. For queries perpendicular to k this must give nothing.
3. So the vector is a multiple of k, and its dot product with k must be 1.

This is the smallest change of S that does it. With keys of length 1 the division is not needed: layers that use the
delta rule therefore scale their keys to length 1.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def overwrite(S, k, v):
    """(d_k, d_v): the state S after k has been made to give v, and nothing perpendicular to k has changed."""
    return S + np.outer(k, v - k @ S) / (k @ k)


def by_a_projection(S, k, v):
    unit = k / np.linalg.norm(k)
    return S - np.outer(unit, unit @ S) + np.outer(unit, v) / np.linalg.norm(k)


def by_solving(S, k, v):
    return S + np.linalg.pinv(k[None, :]) @ (v - k @ S)[None, :]


def cases(rng):
    S, k, v = drawn(rng, (3, 2), (3,), (2,))
    return {
        "a key of three numbers": (S, k, v),
        "a key of length one": (S, k / np.linalg.norm(k), v),
        "a long key": (*drawn(rng, (4, 3))[:1], 10 * drawn(rng, (4,))[0], drawn(rng, (3,))[0]),
        "an empty state": (np.zeros((3, 2)), k, v),
        "as many keys as values": drawn(rng, (3, 3), (3,), (3,)),
    }


VARIANTS = (by_a_projection, by_solving)
MISTAKES = (
    Mistake("the key is not normalised", "With a key whose length is not 1 this goes too far, or not far enough. "
        "Divide by its squared length.", {" / (k @ k)": ""}),
    Mistake("divided by the length", "Reading multiplies by k again, so its length counts twice.",
        {"(k @ k)": "np.linalg.norm(k)"}),
    Mistake("added on top", "The state gave something for k already. Add only what is missing.",
        {"v - k @ S": "v"}),
    Mistake("the old state is lost", "For queries perpendicular to k the state should give what it gave before.",
        lambda S, k, v: np.outer(k, v) / (k @ k)),
    Mistake("a shorter or longer copy of k is used", "The state then gives v for the copy of length 1, and not for k.",
        lambda S, k, v: overwrite(S, k / np.linalg.norm(k), v)),
    Mistake("only the old value is divided", "What S gave for k is erased exactly. What is written must give exactly v "
        "when it is read with k, whose length need not be 1.",
        {"(k, v - k @ S) / (k @ k)": "(k, v - k @ S / (k @ k))"}),
    Mistake("the old value is not erased exactly", "v is written exactly, and what S gave for k stays in part, or is "
        "subtracted too strongly.", {"outer(k, v - k @ S) / (k @ k)": "outer(k, v / (k @ k) - k @ S)"},
        {"outer(k, v - k @ S) / (k @ k)": "outer(k, v / (k @ k) - k @ S / (k @ k) ** 1.5)"}),
    Mistake("what is missing is taken away", "Add v - k S, not the opposite.", {"v - k @ S": "k @ S - v"}),
)  # fmt: skip

"""Three conventions for one mask

write · ★ · 8 min · 02-self-attention/3-masks

Turn a mask into a boolean one where True means "may attend". `kind` is "additive" (added to scores, minus
infinity hides, any other number only biases), "hidden" (True means hidden, as in `nn.MultiheadAttention`)
or "may look" (already right).

1. Which numbers of an additive mask hide a key for certain?
2. A bias of -3 makes a key unlikely, but it may still be looked at.
3. Additive: everything above minus infinity. Hidden: turn it round. Otherwise leave it.

Three conventions live in one library, and nothing in a mask shows which one it follows. Convert a mask once, where it
is passed in, and keep one convention inside.
"""

import math

import numpy as np

from attnlib.exercises.engine.model import Mistake


def may_look(mask, kind):
    """The course's mask, True = may look, from one of three others."""
    if kind == "additive":
        return mask > -math.inf
    if kind == "hidden":
        return ~mask
    return mask


def cases(rng):
    seen = np.array([[True, False, False], [True, True, False]])
    return {
        "additive, 0 and minus infinity": (np.where(seen, 0.0, -math.inf), "additive"),
        "additive, with a bias": (
            np.where(seen, np.array([[0.5, 1.0, 2.0], [-3.0, 0.0, 2.5]]), -math.inf),
            "additive",
        ),
        "additive, with a bias of -1e6": (
            np.array([[-1e6, 5.0, -math.inf], [0.0, -1e30, -math.inf]]),
            "additive",
        ),
        "True means hidden": (~seen, "hidden"),
        "True means may look": (seen, "may look"),
    }


def by_table(mask, kind):
    return {"additive": np.isfinite(mask), "hidden": np.logical_not(mask), "may look": np.asarray(mask)}[kind]


VARIANTS = (by_table, {"mask > -math.inf": "~np.isneginf(mask)", "~mask": "mask == False"})
MISTAKES = (
    Mistake("a bias counts as hidden", "A number below zero, or not equal to zero, only makes a key less or more "
        "likely. Minus infinity hides.",
        {"mask > -math.inf": "mask >= 0"}, {"mask > -math.inf": "mask == 0"}),
    Mistake("the additive mask is inverted", "Minus infinity hides, so those entries are False.",
        {"mask > -math.inf": "mask == -math.inf"}),
    Mistake("True still means hidden", "This kind has to be turned round.", {"return ~mask": "return mask"}),
    Mistake("the right mask was turned", 'True already meant "may look" there.', {"return mask\n": "return ~mask\n"}),
    Mistake("zero hides", "As a boolean every number but 0 is True, minus infinity too, and the zeros that allow a "
        "look are False.", {"mask > -math.inf": "mask != 0"}),
    Mistake("a factor, not a boolean", "exp turns minus infinity into 0 and a bias into a factor. Wanted is True "
        "or False.", {"mask > -math.inf": "np.exp(mask)"}),
    Mistake("hidden where the number is positive", "Only minus infinity hides; a positive number makes a key more "
        "likely.", {"mask > -math.inf": "mask <= 0"}),
)  # fmt: skip

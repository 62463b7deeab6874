"""One softmax too many

repair · ★★ · 6 min · 01-foundations/9-softmax-in-finite-precision · after foundations.softmax

A decoder's words come out nearly even, however sure it should be. H is (..., d), W is (d, words). Find out
why and repair it: the result should be the softmax of H W.

1. How large can the ratio of two results be, if both inputs of the last exponential lie between 0 and 1?
2. Count how often something is exponentiated and divided by a sum.
3. The name `logits` should hold what comes out of the linear layer, and nothing that was normalised
   already.

After a second softmax no word of V can get more than e / (e + V - 1). A printed formula with exp outside
and a softmax inside does this.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def next_word(H, W):
    """The distribution over the next word for each state: logits from a linear layer, then one softmax."""
    logits = H @ W
    E = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1, keepdims=True)


def cases(rng):
    return {
        "two states": (rng.normal(size=(2, 3)), rng.normal(size=(3, 4))),
        "a batch": (rng.normal(size=(2, 3, 5)), 2 * rng.normal(size=(5, 7))),
        "large logits": (100 * rng.normal(size=(2, 4)), rng.normal(size=(4, 5))),
        "all sizes equal": (rng.normal(size=(3, 3)), rng.normal(size=(3, 3))),
    }


GIVEN = ("softmax of a softmax",)
VARIANTS = (
    {"E = np.exp(logits - logits.max(axis=-1, keepdims=True))":
         "E = np.exp(logits - np.max(logits, axis=-1)[..., None])"},
    {"logits = H @ W": "logits = np.einsum('...d,dv->...v', H, W)"},
)  # fmt: skip
MISTAKES = (
    Mistake("softmax of a softmax", "The logits were made into a distribution before the last line did it again, "
        "which flattens it.",
        {"E = np.exp(logits - logits.max(axis=-1, keepdims=True))":
             "first = np.exp(logits - logits.max(axis=-1, keepdims=True))\n    logits = first / first.sum(axis=-1, "
             "keepdims=True)\n    E = np.exp(logits - logits.max(axis=-1, keepdims=True))"}),
    Mistake("no softmax left", "These are logits: they neither are positive nor sum to one.",
        {"return E / E.sum(axis=-1, keepdims=True)": "return logits"}),
    Mistake("not divided by the sum", "The exponentials still have to be divided by their sum.",
        {"return E / E.sum(axis=-1, keepdims=True)": "return E"}),
)  # fmt: skip

"""Scores with two bugs

repair · ★ · 6 min · 01-foundations/4-softmax-and-scale · after foundations.predict-scale

The scores that this function returns should have a spread of one. It has two bugs; repair both.

1. Print the shapes of Q and K, and what the function takes for d_k.
2. Which axis of Q counts the queries, and which counts the numbers in a query?
3. Both bugs are about d_k: from which axis it is taken, and what is done with it before the division.

The last axis of Q counts the numbers in one query, and that is how many products a score adds up. Their
spread is the root of it.
"""

import math

from attnlib.exercises.engine.model import Mistake


def scaled_scores(Q, K):
    """A score for each query and key, with a spread of one whatever d_k is."""
    d_k = Q.shape[-1]
    return Q @ K.swapaxes(-1, -2) / math.sqrt(d_k)


def cases(rng):
    return {
        "two sequences": (rng.normal(size=(2, 3, 7)), rng.normal(size=(2, 5, 7))),
        "as many keys as d_k": (rng.normal(size=(3, 5)), rng.normal(size=(5, 5))),
        "all sizes equal": (rng.normal(size=(3, 3, 3)), rng.normal(size=(3, 3, 3))),
        "d_k of 64": (rng.normal(size=(2, 64)), rng.normal(size=(3, 64))),
    }


GIVEN = ("d_k from the wrong axis", "divided by d_k, not by its root")
VARIANTS = (
    {"Q @ K.swapaxes(-1, -2) / math.sqrt(d_k)": "(Q / d_k**0.5) @ K.swapaxes(-1, -2)"},
    {"Q @ K.swapaxes(-1, -2)": "(Q[..., :, None, :] * K[..., None, :, :]).sum(axis=-1)"},
)  # fmt: skip
MISTAKES = (
    Mistake("d_k from the wrong axis", "Q.shape[-2] counts the queries. d_k is how many numbers one query has.",
        {"Q.shape[-1]": "Q.shape[-2]"}),
    Mistake("divided by d_k, not by its root", "The spread of a dot product is the root of d_k; dividing by d_k, or "
        "twice by its root, makes the scores too small.", {"math.sqrt(d_k)": "d_k"}),
    Mistake("number of keys in place of d_k", "K.shape[-2] counts the keys. d_k is how many numbers one key has.",
        {"Q.shape[-1]": "K.shape[-2]"}),
    Mistake("not scaled", "The scores are plain dot products, with a spread of √d_k.", {"/ math.sqrt(d_k)": ""}),
    Mistake("multiplied by √d_k", "The scores were made larger by √d_k; they should be made smaller.",
        {"/ math.sqrt": "* math.sqrt"}),
    Mistake("K is not transposed", "Where K happens to be square it runs, but a score must pair a query's d_k numbers "
        "with a key's.", {"K.swapaxes(-1, -2)": "K"}),
)  # fmt: skip

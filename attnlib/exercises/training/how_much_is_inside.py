"""How much of the test is inside?

write · ★★ · 10 min · 05-training/14-what-to-train-on

A test has a shingles, a document has b, and of n minima of the two sets some agree. A long document that contains the
whole test is not at all similar to it. Estimate instead the containment: the share of the *test's* shingles that the
document has, too. agree (k, n) is True where a minimum of document k agrees with the test's, a is a number and b (k,).
The share of minima that agree estimates the Jaccard similarity of two sets. Return the containment of the test in each
document, (k,), at most 1.

1. How many shingles do two sets have in common, if their Jaccard similarity is J and their sizes are a and b?
2. In the union each common shingle is counted once, and a + b counts it twice.
3. J = c / (a + b - c), so c = J (a + b) / (1 + J). Divide c by a, and cut what is above 1.

A. Broder's paper of 1997 has both measures in its title, resemblance and containment. The estimate is poor for long
documents: J is then close to zero, and one more minimum that agrees by luck changes the containment a lot. That is
why leaks are looked for by exact runs of words.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def containment(agree, a, b):
    """The estimated share of the test that each document contains; agree (k, n), b (k,)."""
    J = agree.mean(axis=1)
    common = J * (a + b) / (1 + J)
    return np.minimum(common / a, 1)


def one_by_one(agree, a, b):
    found = []
    for row, size in zip(agree, b, strict=True):
        equal, n = int(np.sum(row)), len(row)
        found.append(min(1.0, equal * (a + size) / ((n + equal) * a)))
    return np.array(found)


def through_the_union(agree, a, b):
    J = np.count_nonzero(agree, axis=-1) / agree.shape[-1]
    union = (a + b) / (1 + J)
    return np.clip((a + b - union) / a, None, 1.0)


def cases(rng):
    def agreeing(k, n, a, b, share):
        return rng.random((k, n)) < np.reshape(share, (-1, 1)), a, np.array(b)

    return {
        "one in three agrees": (np.array([[True, False, False, True, False, False]]), 10, np.array([10])),
        "three documents": agreeing(3, 40, 30, [50, 200, 35], [0.4, 0.1, 0.7]),
        "long documents": agreeing(4, 128, 25, [400, 900, 300, 600], [0.04, 0.02, 0.06, 0.03]),
        "none agrees": (np.zeros((2, 8), dtype=bool), 5, np.array([6, 7])),
        "the same set": (np.ones((1, 8), dtype=bool), 12, np.array([12])),
        "shorter documents": agreeing(3, 64, 80, [30, 20, 50], [0.3, 0.2, 0.5]),
        "all sizes equal": agreeing(4, 4, 4, [4, 4, 4, 4], [0.5, 0.2, 0.7, 0.4]),
    }


VARIANTS = (one_by_one, through_the_union)
MISTAKES = (
    Mistake("the Jaccard similarity", "That is the Jaccard similarity. Containment is how much of the test is "
        "inside, however long the document is.", lambda agree, a, b: agree.mean(axis=1)),
    Mistake("of the document", "That is the share of the document's shingles that the test has. Return the "
        "share of the test's.", {"common / a": "common / b"}),
    Mistake("the common ones are counted twice", "a + b counts the common shingles twice; the union has fewer.",
        {"J * (a + b) / (1 + J)": "J * (a + b)"}),
    Mistake("a minus sign", "From J = c / (a + b - c) follows c = J (a + b) / (1 + J).",
        {"/ (1 + J)": "/ np.maximum(1 - J, 1e-9)"}),
    Mistake("how many are common", "That is the number of common shingles. Divide it by the test's.",
        {"np.minimum(common / a, 1)": "common"}),
    Mistake("of the shorter one", "The share of the shorter set was taken. Divide by the test's size.",
        {"common / a": "common / np.minimum(a, b)"}),
)  # fmt: skip

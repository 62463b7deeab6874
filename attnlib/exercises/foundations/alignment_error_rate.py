r"""How wrong is an alignment?

write · ★ · 8 min · 01-foundations/1-the-bottleneck

A, S and P are boolean matrices (target words, source words): predicted, sure and possible links. Write the
alignment error rate, $1 - (|A \cap S| + |A \cap P|) / (|A| + |S|)$, where a sure link also counts as
possible, whether or not P marks it.

1. How do you count the links that two boolean matrices have in common?
2. Before you count, make sure that P contains every sure link.
3. Join P and S with `|`. Count A with S and A with P by `&` and a sum, divide the total by the links in A
   plus those in S, and take it from one.

A missing sure link costs, a predicted link that is not even possible costs, and one that is possible
without being sure is free. With all links sure it is one minus the F1 score.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def alignment_error_rate(A, S, P):
    """1 - (|A and S| + |A and P|) / (|A| + |S|) of a predicted alignment A, where sure links are possible too."""
    P = P | S
    hits = (A & S).sum() + (A & P).sum()
    return 1 - hits / (A.sum() + S.sum())


def reference(A, S, P):
    from attnlib.metrics import alignment

    return alignment.alignment_error_rate(
        *({tuple(link) for link in np.argwhere(M).tolist()} for M in (A, S, P))
    )


def cases(rng):
    def case(*size):
        sure = np.zeros(size, dtype=bool)
        sure[np.arange(size[0]), np.arange(size[0]) % size[1]] = True
        sure[0, 0] = False
        return rng.random(size) < 0.4, sure, (rng.random(size) < 0.3) & ~sure

    A, S, P = case(4, 5)
    return {
        "three words and four": case(3, 4),
        "six words and five": case(6, 5),
        "possible links with the sure ones among them": (A, S, P | S),
        "every link is sure": (A, S, np.zeros_like(S)),
        "a perfect alignment": (S, S, P),
        "nothing in common": (~S & ~P, S, P),
        "nine words each": case(9, 9),
    }


def aer_with_sets(A, S, P):
    A, S, P = ({tuple(link) for link in np.argwhere(M).tolist()} for M in (A, S, P))
    misses = 2 * len(A) - len(A & (P | S)) - len(A & S) + len(S) - len(A)
    return misses / (len(A) + len(S))


VARIANTS = (aer_with_sets, {"P = P | S": "P = np.maximum(P, S)"})
MISTAKES = (
    Mistake("divided by A alone", "The denominator has the predicted and the sure links.",
        lambda A, S, P: 1 - ((A & S).sum() + (A & (P | S)).sum()) / A.sum()),
    Mistake("sure links are not possible", "A sure link that was found counts in both intersections, because every "
        "sure link is possible too.", {"P = P | S": "P = P & ~S"}),
    Mistake("P without S", "P was used as it came. Where it does not list the sure links, they have to be added.",
        {"P = P | S\n    ": ""}),
    Mistake("not taken from one", "This grows with what is right. An error rate is 0 for a perfect alignment.",
        {"1 - hits": "hits"}),
    Mistake("only sure links count", "A predicted link that is possible without being sure was counted as an error; "
        "it should cost nothing.", {"(A & P).sum()": "(A & S).sum()"}),
    Mistake("only possible links count", "The possible links were counted twice; one of the two intersections is with "
        "the sure links.", {"(A & S).sum() + (A & P).sum()": "2 * (A & P).sum()"}),
    Mistake("divided by the possible links", "In the denominator stand the predicted and the sure links. To leave out "
        "a possible link costs nothing.", {"A.sum() + S.sum()": "A.sum() + P.sum()"}),
    Mistake("divided by the union", "Links in both A and S were counted once below the line; there they count twice.",
        {"(A.sum() + S.sum())": "(A | S).sum()"}),
    Mistake("precision only", "This is the share of predicted links that are not even possible; the missing sure "
        "links do not show.", {"hits / (A.sum() + S.sum())": "(A & P).sum() / A.sum()"}),
    Mistake("recall only", "This is the share of sure links that were missed; wrong links that were predicted do not "
        "show.", {"hits / (A.sum() + S.sum())": "(A & S).sum() / S.sum()"}),
    Mistake("share of entries that agree", "All entries where A and S agree were counted, the many without any link as "
        "well.", {"1 - hits / (A.sum() + S.sum())": "1 - (A == S).mean()"}),
    Mistake("P changed in place", "`|=` writes into the caller's P. Make a new array.", {"P = P | S": "P |= S"}),
)  # fmt: skip

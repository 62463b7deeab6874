"""Context vectors, and how well their weights align two sentences (eq-context, eq-aer)."""

import numpy as np

from attnlib.exercises import properties as laws
from attnlib.exercises.model import CodeExercise, Mistake

PAGE = "01-foundations/1-the-bottleneck"


def alignment_error_rate(A, S, P):
    """1 - (|A and S| + |A and P|) / (|A| + |S|) of a predicted alignment A, where sure links are possible too."""
    P = P | S
    hits = (A & S).sum() + (A & P).sum()
    return 1 - hits / (A.sum() + S.sum())


def aer_reference(A, S, P):
    from attnlib.metrics import alignment

    return alignment.alignment_error_rate(
        *({tuple(link) for link in np.argwhere(M).tolist()} for M in (A, S, P))
    )


def aer_cases(rng):
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


aer = CodeExercise(
    id="foundations.alignment-error-rate",
    title="How wrong is an alignment?",
    kind="write",
    level=1,
    minutes=8,
    page=PAGE,
    task="A, S and P are boolean matrices (target words, source words): predicted, sure and possible links. Write the "
    "alignment error rate, $1 - (|A \\cap S| + |A \\cap P|) / (|A| + |S|)$, where a sure link also counts as possible, "
    "whether or not P marks it.",
    hints=(
        "How do you count the links that two boolean matrices have in common?",
        "Before you count, make sure that P contains every sure link.",
        "Join P and S with `|`. Count A with S and A with P by `&` and a sum, divide the total by the links in A plus "
        "those in S, and take it from one.",
    ),
    commentary="A missing sure link costs, a predicted link that is not even possible costs, and one that is possible "
    "without being sure is free. With all links sure it is one minus the F1 score.",
    solution=alignment_error_rate,
    reference=aer_reference,
    cases=aer_cases,
    variants=(aer_with_sets, {"P = P | S": "P = np.maximum(P, S)"}),
    mistakes=(
        Mistake(
            "sure links are not possible",
            "A sure link that was found counts in both intersections, because every sure link is possible too.",
            {"P = P | S": "P = P & ~S"},
        ),
        Mistake(
            "P without S",
            "P was used as it came. Where it does not list the sure links, they have to be added.",
            {"P = P | S\n    ": ""},
        ),
        Mistake(
            "not taken from one",
            "This grows with what is right. An error rate is 0 for a perfect alignment.",
            {"1 - hits": "hits"},
        ),
        Mistake(
            "only sure links count",
            "A predicted link that is possible without being sure was counted as an error; it should cost nothing.",
            {"(A & P).sum()": "(A & S).sum()"},
        ),
        Mistake(
            "only possible links count",
            "The possible links were counted twice; one of the two intersections is with the sure links.",
            {"(A & S).sum() + (A & P).sum()": "2 * (A & P).sum()"},
        ),
        Mistake(
            "divided by the possible links",
            "In the denominator stand the predicted and the sure links. To leave out a possible link costs nothing.",
            {"A.sum() + S.sum()": "A.sum() + P.sum()"},
        ),
        Mistake(
            "divided by the union",
            "Links in both A and S were counted once below the line; there they count twice.",
            {"(A.sum() + S.sum())": "(A | S).sum()"},
        ),
        Mistake(
            "precision only",
            "This is the share of predicted links that are not even possible; the missing sure links do not show.",
            {"hits / (A.sum() + S.sum())": "(A & P).sum() / A.sum()"},
        ),
        Mistake(
            "recall only",
            "This is the share of sure links that were missed; wrong links that were predicted do not show.",
            {"hits / (A.sum() + S.sum())": "(A & S).sum() / S.sum()"},
        ),
        Mistake(
            "share of places that agree",
            "All places where A and S agree were counted, the many without any link as well.",
            {"1 - hits / (A.sum() + S.sum())": "1 - (A == S).mean()"},
        ),
        Mistake(
            "P changed in place",
            "`|=` writes into the caller's P. Make a new array.",
            {"P = P | S": "P |= S"},
        ),
    ),
)


def context_vectors(S, H):
    """For each target word the average of the encoder's states H, weighted by the softmax of its scores S."""
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    alpha = E / E.sum(axis=-1, keepdims=True)
    return alpha @ H


def context_reference(S, H):
    from attnlib.reference import attention

    return attention.attend(S, H)[0]


def context_cases(rng):
    return {
        "two target words, three source words": (rng.normal(size=(2, 3)), rng.normal(size=(3, 4))),
        "two sentences": (rng.normal(size=(2, 3, 5)), rng.normal(size=(2, 5, 4))),
        "all sizes equal": (rng.normal(size=(3, 3)), rng.normal(size=(3, 3))),
        "scores of 1 and of 800": (
            rng.normal(size=(2, 4)) * np.array([[1.0], [900.0]]),
            rng.normal(size=(4, 3)),
        ),
        "float32": (rng.normal(size=(2, 3)).astype(np.float32), rng.normal(size=(3, 4)).astype(np.float32)),
    }


def context_by_loops(S, H):
    C = np.zeros((*S.shape[:-1], H.shape[-1]), dtype=H.dtype)
    for where in np.ndindex(S.shape[:-1]):
        E = np.exp(S[where] - np.max(S[where]))
        for j, state in enumerate(H[where[:-1]]):
            C[where] += E[j] / E.sum() * state
    return C


context = CodeExercise(
    id="foundations.context-vector",
    title="A context for every word",
    kind="fill",
    level=1,
    minutes=6,
    page=PAGE,
    task="S (..., target, source) scores every source word for every target word, H (..., source, d) holds the "
    "encoder's states. Fill the gaps: the weights `alpha` and the context vectors $c_i = \\sum_j \\alpha_{ij} h_j$.",
    hints=(
        "What must the weights of one target word sum to, and what do the exponentials sum to?",
        "The sum over j runs over the last axis of the weights and over the rows of H: that is a matrix product.",
        "Divide the exponentials by the sum of their row, keeping the axis; then multiply the weights with the states.",
    ),
    commentary="With one context for all words there would be one row of weights. Here each target word has its own, "
    "so no vector has to hold the whole sentence.",
    solution=context_vectors,
    reference=context_reference,
    cases=context_cases,
    blanks=("E / E.sum(axis=-1, keepdims=True)", "alpha @ H"),
    properties=(laws.separate_batches(0, 1), laws.blind_to_order({0: -1, 1: -2})),
    variants=(
        context_by_loops,
        {"alpha @ H": "np.einsum('...ij,...jd->...id', alpha, H)"},
        {"E / E.sum(axis=-1, keepdims=True)": "E / E.sum(axis=-1)[..., None]"},
    ),
    mistakes=(
        Mistake(
            "not divided by the sum",
            "The largest weight of each row is one; it is the sum of the row that should be.",
            {"E / E.sum(axis=-1, keepdims=True)": "E"},
            {"E.sum(axis=-1, keepdims=True)": "E.max(axis=-1, keepdims=True)"},
        ),
        Mistake(
            "normalised over the target words",
            "The weights of each source word sum to one; those of each target word should.",
            {"E.sum(axis=-1, keepdims=True)": "E.sum(axis=-2, keepdims=True)"},
        ),
        Mistake(
            "one sum for all",
            "All weights together sum to one; those of each target word should by themselves.",
            {"E.sum(axis=-1, keepdims=True)": "E.sum()"},
        ),
        Mistake(
            "sum without keepdims",
            "The sums lost their axis, so NumPy lined them up with the columns, not with the rows.",
            {"E.sum(axis=-1, keepdims=True)": "E.sum(axis=-1)"},
        ),
        Mistake(
            "scores used as weights",
            "The raw scores were multiplied with the states, without the softmax.",
            {"alpha @ H": "S @ H"},
        ),
        Mistake(
            "weights transposed",
            "Where there are as many target as source words it runs, but then each source word gets a context.",
            {"alpha @ H": "alpha.swapaxes(-1, -2) @ H"},
        ),
        Mistake(
            "mean of the states",
            "Each target word got the plain mean of all states: the weights have no part in it.",
            {"alpha @ H": "np.ones_like(alpha) @ H / H.dtype.type(H.shape[-2])"},
        ),
        Mistake(
            "only the best word",
            "Each context is the state of one word, the one with the largest score. A context is an average of all.",
            {"alpha @ H": "(alpha == alpha.max(axis=-1, keepdims=True)).astype(H.dtype) @ H"},
        ),
        Mistake(
            "no maximum subtracted",
            "exp(800) is larger than the largest float, so it becomes inf, and inf / inf is nan.",
            {"S - S.max(axis=-1, keepdims=True)": "S"},
        ),
        Mistake(
            "float32 became float64",
            "float32 went in and float64 came out: some number on the way was float64.",
            {"return alpha": "return np.float64(1) * alpha"},
        ),
    ),
)

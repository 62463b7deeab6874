"""Greedy speculative decoding

write · ★★ · 10 min · 04-transformer/14-guess-and-check

In speculative decoding a small draft model has proposed tokens (k,), and one pass of the large model has given S (k +
1, vocab): row i are its scores for the token at the position of proposal i, given the proposals before it; the last
row is for the token after all of them. The text must be the one that the large model generates alone, greedily. Return
the tokens of this round, an array: the proposals up to the first that the large model would not have generated, and
then the large model's own token.

1. Which token would the model have generated at the position of each proposal?
2. Rows after the first wrong proposal were computed from a text that is discarded.
3. Count the right proposals from the left until the first wrong one. The model's own token comes from the row after
   them, and there is one even if all proposals are right.

So each pass generates at least one token, as it would without a draft, and at most k + 1. The greedy text is the same
to the last token, however good the draft is: a bad draft costs time, never quality.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def greedy_round(tokens, S):
    """The tokens that this round says, at most k + 1; tokens (k,), S (k + 1, vocab)."""
    own = S.argmax(axis=-1)
    wrong = np.flatnonzero(own[: len(tokens)] != tokens)
    kept = wrong[0] if len(wrong) else len(tokens)
    return own[: kept + 1]


def by_loop(tokens, S):
    said = []
    for guess, scores in zip(tokens, S[:-1], strict=True):
        best = int(scores.argmax())
        said.append(best)
        if best != guess:
            return np.array(said)
    return np.array([*said, int(S[-1].argmax())])


def by_product(tokens, S):
    right = np.cumprod([int(np.argmax(row)) == token for row, token in zip(S[:-1], tokens, strict=True)])
    kept = int(right.sum())
    return np.array([*tokens[:kept], np.argmax(S[kept])])


def all_that_are_right(tokens, S):
    """As many proposals as are right, from the first on."""
    own = S.argmax(axis=-1)
    kept = (own[: len(tokens)] == tokens).sum()
    return np.array([*tokens[:kept], own[kept]])


def up_to_the_last(tokens, S):
    """Up to the last right proposal, with the wrong ones before it."""
    own = S.argmax(axis=-1)
    kept = max(np.flatnonzero(own[: len(tokens)] == tokens), default=-1) + 1
    return np.array([*tokens[:kept], own[kept]])


def cases(rng):
    def round_(k, vocab, right):
        S = rng.normal(size=(k + 1, vocab))
        best = S.argmax(axis=-1)
        tokens = np.where(right, best[:k], (best[:k] + 1 + rng.integers(0, vocab - 1, k)) % vocab)
        return tokens, S

    return {
        "the third is wrong": round_(4, 5, [True, True, False, True]),
        "all are right": round_(3, 4, [True, True, True]),
        "the first is wrong": round_(3, 6, [False, True, True]),
        "all are wrong": round_(2, 4, [False, False]),
        "two of six are wrong": round_(6, 7, [True, True, True, False, False, True]),
        "five are right": round_(5, 6, [True] * 5),
        "one guess": round_(1, 3, [True]),
    }


def right_ones(tokens, S):
    return [token for token, own in zip(tokens, S.argmax(-1), strict=False) if token == own]


VARIANTS = (by_loop, by_product)
MISTAKES = (
    Mistake("no token of its own", "The model's own token is missing: after the last right proposal it generates one "
        "more.",
        {"own[: kept + 1]": "own[:kept]"}),
    Mistake("right proposals after a wrong one", "Proposals after the first wrong one were kept. They follow a token "
        "that is discarded.",
        lambda tokens, S: np.array([*right_ones(tokens, S), S.argmax(-1)[-1]]),
        lambda tokens, S: np.array([*right_ones(tokens, S), S.argmax(-1)[len(right_ones(tokens, S))]])),
    Mistake("all proposals are kept", "Nothing was checked: all proposals were kept.",
        lambda tokens, S: np.array([*tokens, S.argmax(-1)[-1]])),
    Mistake("all rows are read", "After the first wrong proposal the rows belong to a text that is discarded.",
        lambda tokens, S: S.argmax(axis=-1)),
    Mistake("the wrong proposal is kept",
        "The refused proposal was kept, too. The model's own token replaces it.",
        lambda tokens, S: np.array([*tokens[: len(greedy_round(tokens, S))], greedy_round(tokens, S)[-1]]),
        {"own[: kept + 1]": "tokens[: kept + 1]"},
        {"own[: kept + 1]": "np.array([*tokens[: kept + 1], own[min(kept + 1, len(tokens))]])"}),
    Mistake("the last row is always the next", "The model's own token was read from the last row. It comes from the "
        "row of the first wrong proposal.", {"own[: kept + 1]": "np.array([*own[:kept], own[-1]])"}),
    Mistake("no token when all are right", "When all proposals are right, the last row gives one more token.",
        {"own[: kept + 1]": "own[: min(kept + 1, len(tokens))]"}),
    Mistake("the least likely", "Greedy decoding takes the token with the highest score.", {"S.argmax": "S.argmin"}),
    Mistake("all right proposals counted", "The round ends at the first wrong proposal, however many after it are "
        "right.",
        {"kept = wrong[0] if len(wrong) else len(tokens)": "kept = len(tokens) - len(wrong)"},
        {"wrong = np.flatnonzero(own[: len(tokens)] != tokens)":
             "right = np.flatnonzero(own[: len(tokens)] == tokens)",
         "kept = wrong[0] if len(wrong) else len(tokens)": "kept = right[-1] + 1 if len(right) else 0"},
        all_that_are_right,
        up_to_the_last),
    Mistake("the row after", "The model's own token was read one row too late. It comes from the row of the first "
        "wrong proposal.", {"own[: kept + 1]": "np.array([*own[:kept], own[min(kept + 1, len(tokens))]])"}),
    Mistake("the row before", "The model's own token was read one row too early. It comes from the row of the first "
        "wrong proposal.", {"own[: kept + 1]": "np.array([*own[:kept], own[max(kept - 1, 0)]])"}),
    Mistake("compared with the next row", "Row i has the scores for the position of proposal i, so compare proposal i "
        "with row i.", {"own[: len(tokens)] !=": "own[1:] !="}),
    Mistake("only the model's own token", "The right proposals before it are returned, too.",
        {"own[: kept + 1]": "own[kept : kept + 1]"}),
    Mistake("proposals after a correction", "After the first wrong proposal the rest of the draft is discarded.",
        {"own[: kept + 1]": "np.array([*own[: kept + 1], *tokens[kept + 1 :]])"}),
    Mistake("filled up", "Return as many tokens as the round has, without padding.",
        {"own[: kept + 1]": "np.array([*own[: kept + 1], *[-1] * (len(tokens) - kept)])"}),
    Mistake("a number, not the tokens", "That is a number of tokens. Return the tokens themselves.",
        {"return own[: kept + 1]": "return np.array(kept)"}, {"return own[: kept + 1]": "return np.array(kept + 1)"}),
)  # fmt: skip

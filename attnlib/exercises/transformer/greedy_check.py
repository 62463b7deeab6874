"""Guess and check, greedily

write · ★★ · 10 min · 04-transformer/14-guess-and-check

A draft has guessed tokens (k,), and one pass of the model has given S (k + 1, vocab): row i are its scores of
what comes
where guess i stands, with the guesses before it read; the last row is behind all of them. The model is to say
what it would
have said alone and greedily. Return the tokens of this round, an array: the guesses up to the first that the
model would not have
said, and then the model's own token.

1. What would the model have said in the place of each guess?
2. Rows behind the first wrong guess were computed from a text that is not said.
3. Count the right guesses from the left until the first wrong one; the model's own token stands in the row behind
   them, and there is one even if all guesses are right.

So each pass says at least one token, as it would without a draft, and at most k + 1. And greedy text stays the
same to the last
token, whatever the draft is worth: a bad one costs time, never quality.
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
    """So many guesses, right or not."""
    own = S.argmax(axis=-1)
    kept = (own[: len(tokens)] == tokens).sum()
    return np.array([*tokens[:kept], own[kept]])


def up_to_the_last(tokens, S):
    """Up to the last right guess, with the wrong ones before it."""
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
    Mistake("no token of its own", "The model's own token is missing: behind the last right guess it says one more.",
        {"own[: kept + 1]": "own[:kept]"}),
    Mistake("right guesses behind a wrong one", "Guesses behind the first wrong one were kept. They were guessed "
        "behind a token that is not said.",
        lambda tokens, S: np.array([*right_ones(tokens, S), S.argmax(-1)[-1]]),
        lambda tokens, S: np.array([*right_ones(tokens, S), S.argmax(-1)[len(right_ones(tokens, S))]])),
    Mistake("all guesses are said", "Nothing was checked: all guesses are said.",
        lambda tokens, S: np.array([*tokens, S.argmax(-1)[-1]])),
    Mistake("all rows are read", "Behind the first wrong guess the rows belong to a text that is not said.",
        lambda tokens, S: S.argmax(axis=-1)),
    Mistake("the wrong guess is said", "The guess that was refused was said, too. The model's own token stands in its "
        "place.",
        lambda tokens, S: np.array([*tokens[: len(greedy_round(tokens, S))], greedy_round(tokens, S)[-1]]),
        {"own[: kept + 1]": "tokens[: kept + 1]"},
        {"own[: kept + 1]": "np.array([*tokens[: kept + 1], own[min(kept + 1, len(tokens))]])"}),
    Mistake("the last row is always the next", "The model's own token was read from the last row. It stands in the "
        "row of the first wrong guess.", {"own[: kept + 1]": "np.array([*own[:kept], own[-1]])"}),
    Mistake("no token when all are right", "When all guesses are right the last row says one more.",
        {"own[: kept + 1]": "own[: min(kept + 1, len(tokens))]"}),
    Mistake("the least likely", "Greedy says the token of the highest score.", {"S.argmax": "S.argmin"}),
    Mistake("all right guesses counted", "The round ends at the first wrong guess, however many behind it are right.",
        {"kept = wrong[0] if len(wrong) else len(tokens)": "kept = len(tokens) - len(wrong)"},
        {"wrong = np.flatnonzero(own[: len(tokens)] != tokens)":
             "right = np.flatnonzero(own[: len(tokens)] == tokens)",
         "kept = wrong[0] if len(wrong) else len(tokens)": "kept = right[-1] + 1 if len(right) else 0"},
        all_that_are_right,
        up_to_the_last),
    Mistake("the row behind", "The model's own token was read one row too late. It stands in the row of the first "
        "wrong guess.", {"own[: kept + 1]": "np.array([*own[:kept], own[min(kept + 1, len(tokens))]])"}),
    Mistake("the row before", "The model's own token was read one row too early. It stands in the row of the first "
        "wrong guess.", {"own[: kept + 1]": "np.array([*own[:kept], own[max(kept - 1, 0)]])"}),
    Mistake("compared with the next row", "Row i says what comes where guess i stands, so guess i is compared with "
        "row i.", {"own[: len(tokens)] !=": "own[1:] !="}),
    Mistake("the own token alone", "The right guesses before it are said, too.",
        {"own[: kept + 1]": "own[kept : kept + 1]"}),
    Mistake("guesses behind a correction", "Behind the first wrong guess nothing is left of the draft.",
        {"own[: kept + 1]": "np.array([*own[: kept + 1], *tokens[kept + 1 :]])"}),
    Mistake("filled up", "The round has as many tokens as were said: nothing fills it up.",
        {"own[: kept + 1]": "np.array([*own[: kept + 1], *[-1] * (len(tokens) - kept)])"}),
    Mistake("how many, not which", "That is a number of tokens. The tokens themselves are asked for.",
        {"return own[: kept + 1]": "return np.array(kept)"}, {"return own[: kept + 1]": "return np.array(kept + 1)"}),
)  # fmt: skip

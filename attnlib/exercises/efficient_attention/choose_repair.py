"""A choice that looks ahead

repair · ★★ · 9 min · 06-efficient-attention/5-chosen-keys

Causal attention over chosen keys: I (n, n) holds an indexer's scores, S (n, n) the scores of the attention, V is
(n, d_v). Each query attends to the k keys with the largest index scores, of itself and the tokens before it, or to all
of these where there are fewer than k. Its weights sum to one. The function has two faults. Repair both.

1. Take k = 1 and an I whose largest score in the first row belongs to the last key. To which keys does token 1 attend?
2. Keys that a query may not attend to should not take part in the choice. What must their index scores be?
3. Print the sums of the weights. What should be done before the softmax, and not after it?

With the first fault no value of a later token is read, but later keys change the choice. In generation, where they do
not exist yet, the outputs would be different ones.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def chosen_attention(I, S, V, k):
    """(n, d_v): causal attention over the k keys with the largest index scores of each query."""
    past = np.tri(len(I), dtype=bool)
    I = np.where(past, I, -np.inf)
    best = np.argsort(-I, axis=1, kind="stable")[:, :k]
    chosen = np.zeros(I.shape, dtype=bool)
    np.put_along_axis(chosen, best, True, axis=1)
    S = np.where(chosen & past, S, -np.inf)
    E = np.exp(S - S.max(axis=1, keepdims=True))
    return E / E.sum(axis=1, keepdims=True) @ V


def token_by_token(I, S, V, k):
    O = np.empty(V.shape)
    for i in range(len(V)):
        best = np.argsort(-I[i, : i + 1], kind="stable")[:k]
        E = np.exp(S[i, best] - S[i, best].max())
        O[i] = E @ V[best] / E.sum()
    return O


def by_a_threshold(I, S, V, k):
    O = np.empty(V.shape)
    for i in range(len(V)):
        row = I[i, : i + 1]
        kept = row >= np.sort(row)[max(len(row) - k, 0)]
        E = np.exp(S[i, : i + 1] - S[i, : i + 1][kept].max()) * kept
        O[i] = E @ V[: i + 1] / E.sum()
    return O


def cases(rng):
    def one(n, d_v, k):
        return (*drawn(rng, (n, n), (n, n), (n, d_v)), k)

    return {
        "four tokens, two keys": one(4, 2, 2),
        "seven tokens, three keys": one(7, 3, 3),
        "one key": one(5, 2, 1),
        "all keys": one(4, 3, 4),
        "all sizes equal": one(3, 3, 2),
    }


BEFORE = {"    I = np.where(past, I, -np.inf)\n": ""}
BY_KEYS = {'axis=1, kind="stable")[:, :k]': 'axis=0, kind="stable")[:k]', "True, axis=1": "True, axis=0"}
HIDDEN = "S = np.where(chosen & past, S, -np.inf)"
GIVEN = ("later keys take part in the choice", "the weights do not sum to one")
VARIANTS = (token_by_token, by_a_threshold)
MISTAKES = (
    Mistake("later keys take part in the choice", "A later key uses up one of the k, and is hidden afterwards. Hide it "
        "before the choice.", BEFORE,
        BEFORE | {"E / E.sum(axis=1, keepdims=True)": "np.nan_to_num(E / E.sum(axis=1, keepdims=True))"}),
    Mistake("the weights do not sum to one", "The softmax runs over keys that were not chosen. Leave those out "
        "before it.",
        {"S = np.where(chosen & past, S, -np.inf)\n    E = np.exp(S - S.max(axis=1, keepdims=True))\n"
         "    return E / E.sum(axis=1, keepdims=True) @ V":
         "E = np.exp(S - S.max(axis=1, keepdims=True))\n    P = E / E.sum(axis=1, keepdims=True)\n"
         "    return (P * (chosen & past)) @ V"}, {HIDDEN: "S = np.where(past, S, -np.inf)", " @ V": " * chosen @ V"}),
    Mistake("later keys are attended to", "A query may attend to itself and to the tokens before it only.",
        {"    I = np.where(past, I, -np.inf)\n": "", "chosen & past": "chosen"},
        {"chosen & past": "chosen"}),
    Mistake("later keys have the index score 0", "0 is larger than a negative score, so a later key can still use up "
        "one of the k.", {"np.where(past, I, -np.inf)": "I * past"}),
    Mistake("a token does not attend to itself", "Itself and the tokens before it take part in the choice.",
        {"past = np.tri(len(I), dtype=bool)": "past = np.tri(len(I), k=-1, dtype=bool) | (np.arange(len(I)) == 0)"}),
    Mistake("the token itself is always kept", "The token itself takes part in the choice like those before it.",
        {"    S = np.where": "    np.fill_diagonal(chosen, True)\n    S = np.where"}),
    Mistake("the last k keys", "The index scores choose, not the positions.",
        {"argsort(-I": "argsort(-np.where(past, np.arange(len(I)), -1)"}),
    Mistake("each key chooses its queries", "A row of I belongs to a query, which chooses among the keys.", BY_KEYS,
        BY_KEYS | {"    S = np.where": "    np.fill_diagonal(chosen, True)\n    S = np.where"}),
    Mistake("the index scores are the weights", "The indexer only chooses. The weights come from S.",
        {HIDDEN: "S = np.where(chosen & past, I, -np.inf)"}, {HIDDEN: "S = np.where(chosen & past, S + I, -np.inf)"}),
    Mistake("the smallest index scores", "Keep the keys with the largest index scores.",
        {"np.argsort(-I, axis=1": "np.argsort(np.where(past, I, np.inf), axis=1"}),
)  # fmt: skip

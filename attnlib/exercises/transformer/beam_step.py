"""One step of a beam

write · ★★★ · 20 min · 04-transformer/7-what-to-say-next

A beam of one sentence holds k hypotheses: score (k,) are their sums of log-probabilities, and ended (k,) is True for
those that are complete. log_P (k, vocab) are the model's log-probabilities of the next token. A hypothesis that has
not ended competes with all its continuations. One that has ended competes once, as it is. Return the best `width` of
all, best first: parent (width,), the index of the hypothesis that each came from, token (width,) and score (width,);
the token of one that had ended is -1.

1. Which numbers compete? Write them into one table with a row for each hypothesis.
2. A row of the table has vocab continuations; an ended hypothesis has one entry in a column of its own, and
-inf in the others.
3. Join a column to score[:, None] + log_P, sort the flat table, and take quotient and remainder by its width.

A hypothesis that has ended must neither go on nor disappear. Here it stays in the beam and counts in its width. The
course's package keeps it in a separate list, so that all `width` hypotheses go on. Both are beam search, and sometimes
give different texts.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def beam_step(score, ended, log_P, width):
    """The best `width`: parent, token and score, each (width,); score, ended (k,), log_P (k, vocab)."""
    vocab = log_P.shape[1]
    goes_on = np.where(ended[:, None], -np.inf, score[:, None] + log_P)
    stays = np.where(ended, score, -np.inf)[:, None]
    table = np.concatenate([goes_on, stays], axis=1)
    best = np.argsort(-table, axis=None, kind="stable")[:width]
    parent, token = best // (vocab + 1), best % (vocab + 1)
    return parent, np.where(token == vocab, -1, token), table[parent, token]


def by_list(score, ended, log_P, width):
    grown = []
    for k in range(len(score)):
        if ended[k]:
            grown.append((score[k], k, -1))
        else:
            grown += [(score[k] + x, k, w) for w, x in enumerate(log_P[k])]
    grown.sort(key=lambda one: one[0], reverse=True)
    values, parents, tokens = zip(*grown[:width], strict=True)
    return np.array(parents), np.array(tokens), np.array(values)


def by_products(score, ended, log_P, width):
    k, vocab = log_P.shape
    flat = np.where(ended[:, None], 0.0, np.exp(score)[:, None] * np.exp(log_P))
    flat[ended, 0] = np.exp(score[ended])
    order = np.argsort(flat.ravel())[::-1][:width]
    parent, token = np.unravel_index(order, (k, vocab))
    return parent, np.where(ended[parent], -1, token), np.log(flat[parent, token])


def the_last_of_equals_first(score, ended, log_P, width):
    k, vocab = log_P.shape
    table = np.full((k, vocab + 1), -np.inf)
    table[~ended, :vocab] = log_P[~ended]
    table[ended, vocab] = 0
    total = (table + score[:, None]).reshape(-1)
    order = total.argsort(kind="stable")[::-1][:width]
    token = order % (vocab + 1)
    return order // (vocab + 1), np.where(token == vocab, -1, token), total[order]


def one_of_each(score, ended, log_P, width):
    """The best continuation of each hypothesis."""
    token = log_P.argmax(axis=1)
    total = np.where(ended, score, score + log_P.max(axis=1))
    order = np.argsort(-total, kind="stable")[:width]
    return order, np.where(ended, -1, token)[order], total[order]


def by_the_last_step(score, ended, log_P, width):
    """Ranked by the new token alone."""
    table = np.concatenate(
        [np.where(ended[:, None], -np.inf, log_P), np.where(ended, 0, -np.inf)[:, None]], axis=1
    )
    best = np.argsort(-table, axis=None, kind="stable")[:width]
    parent, token = best // table.shape[1], best % table.shape[1]
    said = np.where(token == log_P.shape[1], -1, token)
    return parent, said, score[parent] + np.where(said < 0, 0, log_P[parent, said])


def only_those_that_go_on(score, ended, log_P, width):
    """As few as there are."""
    rows = np.flatnonzero(~ended)
    parent, token, total = beam_step(score[rows], ended[rows], log_P[rows], width)
    found = total > -np.inf
    return rows[parent][found], token[found], total[found]


def cases(rng):
    def beam(k, vocab, ended, width, spread=1.0):
        S = spread * rng.normal(size=(k, vocab))
        log_P = S - np.log(np.exp(S).sum(axis=1, keepdims=True))
        return -np.sort(rng.uniform(0.5, 3, k)), np.array(ended), log_P, width

    score, _, log_P, _ = beam(3, 4, [False] * 3, 3)
    return {
        "two of three stay": beam(3, 4, [False, False, True], 2),
        "five from two": beam(2, 6, [False, True], 5),
        "nothing has ended": beam(2, 4, [False, False], 2),
        "one has ended": (np.array([-1.0, -1.2, -2.0]), np.array([False, True, False]), log_P, 3),
        "the likeliest has ended": beam(3, 5, [True, False, False], 3),
        "all but one": beam(4, 3, [True, True, False, True], 4),
        "one parent has the best children": (np.array([-0.5, -6.0, -7.0]), np.array([False] * 3), log_P, 3),
    }


RETURNS = ("parent", "token", "score")
VARIANTS = (by_list, by_products, the_last_of_equals_first)
MISTAKES = (
    Mistake("an ended one disappears", "A hypothesis that had ended is gone. It competes once, as it is.",
        {"stays = np.where(ended, score, -np.inf)[:, None]": "stays = np.full((len(score), 1), -np.inf)"},
        only_those_that_go_on),
    Mistake("log-probabilities multiplied", "Log-probabilities were multiplied. Probabilities are multiplied; their "
        "logarithms are added.",
        {"score[:, None] + log_P": "score[:, None] * log_P"}, {"score[:, None] + log_P": "-score[:, None] * log_P"}),
    Mistake("worst first", "These are the least likely. Return the best.",
        {"np.argsort(-table": "np.argsort(table"},
        {"np.argsort(-table": "np.argsort(np.where(table > -np.inf, table, np.inf)"}),
    Mistake("one child for each parent", "Each hypothesis has kept its own best continuation. All continuations "
        "compete with each other.", one_of_each),
    Mistake("ranked by the new token alone", "The order is that of the last tokens. The sum over all tokens decides.",
        by_the_last_step),
    Mistake("the sum so far is missing", "The log-probabilities of the tokens before the new one are not in the score.",
        {"score[:, None] + log_P": "log_P"}, {"table[parent, token]": "table[parent, token] - score[parent]"}),
    Mistake("the best come last", "These are the right ones, in the opposite order.", {"[:width]": "[:width][::-1]"}),
    Mistake("ended ones come first", "Those that have ended were put first, whatever their score. They compete with "
        "the others.",
        {"np.argsort(-table,": "np.argsort(-table - 1e9 * (np.arange(vocab + 1) == vocab),"}),
    Mistake("ended ones come last", "Those that have ended were put last, whatever their score. They compete with the "
        "others.",
        {"np.argsort(-table,": "np.argsort(-table + 1e9 * (np.arange(vocab + 1) == vocab),"}),
    Mistake("as many as came in", "Return `width` hypotheses, however many came in.", {"[:width]": "[: len(score)]"}),
    Mistake("a token for an ended one", "A hypothesis that has ended gets no new token: return -1 for it.",
        {"np.where(token == vocab, -1, token)": "token"},
        {"np.where(token == vocab, -1, token)": "np.where(token == vocab, 0, token)"},
        {"np.where(token == vocab, -1, token)": "np.where(token == vocab, vocab - 1, token)"},
        {"np.where(token == vocab, -1, token)": "np.where(token == vocab, log_P[parent].argmax(axis=1), token)"}),
    Mistake("no parent for an ended one", "A hypothesis that has ended has a parent as well: its own row.",
        {"return parent,": "return np.where(token == vocab, -1, parent),"}),
    Mistake("an ended one is scored again", "Nothing is added to the score of a hypothesis that has ended.",
        {"np.where(ended, score, -np.inf)": "np.where(ended, score + log_P.max(axis=1), -np.inf)"}),
    Mistake("an ended one competes many times", "It is in the table once for each token, and may be returned several "
        "times.",
        {"-np.inf, score[:, None] + log_P)": "score[:, None], score[:, None] + log_P)",
         "stays = np.where(ended, score, -np.inf)": "stays = np.where(ended, -np.inf, -np.inf)",
         "np.where(token == vocab, -1, token)": "np.where(ended[parent], -1, token)"}),
    Mistake("ended ones go on", "Those that have ended were expanded, and the others stay as they are.",
        {"ended[:, None]": "~ended[:, None]", "np.where(ended, score": "np.where(~ended, score"},
        lambda score, ended, log_P, width: by_list(score, ~ended, log_P, width)),
)  # fmt: skip

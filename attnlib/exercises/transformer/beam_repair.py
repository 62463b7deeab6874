"""A beam search with mixed-up states

repair · ★★ · 12 min · 04-transformer/7-what-to-say-next

A small language model keeps the tokens so far in a state h (d,): E (vocab, d) has a vector for each token, A (d, d)
maps the state to the next one, and U (d, vocab) maps it to scores. The beam search below generates `steps` tokens from
the state h_0 and returns its hypotheses, (width, steps), with their sums of log-probabilities, best first. With width
one its result is right. With a larger width the sums are not those of the texts that it returns. Two lines are wrong;
repair both.

1. Which lines have no effect when there is one hypothesis?
2. After the sort, hypothesis i is the child of parent[i]. What belongs to a hypothesis and has to follow it?
3. The state follows its parent, as the tokens do, before the new token is read. And the sums are not divided.

With a transformer the state is the cache of keys and values, and the mistake is the same: the text of one hypothesis
is continued with the cache of another. No error is raised; the model only seems to be worse.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def beam(h_0, E, A, U, width, steps):
    """Hypotheses (width, steps) and their sums of log-probabilities (width,), best first."""
    vocab = U.shape[1]
    h, said = np.repeat(h_0[None], width, axis=0), np.zeros((width, steps), int)
    score = np.where(np.arange(width) == 0, 0.0, -np.inf)  # at the start there is one
    for step in range(steps):
        S = h @ U
        log_P = S - np.log(np.exp(S).sum(axis=1, keepdims=True))
        total = (score[:, None] + log_P).ravel()
        best = np.argsort(-total, kind="stable")[:width]
        parent, token = best // vocab, best % vocab
        said = said[parent]
        said[:, step] = token
        h = np.tanh(h[parent] @ A + E[token])
        score = total[best]
    return said, score


def by_list(h_0, E, A, U, width, steps):
    open_ = [((), 0.0, h_0)]
    for _ in range(steps):
        grown = []
        for tokens, score, h in open_:
            P = np.exp(h @ U)
            for w, p in enumerate(P / P.sum()):
                grown.append(((*tokens, w), score + np.log(p), np.tanh(h @ A + E[w])))
        open_ = sorted(grown, key=lambda one: -one[1])[:width]
    return np.array([one[0] for one in open_]), np.array([one[1] for one in open_])


def read_again(h_0, E, A, U, width, steps):
    said, score = np.zeros((1, 0), int), np.zeros(1)
    for _ in range(steps):
        grown, values = [], []
        for row, total in zip(said, score, strict=True):
            h = h_0
            for token in row:
                h = np.tanh(h @ A + E[token])
            S = h @ U
            for w in range(U.shape[1]):
                grown.append([*row, w])
                values.append(total + S[w] - np.log(np.exp(S).sum()))
        order = np.argsort(values)[::-1][:width]
        said, score = np.array(grown)[order], np.array(values)[order]
    return said, score


def cases(rng):
    def model(d, vocab, width, steps):
        return (*(1.5 * a for a in drawn(rng, d, (vocab, d), (d, d), (d, vocab))), width, steps)

    return {
        "two at a time": model(3, 4, 2, 3),
        "greedy": model(3, 4, 1, 4),
        "four at a time": model(4, 5, 4, 4),
        "all sizes equal": model(3, 3, 3, 3),
    }


GIVEN = ("the states are not reordered", "the sum is divided at each step")
RETURNS = ("hypotheses", "sums")
VARIANTS = (by_list, read_again)
MISTAKES = (
    Mistake("the states are not reordered", "The states were not reordered with the beam: a hypothesis goes on from "
        "the state that was at its index, not from that of its parent.", {"h[parent] @ A": "h @ A"}),
    Mistake("the sum is divided at each step", "The sum is divided at each step, so that the first tokens count for "
        "less and less. A length may divide a finished sum, once.",
        {"(score[:, None] + log_P).ravel()": "(score[:, None] + log_P).ravel() / (step + 1)"}),
    Mistake("the tokens are not reordered", "The tokens so far must follow their parent, too.",
        {"said = said[parent]": "said = said.copy()"}),
    Mistake("only the last token is scored", "The log-probabilities of the tokens before the last one are missing.",
        {"(score[:, None] + log_P).ravel()":
             "(np.minimum(0, np.where(score > -np.inf, 0, score))[:, None] + log_P).ravel()"}),
    Mistake("no softmax", "The scores of the model were added as they are. They become log-probabilities by a "
        "log-softmax.", {"log_P = S - np.log(np.exp(S).sum(axis=1, keepdims=True))": "log_P = S"}),
    Mistake("the state holds one token", "The new state holds the last token alone.",
        {"np.tanh(h[parent] @ A + E[token])": "np.tanh(E[token])"}),
    Mistake("the beam begins with copies", "All hypotheses begin with the sum zero, so they are copies of each other, "
        "and the beam stays as narrow as one.", {"np.where(np.arange(width) == 0, 0.0, -np.inf)": "np.zeros(width)"}),
    Mistake("the mean of a text", "The sums were divided by the number of steps. Return the sums.",
        {"return said, score": "return said, score / steps"}),
    Mistake("the state follows too late", "Each state read the token of another hypothesis before it was reordered.",
        {"np.tanh(h[parent] @ A + E[token])": "np.tanh(h @ A + E[token])[parent]"}),
    Mistake("the state of the best for all", "All hypotheses go on from the state of the best one. Each has a parent "
        "of its own.", {"h[parent] @ A": "h[:1] @ A"}),
    Mistake("one child for each parent", "Each hypothesis has kept its own best continuation, so the beam never forks.",
        {'best = np.argsort(-total, kind="stable")[:width]':
             "best = np.arange(width) * vocab + log_P.argmax(axis=1)"}),
    Mistake("worst first", "The order is reversed. The best comes first.",
        {"return said, score": "return said[::-1], score[::-1]"}),
    Mistake("read column by column", "A row of the table has as many entries as there are tokens: divide by that "
        "number.", {"best // vocab, best % vocab": "best % width, best // width"}),
)  # fmt: skip

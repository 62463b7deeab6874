"""A translator in company

repair · ★★ · 10 min · 04-transformer/6-encoder-decoder-translation

This is meant to be a pre-norm decoder block with one head: X (b, m, d) are the words said so far, H (b, n, d) is the
memory, real (b, n) is True where it holds a word and not padding. Trained with it, a model translates what keeps its
order, hardly anything that comes late in the source, and says other things when a sentence stands in another batch.
Two lines are wrong; repair both.

1. What can a sentence know of the others in its batch? Which words of the source can the first word said read?
2. There are three masks in an encoder and a decoder. Which two of them belong here, and which one has the shape (m, n)?
3. Every word said may read every real word of the source: real decides about the columns, and nothing about rows.

Both faults leave all shapes right, and both are quiet: with short sentences in batches of one length neither changes
much. Two tests find them. Put a sentence into a batch with a longer one, and nothing may change; change the last word
of the source, and the first word's scores must move.
"""

import math

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def decoder_block(X, H, real, W_S, W_Q, W_K, W_V, W_1, W_2):
    """A pre-norm decoder block with one head, and norms without gain."""

    def norm(X):
        centred = X - X.mean(axis=-1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)

    def attend(Q, K, V, mask):
        S = Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])
        P = np.exp(S - S.max(axis=-1, keepdims=True)) * mask
        return P / P.sum(axis=-1, keepdims=True) @ V

    past = np.tri(X.shape[1], dtype=bool)
    words = real[:, None]
    N = norm(X)
    Z = X + attend(N, N, N @ W_S, past)
    C = Z + attend(norm(Z) @ W_Q, H @ W_K, H @ W_V, words)
    return C + np.maximum(norm(C) @ W_1, 0) @ W_2


def text_by_text(X, H, real, W_S, W_Q, W_K, W_V, W_1, W_2):
    def norm(x):
        return (x - x.mean()) / np.sqrt(x.var() + 1e-5)

    def look(q, K, V):
        s = K @ q / len(q) ** 0.5
        p = np.exp(s - s.max())
        return p / p.sum() @ V

    texts = []
    for x, h, words in zip(X, H, real, strict=True):
        memory, rows = h[words], []
        N = np.array([norm(one) for one in x])
        for t in range(len(x)):
            z = x[t] + look(N[t], N[: t + 1], N[: t + 1] @ W_S)
            c = z + look(norm(z) @ W_Q, memory @ W_K, memory @ W_V)
            hidden = norm(c) @ W_1
            rows.append(c + np.where(hidden > 0, hidden, 0) @ W_2)
        texts.append(rows)
    return np.array(texts)


def cases(rng):
    def case(m, d, h, *lengths):
        n, b = max(lengths), len(lengths)
        real = np.arange(n) < np.array(lengths)[:, None]
        X, H, *maps = drawn(rng, (b, m, d), (b, n, d), *[(d, d)] * 4, (d, h), (h, d))
        return X, H, real, *maps

    return {
        "two texts, two words said": case(2, 4, 5, 3, 2),
        "as many words said as read": case(3, 4, 5, 3, 1),
        "more are said than read": case(4, 3, 4, 1, 2),
        "all sizes equal": case(3, 3, 3, 3, 2, 1),
    }


GIVEN = ("padding of the source is seen", "the source is read up to the same place")
VARIANTS = (text_by_text, {"words = real[:, None]": "words = np.repeat(real[:, None], X.shape[1], axis=1)"})
MISTAKES = (
    Mistake("padding of the source is seen", "Padding takes part in what is read, so a sentence depends on its "
        "neighbours.", {"words = real[:, None]": "words = np.ones_like(real)[:, None]"}),
    Mistake("the source is read up to the same place", "A word of the target reads only as many words of the source "
        "as have been said. The whole source is there from the start.",
        {"H @ W_V, words)": "H @ W_V, words & np.tri(X.shape[1], H.shape[1], dtype=bool))"}),
    Mistake("the target reads itself", "Cross-attention reads its own sequence: keys and values must come from the "
        "memory.", {"H @ W_K, H @ W_V, words)": "norm(Z) @ W_K, norm(Z) @ W_V, past)"}),
    Mistake("the target reads itself and its future", "Cross-attention reads its own sequence, and all of it: keys "
        "and values must come from the memory.", {"H @ W_K, H @ W_V, words)": "norm(Z) @ W_K, norm(Z) @ W_V, True)"}),
    Mistake("the future is seen", "Within the target a word sees those that come after it.",
        {"past = np.tri(X.shape[1], dtype=bool)": "past = np.ones(2 * X.shape[1:2], dtype=bool)"}),
    Mistake("the queries have not heard the target", "Cross-attention must ask with what self-attention has left, not "
        "with the words as they came in.", {"norm(Z) @ W_Q": "N @ W_Q"}),
    Mistake("what self-attention said is forgotten", "The second sum starts from what entered the block.",
        {"C = Z +": "C = X +"}),
    Mistake("no way around cross-attention", "Cross-attention must add to the stream, not replace it.",
        {"C = Z +": "C ="}),
    Mistake("the memory is normed again", "The encoder's last norm has done this. A decoder reads the memory as it is.",
        {"H @ W_K, H @ W_V": "norm(H) @ W_K, norm(H) @ W_V"}),
    Mistake("the queries are not normed", "Cross-attention reads the stream through a norm.",
        {"norm(Z) @ W_Q": "Z @ W_Q"}),
    Mistake("the network has not heard what was read", "The last part reads the stream as cross-attention has left it.",
        {"norm(C) @ W_1": "norm(Z) @ W_1"}),
    Mistake("no way around the network", "The last line must add to the stream, not replace it.",
        {"return C +": "return"}),
    Mistake("the network adds to what self-attention left", "What was read in the source is forgotten at the last sum.",
        {"return C +": "return Z +"}),
    Mistake("only padding is read", "The mask of the source is turned round: its words are hidden, and its padding is "
        "read.", {"words = real[:, None]": "words = ~real[:, None]"}),
    Mistake("padding has zeros for a memory", "A key of zeros has a score of zero, and so a weight. Padding must be "
        "hidden.", {"words = real[:, None]": "words = np.ones_like(real)[:, None]; H = H * real[..., None]"}),
    Mistake("a hidden score of zero", "Hidden scores were set to zero, which is a score like any other.",
        {"P = np.exp(S - S.max(axis=-1, keepdims=True)) * mask":
             "S = S * mask; P = np.exp(S - S.max(axis=-1, keepdims=True))"}),
    Mistake("weights not divided again", "Weights were hidden behind the softmax, so those that are left sum to less "
        "than one.", {"keepdims=True)) * mask": "keepdims=True))", "keepdims=True) @ V": "keepdims=True) * mask @ V"}),
    Mistake("the triangle is transposed", "A word of the target sees itself and what comes after it, not what came "
        "before.", {"past = np.tri(X.shape[1], dtype=bool)": "past = np.tri(X.shape[1], dtype=bool).T"}),
    Mistake("a word does not see itself", "The triangle ends one place before the diagonal, so the first word has "
        "nothing to read.", {"past = np.tri(X.shape[1], dtype=bool)": "past = np.tri(X.shape[1], k=-1, dtype=bool)"}),
    Mistake("the network is not normed", "The last part reads the stream through a norm, too.",
        {"norm(C) @ W_1": "C @ W_1"}),
)  # fmt: skip

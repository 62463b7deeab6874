"""A decoder block with two faults

repair · ★★ · 10 min · 04-transformer/6-encoder-decoder-translation

This function is meant to be a pre-norm decoder block with one head. X (b, m, d) holds the vectors of the target, H
(b, n, d) is the memory, that is, the output of the encoder. real (b, n) is True where the source has a word and False
where it has padding. A model that is trained with this block translates well where the word order stays the same, and
badly where a word of the translation depends on a later word of the source. Its translation of a sentence also
changes with the other sentences of the batch. Two lines are wrong; repair both.

1. May the output for a sentence depend on the other sentences of its batch? Which words of the source may the first
   position of the target read?
2. An encoder-decoder model has three masks: one in the encoder, one in the decoder's self-attention, one in
   cross-attention. Which two of them belong here, and which one has the shape (m, n)?
3. Every position of the target may attend to every real word of the source. `real` masks keys, which are columns, and
   the mask is the same in all rows.

Both faults leave all shapes right. With short sentences in batches of one length neither changes much. Two tests find
them. Put a sentence into a batch with a longer one: its output must stay the same. Change the last word of the
source: the scores of the first position must change.
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

    def attend(q, K, V):
        s = K @ q / len(q) ** 0.5
        p = np.exp(s - s.max())
        return p / p.sum() @ V

    texts = []
    for x, h, words in zip(X, H, real, strict=True):
        memory, rows = h[words], []
        N = np.array([norm(one) for one in x])
        for t in range(len(x)):
            z = x[t] + attend(N[t], N[: t + 1], N[: t + 1] @ W_S)
            c = z + attend(norm(z) @ W_Q, memory @ W_K, memory @ W_V)
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
        "two sentences, targets of two words": case(2, 4, 5, 3, 2),
        "a target as long as the source": case(3, 4, 5, 3, 1),
        "a target longer than the source": case(4, 3, 4, 1, 2),
        "all sizes equal": case(3, 3, 3, 3, 2, 1),
    }


GIVEN = ("padding of the source is read", "the source is read up to the same position")
VARIANTS = (text_by_text, {"words = real[:, None]": "words = np.repeat(real[:, None], X.shape[1], axis=1)"})
MISTAKES = (
    Mistake("padding of the source is read", "Padding has a positive weight, so the output for a sentence depends on "
        "the other sentences of its batch.",
        {"words = real[:, None]": "words = np.ones_like(real)[:, None]"}),
    Mistake("the source is read up to the same position", "A position of the target attends only to the source up to "
        "the same position. The whole source is there from the start.",
        {"H @ W_V, words)": "H @ W_V, words & np.tri(X.shape[1], H.shape[1], dtype=bool))"}),
    Mistake("keys and values from the target", "Cross-attention attends to the target, not to the source: keys and "
        "values must come from the memory.",
        {"H @ W_K, H @ W_V, words)": "norm(Z) @ W_K, norm(Z) @ W_V, past)"}),
    Mistake("keys and values from the target without a mask", "Cross-attention attends to the target, later "
        "positions included: keys and values must come from the memory.",
        {"H @ W_K, H @ W_V, words)": "norm(Z) @ W_K, norm(Z) @ W_V, True)"}),
    Mistake("later positions are read", "Within the target a position attends to later positions.",
        {"past = np.tri(X.shape[1], dtype=bool)": "past = np.ones(2 * X.shape[1:2], dtype=bool)"}),
    Mistake("queries from before self-attention", "The queries of cross-attention must come from the stream after "
        "self-attention, not from the input of the block.",
        {"norm(Z) @ W_Q": "N @ W_Q"}),
    Mistake("the output of self-attention is lost", "The second sum starts from the input of the block, so it does "
        "not contain the output of self-attention.",
        {"C = Z +": "C = X +"}),
    Mistake("no residual connection around cross-attention", "Cross-attention must add to the stream, not replace it.",
        {"C = Z +": "C ="}),
    Mistake("the memory is normalised again", "The last norm of the encoder has done this. A decoder reads the "
        "memory as it is.",
        {"H @ W_K, H @ W_V": "norm(H) @ W_K, norm(H) @ W_V"}),
    Mistake("the queries are not normalised", "Cross-attention reads the stream through a norm.",
        {"norm(Z) @ W_Q": "Z @ W_Q"}),
    Mistake("the network reads the stream before cross-attention", "The feed-forward network must read the stream "
        "after cross-attention.",
        {"norm(C) @ W_1": "norm(Z) @ W_1"}),
    Mistake("no residual connection around the network", "The feed-forward network must add to the stream, not "
        "replace it.",
        {"return C +": "return"}),
    Mistake("the output of cross-attention is lost", "The last sum starts from the stream before cross-attention, so "
        "it does not contain what was read from the source.",
        {"return C +": "return Z +"}),
    Mistake("only padding is read", "The mask of the source is inverted: its words are hidden, and its padding is "
        "read.",
        {"words = real[:, None]": "words = ~real[:, None]"}),
    Mistake("padding is a memory of zeros", "A key of zeros has a score of zero, and so a positive weight. Padding "
        "must be masked.",
        {"words = real[:, None]": "words = np.ones_like(real)[:, None]; H = H * real[..., None]"}),
    Mistake("masked scores are zero", "Masked scores were set to zero, and a score of zero has a positive weight.",
        {"P = np.exp(S - S.max(axis=-1, keepdims=True)) * mask":
             "S = S * mask; P = np.exp(S - S.max(axis=-1, keepdims=True))"}),
    Mistake("weights not normalised again", "Weights were masked after the softmax, so the weights that are left sum "
        "to less than one.",
        {"keepdims=True)) * mask": "keepdims=True))", "keepdims=True) @ V": "keepdims=True) * mask @ V"}),
    Mistake("the causal mask is transposed", "A position of the target attends to itself and to later positions, not "
        "to earlier ones.",
        {"past = np.tri(X.shape[1], dtype=bool)": "past = np.tri(X.shape[1], dtype=bool).T"}),
    Mistake("a position does not attend to itself", "The causal mask ends one position before the diagonal, so the "
        "first position has nothing to attend to.",
        {"past = np.tri(X.shape[1], dtype=bool)": "past = np.tri(X.shape[1], k=-1, dtype=bool)"}),
    Mistake("the input of the network is not normalised", "The feed-forward network reads the stream through a norm, "
        "too.",
        {"norm(C) @ W_1": "C @ W_1"}),
)  # fmt: skip

r"""A context for every word

fill · ★ · 6 min · 01-foundations/1-the-bottleneck

S (..., target, source) scores every source word for every target word, H (..., source, d) holds the
encoder's states. Fill the gaps: the weights `alpha` and the context vectors $c_i = \sum_j \alpha_{ij} h_j$.

1. What must the weights of one target word sum to, and what do the exponentials sum to?
2. The sum over j runs over the last axis of the weights and over the rows of H: that is a matrix product.
3. Divide the exponentials by the sum of their row, keeping the axis; then multiply the weights with the
   states.

With one context for all words there would be one row of weights. Here each target word has its own, so no
vector has to hold the whole sentence.
"""

import numpy as np

from attnlib.exercises.kit import laws


def context_vectors(S, H):
    """For each target word the average of the encoder's states H, weighted by the softmax of its scores S."""
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    alpha = E / E.sum(axis=-1, keepdims=True)
    return alpha @ H


def reference(S, H):
    from attnlib.reference import attention

    return attention.attend(S, H)[0]


def cases(rng):
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


BLANKS = ("E / E.sum(axis=-1, keepdims=True)", "alpha @ H")
LAWS = (laws.separate_batches(0, 1), laws.blind_to_order({0: -1, 1: -2}))
VARIANTS = """
    context_by_loops
    alpha @ H => np.einsum('...ij,...jd->...id', alpha, H)
    E / E.sum(axis=-1, keepdims=True) => E / E.sum(axis=-1)[..., None]
    return alpha => return np.float64(1) * alpha
"""
MISTAKES = """
not divided by the sum | The largest weight of each row is one; it is the sum of the row that should be.
    E / E.sum(axis=-1, keepdims=True) => E
    E.sum(axis=-1, keepdims=True) => E.max(axis=-1, keepdims=True)
normalised over the target words | The weights of each source word sum to one; those of each target word
  should.
    E.sum(axis=-1, keepdims=True) => E.sum(axis=-2, keepdims=True)
one sum for all | All weights together sum to one; those of each target word should by themselves.
    E.sum(axis=-1, keepdims=True) => E.sum()
sum without keepdims | The sums lost their axis, so NumPy lined them up with the columns, not with the rows.
    E.sum(axis=-1, keepdims=True) => E.sum(axis=-1)
scores used as weights | The raw scores were multiplied with the states, without the softmax.
    alpha @ H => S @ H
weights transposed | Where there are as many target as source words it runs, but then each source word gets
  a context.
    alpha @ H => alpha.swapaxes(-1, -2) @ H
mean of the states | Each target word got the plain mean of all states: the weights have no part in it.
    alpha @ H => np.ones_like(alpha) @ H / H.dtype.type(H.shape[-2])
only the best word | Each context is the state of one word, the one with the largest score. A context is an
  average of all.
    alpha @ H => (alpha == alpha.max(axis=-1, keepdims=True)).astype(H.dtype) @ H
no maximum subtracted | exp(800) is larger than the largest float, so it becomes inf, and inf / inf is nan.
    S - S.max(axis=-1, keepdims=True) => S
"""

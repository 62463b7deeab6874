"""Attention, backwards

write · ★★★ · 20 min · 01-foundations/5-in-matrices · after foundations.attention-matrices,
foundations.softmax-backward

Write the backward of scaled dot-product attention. dO is the gradient of a loss by the output (..., m,
d_v), P (..., m, n) are the weights that the forward kept. Return the gradients by Q, K and V, in this
order.

1. Go back along the chain output, weights, scores, and queries and keys. Each value V_j went into every
   output with the weight P_ij: what comes back to it?
2. The gradient by the weights pairs each row of dO with each value; then comes the softmax backwards, row
   by row; then the scores, which are a matrix product divided by a number.
3. Values: transposed weights times dO. Weights: dO times transposed values. Scores: P times (the gradient
   minus its row's P-weighted sum). Queries: that times K; keys: its transpose times Q; both over the root
   of d_k.

The two matrix products of the forward become four in the backward. A gradient has the shape of its array,
which tells which factor has to be transposed, as long as no two sizes agree.
"""

import math

import numpy as np

from attnlib.exercises.kit import laws
from attnlib.exercises.kit.drawing import drawn


def attention_backward(dO, Q, K, V, P):
    """The gradients by Q, K and V, from the gradient dO by the output; P are the weights of the forward."""
    dV = P.swapaxes(-1, -2) @ dO
    dP = dO @ V.swapaxes(-1, -2)
    dS = P * (dP - (dP * P).sum(axis=-1, keepdims=True))
    dQ = dS @ K / math.sqrt(Q.shape[-1])
    dK = dS.swapaxes(-1, -2) @ Q / math.sqrt(K.shape[-1])
    return dQ, dK, dV


def weights_of(Q, K):
    S = Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1, keepdims=True)


def reference(dO, Q, K, V, P):
    from attnlib.reference import attention

    return attention.scaled_dot_product_attention_backward(dO, attention.AttentionCache(Q, K, V, P))


def cases(rng):
    def case(dO, Q, K, V):
        return dO, Q, K, V, weights_of(Q, K)

    return {
        "two queries, three keys": case(*drawn(rng, (2, 4), (2, 5), (3, 5), (3, 4))),
        "a batch of two": case(*drawn(rng, (2, 3, 7), (2, 3, 5), (2, 4, 5), (2, 4, 7))),
        "all sizes equal": case(*drawn(rng, (3, 3, 3), (3, 3, 3), (3, 3, 3), (3, 3, 3))),
        "float32": case(*drawn(rng, (2, 5), (2, 3), (4, 3), (4, 5), dtype=np.float32)),
    }


def backward_by_einsum(dO, Q, K, V, P):
    scale = Q.shape[-1] ** -0.5
    dP = np.einsum("...ic,...jc->...ij", dO, V)
    J = P[..., :, None] * (np.eye(P.shape[-1], dtype=P.dtype) - P[..., None, :])
    dS = np.einsum("...ij,...ijl->...il", dP, J) * scale
    return (
        np.einsum("...ij,...jd->...id", dS, K),
        np.einsum("...ij,...id->...jd", dS, Q),
        np.einsum("...ij,...ic->...jc", P, dO),
    )


RETURNS = ("dQ", "dK", "dV")
LAWS = (laws.separate_batches(0, 1, 2, 3, 4),)
VARIANTS = """
    backward_by_einsum
    dS @ K / math.sqrt(Q.shape[-1])
        => dS @ (K * Q.shape[-1] ** -0.5)
        ;; (dP * P).sum(axis=-1, keepdims=True)
        => np.einsum("...j,...j->...", P, dP)[..., None]
    math.sqrt( => np.sqrt(
    return dQ, dK, dV => return np.float64(1) * dQ, np.float64(1) * dK, np.float64(1) * dV
"""
MISTAKES = r"""
the sum term is missing | Each weight answers the scores of all keys in its row, because the row keeps its
  sum of one. That takes the row's weighted sum of dP away from every entry.
    - (dP * P).sum(axis=-1, keepdims=True) =>
only the diagonal of the Jacobian | p (1 - p) is how a weight answers its own score; it also answers the
  scores of the other keys.
    dP - (dP * P).sum(axis=-1, keepdims=True) => dP * (1 - P)
the softmax was left out | The gradient by the weights was used as the gradient by the scores; the softmax
  lies between them.
    dS = P * (dP - (dP * P).sum(axis=-1, keepdims=True)) => dS = dP
√d_k is missing | The scores were divided by √d_k on the way forwards, so their gradients are divided by it
  too.
    / math.sqrt(Q.shape[-1]) => ;; / math.sqrt(K.shape[-1]) =>
only one of dQ and dK is scaled | Both go through the same scores, which were divided by √d_k: both
  gradients are divided by it.
    / math.sqrt(Q.shape[-1]) =>
    / math.sqrt(K.shape[-1]) =>
divided by d_k, not by its root | The factor of the forward comes back in the backward: the root of d_k,
  once.
    math.sqrt(Q.shape[-1]) => Q.shape[-1] ;; math.sqrt(K.shape[-1]) => K.shape[-1]
P is not transposed in dV | A value collects from all queries that read it, so the sum runs over the rows of
  P. Untransposed, it runs only where m and n agree.
    P.swapaxes(-1, -2) @ dO => P @ dO
V is not transposed in dP | The gradient by one weight is a row of dO times a row of V; untransposed, it
  runs only where sizes agree.
    V.swapaxes(-1, -2) => V
dS is not transposed in dK | A key collects from all queries that were scored against it, so the sum runs
  over the rows of dS.
    dS.swapaxes(-1, -2) @ Q => dS @ Q
sum over the queries | The sum inside the softmax's backward runs over the keys of each query, the last
  axis.
    axis=-1 => axis=-2
dQ and dK are swapped | The gradients come in the order of Q, K, V.
    return dQ, dK, dV => return dK, dQ, dV
P was overwritten | The numbers are right, but the caller's P is changed. Make a new array for dS.
    dS = P * (dP - (dP * P).sum(axis=-1, keepdims=True)) => P *= dP - (dP * P).sum(axis=-1, keepdims=True)\n    dS = P
"""

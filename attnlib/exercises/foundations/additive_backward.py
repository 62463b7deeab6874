r"""Gradients through the additive score

write · ★★★ · 25 min · 01-foundations/10-scores-backwards · after foundations.additive-scores

The scores are $s_{ij} = v^\top \tanh(W_q^\top q_i + W_k^\top k_j)$ for all pairs, and dS is the gradient of a loss with
respect to them. Return dQ, dK, dW_q, dW_k and dv. Q is (..., m, d_q), K is (..., n, d_k), W_q is (d_q, d_a), W_k is
(d_k, d_a), v is (d_a,), dS is (..., m, n), where the dots are a batch.

1. A query takes part in the scores of all keys. What happens to the gradients that come back from all of
   them?
2. Work out the hidden layer again; the gradient before the tanh has the axes (..., m, n, d_a). Sum it over
   the keys for the queries' side, and over the queries for the keys' side.
3. Multiply dS, with a new last axis, by v and by the derivative of the tanh, one minus its square. After the
   sums, dQ and dK go back through the transposed matrices; dW_q, dW_k and dv sum over the batch too.

Whatever was used several times collects the sum of its gradients: a query over all keys, a key over all
queries, the three parameters over all pairs of the whole batch.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def additive_backward(dS, Q, K, W_q, W_k, v):
    """dQ, dK, dW_q, dW_k and dv, from the gradient dS of the additive scores of all pairs."""
    H = np.tanh((Q @ W_q)[..., :, None, :] + (K @ W_k)[..., None, :, :])
    dZ = dS[..., None] * v * (1 - H**2)
    dZ_q = dZ.sum(axis=-2)
    dZ_k = dZ.sum(axis=-3)
    dQ, dK = dZ_q @ W_q.T, dZ_k @ W_k.T
    dW_q = Q.reshape(-1, Q.shape[-1]).T @ dZ_q.reshape(-1, len(v))
    dW_k = K.reshape(-1, K.shape[-1]).T @ dZ_k.reshape(-1, len(v))
    dv = dS.reshape(-1) @ H.reshape(-1, len(v))
    return dQ, dK, dW_q, dW_k, dv


def reference(dS, Q, K, W_q, W_k, v):
    from attnlib.reference import scores

    return scores.additive_scores_backward(dS, scores.additive_scores(Q, K, W_q, W_k, v)[1])


def cases(rng):
    def case(*sizes, dtype: type = np.float64):
        return tuple(rng.normal(size=size).astype(dtype) for size in sizes)

    return {
        "two queries, three keys": case((2, 3), (2, 4), (3, 5), (4, 2), (5, 2), (2,)),
        "a batch of two": case((2, 3, 4), (2, 3, 5), (2, 4, 7), (5, 6), (7, 6), (6,)),
        "all sizes equal": case((3, 3), (3, 3), (3, 3), (3, 3), (3, 3), (3,)),
        "a batch of three, all sizes equal": case((3, 3, 3), (3, 3, 3), (3, 3, 3), (3, 3), (3, 3), (3,)),
        "float32": case((2, 3), (2, 4), (3, 5), (4, 2), (5, 2), (2,), dtype=np.float32),
    }


def additive_backward_by_pairs(dS, Q, K, W_q, W_k, v):
    grads = tuple(np.zeros_like(array) for array in (Q, K, W_q, W_k, v))
    dQ, dK, dW_q, dW_k, dv = grads
    *batch, m, n = dS.shape
    for b in np.ndindex(*batch):
        for i, j in np.ndindex(m, n):
            q, k, d = Q[b][i], K[b][j], dS[b][i, j]
            hidden = np.tanh(q @ W_q + k @ W_k)
            dz = d * v * (1 - hidden) * (1 + hidden)
            dQ[b][i] += W_q @ dz
            dK[b][j] += W_k @ dz
            dW_q += np.outer(q, dz)
            dW_k += np.outer(k, dz)
            dv += d * hidden
    return grads


RETURNS = ("dQ", "dK", "dW_q", "dW_k", "dv")
VARIANTS = (
    additive_backward_by_pairs,
    {"(1 - H**2)": "(1 - H) * (1 + H)",
     "dS.reshape(-1) @ H.reshape(-1, len(v))": "(dS[..., None] * H).reshape(-1, len(v)).sum(axis=0)"},
    {"dZ_q @ W_q.T": "np.einsum('...a,qa->...q', dZ_q, W_q)"},
    {"dZ = dS": "dZ = np.float64(1) * dS", "dv = dS": "dv = np.float64(1) * dS"},
)  # fmt: skip
MISTAKES = (
    Mistake("the derivative of the tanh is missing", "The gradient went past the tanh as if it were not there. A "
        "saturated unit lets almost nothing through.", {"* (1 - H**2)": ""}),
    Mistake("1 - tanh in place of its square", "The derivative of the tanh is one minus its square; here the square is "
        "missing.", {"(1 - H**2)": "(1 - H)"}),
    Mistake("derivative of a sigmoid", "h (1 - h) is the derivative of a sigmoid. The hidden layer is a tanh.",
        {"(1 - H**2)": "(H * (1 - H))"}),
    Mistake("tanh taken twice", "The derivative was taken of a value that had gone through the tanh twice: H is the "
        "tanh already.", {"(1 - H**2)": "(1 - np.tanh(H) ** 2)"}),
    Mistake("v is left out", "Each hidden unit enters a score with its factor in v, so its gradient carries that "
        "factor too.", {"dS[..., None] * v": "dS[..., None]"}),
    Mistake("the sums are exchanged", "The queries' side was summed over the queries and the keys' side over the "
        "keys; each should keep its own axis and sum over the other.",
        {"dZ_q = dZ.sum(axis=-2)": "dZ_q = dZ.sum(axis=-3)", "dZ_k = dZ.sum(axis=-3)": "dZ_k = dZ.sum(axis=-2)"}),
    Mistake("mean in place of the sum", "These are averages over the partners. What is used several times collects "
        "the sum of its gradients.", {"dZ.sum(axis=-2)": "dZ.mean(axis=-2)", "dZ.sum(axis=-3)": "dZ.mean(axis=-3)"}),
    Mistake("only the first partner counts", "Each query got a gradient from one key only and each key from one "
        "query; every pair has a score, so every pair sends a gradient.",
        {"dZ.sum(axis=-2)": "dZ[..., 0, :]", "dZ.sum(axis=-3)": "dZ[..., 0, :, :]"}),
    Mistake("the matrices are not transposed", "Where they are square it runs, but a gradient goes back through a "
        "matrix by its transpose.", {"dZ_q @ W_q.T, dZ_k @ W_k.T": "dZ_q @ W_q, dZ_k @ W_k"}),
    Mistake("the two matrices are exchanged", "The gradient of the queries went back through the keys' matrix, and "
        "the other way round.", {"dZ_q @ W_q.T, dZ_k @ W_k.T": "dZ_q @ W_k.T, dZ_k @ W_q.T"}),
    Mistake("one gradient of the matrices for each sequence", "W_q and W_k are shared by the whole batch, so their "
        "gradients sum over it and have their shapes.",
        {"Q.reshape(-1, Q.shape[-1]).T @ dZ_q.reshape(-1, len(v))": "Q.swapaxes(-1, -2) @ dZ_q",
         "K.reshape(-1, K.shape[-1]).T @ dZ_k.reshape(-1, len(v))": "K.swapaxes(-1, -2) @ dZ_k"}),
    Mistake("dv takes the derivative", "A score is linear in v, and what v multiplies is the hidden layer itself, not "
        "its derivative.",
        {"dS.reshape(-1) @ H.reshape(-1, len(v))": "dS.reshape(-1) @ (1 - H**2).reshape(-1, len(v))"}),
    Mistake("dv without dS", "The hidden layer was summed as it is; each pair counts with its entry of dS.",
        {"dS.reshape(-1) @ H.reshape(-1, len(v))": "H.reshape(-1, len(v)).sum(axis=0)"}),
)  # fmt: skip

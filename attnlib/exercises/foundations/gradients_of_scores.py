"""Gradients of scores: through the additive and the cosine score (eq-additive-score-backward)."""

import numpy as np

from attnlib.exercises import properties as laws
from attnlib.exercises.model import CodeExercise, Mistake

PAGE = "01-foundations/3-scoring-functions"


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


def additive_reference(dS, Q, K, W_q, W_k, v):
    from attnlib.reference import scores

    return scores.additive_scores_backward(dS, scores.additive_scores(Q, K, W_q, W_k, v)[1])


def additive_cases(rng):
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


additive = CodeExercise(
    id="foundations.additive-backward",
    title="Gradients through the additive score",
    kind="write",
    level=3,
    minutes=25,
    page=PAGE,
    task="The scores are $s_{ij} = v^\\top \\tanh(W_q^\\top q_i + W_k^\\top k_j)$ for all pairs, and dS is the "
    "gradient of a loss by them. Return dQ, dK, dW_q, dW_k and dv. Q is (..., m, d_q), K is (..., n, d_k), "
    "W_q is (d_q, d_a), W_k is (d_k, d_a), v is (d_a,), dS is (..., m, n), where the dots are a batch.",
    hints=(
        "A query takes part in the scores of all keys. What happens to the gradients that come back from all of them?",
        "Work out the hidden layer again; the gradient before the tanh has the axes (..., m, n, d_a). Sum it over the "
        "keys for the queries' side, and over the queries for the keys' side.",
        "Multiply dS, with a new last axis, by v and by the slope of the tanh, one minus its square. After the sums, "
        "dQ and dK go back through the transposed matrices; dW_q, dW_k and dv sum over the batch too.",
    ),
    commentary="Whatever was used several times collects the sum of its gradients: a query over all keys, a key over "
    "all queries, the three weights over all pairs of the whole batch.",
    prerequisites=("foundations.additive-scores",),
    solution=additive_backward,
    reference=additive_reference,
    cases=additive_cases,
    returns=("dQ", "dK", "dW_q", "dW_k", "dv"),
    variants=(
        additive_backward_by_pairs,
        {
            "(1 - H**2)": "(1 - H) * (1 + H)",
            "dS.reshape(-1) @ H.reshape(-1, len(v))": "(dS[..., None] * H).reshape(-1, len(v)).sum(axis=0)",
        },
        {"dZ_q @ W_q.T": "np.einsum('...a,qa->...q', dZ_q, W_q)"},
    ),
    mistakes=(
        Mistake(
            "the slope of the tanh is missing",
            "The gradient went past the tanh as if it were not there. A saturated unit lets almost nothing through.",
            {" * (1 - H**2)": ""},
        ),
        Mistake(
            "1 - tanh in place of its square",
            "The slope of the tanh is one minus its square; here the square is missing.",
            {"(1 - H**2)": "(1 - H)"},
        ),
        Mistake(
            "slope of a sigmoid",
            "h (1 - h) is the slope of a sigmoid. The hidden layer is a tanh.",
            {"(1 - H**2)": "(H * (1 - H))"},
        ),
        Mistake(
            "tanh taken twice",
            "The slope was taken of a value that had gone through the tanh twice: H is the tanh already.",
            {"(1 - H**2)": "(1 - np.tanh(H) ** 2)"},
        ),
        Mistake(
            "v is left out",
            "Each hidden unit enters a score with its weight in v, so its gradient carries that weight too.",
            {"dS[..., None] * v": "dS[..., None]"},
        ),
        Mistake(
            "the sums are exchanged",
            "The queries' side was summed over the queries and the keys' side over the keys; each should keep its own "
            "axis and sum over the other.",
            {
                "dZ_q = dZ.sum(axis=-2)": "dZ_q = dZ.sum(axis=-3)",
                "dZ_k = dZ.sum(axis=-3)": "dZ_k = dZ.sum(axis=-2)",
            },
        ),
        Mistake(
            "mean in place of the sum",
            "These are averages over the partners. What is used several times collects the sum of its gradients.",
            {"dZ.sum(axis=-2)": "dZ.mean(axis=-2)", "dZ.sum(axis=-3)": "dZ.mean(axis=-3)"},
        ),
        Mistake(
            "only the first partner counts",
            "Each query got a gradient from one key only and each key from one query; every pair has a score, so every "
            "pair sends a gradient.",
            {"dZ.sum(axis=-2)": "dZ[..., 0, :]", "dZ.sum(axis=-3)": "dZ[..., 0, :, :]"},
        ),
        Mistake(
            "the matrices are not transposed",
            "Where they are square it runs, but a gradient goes back through a matrix by its transpose.",
            {"dZ_q @ W_q.T, dZ_k @ W_k.T": "dZ_q @ W_q, dZ_k @ W_k"},
        ),
        Mistake(
            "the two matrices are exchanged",
            "The gradient of the queries went back through the keys' matrix, and the other way round.",
            {"dZ_q @ W_q.T, dZ_k @ W_k.T": "dZ_q @ W_k.T, dZ_k @ W_q.T"},
        ),
        Mistake(
            "one gradient of the matrices for each sequence",
            "W_q and W_k are shared by the whole batch, so their gradients sum over it and have their shapes.",
            {
                "Q.reshape(-1, Q.shape[-1]).T @ dZ_q.reshape(-1, len(v))": "Q.swapaxes(-1, -2) @ dZ_q",
                "K.reshape(-1, K.shape[-1]).T @ dZ_k.reshape(-1, len(v))": "K.swapaxes(-1, -2) @ dZ_k",
            },
        ),
        Mistake(
            "dv takes the slope",
            "A score is linear in v, and what v multiplies is the hidden layer itself, not its slope.",
            {"dS.reshape(-1) @ H.reshape(-1, len(v))": "dS.reshape(-1) @ (1 - H**2).reshape(-1, len(v))"},
        ),
        Mistake(
            "dv without dS",
            "The hidden layer was summed as it is; each pair counts with its entry of dS.",
            {"dS.reshape(-1) @ H.reshape(-1, len(v))": "H.reshape(-1, len(v)).sum(axis=0)"},
        ),
        Mistake(
            "float32 became float64",
            "float32 went in and float64 came out: some number on the way was float64.",
            {"dZ = dS": "dZ = np.float64(1) * dS", "dv = dS": "dv = np.float64(1) * dS"},
        ),
    ),
)


def cosine_backward(dS, Q, K):
    """dQ and dK, from the gradient dS of the cosines of all pairs."""
    length_q = np.sqrt((Q * Q).sum(axis=-1, keepdims=True))
    length_k = np.sqrt((K * K).sum(axis=-1, keepdims=True))
    unit_q, unit_k = Q / length_q, K / length_k
    dU_q = dS @ unit_k
    dU_k = dS.swapaxes(-1, -2) @ unit_q
    dQ = (dU_q - (dU_q * unit_q).sum(axis=-1, keepdims=True) * unit_q) / length_q
    dK = (dU_k - (dU_k * unit_k).sum(axis=-1, keepdims=True) * unit_k) / length_k
    return dQ, dK


def cosine_reference(dS, Q, K):
    from attnlib.reference import scores

    return scores.cosine_scores_backward(dS, scores.DotCache(Q, K))


def cosine_cases(rng):
    def case(*sizes, dtype: type = np.float64):
        return tuple(rng.normal(size=size).astype(dtype) for size in sizes)

    dS, Q, K = case((3, 4), (3, 5), (4, 5))
    return {
        "two queries, three keys": case((2, 3), (2, 4), (3, 4)),
        "a batch of two": case((2, 3, 4), (2, 3, 5), (2, 4, 5)),
        "all sizes equal": case((3, 3), (3, 3), (3, 3)),
        "long and short vectors": (dS, 100 * Q, 0.1 * K),
        "float32": case((2, 3), (2, 4), (3, 4), dtype=np.float32),
    }


def cosine_backward_by_pairs(dS, Q, K):
    dQ, dK = np.zeros_like(Q), np.zeros_like(K)
    for where in np.ndindex(dS.shape):
        *b, i, j = where
        query, key = (*b, i), (*b, j)
        q, k = Q[query], K[key]
        both = (q @ q) ** 0.5 * (k @ k) ** 0.5
        dQ[query] += dS[where] * (k - q * (q @ k) / (q @ q)) / both
        dK[key] += dS[where] * (q - k * (q @ k) / (k @ k)) / both
    return dQ, dK


cosine = CodeExercise(
    id="foundations.cosine-backward",
    title="A gradient that cannot change a length",
    kind="write",
    level=3,
    minutes=20,
    page=PAGE,
    task="The scores are the cosines of all queries with all keys, and dS (..., m, n) is the gradient of a loss by "
    "them. Return dQ and dK. Q is (..., m, d_k), K is (..., n, d_k).",
    hints=(
        "Making a query longer changes no cosine. What does that say about the direction of its gradient?",
        "First go back through the dot products of unit vectors, then through the division by the length.",
        "Take the gradient by the unit vector, subtract from it the part that lies along the unit vector (their dot "
        "product times the unit vector), and divide what is left by the length. The keys' side uses dS transposed.",
    ),
    commentary="The gradient is orthogonal to its vector, and the longer the vector, the smaller it is: a step turns "
    "the vector, and a long one turns slowly.",
    prerequisites=("foundations.cosine-scores",),
    solution=cosine_backward,
    reference=cosine_reference,
    cases=cosine_cases,
    returns=("dQ", "dK"),
    properties=(laws.separate_batches(0, 1, 2),),
    variants=(
        cosine_backward_by_pairs,
        {
            "dU_q - (dU_q * unit_q).sum(axis=-1, keepdims=True) * unit_q": (
                "dU_q - np.einsum('...d,...d,...e->...e', dU_q, unit_q, unit_q)"
            )
        },
    ),
    mistakes=(
        Mistake(
            "the sum term is missing",
            "The gradient was divided by the length, as if the length did not depend on the vector. The part along the "
            "vector must be taken away.",
            {
                " - (dU_q * unit_q).sum(axis=-1, keepdims=True) * unit_q": "",
                " - (dU_k * unit_k).sum(axis=-1, keepdims=True) * unit_k": "",
            },
        ),
        Mistake(
            "added in place of subtracted",
            "The part along the vector was added; it is taken away, so that nothing is left of it.",
            {"dU_q - (": "dU_q + (", "dU_k - (": "dU_k + ("},
        ),
        Mistake(
            "not divided by the length",
            "The direction is right; by the chain rule the length of the vector divides it.",
            {"unit_q) / length_q": "unit_q)", "unit_k) / length_k": "unit_k)"},
        ),
        Mistake(
            "divided by the squared length",
            "The gradient shrinks like one over the length, not over its square.",
            {"unit_q) / length_q": "unit_q) / length_q**2", "unit_k) / length_k": "unit_k) / length_k**2"},
        ),
        Mistake(
            "multiplied by the length",
            "A longer vector turns more slowly, so its gradient is smaller; here it is larger.",
            {"unit_q) / length_q": "unit_q) * length_q", "unit_k) / length_k": "unit_k) * length_k"},
        ),
        Mistake(
            "the partners are not unit vectors",
            "The queries and keys that come in as partners were taken with their lengths; the cosine has unit vectors.",
            {"dS @ unit_k": "dS @ K", "dS.swapaxes(-1, -2) @ unit_q": "dS.swapaxes(-1, -2) @ Q"},
        ),
        Mistake(
            "projected on the whole vector",
            "The part along the vector was worked out with the vector itself, in place of the unit vector.",
            {
                "(dU_q * unit_q).sum(axis=-1, keepdims=True) * unit_q": "(dU_q * Q).sum(axis=-1, keepdims=True) * Q",
                "(dU_k * unit_k).sum(axis=-1, keepdims=True) * unit_k": "(dU_k * K).sum(axis=-1, keepdims=True) * K",
            },
        ),
        Mistake(
            "mean in place of the sum",
            "A dot product adds up its terms; here their mean was taken, so a part along the vector is left.",
            {"unit_q).sum(": "unit_q).mean(", "unit_k).sum(": "unit_k).mean("},
        ),
        Mistake(
            "dS is not transposed",
            "Where there are as many queries as keys it runs, but a key collects its column of dS, not a row.",
            {"dS.swapaxes(-1, -2)": "dS"},
        ),
        Mistake(
            "dQ and dK exchanged",
            "The first result should be the gradient of the queries, the second that of the keys.",
            {"return dQ, dK": "return dK, dQ"},
        ),
        Mistake(
            "Q and K changed in place",
            "`/=` writes into the caller's arrays, whose lengths are then lost. Make new ones.",
            {
                "unit_q, unit_k = Q / length_q, K / length_k": (
                    "Q /= length_q\n    K /= length_k\n    unit_q, unit_k = Q, K"
                )
            },
        ),
        Mistake(
            "float32 became float64",
            "float32 went in and float64 came out: some number on the way was float64.",
            {"dQ = (": "dQ = np.float64(1) * (", "dK = (": "dK = np.float64(1) * ("},
        ),
    ),
)

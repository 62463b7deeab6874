"""The attention layer, forwards and backwards (eq-layer, eq-attention-backward, eq-linear-map-backward)."""

import math

import numpy as np

from attnlib.exercises import properties as laws
from attnlib.exercises.model import CodeExercise, Mistake

PAGE = "01-foundations/5-in-matrices"


def drawn(rng, *sizes, dtype: type = np.float64):
    return tuple(rng.normal(size=size).astype(dtype) for size in sizes)


def weights_of(Q, K):
    S = Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1, keepdims=True)


def attention_backward(dO, Q, K, V, P):
    """The gradients by Q, K and V, from the gradient dO by the output; P are the weights of the forward."""
    dV = P.swapaxes(-1, -2) @ dO
    dP = dO @ V.swapaxes(-1, -2)
    dS = P * (dP - (dP * P).sum(axis=-1, keepdims=True))
    dQ = dS @ K / math.sqrt(Q.shape[-1])
    dK = dS.swapaxes(-1, -2) @ Q / math.sqrt(K.shape[-1])
    return dQ, dK, dV


def backward_reference(dO, Q, K, V, P):
    from attnlib.reference import attention

    return attention.scaled_dot_product_attention_backward(dO, attention.AttentionCache(Q, K, V, P))


def backward_cases(rng):
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


backward = CodeExercise(
    id="foundations.attention-backward",
    title="Attention, backwards",
    kind="write",
    level=3,
    minutes=20,
    page=PAGE,
    task="Write the backward of scaled dot-product attention. dO is the gradient of a loss by the output (..., m, "
    "d_v), P (..., m, n) are the weights that the forward kept. Return the gradients by Q, K and V, in this order.",
    hints=(
        "Go back along the chain output, weights, scores, and queries and keys. Each value V_j went into every output "
        "with the weight P_ij: what comes back to it?",
        "The gradient by the weights pairs each row of dO with each value; then comes the softmax backwards, row by "
        "row; then the scores, which are a matrix product divided by a number.",
        "Values: transposed weights times dO. Weights: dO times transposed values. Scores: P times (the gradient "
        "minus its row's P-weighted sum). Queries: that times K; keys: its transpose times Q; both over the root of "
        "d_k.",
    ),
    commentary="The two matrix products of the forward become four in the backward. A gradient has the shape of "
    "its array, which tells which factor has to be transposed, as long as no two sizes agree.",
    prerequisites=("foundations.attention-matrices", "foundations.softmax-backward"),
    solution=attention_backward,
    reference=backward_reference,
    cases=backward_cases,
    returns=("dQ", "dK", "dV"),
    properties=(laws.separate_batches(0, 1, 2, 3, 4),),
    variants=(
        backward_by_einsum,
        {
            "dS @ K / math.sqrt(Q.shape[-1])": "dS @ (K * Q.shape[-1] ** -0.5)",
            "(dP * P).sum(axis=-1, keepdims=True)": 'np.einsum("...j,...j->...", P, dP)[..., None]',
        },
    ),
    mistakes=(
        Mistake(
            "the sum term is missing",
            "Each weight answers the scores of all keys in its row, because the row keeps its sum of one. That "
            "takes the row's weighted sum of dP away from every entry.",
            {" - (dP * P).sum(axis=-1, keepdims=True)": ""},
        ),
        Mistake(
            "only the diagonal of the Jacobian",
            "p (1 - p) is how a weight answers its own score; it also answers the scores of the other keys.",
            {"dP - (dP * P).sum(axis=-1, keepdims=True)": "dP * (1 - P)"},
        ),
        Mistake(
            "the softmax was left out",
            "The gradient by the weights was used as the gradient by the scores; the softmax lies between them.",
            {"dS = P * (dP - (dP * P).sum(axis=-1, keepdims=True))": "dS = dP"},
        ),
        Mistake(
            "√d_k is missing",
            "The scores were divided by √d_k on the way forwards, so their gradients are divided by it too.",
            {" / math.sqrt(Q.shape[-1])": "", " / math.sqrt(K.shape[-1])": ""},
        ),
        Mistake(
            "only one of dQ and dK is scaled",
            "Both go through the same scores, which were divided by √d_k: both gradients are divided by it.",
            {" / math.sqrt(Q.shape[-1])": ""},
            {" / math.sqrt(K.shape[-1])": ""},
        ),
        Mistake(
            "divided by d_k, not by its root",
            "The factor of the forward comes back in the backward: the root of d_k, once.",
            {"math.sqrt(Q.shape[-1])": "Q.shape[-1]", "math.sqrt(K.shape[-1])": "K.shape[-1]"},
        ),
        Mistake(
            "P is not transposed in dV",
            "A value collects from all queries that read it, so the sum runs over the rows of P. Untransposed, it runs "
            "only where m and n agree.",
            {"P.swapaxes(-1, -2) @ dO": "P @ dO"},
        ),
        Mistake(
            "V is not transposed in dP",
            "The gradient by one weight is a row of dO times a row of V; untransposed, it runs only where sizes agree.",
            {"V.swapaxes(-1, -2)": "V"},
        ),
        Mistake(
            "dS is not transposed in dK",
            "A key collects from all queries that were scored against it, so the sum runs over the rows of dS.",
            {"dS.swapaxes(-1, -2) @ Q": "dS @ Q"},
        ),
        Mistake(
            "sum over the queries",
            "The sum inside the softmax's backward runs over the keys of each query, the last axis.",
            {"axis=-1": "axis=-2"},
        ),
        Mistake(
            "dQ and dK are swapped",
            "The gradients come in the order of Q, K, V.",
            {"return dQ, dK, dV": "return dK, dQ, dV"},
        ),
        Mistake(
            "P was overwritten",
            "The numbers are right, but the caller's P is changed. Make a new array for dS.",
            {
                "dS = P * (dP - (dP * P).sum(axis=-1, keepdims=True))": (
                    "P *= dP - (dP * P).sum(axis=-1, keepdims=True)\n    dS = P"
                )
            },
        ),
        Mistake(
            "float32 became float64",
            "float32 went in, float64 came out: some float64 number took part, such as `np.sqrt` of an int or "
            "`np.zeros` without a dtype.",
            {"math.sqrt(": "np.sqrt("},
            {"return dQ, dK, dV": "return np.float64(1) * dQ, np.float64(1) * dK, np.float64(1) * dV"},
        ),
    ),
)


def key_value_layer(X_Q, X, W_Q, W_K, W_V):
    """Attention from X_Q to X: queries, keys and values are linear maps of the inputs."""
    Q = X_Q @ W_Q
    K = X @ W_K
    V = X @ W_V
    S = Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    P = E / E.sum(axis=-1, keepdims=True)
    return P @ V


def layer_reference(X_Q, X, W_Q, W_K, W_V):
    from attnlib.reference import attention

    return attention.attention_layer(X_Q, X, attention.AttentionWeights(W_Q, W_K, W_V))[0]


def layer_cases(rng):
    X_Q, *others = drawn(rng, (5, 3), (4, 3), (3, 2), (3, 2), (3, 5))
    scale = np.array([[1.0], [1.0], [900.0], [-900.0], [2000.0]])
    return {
        "two queries, three inputs": drawn(rng, (2, 4), (3, 5), (4, 2), (5, 2), (5, 6)),
        "a batch of two": drawn(rng, (2, 3, 5), (2, 4, 7), (5, 6), (7, 6), (7, 11)),
        "d_v equal to d_k, one input width": drawn(rng, (2, 5), (3, 5), (5, 4), (5, 4), (5, 4)),
        "all sizes equal": drawn(rng, (3, 3, 3), (3, 3, 3), (3, 3), (3, 3), (3, 3)),
        "scores of 1 and of 800": (scale * X_Q, *others),
        "float32": drawn(rng, (2, 5), (4, 3), (5, 2), (3, 2), (3, 6), dtype=np.float32),
    }


def layer_without_keys(X_Q, X, W_Q, W_K, W_V):
    S = (X_Q @ (W_Q @ W_K.T)) @ np.moveaxis(X, -1, -2) * W_Q.shape[-1] ** -0.5
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    return (E / E.sum(axis=-1, keepdims=True)) @ X @ W_V


layer = CodeExercise(
    id="foundations.key-value-layer",
    title="Queries, keys and values from three maps",
    kind="write",
    level=2,
    minutes=12,
    page=PAGE,
    task="Write the attention layer: queries come from X_Q (..., m, d_query), keys and values from X (..., n, "
    "d_input), through W_Q (d_query, d_k), W_K (d_input, d_k) and W_V (d_input, d_v). The output is (..., m, d_v).",
    hints=(
        "Which two of the three maps read the same input, and which input does the third read?",
        "Make Q, K and V with three matrix products; from there on it is scaled dot-product attention.",
        "X_Q goes through W_Q, X through W_K and, separately, through W_V. Divide the scores by the root of the width "
        "of a query, which is d_k and not d_input.",
    ),
    commentary="The key says when an input is read, the value says what is read there. With one matrix for both, an "
    "input could be found only by what it gives. The scores depend on W_Q and W_K through W_Q W_K^T alone, so they "
    "could be computed without making any keys.",
    prerequisites=("foundations.attention-matrices",),
    solution=key_value_layer,
    reference=layer_reference,
    cases=layer_cases,
    properties=(laws.separate_batches(0, 1), laws.blind_to_order({1: -2})),
    variants=(layer_without_keys, {"return P @ V": "return (P @ X) @ W_V"}),
    mistakes=(
        Mistake(
            "values projected with W_K",
            "The values went through the map of the keys; they have their own, W_V.",
            {"X @ W_V": "X @ W_K"},
        ),
        Mistake(
            "keys projected with W_V",
            "The keys went through the map of the values, or the two were exchanged; keys have W_K.",
            {"X @ W_K": "X @ W_V"},
            {"X @ W_K": "X @ W_V", "V = X @ W_V": "V = X @ W_K"},
        ),
        Mistake(
            "keys projected with W_Q",
            "The keys went through the map of the queries, so a query is scored with what others ask.",
            {"X @ W_K": "X @ W_Q"},
        ),
        Mistake(
            "values not projected",
            "These are averages of the inputs themselves; each input goes through W_V first.",
            {"X @ W_V": "X"},
        ),
        Mistake(
            "keys and values from X_Q",
            "X_Q asks and X answers: keys and values are made from X.",
            {"K = X @": "K = X_Q @", "V = X @": "V = X_Q @"},
        ),
        Mistake(
            "queries from X",
            "X_Q asks and X answers: the queries are made from X_Q.",
            {"X_Q @ W_Q": "X @ W_Q"},
        ),
        Mistake(
            "the weights are transposed",
            "Inputs are rows, so a weight matrix acts from the right, as it is.",
            {"@ W_Q": "@ W_Q.T", "@ W_K": "@ W_K.T", "@ W_V": "@ W_V.T"},
        ),
        Mistake(
            "√d_k is missing",
            "The scores are not divided by √d_k, so they spread wider the longer the vectors.",
            {" / math.sqrt(Q.shape[-1])": ""},
        ),
        Mistake(
            "divided by d_k, not by its root",
            "The standard deviation of a dot product grows like √d_k; dividing by d_k makes the weights too even.",
            {"math.sqrt(Q.shape[-1])": "Q.shape[-1]"},
        ),
        Mistake(
            "root of the wrong dimension",
            "d_k is the width of a query after its map. Here another size stands under the root.",
            {"math.sqrt(Q.shape[-1])": "math.sqrt(X.shape[-1])"},
            {"math.sqrt(Q.shape[-1])": "math.sqrt(X_Q.shape[-1])"},
            {"math.sqrt(Q.shape[-1])": "math.sqrt(V.shape[-1])"},
        ),
        Mistake(
            "normalised over the queries",
            "Here the weights of each key sum to one over the queries; those of each query should, over the keys.",
            {"E.sum(axis=-1, keepdims=True)": "E.sum(axis=-2, keepdims=True)"},
            {"axis=-1": "axis=-2"},
        ),
        Mistake(
            "no maximum subtracted",
            "exp(800) is larger than the largest float, so it becomes inf, and inf / inf is nan.",
            {"S - S.max(axis=-1, keepdims=True)": "S"},
        ),
        Mistake(
            "all axes turned around",
            "`.T` turns around all axes, the batch as well, so sequences of a batch get mixed. Swap the last two only.",
            {"K.swapaxes(-1, -2)": "K.T"},
        ),
    ),
)

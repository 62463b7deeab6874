"""Gradients of self-attention, by hand and by numbers (eq-attention-backward, eq-layer-backward)."""

import math

import numpy as np

from attnlib.exercises.cases import drawn, softmax
from attnlib.exercises.model import AnswerExercise, CodeExercise, Mistake, ProofExercise
from attnlib.reference import ops

PAGE = "02-self-attention/5-gradients-by-hand"


def scores_gradient(dP, P):
    """The gradient by the scores, from the gradient dP by the weights P; the last axis counts keys."""
    inner = (P * dP).sum(axis=-1, keepdims=True)
    return P * (dP - inner)


def score_cases(rng):
    def case(*size, sharp: float = 1.0):
        return rng.normal(size=size), softmax(sharp * rng.normal(size=size))

    saturated = softmax(np.array([[60.0, 0.0, -3.0, 0.0], [1.0, 0.0, 2.0, -1.0]]))
    hidden = softmax(np.where(np.tri(3, 3, dtype=bool), rng.normal(size=(3, 3)), -np.inf))
    return {
        "two queries, three keys": case(2, 3),
        "a batch of two": case(2, 3, 5),
        "as many queries as keys": case(4, 4),
        "a weight of nearly one": (rng.normal(size=(2, 4)), saturated),
        "hidden keys": (rng.normal(size=(3, 3)), hidden),
    }


def score_by_jacobian(dP, P):
    J = P[..., :, None] * (np.eye(P.shape[-1]) - P[..., None, :])
    return (J @ dP[..., None])[..., 0]


score = CodeExercise(
    id="self-attention.score-gradient",
    title="From weights back to scores",
    kind="write",
    level=2,
    minutes=12,
    page=PAGE,
    task="P (..., m, n) are the weights, dP the gradient of a loss by them. Return the gradient by the scores, "
    "without building a Jacobian.",
    hints=(
        "One score moves all weights of its row. How much does weight k answer to score j?",
        "Write the sum over k with the two kinds of derivatives, and collect the terms that belong to j.",
        "Each entry of dP, minus the P-weighted sum of its row of dP, times P.",
    ),
    commentary="The P-weighted mean of dP is the baseline: scores whose weight is worth more than the mean rise. In "
    "each row the result sums to zero, and where P is 0 or 1 it is zero: nothing is learned there.",
    prerequisites=("foundations.softmax-jacobian",),
    solution=scores_gradient,
    reference=ops.masked_softmax_backward,
    cases=score_cases,
    variants=(score_by_jacobian, {"return P * (dP - inner)": "return P * dP - P * inner"}),
    mistakes=(
        Mistake(
            "the sum term is missing",
            "The row keeps its sum of one, so raising one weight lowers the others: that is the term with the sum.",
            {" - inner": ""},
        ),
        Mistake(
            "only the diagonal of the Jacobian",
            "P (1 - P) is how a weight answers its own score. It also answers the others.",
            {"(dP - inner)": "dP * (1 - P)"},
        ),
        Mistake(
            "the plain mean, not the weighted one",
            "What is subtracted is the mean of dP with the weights P.",
            {"(P * dP).sum(axis=-1, keepdims=True)": "dP.mean(axis=-1, keepdims=True)"},
        ),
        Mistake(
            "summed over the queries",
            "The sum runs over the keys of one query, the last axis.",
            {"axis=-1": "axis=-2"},
        ),
        Mistake(
            "one sum for all queries",
            "Each query has a sum of its own, over its keys. Here all rows went into one number.",
            {"(P * dP).sum(axis=-1, keepdims=True)": "(P * dP).sum()"},
        ),
        Mistake(
            "the sign of the sum is wrong",
            "The off-diagonal entries of the Jacobian are negative.",
            {"dP - inner": "dP + inner"},
        ),
        Mistake(
            "the sum has no weights",
            "What is subtracted is the sum of dP weighted with P. Here all entries of the row counted fully.",
            {"(P * dP).sum": "dP.sum"},
        ),
        Mistake(
            "P multiplies the first term alone",
            "The sum that is subtracted counts as much as the weight it belongs to: P multiplies both terms.",
            {"P * (dP - inner)": "P * dP - inner"},
        ),
        Mistake(
            "a mean where a sum belongs",
            "The products P dP were averaged. The weights already sum to one: the products are added up.",
            {"(P * dP).sum": "(P * dP).mean"},
        ),
        Mistake(
            "P is missing in front",
            "The whole bracket is multiplied by the weight.",
            {"return P * (dP - inner)": "return dP - inner"},
        ),
        Mistake(
            "the index of the printed formula",
            "This is the Jacobian with one index wrong, -a_ik a_il in place of -a_ij a_il.",
            {"(dP - inner)": "(dP - P * dP.sum(axis=-1, keepdims=True))"},
        ),
    ),
)


def input_gradient(dQ, dK, dV, W_Q, W_K, W_V):
    """The gradient by X, which was projected three times, from those by Q, K and V."""
    return dQ @ W_Q.swapaxes(-1, -2) + dK @ W_K.swapaxes(-1, -2) + dV @ W_V.swapaxes(-1, -2)


def input_by_stacking(dQ, dK, dV, W_Q, W_K, W_V):
    return np.concatenate([dQ, dK, dV], axis=-1) @ np.concatenate([W_Q, W_K, W_V], axis=-1).T


inputs = CodeExercise(
    id="self-attention.input-gradient",
    title="Three roads back to X",
    kind="write",
    level=2,
    minutes=10,
    page=PAGE,
    task="Q = X W_Q, K = X W_K and V = X W_V were made from the same X. From the gradients by Q, K and V return the "
    "gradient by X.",
    hints=(
        "If a number is used in three places, what is its derivative?",
        "One road is a linear map. With Y = X W, what is the gradient by X, and which shape must it have?",
        "Each gradient times its transposed matrix; then add up the three.",
    ),
    commentary="Forget one road: the shapes fit, what is left still points downhill, and nothing complains. A gradient "
    "check finds it at once.",
    prerequisites=("foundations.linear-backward",),
    solution=input_gradient,
    cases=lambda rng: {
        "two tokens": drawn(rng, (2, 3), (2, 3), (2, 4), (5, 3), (5, 3), (5, 4)),
        "a batch of two": drawn(rng, (2, 3, 4), (2, 3, 4), (2, 3, 5), (7, 4), (7, 4), (7, 5)),
        "all sizes equal": drawn(rng, (3, 3), (3, 3), (3, 3), (3, 3), (3, 3), (3, 3)),
    },
    variants=(input_by_stacking, {"dQ @ W_Q.swapaxes(-1, -2)": "np.einsum('...k,dk->...d', dQ, W_Q)"}),
    mistakes=(
        Mistake(
            "the road through the queries is missing",
            "X also decides where its tokens look: dQ goes back through W_Q.",
            {"dQ @ W_Q.swapaxes(-1, -2) + ": ""},
        ),
        Mistake(
            "the road through the keys is missing",
            "X also decides who looks at its tokens: dK goes back through W_K.",
            {"dK @ W_K.swapaxes(-1, -2) + ": ""},
        ),
        Mistake(
            "the road through the values is missing",
            "X also decides what the others see: dV goes back through W_V.",
            {" + dV @ W_V.swapaxes(-1, -2)": ""},
        ),
        Mistake(
            "a mean of the three roads",
            "Gradients from several uses add up; they are not averaged.",
            {"return dQ": "return (dQ", "dV @ W_V.swapaxes(-1, -2)": "dV @ W_V.swapaxes(-1, -2)) / 3"},
        ),
        Mistake(
            "the matrices are not transposed",
            "Untransposed it runs only where the widths agree. The way back goes from d_k to d_model.",
            {".swapaxes(-1, -2)": ""},
        ),
        Mistake(
            "the matrices of queries and keys are exchanged",
            "Each gradient goes back through the matrix that its array came from.",
            {"W_Q.swapaxes": "W_O.swapaxes", "W_K.swapaxes": "W_Q.swapaxes", "W_O.swapaxes": "W_K.swapaxes"},
        ),
    ),
)


def query_gradient(dO, Q, K, V):
    """The gradient of a loss by the queries, from the gradient dO by the output of attention."""
    scale = 1 / math.sqrt(Q.shape[-1])
    P = softmax(scale * Q @ K.swapaxes(-1, -2))
    dP = dO @ V.swapaxes(-1, -2)
    dS = P * (dP - (P * dP).sum(axis=-1, keepdims=True))
    return scale * dS @ K


def query_reference(dO, Q, K, V):
    from attnlib.reference import attention

    _, cache = attention.scaled_dot_product_attention(Q, K, V)
    return attention.scaled_dot_product_attention_backward(dO, cache)[0]


query = CodeExercise(
    id="self-attention.printed-gradient-repair",
    title="A printed gradient, repaired",
    kind="repair",
    level=3,
    minutes=15,
    page=PAGE,
    task="A formula in print gives the derivative by the queries as V times the transposed weights over √d_k. "
    "Somebody tried to save it, and this is how far it came. Repair it; its result must have the shape of Q.",
    hints=(
        "Which array must a gradient by the queries contain, since a score is a query times a key?",
        "The scores lie between the queries and the weights. What does the softmax do to a gradient that passes it?",
        "Go back in steps: output, weights, scores, queries. Two of the steps are wrong.",
    ),
    commentary="The printed product contains neither the keys nor the softmax, and its shape is that of a gradient "
    "only by accident. Asking for the shape first would have caught it.",
    prerequisites=("self-attention.score-gradient",),
    solution=query_gradient,
    reference=query_reference,
    cases=lambda rng: {
        "two queries, three keys": drawn(rng, (2, 4), (2, 5), (3, 5), (3, 4)),
        "a batch of two": drawn(rng, (2, 3, 7), (2, 3, 5), (2, 4, 5), (2, 4, 7)),
        "all sizes equal": drawn(rng, (3, 3), (3, 3), (3, 3), (3, 3)),
    },
    given=("the softmax was left out", "the values in place of the keys"),
    variants=(
        {"return scale * dS @ K": "return np.einsum('...mn,...nd->...md', dS, K) * scale"},
        {"(P * dP).sum(axis=-1, keepdims=True)": "np.einsum('...n,...n->...', P, dP)[..., None]"},
    ),
    mistakes=(
        Mistake(
            "the softmax was left out",
            "The gradient by the weights is not yet the gradient by the scores.",
            {"dS = P * (dP - (P * dP).sum(axis=-1, keepdims=True))": "dS = P * dP"},
        ),
        Mistake(
            "the values in place of the keys",
            "A score is a query times a key, so the way from scores back to queries leads over the keys.",
            {"dS @ K": "dS @ V"},
        ),
        Mistake(
            "no softmax at all",
            "These are the gradients by the weights, times the keys. The softmax stands between scores and weights.",
            {"dS = P * (dP - (P * dP).sum(axis=-1, keepdims=True))": "dS = dP"},
        ),
        Mistake(
            "the weights in place of a gradient",
            "What goes back over the keys is the gradient by the scores, not the weights.",
            {"dS @ K": "P @ K"},
        ),
        Mistake(
            "the plain mean, not the weighted one",
            "What the softmax subtracts is the mean of dP with the weights P.",
            {"(P * dP).sum(axis=-1, keepdims=True)": "dP.mean(axis=-1, keepdims=True)"},
        ),
        Mistake(
            "√d_k counted twice",
            "The scores have the factor 1 / √d_k once, and so has the way back.",
            {"return scale * ": "return scale**2 * "},
        ),
        Mistake(
            "√d_k is missing",
            "The factor of the forward is missing on the way back.",
            {"return scale * ": "return "},
        ),
        Mistake(
            "the queries in place of the keys",
            "That is a product of the kind that gives the gradient by the keys.",
            {"dS @ K": "dS.swapaxes(-1, -2) @ Q"},
        ),
        Mistake(
            "only the diagonal of the Jacobian",
            "A weight also answers to the scores of the other keys.",
            {"dP - (P * dP).sum(axis=-1, keepdims=True)": "dP * (1 - P)"},
        ),
        Mistake(
            "summed over the queries",
            "The sum runs over the keys of one query.",
            {"axis=-1, keepdims": "axis=-2, keepdims"},
        ),
        Mistake("V is not transposed", "It runs only where the sizes agree.", {"V.swapaxes(-1, -2)": "V"}),
    ),
)

WEIGHT = 0.99

saturation = AnswerExercise(
    id="self-attention.predict-saturation",
    title="What a sure row still learns",
    kind="predict",
    level=2,
    minutes=4,
    page=PAGE,
    task=f"A row of weights is sure of one key, with weight {WEIGHT}. The derivative of that weight by its own score "
    "is p (1 - p). How many times smaller is it than at the point where it is largest?",
    hints=(
        "Where is p (1 - p) largest, and how large is it there?",
        "It is largest in the middle between 0 and 1.",
        "Divide one quarter by 0.99 times 0.01.",
    ),
    commentary="At 0.99 the derivative has shrunk by a factor of 25, at 0.9999 by 2500. Sureness and learning are "
    "opposites in a softmax, which is why scores are kept small at the start.",
    answer=lambda: 0.25 / (WEIGHT * (1 - WEIGHT)),
    within=0.3,
    mistakes=(
        Mistake(
            "less than one",
            "It shrank, so the answer is larger than one: the largest derivative over the one at 0.99.",
            WEIGHT * (1 - WEIGHT),
            WEIGHT * (1 - WEIGHT) / 0.25,
        ),
        Mistake(
            "one hundred times", "That is 1 / (1 - p). Compare with the largest value of p (1 - p).", 100.0
        ),
        Mistake(
            "compared with one",
            "p (1 - p) is never one; its largest value is a quarter.",
            1 / (WEIGHT * (1 - WEIGHT)),
        ),
        Mistake(
            "compared with a half",
            "At p = 1/2 the product is a half times a half.",
            0.5 / (WEIGHT * (1 - WEIGHT)),
            0.5 / (1 - WEIGHT),
        ),
        Mistake(
            "p over 1 - p",
            "That compares the weight with what is left of the row. Compare the derivative with its largest value.",
            WEIGHT / (1 - WEIGHT),
        ),
    ),
)

zero_sum = ProofExercise(
    id="self-attention.zero-sum-proof",
    title="Scores compete",
    kind="prove",
    level=2,
    minutes=12,
    page=PAGE,
    task="Prove that each row of the gradient by the scores sums to zero, for every loss. Conclude that a constant "
    "added to all keys' scores of a query is never learned, and that a bias of the keys always has the gradient zero.",
    hints=(
        "Sum the formula for one row over the keys, and use what the weights of a row sum to.",
        "What does the softmax do if the same number is added to all scores of a row?",
        "A bias $b$ of the keys adds $q \\cdot b$ to each score of the query $q$: does that differ from key to key?",
    ),
    proof=r"""Let $p$ be a row of weights, $g$ the gradient by them, and $\delta_j = p_j (g_j - \sum_k p_k g_k)$ the
gradient by the scores.

1. $\sum_j \delta_j = \sum_j p_j g_j - (\sum_j p_j)(\sum_k p_k g_k) = \sum_j p_j g_j - \sum_k p_k g_k = 0$, because
   $\sum_j p_j = 1$.
2. Adding $c$ to all scores of a row changes the loss, to first order, by $c \sum_j \delta_j = 0$. In fact it changes
   nothing at all: $\exp(s_j + c) / \sum_k \exp(s_k + c) = \exp(s_j) / \sum_k \exp(s_k)$.
3. With a bias $b$ the keys are $k_j + b$, and the score of query $i$ is
   $(q_i \cdot k_j + q_i \cdot b) / \sqrt{d_k}$: the second term is the same for all keys of a row. By 2 the weights
   do not depend on $b$ at all, so its gradient is zero for every loss. ∎

The biases of queries and values have no such luck: $b \cdot k_j$ differs from key to key, and a bias of the values
is added to each output.""",
    rubric=(
        "I summed the row and used that the weights sum to one.",
        "I showed that a constant added to a row of scores does not change the weights.",
        "I wrote the score with a bias of the keys and saw that the new term is the same for all keys.",
        "I concluded that the gradient of that bias is zero, and did not claim it of the other biases.",
    ),
    commentary="Large models keep this bias for symmetry's sake or drop it. It is the one parameter of the layer "
    "that can never do anything.",
    prerequisites=("self-attention.score-gradient",),
)

"""The scores of Chapter 1: by hand, by rule, and what they cost (eq-dot-score, eq-additive-score, eq-cosine-score)."""

import numpy as np

from attnlib.exercises import properties as laws
from attnlib.exercises.model import AnswerExercise, CodeExercise, Mistake, ProofExercise

PAGE = "01-foundations/3-scoring-functions"
Q_BY_HAND = np.array([[1.0, 2.0], [0.0, -1.0]])
K_BY_HAND = np.array([[3.0, 0.0], [1.0, 1.0], [-1.0, 2.0]])

dot_by_hand = AnswerExercise(
    id="foundations.dot-by-hand",
    title="Six dot products by hand",
    kind="by hand",
    level=1,
    minutes=4,
    page=PAGE,
    task="The queries are (1, 2) and (0, -1), the keys (3, 0), (1, 1) and (-1, 2). Work out the matrix of dot-product "
    "scores, one row for each query, as a list of lists.",
    hints=(
        "How many scores does each query get, and so how many rows and columns has the matrix?",
        "Row 0 holds (1, 2) · (3, 0), then (1, 2) · (1, 1), then (1, 2) · (-1, 2).",
        "Multiply first coordinate with first, second with second, and add. The result has two rows and three columns.",
    ),
    commentary="Row i belongs to query i, column j to key j: this is Q K transposed, and no other product of the two "
    "matrices has these sizes.",
    answer=lambda: Q_BY_HAND @ K_BY_HAND.T,
    mistakes=(
        Mistake(
            "second coordinates left out",
            "Only the first coordinates were multiplied; the products of the second ones have to be added.",
            Q_BY_HAND[:, :1] @ K_BY_HAND[:, :1].T,
        ),
        Mistake(
            "coordinates crossed",
            "First coordinates belong together and second coordinates belong together.",
            Q_BY_HAND @ K_BY_HAND[:, ::-1].T,
        ),
        Mistake(
            "scaled",
            "These are divided by the root of 2; plain dot products were asked for.",
            Q_BY_HAND @ K_BY_HAND.T / 2**0.5,
        ),
        Mistake("signs lost", "Minus signs were dropped on the way.", abs(Q_BY_HAND) @ abs(K_BY_HAND).T),
    ),
)


def additive_scores(Q, K, W_q, W_k, v):
    """One hidden layer for every pair of a query and a key: map both, add, squash, weigh with v."""
    mapped_q = (Q @ W_q)[..., :, None, :]
    mapped_k = (K @ W_k)[..., None, :, :]
    return np.tanh(mapped_q + mapped_k) @ v


def additive_reference(Q, K, W_q, W_k, v):
    from attnlib.reference import scores

    return scores.additive_scores(Q, K, W_q, W_k, v)[0]


def additive_cases(rng):
    def case(*sizes, scale=1.0, dtype: type = np.float64):
        return tuple((scale * rng.normal(size=size)).astype(dtype) for size in sizes)

    return {
        "two queries, three keys": case((2, 3), (3, 5), (3, 4), (5, 4), (4,)),
        "a batch of two": case((2, 3, 5), (2, 4, 7), (5, 6), (7, 6), (6,)),
        "all sizes equal": case((3, 3), (3, 3), (3, 3), (3, 3), (3,)),
        "large inputs": case((2, 3), (4, 3), (3, 5), (3, 5), (5,), scale=30.0),
        "float32": case((2, 3), (3, 2), (3, 4), (2, 4), (4,), dtype=np.float32),
    }


def additive_by_loops(Q, K, W_q, W_k, v):
    out = np.zeros((*Q.shape[:-1], K.shape[-2]), dtype=Q.dtype)
    for j in range(K.shape[-2]):
        out[..., :, j] = np.tanh(Q @ W_q + (K[..., j, :] @ W_k)[..., None, :]) @ v
    return out


additive = CodeExercise(
    id="foundations.additive-scores",
    title="The additive score of every pair",
    kind="write",
    level=2,
    minutes=12,
    page=PAGE,
    task="Write the additive score for all pairs. Q is (..., m, d_q), K is (..., n, d_k), W_q is (d_q, d_a), W_k is "
    "(d_k, d_a) and v is (d_a,); the scores are (..., m, n).",
    hints=(
        "Every query meets every key. Which two axes must the hidden layer have besides its own d_a?",
        "Map the queries and the keys first; then insert an axis into each so that adding them makes all pairs.",
        "Give the mapped queries a new axis for the keys, the mapped keys one for the queries, add, take the tanh, and "
        "multiply with v, which sums over the last axis.",
    ),
    commentary="The hidden layer has m n d_a numbers, which is what makes this score dearer than a dot product.",
    prerequisites=("foundations.dot-by-hand",),
    solution=additive_scores,
    reference=additive_reference,
    cases=additive_cases,
    properties=(laws.separate_batches(0, 1),),
    variants=(
        additive_by_loops,
        {"return np.tanh(mapped_q + mapped_k) @ v": "return (np.tanh(mapped_k + mapped_q) * v).sum(axis=-1)"},
    ),
    mistakes=(
        Mistake(
            "no tanh",
            "Without the tanh the score is a sum of a part for the query and a part for the key: it "
            "cannot tell which belong together.",
            {"np.tanh(mapped_q + mapped_k)": "(mapped_q + mapped_k)"},
        ),
        Mistake(
            "tanh before the sum",
            "Both parts were squashed before they met, so again they only add up.",
            {"np.tanh(mapped_q + mapped_k)": "(np.tanh(mapped_q) + np.tanh(mapped_k))"},
        ),
        Mistake(
            "multiplied, not added",
            "The two mapped vectors are added in this score; a product of them is another one.",
            {"mapped_q + mapped_k": "mapped_q * mapped_k"},
        ),
        Mistake(
            "subtracted, not added",
            "The mapped key is added to the mapped query, with a plus.",
            {"mapped_q + mapped_k": "mapped_q - mapped_k"},
        ),
        Mistake(
            "v is left out",
            "The hidden layer was summed up as it is; v weighs its entries.",
            {"@ v": ".sum(axis=-1)"},
        ),
        Mistake(
            "sigmoid in place of tanh",
            "These come from a sigmoid, which lies between 0 and 1; tanh lies between -1 and 1.",
            {"np.tanh(mapped_q + mapped_k)": "(1 / (1 + np.exp(-np.clip(mapped_q + mapped_k, -500, 500))))"},
        ),
        Mistake(
            "float32 became float64",
            "float32 went in and float64 came out: some number on the way was float64.",
            {"@ v": "@ v.astype(np.float64)"},
        ),
    ),
)


def multiplicative_scores(Q, K, W):
    """The bilinear score of every query with every key."""
    mapped = Q @ W
    return mapped @ K.swapaxes(-1, -2)


def multiplicative_reference(Q, K, W):
    from attnlib.reference import scores

    return scores.multiplicative_scores(Q, K, W)[0]


def multiplicative_cases(rng):
    return {
        "two queries, three keys": (
            rng.normal(size=(2, 4)),
            rng.normal(size=(3, 5)),
            rng.normal(size=(4, 5)),
        ),
        "a batch of two": (rng.normal(size=(2, 3, 5)), rng.normal(size=(2, 4, 7)), rng.normal(size=(5, 7))),
        "all sizes equal": tuple(rng.normal(size=(3, 3)) for _ in range(3)),
        "a batch of three, all sizes equal": (
            rng.normal(size=(3, 3, 3)),
            rng.normal(size=(3, 3, 3)),
            rng.normal(size=(3, 3)),
        ),
    }


multiplicative = CodeExercise(
    id="foundations.multiplicative-scores",
    title="The bilinear score, in the cheap order",
    kind="write",
    level=1,
    minutes=8,
    page=PAGE,
    task="Write the multiplicative score q W k for all pairs. Q is (..., m, d_q), K is (..., n, d_k) and W is "
    "(d_q, d_k); the scores are (..., m, n).",
    hints=(
        "Which of the two, Q or K, can W be applied to directly from the right?",
        "Map the queries to the width of the keys, and then it is a matrix of dot products.",
        "Multiply Q with W; multiply the result with K whose last two axes are exchanged.",
    ),
    commentary="With few queries it is cheaper to map the queries than the keys: m d_q d_k against n d_q d_k.",
    prerequisites=("foundations.dot-by-hand",),
    solution=multiplicative_scores,
    reference=multiplicative_reference,
    cases=multiplicative_cases,
    properties=(laws.separate_batches(0, 1),),
    variants=(
        {"mapped = Q @ W\n    return mapped @ K.swapaxes(-1, -2)": "return Q @ (K @ W.T).swapaxes(-1, -2)"},
        {
            "mapped = Q @ W\n    return mapped @ K.swapaxes(-1, -2)": (
                "return np.einsum('...iq,qk,...jk->...ij', Q, W, K)"
            )
        },
    ),
    mistakes=(
        Mistake(
            "W is transposed",
            "Where W is square it runs, but q and k have changed their sides of W.",
            {"Q @ W": "Q @ W.T"},
        ),
        Mistake("W is left out", "These are plain dot products; W has no part in them.", {"Q @ W": "Q"}),
        Mistake(
            "K is not transposed",
            "Where K is square it runs, but a score must pair a query's numbers with one key's.",
            {"K.swapaxes(-1, -2)": "K"},
        ),
        Mistake(
            "scaled",
            "These are divided by the root of the keys' width; the multiplicative score is not scaled.",
            {"return mapped @ K.swapaxes(-1, -2)": "return mapped @ K.swapaxes(-1, -2) / K.shape[-1] ** 0.5"},
        ),
        Mistake(
            "W applied to the keys too",
            "W stands between q and k once.",
            {"K.swapaxes": "(K @ W.T @ W).swapaxes"},
        ),
        Mistake(
            "all axes turned around",
            "`.T` turns around all axes, the batch as well. Swap the last two only.",
            {"K.swapaxes(-1, -2)": "K.T"},
        ),
    ),
)


def cosine_scores(Q, K):
    """The cosine of the angle between every query and every key."""
    unit_q = Q / np.sqrt((Q * Q).sum(axis=-1, keepdims=True))
    unit_k = K / np.sqrt((K * K).sum(axis=-1, keepdims=True))
    return unit_q @ unit_k.swapaxes(-1, -2)


def cosine_reference(Q, K):
    from attnlib.reference import scores

    return scores.cosine_scores(Q, K)[0]


def cosine_cases(rng):
    return {
        "two queries, three keys": (rng.normal(size=(2, 4)), rng.normal(size=(3, 4))),
        "a batch of two": (rng.normal(size=(2, 3, 5)), rng.normal(size=(2, 4, 5))),
        "all sizes equal": (rng.normal(size=(3, 3)), rng.normal(size=(3, 3))),
        "long and short vectors": (100 * rng.normal(size=(3, 5)), 0.01 * rng.normal(size=(4, 5))),
    }


cosine = CodeExercise(
    id="foundations.cosine-scores",
    title="Scores that ignore length",
    kind="write",
    level=1,
    minutes=8,
    page=PAGE,
    task="Write the cosine score for all pairs: the dot product of each query with each key, divided by both lengths. "
    "Q is (..., m, d_k), K is (..., n, d_k); the scores are (..., m, n), between -1 and 1.",
    hints=(
        "What remains of a vector when it is divided by its length?",
        "Make all queries and all keys unit vectors first; what is then the dot product of two of them?",
        "The length is the root of the sum of squares over the last axis, kept as an axis so that the division fits.",
    ),
    commentary="Doubling a query changes no cosine, so a cosine score cannot express confidence by length.",
    prerequisites=("foundations.dot-by-hand",),
    solution=cosine_scores,
    reference=cosine_reference,
    cases=cosine_cases,
    properties=(laws.separate_batches(0, 1),),
    variants=(
        {"np.sqrt((Q * Q).sum(axis=-1, keepdims=True))": "np.linalg.norm(Q, axis=-1, keepdims=True)"},
        {"unit_q @ unit_k.swapaxes(-1, -2)": "np.einsum('...id,...jd->...ij', unit_q, unit_k)"},
    ),
    mistakes=(
        Mistake(
            "only the keys were made unit vectors",
            "The lengths of the queries are still in the scores.",
            {"Q / np.sqrt((Q * Q).sum(axis=-1, keepdims=True))": "Q"},
        ),
        Mistake(
            "only the queries were made unit vectors",
            "The lengths of the keys are still in the scores.",
            {"K / np.sqrt((K * K).sum(axis=-1, keepdims=True))": "K"},
        ),
        Mistake(
            "divided by the squared length",
            "The length is the root of the sum of squares.",
            {
                "np.sqrt((Q * Q).sum(axis=-1, keepdims=True))": "(Q * Q).sum(axis=-1, keepdims=True)",
                "np.sqrt((K * K).sum(axis=-1, keepdims=True))": "(K * K).sum(axis=-1, keepdims=True)",
            },
        ),
        Mistake(
            "lengths over the wrong axis",
            "Each vector has its own length: sum the squares over its coordinates, the last axis.",
            {"axis=-1, keepdims": "axis=-2, keepdims"},
        ),
        Mistake(
            "one length for all",
            "The whole matrix was divided by one number; each vector has its own length.",
            {
                "(Q * Q).sum(axis=-1, keepdims=True)": "(Q * Q).sum()",
                "(K * K).sum(axis=-1, keepdims=True)": "(K * K).sum()",
            },
        ),
        Mistake(
            "sum of absolute values as length",
            "The Euclidean length was asked for: the root of the sum of squares.",
            {
                "np.sqrt((Q * Q).sum(axis=-1, keepdims=True))": "abs(Q).sum(axis=-1, keepdims=True)",
                "np.sqrt((K * K).sum(axis=-1, keepdims=True))": "abs(K).sum(axis=-1, keepdims=True)",
            },
        ),
        Mistake(
            "K is not transposed",
            "Where K is square it runs, but a score must pair a query's numbers with one key's.",
            {"unit_k.swapaxes(-1, -2)": "unit_k"},
        ),
    ),
)


bilinear_cost = AnswerExercise(
    id="foundations.bilinear-cost",
    title="The cheaper order",
    kind="predict",
    level=1,
    minutes=4,
    page=PAGE,
    task="One query of width 64 meets 50 keys of width 256 in the bilinear score. How many multiply-adds are needed if "
    "the query is mapped first?",
    hints=(
        "How many multiply-adds does it take to map one vector from 64 numbers to 256?",
        "After that there are 50 dot products of width 256.",
        "Add 64 times 256 and 50 times 256.",
    ),
    commentary="Mapping each key first costs 50 · 64 · 256 and then 50 dot products of width 64: 28 times as much.",
    answer=lambda: 64 * 256 + 50 * 256,
    within=0.5,
    mistakes=(
        Mistake("each key mapped", "That maps each of the 50 keys, the dear order.", 50 * 64 * 256 + 50 * 64),
        Mistake(
            "the query mapped for each key",
            "The query needs to be mapped once, not again for each key.",
            50 * (64 * 256 + 256),
        ),
        Mistake("without the dot products", "That is the map alone; 50 dot products follow.", 64 * 256),
        Mistake(
            "without the map", "Those are the dot products alone; the query has to be mapped first.", 50 * 256
        ),
        Mistake(
            "dot products of width 64",
            "After the map the query has the width of the keys.",
            64 * 256 + 50 * 64,
        ),
    ),
)

bilinear_is_dot = ProofExercise(
    id="foundations.bilinear-is-dot",
    title="Every bilinear score is a dot product, and a low-rank one is cheap",
    kind="prove",
    level=2,
    minutes=12,
    page=PAGE,
    task="Prove that the score $q^\\top W k$ is a dot product of a linear function of $q$ with $k$, and that if $W$ "
    "has rank $r$ it is a dot product of two vectors of width $r$.",
    hints=(
        "Where can you put brackets in a product of three matrices?",
        "A matrix of rank r is a product of two matrices. Of which sizes?",
        "Write W as A B with r columns in A and r rows in B, and bracket so that A meets the query and B the key.",
    ),
    proof=r"""1. $q^\top W k = (W^\top q)^\top k$, because $(W^\top q)^\top = q^\top W$. So the score is the dot product
   of $W^\top q$, a linear function of $q$, with $k$.
2. A matrix $W \in \mathbb{R}^{d_q \times d_k}$ of rank $r$ can be written $W = A B$ with
   $A \in \mathbb{R}^{d_q \times r}$ and $B \in \mathbb{R}^{r \times d_k}$: take for the columns of $A$ a basis of the
   column space of $W$, and for column $j$ of $B$ the coordinates of column $j$ of $W$ in it.
3. Then $q^\top W k = q^\top A B k = (A^\top q)^\top (B k)$, a dot product of two vectors of width $r$. ∎

With $A = W_Q$ and $B = W_K^\top$ this is how attention layers score: the two projections together are one matrix of
rank at most $d_k$.""",
    rubric=(
        "I moved W to one side by transposing, and said that the result is linear in q.",
        "I wrote W as a product of two matrices with r columns and r rows, and said why that is possible.",
        "I bracketed so that one factor meets q and the other meets k.",
    ),
    commentary="This is why a Transformer needs no extra bilinear matrix: its query and key projections are one.",
)

"""A sequence attends to itself, or to another (eq-self-attention, eq-cross-attention)."""

import math

import numpy as np

from attnlib.exercises import properties as laws
from attnlib.exercises.cases import drawn, softmax
from attnlib.exercises.model import AnswerExercise, CodeExercise, Mistake

PAGE = "02-self-attention/1-a-sequence-attends-to-itself"


def self_attention(X, W_Q, W_K, W_V):
    """Every row of X asks, and every row of X answers."""
    Q = X @ W_Q
    K = X @ W_K
    V = X @ W_V
    S = Q @ K.swapaxes(-1, -2) / math.sqrt(K.shape[-1])
    return softmax(S) @ V


def self_reference(X, W_Q, W_K, W_V):
    from attnlib.reference import attention, layers

    return layers.self_attention(X, attention.AttentionWeights(W_Q, W_K, W_V))[0]


def self_cases(rng):
    return {
        "three tokens": drawn(rng, (3, 5), (5, 2), (5, 2), (5, 4)),
        "a batch of two": drawn(rng, (2, 4, 7), (7, 3), (7, 3), (7, 5)),
        "all sizes equal": drawn(rng, (3, 3, 3), (3, 3), (3, 3), (3, 3)),
        "d_model of 9, d_k of 4": drawn(rng, (5, 9), (9, 4), (9, 4), (9, 2)),
        "float32": drawn(rng, (4, 6), (6, 3), (6, 3), (6, 2), dtype=np.float32),
    }


def self_by_einsum(X, W_Q, W_K, W_V):
    S = np.einsum("...id,de,fe,...jf->...ij", X, W_Q, W_K, X, optimize=True) * W_Q.shape[-1] ** -0.5
    return np.einsum("...ij,...jd,dv->...iv", softmax(S), X, W_V, optimize=True)


layer = CodeExercise(
    id="self-attention.layer",
    title="One sequence, three roles",
    kind="write",
    level=1,
    minutes=10,
    page=PAGE,
    task="Write self-attention. X (..., n, d_model) is one sequence, or a batch of them; W_Q and W_K are (d_model, "
    "d_k), W_V is (d_model, d_v). `softmax(S)` over the last axis is there. Return (..., n, d_v).",
    hints=(
        "In cross-attention queries come from one sequence, keys and values from another. What is there to do if "
        "the two are the same?",
        "Make queries, keys and values from the same X with three different matrices. The rest is scaled dot-product "
        "attention.",
        "Three products with X; scores are queries times transposed keys over the root of the width of a key; "
        "then the softmax, and the average of the values.",
    ),
    commentary="One X plays three roles. Its three projections are what makes the roles differ: with equal maps for "
    "queries and keys, token i would score token j just as j scores i.",
    prerequisites=("foundations.key-value-layer",),
    solution=self_attention,
    reference=self_reference,
    cases=self_cases,
    properties=(laws.separate_batches(0),),
    variants=(
        self_by_einsum,
        {"Q @ K.swapaxes(-1, -2) / math.sqrt(K.shape[-1])": "Q / K.shape[-1] ** 0.5 @ K.swapaxes(-1, -2)"},
    ),
    mistakes=(
        Mistake(
            "multiplied by √d_k",
            "The scores grew by the root of d_k. They should shrink by it.",
            {"/ math.sqrt(K.shape[-1])": "* math.sqrt(K.shape[-1])"},
        ),
        Mistake(
            "√d_k is missing",
            "The scores were not divided by the root of the width of a key, so the weights are too sharp.",
            {" / math.sqrt(K.shape[-1])": ""},
        ),
        Mistake(
            "scaled by √d_model",
            "A score adds up d_k products, not d_model of them: the root of d_k brings its spread back to one.",
            {"math.sqrt(K.shape[-1])": "math.sqrt(X.shape[-1])"},
        ),
        Mistake(
            "scaled by the number of tokens",
            "K.shape[-2] counts the tokens. What a score adds up are the entries of one key.",
            {"math.sqrt(K.shape[-1])": "math.sqrt(K.shape[-2])"},
        ),
        Mistake(
            "scaled by √d_v",
            "The width of a value has no part in a score; the width of a key has.",
            {"math.sqrt(K.shape[-1])": "math.sqrt(V.shape[-1])"},
        ),
        Mistake(
            "divided by d_k, not by its root",
            "The spread of a dot product grows with the root of d_k.",
            {"math.sqrt(K.shape[-1])": "K.shape[-1]"},
        ),
        Mistake(
            "the softmax was taken twice",
            "The second softmax got weights, which lie between 0 and 1, and made them almost equal.",
            {"softmax(S)": "softmax(softmax(S))"},
        ),
        Mistake(
            "one projection for queries and keys",
            "Queries and keys came from the same matrix. Then the scores are symmetric: each looks at the other "
            "equally hard.",
            {"X @ W_K": "X @ W_Q"},
            {"X @ W_Q": "X @ W_K"},
        ),
        Mistake(
            "the projections of queries and keys are exchanged",
            "With the two matrices exchanged, the scores are transposed: row i now says who looks at i.",
            {"Q = X @ W_Q\n    K = X @ W_K": "K = X @ W_Q\n    Q = X @ W_K"},
        ),
        Mistake(
            "the values are not projected",
            "The rows of X themselves were averaged. What a token gives is X times W_V.",
            {"V = X @ W_V": "V = X"},
        ),
        Mistake(
            "normalised over the queries",
            "Here each key hands out a total weight of one. Each query should: normalise over the last axis.",
            {"softmax(S)": "softmax(S.swapaxes(-1, -2)).swapaxes(-1, -2)"},
        ),
        Mistake(
            "all axes turned around",
            "`.T` turns around all axes, the batch as well, so sequences get mixed. Swap the last two only.",
            {"K.swapaxes(-1, -2)": "K.T"},
        ),
        Mistake(
            "float32 became float64",
            "float32 went in, float64 came out: some float64 number took part, such as `np.sqrt` of an int or "
            "`np.zeros` without a dtype.",
            {"math.sqrt(": "np.sqrt("},
            {"return softmax(S)": "return np.float64(1) * softmax(S)"},
        ),
    ),
)


def cross_attention(X, Y, W_Q, W_K, W_V):
    """The rows of X ask; the rows of Y answer."""
    Q = X @ W_Q
    K = Y @ W_K
    V = Y @ W_V
    S = Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])
    return softmax(S) @ V


def cross_reference(X, Y, W_Q, W_K, W_V):
    from attnlib.reference import attention, layers

    return layers.cross_attention(X, Y, attention.AttentionWeights(W_Q, W_K, W_V))[0]


def cross_cases(rng):
    return {
        "two targets, three sources": drawn(rng, (2, 4), (3, 4), (4, 2), (4, 2), (4, 5)),
        "a batch of two": drawn(rng, (2, 3, 5), (2, 4, 5), (5, 6), (5, 6), (5, 7)),
        "as many targets as sources": drawn(rng, (2, 3, 5), (2, 3, 5), (5, 4), (5, 4), (5, 2)),
        "all sizes equal": drawn(rng, (3, 3, 3), (3, 3, 3), (3, 3), (3, 3), (3, 3)),
        "float32": drawn(rng, (2, 5), (4, 5), (5, 2), (5, 2), (5, 6), dtype=np.float32),
    }


def cross_by_einsum(X, Y, W_Q, W_K, W_V):
    S = np.einsum("...id,de,fe,...jf->...ij", X, W_Q, W_K, Y, optimize=True) * W_Q.shape[-1] ** -0.5
    return np.einsum("...ij,...jd,dv->...iv", softmax(S), Y, W_V, optimize=True)


cross = CodeExercise(
    id="self-attention.cross",
    title="One sequence asks another",
    kind="write",
    level=1,
    minutes=8,
    page=PAGE,
    task="Write cross-attention: X (..., m, d_model) is the target, which asks; Y (..., n, d_model) is the source, "
    "which is read. `softmax(S)` over the last axis is there. Return (..., m, d_v).",
    hints=(
        "How many rows must the result have: as many as X, or as many as Y?",
        "A translation asks with the words that it has written, and reads the sentence that it translates.",
        "Queries are X times W_Q; keys and values are both made from Y.",
    ),
    commentary="The shape is the first test: m rows ask, so m rows come back. Where m equals n by chance, a mix-up "
    "runs without complaint; test with different lengths.",
    prerequisites=("self-attention.layer",),
    solution=cross_attention,
    reference=cross_reference,
    cases=cross_cases,
    properties=(laws.separate_batches(0, 1), laws.blind_to_order({1: -2})),
    variants=(
        cross_by_einsum,
        {"Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])": "Q @ (K / Q.shape[-1] ** 0.5).swapaxes(-1, -2)"},
    ),
    mistakes=(
        Mistake(
            "divided by d_k, not by its root",
            "The spread of a dot product grows with the root of d_k.",
            {"math.sqrt(Q.shape[-1])": "Q.shape[-1]"},
        ),
        Mistake(
            "the softmax was taken twice",
            "The second softmax got weights, which lie between 0 and 1, and made them almost equal.",
            {"softmax(S)": "softmax(softmax(S))"},
        ),
        Mistake(
            "keys from the target",
            "The keys were made from X. What is scored must be what is read: the source.",
            {"Y @ W_K": "X @ W_K"},
        ),
        Mistake(
            "values from the target",
            "The values were made from X, so the target reads itself. What it reads is the source.",
            {"Y @ W_V": "X @ W_V"},
        ),
        Mistake(
            "queries from the source",
            "The queries were made from Y, so the source read itself. The target is the one that asks.",
            {"X @ W_Q": "Y @ W_Q"},
        ),
        Mistake(
            "the weights are returned",
            "These are the weights, one for each pair. The output averages the values with them.",
            {"return softmax(S) @ V": "return softmax(S)"},
        ),
        Mistake(
            "scaled by the number of tokens",
            "K.shape[-2] counts the tokens that are read. What a score adds up are the entries of one key.",
            {"math.sqrt(Q.shape[-1])": "math.sqrt(K.shape[-2])"},
        ),
        Mistake(
            "√d_k is missing",
            "The scores were not divided by the root of the width of a query.",
            {" / math.sqrt(Q.shape[-1])": ""},
        ),
        Mistake(
            "scaled by √d_model",
            "A score adds up d_k products, not d_model of them.",
            {"math.sqrt(Q.shape[-1])": "math.sqrt(X.shape[-1])"},
        ),
        Mistake(
            "normalised over the targets",
            "Here each source word hands out a total weight of one. Each target word should get one.",
            {"softmax(S)": "softmax(S.swapaxes(-1, -2)).swapaxes(-1, -2)"},
        ),
        Mistake(
            "all axes turned around",
            "`.T` turns around all axes, the batch as well, so sequences get mixed. Swap the last two only.",
            {"K.swapaxes(-1, -2)": "K.T"},
        ),
        Mistake(
            "float32 became float64",
            "float32 went in, float64 came out: some float64 number took part.",
            {"math.sqrt(": "np.sqrt("},
            {"return softmax(S)": "return np.float64(1) * softmax(S)"},
        ),
    ),
)

LENGTHS = (6, 5)

predict_weights = AnswerExercise(
    id="self-attention.predict-sizes",
    title="How many weights has a translation?",
    kind="predict",
    level=1,
    minutes=3,
    page=PAGE,
    task=f"A sentence of {LENGTHS[0]} words is read; {LENGTHS[1]} words of its translation are written. How many "
    "weights are there in the encoder's self-attention, the decoder's self-attention (nothing is masked) and the "
    "cross-attention together?",
    hints=(
        "Each query has one weight for each key. Who asks, and who is read, in each of the three?",
        "Draw three tables: source by source, target by target, target by source.",
        "Add two squares and one product.",
    ),
    commentary="36 + 25 + 30: self-attention is a square table, cross-attention a rectangle with a row for each "
    "target word.",
    prerequisites=("self-attention.cross",),
    answer=lambda: LENGTHS[0] ** 2 + LENGTHS[1] ** 2 + LENGTHS[0] * LENGTHS[1],
    within=0.0,
    mistakes=(
        Mistake(
            "the cross-attention is missing",
            "The decoder also reads the source, once for each pair of a target and a source word.",
            LENGTHS[0] ** 2 + LENGTHS[1] ** 2,
        ),
        Mistake(
            "all words in one table",
            "That is one self-attention over both sentences joined, or a source that also "
            "reads the target. Here the source never asks the target.",
            sum(LENGTHS) ** 2,
        ),
        Mistake(
            "the decoder's self-attention is missing",
            "The words of the translation look at each other too.",
            LENGTHS[0] ** 2 + LENGTHS[0] * LENGTHS[1],
        ),
        Mistake(
            "the encoder's self-attention is missing",
            "The words of the source look at each other too.",
            LENGTHS[1] ** 2 + LENGTHS[0] * LENGTHS[1],
        ),
        Mistake("one weight per word", "A weight belongs to a pair of words.", sum(LENGTHS)),
        Mistake("the cross-attention alone", "Each side also attends to itself.", LENGTHS[0] * LENGTHS[1]),
    ),
)

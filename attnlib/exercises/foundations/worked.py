"""Attention worked out and put right: a printed example, its memory, an index, a batch (eq-layer, eq-attention)."""

import math

import numpy as np

from attnlib.exercises import properties as laws
from attnlib.exercises.model import AnswerExercise, CodeExercise, Mistake

PAGE = "01-foundations/5-in-matrices"
Z = np.array([[1.0, 0.5], [2.0, 1.0], [0.5, 2.0]])
W_Q = np.array([[0.5, 0.3], [0.2, 0.4]])
W_K = np.array([[0.3, 0.1], [0.4, 0.2]])
W_V = np.array([[0.2, 0.5], [0.3, 0.1]])


def three(Q, K, V):
    """The entries in question: second of Q, second of K and first of V, all in the last row."""
    return np.array([Q[2, 1], K[2, 1], V[2, 0]])


worked_example = AnswerExercise(
    id="foundations.worked-example",
    title="Three wrong numbers in a worked example",
    kind="by hand",
    level=1,
    minutes=8,
    page=PAGE,
    task="A document prints, for Z = [[1, 0.5], [2, 1], [0.5, 2]], W_Q = [[0.5, 0.3], [0.2, 0.4]], W_K = [[0.3, 0.1], "
    "[0.4, 0.2]] and W_V = [[0.2, 0.5], [0.3, 0.1]]: Z W_Q = [[0.6, 0.5], [1.2, 1.0], [0.65, 1.1]], Z W_K = [[0.5, "
    "0.2], [1.0, 0.4], [0.95, 0.5]] and Z W_V = [[0.35, 0.55], [0.7, 1.1], [0.76, 0.45]]. One entry in each product is "
    "wrong: give the three right numbers, in this order.",
    hints=(
        "Each entry is a row of Z times a column of a weight matrix. The second row of Z is twice the first: what does "
        "that say about the rows of the products?",
        "The first two rows agree with each other in all three products, so look at the last row.",
        "For Q it is (0.5, 2) times the second column of its matrix, for K the same row times the second column, for V "
        "the same row times the first column.",
    ),
    commentary="Everything after this step in the document (scores, weights, outputs) inherits these three slips. The "
    "second row being twice the first is a check that costs nothing, and it finds where not to look.",
    answer=lambda: three(Z @ W_Q, Z @ W_K, Z @ W_V),
    within=0.004,
    mistakes=(
        Mistake(
            "the printed numbers",
            "You found the three wrong entries; work out what should stand there.",
            np.array([1.1, 0.5, 0.76]),
        ),
        Mistake(
            "rows of the weights, not columns",
            "The row of Z meets a column of the weight matrix; here it met a row.",
            three(Z @ W_Q.T, Z @ W_K.T, Z @ W_V.T),
        ),
        Mistake(
            "another row of Z",
            "The wrong entries are all in the last row, which belongs to the last row of Z.",
            three(Z[[2, 0, 1]] @ W_Q, Z[[2, 0, 1]] @ W_K, Z[[2, 0, 1]] @ W_V),
            three(Z[[2, 2, 0]] @ W_Q, Z[[2, 2, 0]] @ W_K, Z[[2, 2, 0]] @ W_V),
        ),
        Mistake(
            "one of the two products is missing",
            "An entry is a sum of two products, because a row of Z has two numbers.",
            2.0 * np.array([W_Q[1, 1], W_K[1, 1], W_V[1, 0]]),
            0.5 * np.array([W_Q[0, 1], W_K[0, 1], W_V[0, 0]]),
        ),
        Mistake(
            "coordinates crossed",
            "The first number of the row belongs to the first of the column, the second to the second.",
            three(Z[:, ::-1] @ W_Q, Z[:, ::-1] @ W_K, Z[:, ::-1] @ W_V),
        ),
    ),
)

HEADS, TOKENS, BYTES = 12, 4096, 4

memory = AnswerExercise(
    id="foundations.memory",
    title="The price of looking everywhere",
    kind="predict",
    level=1,
    minutes=4,
    page=PAGE,
    task=f"{HEADS} attention heads read one sequence of {TOKENS} tokens, and each token looks at all of them. How many "
    "MiB (2^20 bytes) do the weights of all heads take in float32?",
    hints=(
        "How many weights has one head, if every token has one for every token?",
        "A float32 has 32 bits, and a byte has 8.",
        f"{TOKENS} is 2 to the power 12, so one head has 2 to the power 24 weights. Multiply by the bytes of one "
        "number and by the heads, and divide by 2 to the power 20.",
    ),
    commentary="Twice the tokens take four times the memory. That is why fast attention never stores P as a whole.",
    answer=lambda: HEADS * TOKENS**2 * BYTES / 2**20,
    within=0.5,
    mistakes=(
        Mistake("one head", "That is one head; each head has its own weights.", TOKENS**2 * BYTES / 2**20),
        Mistake(
            "numbers, not bytes",
            "So many million numbers (2^20) it is; each takes more than one byte.",
            HEADS * TOKENS**2 / 2**20,
        ),
        Mistake(
            "float64", "Eight bytes are a float64; a float32 is half as long.", HEADS * TOKENS**2 * 8 / 2**20
        ),
        Mistake("bits", "A float32 has 32 bits; bytes were asked for.", HEADS * TOKENS**2 * 32 / 2**20),
        Mistake(
            "float16", "Two bytes are a float16; a float32 is twice as long.", HEADS * TOKENS**2 * 2 / 2**20
        ),
        Mistake(
            "million bytes",
            "That is in millions of bytes; a MiB is 2^20 of them.",
            HEADS * TOKENS**2 * BYTES / 1e6,
        ),
        Mistake(
            "one number for each token",
            "Each token has a weight for every token, not a single one.",
            HEADS * TOKENS * BYTES / 2**20,
            HEADS * TOKENS * BYTES,
        ),
        Mistake("bytes", "Those are bytes; divide by 2^20 for MiB.", HEADS * TOKENS**2 * BYTES),
    ),
)


def weighted_sums(P, V):
    """For each query i the sum over the keys j of the values V[j], each with the weight that i gives to j."""
    m, n = P.shape
    Y = np.zeros((m, V.shape[-1]), dtype=V.dtype)
    for i in range(m):
        for j in range(n):
            Y[i] += P[i, j] * V[j]
    return Y


def sums_cases(rng):
    def case(m, n, d_v, dtype: type = np.float64):
        E = np.exp(rng.normal(size=(m, n)))
        return (E / E.sum(axis=-1, keepdims=True)).astype(dtype), rng.normal(size=(n, d_v)).astype(dtype)

    return {
        "two queries, three keys": case(2, 3, 4),
        "four queries, three keys": case(4, 3, 5),
        "as many queries as keys": case(3, 3, 2),
        "all sizes equal": case(4, 4, 4),
        "float32": case(3, 3, 2, np.float32),
    }


output_index = CodeExercise(
    id="foundations.output-index-repair",
    title="An index error in print",
    kind="repair",
    level=1,
    minutes=6,
    page=PAGE,
    task="A lecture prints the output of attention as $Y_i = \\sum_j A_{j,i} V_j$, and this code does what it "
    "says, with P (m, n) for A and V (n, d_v). With four queries and three keys it stops with an error, and with "
    "as many queries as keys it is wrong without a word. Repair it.",
    hints=(
        "Which axis of P counts the queries, and which the keys?",
        "How far may each index run? Compare the ranges of the loops with the shape of P.",
        "In the weight that query i gives to key j, the query's index comes first.",
    ),
    commentary="The printed form is right only if A is the transposed matrix, with a column for each query. Sizes that "
    "differ would have shown it at once: with three keys there is no fourth row to read.",
    solution=weighted_sums,
    reference=lambda P, V: P @ V,
    cases=sums_cases,
    given=("the two indices are exchanged",),
    variants=(
        lambda P, V: P @ V,
        lambda P, V: np.einsum("ij,jc->ic", P, V),
        lambda P, V: (P[:, :, None] * V).sum(axis=1),
    ),
    mistakes=(
        Mistake(
            "the two indices are exchanged",
            "Query i reads the weights that others give to key i, a column of P, which need not sum to one.",
            {"P[i, j]": "P[j, i]"},
        ),
        Mistake(
            "each output scales one value",
            "Every weight of the row met the value of key i; the weight of key j belongs to the value of key j.",
            {"* V[j]": "* V[i]"},
        ),
        Mistake(
            "only the last key counts",
            "The terms were not summed: each one replaced the one before.",
            {"Y[i] += ": "Y[i] = "},
        ),
        Mistake(
            "the last key is left out",
            "The sum stops one key early: `range(n)` already ends before n.",
            {"range(n)": "range(n - 1)"},
        ),
        Mistake(
            "the first key is left out",
            "The formula counts from 1, Python counts from 0.",
            {"range(n)": "range(1, n)"},
        ),
        Mistake(
            "divided by the number of keys",
            "The weights already sum to one; dividing by n once more makes every output too small.",
            {"return Y": "return Y / n"},
        ),
        Mistake(
            "float32 became float64",
            "float32 went in, float64 came out: `np.zeros` makes float64 unless it is told otherwise.",
            {", dtype=V.dtype": ""},
        ),
    ),
)


def batch_attention(Q, K, V):
    """Scaled dot-product attention for a batch of sequences, each of which sees only itself."""
    S = np.einsum("bid,bjd->bij", Q, K) / math.sqrt(Q.shape[-1])
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    P = E / E.sum(axis=-1, keepdims=True)
    return np.einsum("bij,bjc->bic", P, V)


def batch_reference(Q, K, V):
    from attnlib.reference import attention

    return attention.scaled_dot_product_attention(Q, K, V)[0]


def one_by_one(Q, K, V):
    out = []
    for queries, keys, values in zip(Q, K, V, strict=True):
        E = np.exp(queries @ keys.T / math.sqrt(queries.shape[-1]))
        out.append(E / E.sum(axis=-1, keepdims=True) @ values)
    return np.stack(out)


def one_long_sequence(Q, K, V):
    """The batch laid out as one sequence: every query sees the keys of all."""
    S = Q.reshape(-1, Q.shape[-1]) @ K.reshape(-1, K.shape[-1]).T / math.sqrt(Q.shape[-1])
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    P = E / E.sum(axis=-1, keepdims=True)
    return (P @ V.reshape(-1, V.shape[-1])).reshape(*Q.shape[:-1], V.shape[-1])


batch = CodeExercise(
    id="foundations.batch-repair",
    title="Sequences that read each other",
    kind="repair",
    level=2,
    minutes=8,
    page=PAGE,
    task="Q is (b, m, d_k), K (b, n, d_k), V (b, n, d_v). This attention is right for a batch of one. In a larger "
    "batch a sequence's output changes when another sequence does. Find the two places where the batch is mixed, "
    "and repair them.",
    hints=(
        "A letter that stands in only one of the two inputs of `einsum` and not in the result: what happens to it?",
        "Such a letter is summed over. Which letter should all three parts share, so that sequence b meets sequence b?",
        "In both products the batch's letter of the second array must be that of the first, and of the result.",
    ),
    commentary="The shapes are right and nothing is raised; for a batch of one the numbers are right too. A batch "
    "of two in a test, with one sequence changed, finds such a bug.",
    prerequisites=("foundations.attention-matrices",),
    solution=batch_attention,
    reference=batch_reference,
    cases=lambda rng: {
        "a batch of one": tuple(rng.normal(size=size) for size in ((1, 2, 4), (1, 3, 4), (1, 3, 5))),
        "a batch of two": tuple(rng.normal(size=size) for size in ((2, 3, 7), (2, 5, 7), (2, 5, 11))),
        "all sizes equal": tuple(rng.normal(size=(3, 3, 3)) for _ in range(3)),
    },
    properties=(laws.separate_batches(0, 1, 2), laws.blind_to_order({1: -2, 2: -2})),
    given=("scores with the keys of all sequences", "values of all sequences"),
    variants=(
        one_by_one,
        {
            'np.einsum("bid,bjd->bij", Q, K)': "Q @ K.swapaxes(-1, -2)",
            'np.einsum("bij,bjc->bic", P, V)': "P @ V",
        },
        {'np.einsum("bij,bjc->bic", P, V)': "P @ V"},
    ),
    mistakes=(
        Mistake(
            "scores with the keys of all sequences",
            "Each score is the sum of a query's products with the keys at the same place in every "
            "sequence of the batch.",
            {"bid,bjd->bij": "bid,ajd->bij"},
        ),
        Mistake(
            "values of all sequences",
            "The weights are those of one sequence, but the values at one place were summed over the batch.",
            {"bij,bjc->bic": "bij,ajc->bic"},
        ),
        Mistake(
            "one long sequence",
            "The batch was laid out as one sequence, so that each query's weights spread over the keys of all.",
            one_long_sequence,
        ),
        Mistake(
            "normalised over the batch",
            "The weights of one place sum to one over the batch; those of each query should, over its keys.",
            {"E.sum(axis=-1, keepdims=True)": "E.sum(axis=0, keepdims=True)"},
        ),
        Mistake(
            "normalised over the queries",
            "The weights of each key sum to one over the queries; those of each query should, over the keys.",
            {"E.sum(axis=-1, keepdims=True)": "E.sum(axis=-2, keepdims=True)"},
        ),
        Mistake(
            "queries of all sequences",
            "The queries at one place were summed over the batch before they met the keys.",
            {"bid,bjd->bij": "aid,bjd->bij"},
        ),
        Mistake(
            "weights of all sequences",
            "The weights at one place were summed over the batch before they met the values.",
            {"bij,bjc->bic": "aij,bjc->bic"},
        ),
        Mistake(
            "averaged over the batch",
            "Every sequence got the average of all outputs.",
            {
                'np.einsum("bij,bjc->bic", P, V)': (
                    'np.broadcast_to(np.einsum("bij,bjc->bic", P, V).mean(axis=0), (*Q.shape[:-1], V.shape[-1]))'
                )
            },
        ),
        Mistake(
            "√d_k is missing",
            "The scores are not divided by √d_k, so the weights become too sharp.",
            {" / math.sqrt(Q.shape[-1])": ""},
        ),
    ),
)

"""Looking things up: a mask to repair, a kernel, loops, and how sharp a lookup can be (eq-output, eq-kernel)."""

import math

import numpy as np

from attnlib.exercises import properties as laws
from attnlib.exercises.model import CodeExercise, Mistake, ProofExercise

PAGE = "01-foundations/2-the-attention-function"


def attend(S, V, mask):
    """The average of the values V, with the softmax of the scores S over the places where mask is True."""
    S = np.where(mask, S, -math.inf)
    top = S.max(axis=-1, keepdims=True)
    E = np.exp(S - np.where(np.isfinite(top), top, 0))
    total = E.sum(axis=-1, keepdims=True)
    P = E / np.where(total > 0, total, 1)
    return P @ V


def attend_reference(S, V, mask):
    from attnlib.reference import attention

    return attention.attend(S, V, mask)[0]


def attend_cases(rng):
    some = np.array([[True, True, False, True], [False, True, True, False], [True, False, False, True]])
    empty = np.array([[True, True, False], [False, False, False], [False, True, True]])
    far = np.array([[-900.0, -902.0, 5.0, 7.0], [3.0, 1.0, 2.0, 4.0], [1.0, -1.0, 0.0, 2.0]])
    low = np.array([[-3e9, -3e9, -3e9 - 1, 0.0], [3.0, 1.0, 2.0, 4.0], [1.0, -1.0, 0.0, 2.0]])
    two = np.array([[True, True, False, False]] * 3)
    return {
        "three queries, four keys": (rng.normal(size=(3, 4)), rng.normal(size=(4, 2)), some),
        "a batch of two": (rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 4, 5)), some),
        "a query that may look nowhere": (rng.normal(size=(3, 3)), rng.normal(size=(3, 2)), empty),
        "a hidden score far above": (far, rng.normal(size=(4, 3)), two),
        "visible scores of -3e9": (low, rng.normal(size=(4, 3)), two),
        "scores of 1 and of 800": (
            rng.normal(size=(3, 4)) + np.array([[0.0], [800.0], [0.0]]),
            rng.normal(size=(4, 3)),
            some,
        ),
        "float32": (
            rng.normal(size=(3, 3)).astype(np.float32),
            rng.normal(size=(3, 2)).astype(np.float32),
            empty,
        ),
    }


def attend_by_indexing(S, V, mask):
    mask = np.broadcast_to(mask, S.shape)
    O = np.zeros((*S.shape[:-1], V.shape[-1]), dtype=V.dtype)
    for where in np.ndindex(S.shape[:-1]):
        seen = mask[where]
        if seen.any():
            E = np.exp(S[where][seen] - S[where][seen].max())
            O[where] = E / E.sum() @ V[where[:-1]][seen]
    return O


mask_repair = CodeExercise(
    id="foundations.mask-repair",
    title="A mask that comes too late, and the wrong way round",
    kind="repair",
    level=2,
    minutes=8,
    page=PAGE,
    task="This function should average the values V over the keys where `mask` is True, with softmax weights of the "
    "scores S; a query that may look nowhere gets zeros. It has two bugs in how it uses the mask; repair both.",
    hints=(
        "Print the weights that meet the values. Which keys are read, and what does each row sum to?",
        "One bug is about what True means; the other is about where in the function the mask acts.",
        "Hidden scores have to become minus infinity before the maximum is taken, so that they take no part in it.",
    ),
    commentary="After the softmax the hidden keys have already taken their share of the sum, so what is left does not "
    "sum to one. The lines around `top` and `total` were right all along: they wait for a row without any key.",
    prerequisites=("foundations.attention-loops",),
    solution=attend,
    reference=attend_reference,
    cases=attend_cases,
    properties=(laws.separate_batches(0, 1),),
    given=("the mask acts after the softmax", "inverted mask"),
    variants=(attend_by_indexing, {"np.where(total > 0, total, 1)": "np.maximum(total, 1)"}),
    mistakes=(
        Mistake(
            "the mask acts after the softmax",
            "The hidden keys still took their share of the sum, so the weights that are left do not sum to one.",
            {
                "S = np.where(mask, S, -math.inf)\n    ": "",
                "P = E / np.where(total > 0, total, 1)": "P = np.where(mask, E / np.where(total > 0, total, 1), 0)",
            },
        ),
        Mistake(
            "inverted mask",
            "True means: may look. Here the keys with True were hidden, and the others read.",
            {"np.where(mask, ": "np.where(~mask, "},
        ),
        Mistake(
            "the mask is not used",
            "These are the averages without a mask: every query reads every key.",
            {"S = np.where(mask, S, -math.inf)\n    ": ""},
        ),
        Mistake(
            "nan on a row with nothing to look at",
            "A query that may look nowhere has the maximum -inf, and -inf - (-inf) is nan. It should get zeros.",
            {"np.where(np.isfinite(top), top, 0)": "top"},
            {"np.where(total > 0, total, 1)": "total"},
        ),
        Mistake(
            "a row with nothing to look at reads everything",
            "A query that may look nowhere got the plain mean of values that are all hidden. A very low but finite "
            "score does this, because then all keys are equally low.",
            {"-math.inf": "np.finfo(S.dtype).min"},
        ),
        Mistake(
            "a hidden key wins over a visible one",
            "Where visible scores are very low, a hidden key got the weight. A finite number such as -1e9 is only low; "
            "minus infinity is hidden.",
            {"-math.inf": "S.dtype.type(-1e9)"},
            {"-math.inf": "S.dtype.type(-1e4)"},
            {"np.where(mask, S, -math.inf)": "S + S.dtype.type(-1e9) * ~mask"},
        ),
        Mistake(
            "scores multiplied by the mask",
            "A hidden score became 0, and exp(0) is 1: the hidden keys still get weight.",
            {"np.where(mask, S, -math.inf)": "S * mask"},
        ),
        Mistake(
            "maximum over hidden scores",
            "The maximum was taken over all scores. Where a hidden score is far above, they underflow to 0.",
            {
                "S = np.where(mask, S, -math.inf)\n    ": "",
                "E = np.exp(S - np.where(np.isfinite(top), top, 0))": "E = mask * np.exp(S - top)",
            },
        ),
        Mistake(
            "no maximum subtracted",
            "exp(800) is larger than the largest float, so it becomes inf, and inf / inf is nan.",
            {"S - np.where(np.isfinite(top), top, 0)": "S"},
        ),
        Mistake(
            "normalised over the queries",
            "Here the weights of each key sum to one over the queries; those of each query should, over the keys.",
            {"axis=-1": "axis=-2"},
        ),
        Mistake(
            "scores changed in place",
            "Writing into S hides the caller's scores for good. Make a new array.",
            {"S = np.where(mask, S, -math.inf)": "S[~np.broadcast_to(mask, S.shape)] = -math.inf"},
        ),
        Mistake(
            "float32 became float64",
            "float32 went in and float64 came out: some number on the way was float64.",
            {"-math.inf": "np.float64(-np.inf)"},
            {"return P": "return np.float64(1) * P"},
        ),
    ),
)


def kernel_regression(Q, K, V, bandwidth):
    """For each query the average of the values V, weighted by a Gaussian of the distance to each key."""
    distance = ((Q[..., :, None, :] - K[..., None, :, :]) ** 2).sum(axis=-1)
    S = -distance / (2 * bandwidth**2)
    G = np.exp(S - S.max(axis=-1, keepdims=True))
    return G @ V / G.sum(axis=-1, keepdims=True)


def kernel_reference(Q, K, V, bandwidth):
    from attnlib.reference.attention import (
        attend,
    )  # the package's kernel_regression refuses a query far from all keys

    logs = -((Q[..., :, None, :] - K[..., None, :, :]) ** 2).sum(axis=-1) / (2 * bandwidth**2)
    return attend(logs, V)[0]


def kernel_regression_by_loops(Q, K, V, bandwidth):
    O = np.zeros((*Q.shape[:-1], V.shape[-1]), dtype=V.dtype)
    for where in np.ndindex(Q.shape[:-1]):
        lengths = np.linalg.norm(K[where[:-1]] - Q[where], axis=-1)
        closeness = np.exp((lengths.min() ** 2 - lengths**2) / 2 / bandwidth**2)
        O[where] = (closeness[:, None] * V[where[:-1]]).sum(axis=0) / closeness.sum()
    return O


def kernel_cases(rng):
    def case(*sizes, dtype: type = np.float64):
        return tuple(rng.normal(size=size).astype(dtype) for size in sizes)

    far = case((2, 2), (4, 2), (4, 3))
    far[0][1] += 90
    return {
        "two queries, three keys": (*case((2, 2), (3, 2), (3, 4)), 1.5),
        "a batch of two": (*case((2, 3, 4), (2, 5, 4), (2, 5, 2)), 2.0),
        "a narrow kernel": (*case((3, 1), (4, 1), (4, 2)), 0.5),
        "a query far from all keys": (*far, 0.8),
        "all sizes equal": (*case((3, 3), (3, 3), (3, 3)), 1.2),
        "float32": (*case((2, 3), (4, 3), (4, 2), dtype=np.float32), 1.5),
    }


kernel = CodeExercise(
    id="foundations.kernel-regression",
    title="An average from 1964",
    kind="write",
    level=2,
    minutes=12,
    page=PAGE,
    task="Write kernel regression: each query gets the average of the values, weighted by "
    "$\\exp(-|q - k|^2 / 2h^2)$ with the bandwidth h. Q is (..., m, d_k), K is (..., n, d_k), V is (..., n, d_v). "
    "A query far from all keys must get an average too, not nan.",
    hints=(
        "Which axes does the array of all differences between queries and keys have?",
        "Call what stands in the exponent a score: what you need then is a softmax of these scores.",
        "Insert axes so that queries and keys are subtracted in all pairs, square, sum over the coordinates, change "
        "the sign, divide by twice the squared bandwidth; a softmax over the keys, safe by its maximum, averages V.",
    ),
    commentary="Nadaraya and Watson averaged like this in 1964. With a dot product in place of the distance it is "
    "attention; for keys of one length and h² = √d_k the two give the same weights.",
    prerequisites=("foundations.attention-loops",),
    solution=kernel_regression,
    reference=kernel_reference,
    cases=kernel_cases,
    properties=(laws.separate_batches(0, 1, 2), laws.blind_to_order({1: -2, 2: -2})),
    variants=(
        kernel_regression_by_loops,
        {
            "((Q[..., :, None, :] - K[..., None, :, :]) ** 2).sum(axis=-1)": (
                "(Q**2).sum(axis=-1)[..., :, None] - 2 * Q @ K.swapaxes(-1, -2) + (K**2).sum(axis=-1)[..., None, :]"
            )
        },
    ),
    mistakes=(
        Mistake(
            "no maximum subtracted",
            "Far from all keys every kernel value underflows to 0, and 0 / 0 is nan. "
            "A factor that all keys share cancels.",
            {"S - S.max(axis=-1, keepdims=True)": "S"},
        ),
        Mistake(
            "the distance is not squared",
            "Here the distance itself stands in the exponent; a Gaussian has its square.",
            {"S = -distance": "S = -np.sqrt(distance)"},
        ),
        Mistake(
            "absolute differences",
            "The absolute differences were summed up; the Euclidean distance takes squares.",
            {
                "((Q[..., :, None, :] - K[..., None, :, :]) ** 2)": "abs(Q[..., :, None, :] - K[..., None, :, :])"
            },
        ),
        Mistake(
            "the bandwidth is not squared",
            "Distance and bandwidth have the same unit, so the square of one is divided by the square of the other.",
            {"bandwidth**2": "bandwidth"},
        ),
        Mistake(
            "the factor 2 is missing",
            "The exponent is divided by twice the squared bandwidth; without the 2 the kernel is too narrow.",
            {"(2 * bandwidth**2)": "bandwidth**2"},
        ),
        Mistake(
            "multiplied by the bandwidth",
            "A wider kernel should weigh more evenly; here it weighs more sharply.",
            {"distance / (2 * bandwidth**2)": "distance * (2 * bandwidth**2)"},
        ),
        Mistake(
            "far keys count most",
            "The weights grow with the distance: a minus is missing in the exponent.",
            {"S = -distance": "S = distance"},
        ),
        Mistake(
            "not normalised",
            "The weighted values were summed up; an average divides by the sum of the weights.",
            {" / G.sum(axis=-1, keepdims=True)": ""},
        ),
        Mistake(
            "divided by the number of keys",
            "This is a plain mean of weighted values; a weighted average divides by the sum of the weights.",
            {"G.sum(axis=-1, keepdims=True)": "G.shape[-1]"},
        ),
        Mistake(
            "normalised over the queries",
            "The weights of each key sum to one over the queries; those of each query should, over the keys.",
            {"G @ V / G.sum(axis=-1, keepdims=True)": "(G / G.sum(axis=-2, keepdims=True)) @ V"},
        ),
        Mistake(
            "dot product in place of the distance",
            "These weights come from dot products; the kernel asks how far apart a query and a key lie.",
            {"S = -distance": "S = Q @ K.swapaxes(-1, -2)"},
        ),
        Mistake(
            "float32 became float64",
            "float32 went in and float64 came out: some number on the way was float64.",
            {"return G": "return np.float64(1) * G"},
        ),
    ),
)


def attention_by_loops(Q, K, V):
    """Scaled dot-product attention, one query and one key at a time."""
    O = np.zeros((len(Q), V.shape[1]), dtype=V.dtype)
    for i in range(len(Q)):
        scores = [Q[i] @ K[j] / math.sqrt(Q.shape[1]) for j in range(len(K))]
        top = max(scores)
        total = 0
        for j in range(len(K)):
            total = total + np.exp(scores[j] - top)
        for j in range(len(K)):
            O[i] += np.exp(scores[j] - top) / total * V[j]
    return O


def loops_reference(Q, K, V):
    from attnlib.reference import attention

    return attention.attention_by_loops(Q, K, V)


def loops_cases(rng):
    def case(*sizes, dtype: type = np.float64):
        return tuple(rng.normal(size=size).astype(dtype) for size in sizes)

    return {
        "two queries, three keys": case((2, 4), (3, 4), (3, 2)),
        "values as wide as keys": case((3, 5), (4, 5), (4, 5)),
        "one query": case((1, 2), (5, 2), (5, 3)),
        "scores of 1 and of 800": (
            rng.normal(size=(2, 5)) * np.array([[1.0], [900.0]]),
            *case((4, 5), (4, 3)),
        ),
        "all sizes equal": case((3, 3), (3, 3), (3, 3)),
        "float32": case((3, 2), (4, 2), (4, 5), dtype=np.float32),
    }


def loops_by_matrices(Q, K, V):
    S = Q @ K.T / math.sqrt(Q.shape[1])
    E = np.exp(S - S.max(axis=1, keepdims=True))
    return (E / E.sum(axis=1, keepdims=True)) @ V


loops = CodeExercise(
    id="foundations.attention-loops",
    title="Attention, one query at a time",
    kind="write",
    level=1,
    minutes=12,
    page=PAGE,
    task="Write scaled dot-product attention with loops: for each query a score for each key, then the weights, then "
    "the average of the values. Q is (m, d_k), K is (n, d_k), V is (n, d_v). Scores may be as large as 800, where the "
    "exponential itself overflows.",
    hints=(
        "What must be worked out anew for each query, and what must be complete before the first weight is known?",
        "Inside the loop over the queries come three loops over the keys: scores, the sum of the exponentials, values.",
        "A score is the dot product divided by the root of d_k. Subtract the largest score of this query before each "
        "exponential, sum them up from zero, and add each value to the query's row, times its share of the sum.",
    ),
    commentary="Nothing here is shared between two turns of the outer loop: queries do not see each other, which is "
    "why all of them can be done at once as matrices.",
    solution=attention_by_loops,
    reference=loops_reference,
    cases=loops_cases,
    properties=(laws.blind_to_order({1: -2, 2: -2}),),
    variants=(
        loops_by_matrices,
        {
            "O[i] += np.exp(scores[j] - top) / total * V[j]": "O[i] = O[i] + V[j] * (np.exp(scores[j] - top) / total)"
        },
    ),
    mistakes=(
        Mistake(
            "√d_k is missing",
            "The scores are not divided by √d_k, so they spread wider the longer the vectors are.",
            {" / math.sqrt(Q.shape[1])": ""},
        ),
        Mistake(
            "divided by d_k, not by its root",
            "The standard deviation of a dot product grows like √d_k; dividing by d_k makes the weights too even.",
            {"math.sqrt(Q.shape[1])": "Q.shape[1]"},
        ),
        Mistake(
            "root of the wrong dimension",
            "The root is that of d_k, the width of queries and keys; here another size was taken.",
            {"math.sqrt(Q.shape[1])": "math.sqrt(len(K))"},
            {"math.sqrt(Q.shape[1])": "math.sqrt(len(Q))"},
            {"math.sqrt(Q.shape[1])": "math.sqrt(V.shape[1])"},
        ),
        Mistake(
            "no maximum subtracted",
            "exp(800) is larger than the largest float, so it becomes inf, and inf / inf is nan.",
            {"np.exp(scores[j] - top)": "np.exp(scores[j])"},
        ),
        Mistake(
            "only the last key is left",
            "Each value replaced the one before it in the output; they have to be added up.",
            {"O[i] +=": "O[i] ="},
        ),
        Mistake(
            "the last key is left out",
            "A loop stops one key too early. `range(n)` already ends with n - 1.",
            {"range(len(K))": "range(len(K) - 1)"},
        ),
        Mistake(
            "the sum is not complete",
            "The exponentials were divided by the sum of those so far. All must be summed before the first weight.",
            {
                "total = total + np.exp(scores[j] - top)\n        for j in range(len(K)):\n            ": (
                    "total = total + np.exp(scores[j] - top)\n            "
                )
            },
        ),
        Mistake(
            "the sum runs on from query to query",
            "Only the first query is right: the sum of the exponentials was not set back to zero for the next one.",
            {"        total = 0\n": "", "    for i in range": "    total = 0\n    for i in range"},
        ),
        Mistake(
            "not divided by the sum",
            "The values were weighted with exponentials that do not sum to one.",
            {" / total": ""},
        ),
        Mistake(
            "keys averaged in place of values",
            "The weights are right, but the keys were averaged. A key says where to look, its value what is there.",
            {"* V[j]": "* K[j]"},
        ),
        Mistake(
            "no softmax",
            "The scores themselves were used as weights.",
            {"np.exp(scores[j] - top) / total": "scores[j]"},
        ),
        Mistake(
            "float32 became float64",
            "float32 went in and float64 came out. `np.zeros` makes float64 unless it is told another type.",
            {", dtype=V.dtype": ""},
        ),
    ),
)


lookup_sharpness = ProofExercise(
    id="foundations.lookup-sharpness",
    title="What half of the weight costs",
    kind="prove",
    level=1,
    minutes=10,
    page=PAGE,
    task="A query has the score $\\beta$ with the key it looks for and the score 0 with each of the $n - 1 \\ge 2$ "
    "other keys. Prove that the right key gets at least half of the weight exactly if $\\beta \\ge \\ln(n - 1)$. How "
    "much more is needed for a share of $1 - \\varepsilon$, with $0 < \\varepsilon < 1$?",
    hints=(
        "What is the softmax weight of the right key, as a function of the one number β?",
        "Divide above and below the fraction line by the exponential of β, and see in which direction the weight moves "
        "as β grows.",
        "Set the weight against the wanted share and multiply out both positive denominators; every step can be read "
        "in both directions. Then take the logarithm.",
    ),
    proof=r"""1. The scores are $\beta, 0, \dots, 0$ with $n - 1$ zeros, and $e^0 = 1$, so the weight of the right key
   is $p = e^{\beta} / (e^{\beta} + n - 1)$.
2. Both denominators in $e^{\beta} / (e^{\beta} + n - 1) \ge \tfrac12$ are positive, so the inequality holds exactly if
   $2 e^{\beta} \ge e^{\beta} + n - 1$, that is, exactly if $e^{\beta} \ge n - 1$.
3. The logarithm is increasing and $n - 1 > 0$, so this holds exactly if $\beta \ge \ln(n - 1)$.
4. In the same way $p \ge 1 - \varepsilon$ means $\varepsilon\, e^{\beta} \ge (1 - \varepsilon)(n - 1)$, that is
   $\beta \ge \ln(n - 1) + \ln\frac{1 - \varepsilon}{\varepsilon}$. The second term is what is needed more; it does not
   depend on $n$. ∎

So a thousand times as many entries cost $\ln 1000$, about 6.9, in score; and a share of 99 % costs $\ln 99$, about 4.6,
more than a half, however many entries there are. No finite $\beta$ reaches a share of one.""",
    rubric=(
        "I wrote the weight of the right key as a fraction with all n exponentials in its denominator.",
        "I multiplied out denominators that I had said are positive, or used that the weight grows with β.",
        "Each step works in both directions, so I proved both: it suffices, and it is needed.",
        "For the share 1 - ε I found a second term that does not depend on n.",
    ),
    commentary="The sharpness that a soft lookup needs grows with the logarithm of what is stored: slowly, but without "
    "end. Scores that are bounded (cosines, for example) cannot pay it without a temperature.",
    prerequisites=("foundations.attention-loops",),
)

"""Reading a table of weights: how far, to where, how surely (eq-entropy, eq-mean-distance, eq-offset-histogram)."""

import math

import numpy as np

from attnlib.exercises.cases import softmax
from attnlib.exercises.model import AnswerExercise, CodeExercise, Mistake, ProofExercise

PAGE = "02-self-attention/6-patterns-and-entropy"


def weights(rng, *size, sharp: float = 1.5):
    return softmax(sharp * rng.normal(size=size))


def mean_distance(P):
    """(..., m): how many places away each query looks, on average; P (..., n, n)."""
    places = np.arange(P.shape[-1])
    distance = abs(places - places[:, None])
    return (P * distance).sum(axis=-1)


def by_loops(P):
    result = np.zeros(P.shape[:-1])
    for where in np.ndindex(result.shape):
        result[where] = sum(p * abs(where[-1] - j) for j, p in enumerate(P[where]))
    return result


def table_cases(rng):
    causal = softmax(np.where(np.tri(4, 4, dtype=bool), rng.normal(size=(4, 4)), -np.inf))
    return {
        "three tokens": (weights(rng, 3, 3),),
        "two heads": (weights(rng, 2, 4, 4),),
        "causal": (causal,),
        "always the token before": (np.eye(5)[np.maximum(np.arange(5) - 1, 0)],),
    }


distance = CodeExercise(
    id="self-attention.mean-distance",
    title="How far does it look?",
    kind="write",
    level=1,
    minutes=8,
    page=PAGE,
    task="P (..., n, n) are weights of self-attention. Return (..., n): for each query the mean distance |i - j| to "
    "the keys, with the weights P.",
    hints=(
        "How far is key j from query i, and how much of the attention goes there?",
        "Make a table of the distances, in the same shape as one table of weights.",
        "Distances times weights, summed over the keys.",
    ),
    commentary="A mean distance hides as much as it shows: half on itself and half far away has the same mean as all "
    "in the middle. That is why the histogram of offsets is looked at too.",
    solution=mean_distance,
    cases=table_cases,
    variants=(by_loops, {"abs(places - places[:, None])": "np.abs(np.subtract.outer(places, places))"}),
    mistakes=(
        Mistake(
            "signed offsets",
            "Left and right cancelled. A distance has no sign.",
            {"abs(places - places[:, None])": "places - places[:, None]"},
        ),
        Mistake(
            "summed over the queries",
            "This is how far away a key is looked at from. Asked for was how far a query looks.",
            {"axis=-1": "axis=-2"},
        ),
        Mistake(
            "squared distances",
            "These are mean squares; the mean of the distance itself was asked for.",
            {"abs(places - places[:, None])": "(places - places[:, None]) ** 2"},
        ),
        Mistake(
            "a root of mean squares",
            "Far keys count too much: the mean of the distance itself was asked for, without square and root.",
            {"(P * distance).sum(axis=-1)": "np.sqrt((P * distance**2).sum(axis=-1))"},
        ),
        Mistake(
            "divided by n",
            "The weights already sum to one: their sum needs no division.",
            {".sum(": ".mean("},
        ),
        Mistake(
            "the distance of the largest weight",
            "This is how far away the favourite key is. All keys count, by their weights.",
            {"(P * distance).sum(axis=-1)": "abs(P.argmax(axis=-1) - places) * 1.0"},
        ),
        Mistake(
            "the distance of the mean position",
            "The positions were averaged before the distance was taken, so left and right cancelled.",
            {"(P * distance).sum(axis=-1)": "abs(P @ places - places)"},
        ),
        Mistake(
            "the mean position of the keys",
            "This is where the query looks, not how far away from itself.",
            {"abs(places - places[:, None])": "places"},
        ),
    ),
)


def offset_histogram(P):
    """(2n - 1): the mean weight on each offset key - query, from -(n - 1) to n - 1; sums to one."""
    n = len(P)
    return np.array([np.trace(P, offset=o) for o in range(1 - n, n)]) / n


def offsets_by_index(P):
    n = len(P)
    offset = np.arange(n) - np.arange(n)[:, None]
    return np.bincount((offset + n - 1).ravel(), weights=P.ravel(), minlength=2 * n - 1) / n


offsets = CodeExercise(
    id="self-attention.offset-histogram",
    title="To where, seen from here?",
    kind="write",
    level=2,
    minutes=12,
    page=PAGE,
    task="P (n, n) are weights. Return 2n - 1 numbers: the share of all attention that goes to offset key - query = "
    "-(n - 1), ..., n - 1. They sum to one.",
    hints=(
        "Where in the table are the entries whose key is one place before the query?",
        "An offset is a diagonal of the table: add up each of them.",
        "For each offset from 1 - n to n - 1 the trace of that diagonal; then divide by the sum of all weights, "
        "which is the number of queries.",
    ),
    commentary="A positional head has one tall bar, whatever the words are. Far offsets have fewer places where they "
    "can occur, so even uniform attention gives a tent, not a plain: compare with that.",
    prerequisites=("self-attention.mean-distance",),
    solution=offset_histogram,
    cases=lambda rng: {
        "three tokens": (weights(rng, 3, 3),),
        "five tokens": (weights(rng, 5, 5),),
        "always the token before": (np.eye(5)[np.maximum(np.arange(5) - 1, 0)],),
        "causal": (softmax(np.where(np.tri(4, 4, dtype=bool), rng.normal(size=(4, 4)), -np.inf)),),
    },
    variants=(offsets_by_index, {"np.trace(P, offset=o)": "np.diagonal(P, o).sum()"}),
    mistakes=(
        Mistake(
            "query minus key",
            "The histogram is mirrored: the token before has the offset -1.",
            {"offset=o": "offset=-o"},
        ),
        Mistake("not divided by the number of queries", "The shares sum to n, not to one.", {") / n": ")"}),
        Mistake(
            "the mean of each diagonal",
            "Each offset was divided by how often it can occur. Asked for was its share of all attention.",
            {"np.trace(P, offset=o)": "np.diagonal(P, o).mean()", ") / n": ")"},
            {"np.trace(P, offset=o)": "np.diagonal(P, o).mean() * 1"},
        ),
        Mistake(
            "divided by the number of offsets",
            "The weights of n queries sum to n.",
            {") / n": ") / (2 * n - 1)"},
        ),
        Mistake(
            "distances, not offsets",
            "Left and right were put together.",
            {"np.trace(P, offset=o)": "(np.trace(P, offset=o) + np.trace(P, offset=-o)) / 2"},
        ),
        Mistake(
            "negative offsets at the end",
            "The numbers are right and stand at other places: offset o belongs at place o + n - 1. (In Python a "
            "negative index counts from the end.)",
            {"range(1 - n, n)": "[*range(n), *range(1 - n, 0)]"},
        ),
        Mistake(
            "one end is missing",
            "There are 2n - 1 offsets; the far one on the right is missing.",
            {"range(1 - n, n)": "range(1 - n, n - 1)"},
        ),
    ),
)


def entropy_share(P, mask):
    """(..., m): each row's entropy over the largest that its visible keys allow; 0 where it sees one or none."""
    logs = np.log(np.where(P > 0, P, 1))
    entropy = -(P * logs).sum(axis=-1)
    largest = np.log(np.maximum(mask.sum(axis=-1), 1))
    return np.where(largest > 0, entropy / np.where(largest > 0, largest, 1), 0)


def share_cases(rng):
    def case(mask, sharp=1.5):
        return softmax(np.where(mask, sharp * rng.normal(size=mask.shape), -np.inf)), mask

    tril = np.tri(4, 4, dtype=bool)
    return {
        "three queries, five keys": case(np.ones((3, 5), dtype=bool)),
        "causal": case(tril),
        "causal, two sequences": case(np.stack([tril, tril])),
        "uniform over the visible": (tril / tril.sum(axis=1, keepdims=True), tril),
        "two keys of four": (
            np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.9, 0.0, 0.1]]),
            np.ones((2, 4), dtype=bool),
        ),
    }


def share_by_loops(P, mask):
    result = np.zeros(P.shape[:-1])
    for where in np.ndindex(result.shape):
        p = P[where][mask[where]]
        if len(p) > 1:
            p = p[p > 0]
            result[where] = -np.sum(p * np.log(p)) / math.log(mask[where].sum())
    return result


share = CodeExercise(
    id="self-attention.entropy-share",
    title="A fair entropy for causal rows",
    kind="write",
    level=2,
    minutes=12,
    page=PAGE,
    task="Rows of a causal mask see 1, 2, 3, ... keys, so their entropies cannot be compared as they are. Return "
    "each row's entropy divided by the largest that its visible keys allow; 0 for a row that sees one key or none.",
    hints=(
        "Which weights give the largest entropy over k visible keys, and how large is it?",
        "Count the visible keys of each row; the bound is the logarithm of that count.",
        "Mind two places: the logarithm of a weight that is zero, and a division by the logarithm of one.",
    ),
    commentary="Early rows look sure because they have no choice. Averages over a causal table mix that with what "
    "the head does; the share removes it.",
    prerequisites=("foundations.entropy",),
    solution=entropy_share,
    cases=share_cases,
    variants=(share_by_loops, {"np.log(np.where(P > 0, P, 1))": "np.log(P + (P == 0))"}),
    mistakes=(
        Mistake(
            "divided by the logarithm of all keys",
            "Hidden keys are no choice: the bound of a row counts what it may see.",
            {"np.log(np.maximum(mask.sum(axis=-1), 1))": "np.log(np.full(P.shape[:-1], P.shape[-1]))"},
        ),
        Mistake(
            "not divided",
            "This is the entropy itself.",
            {"entropy / np.where(largest > 0, largest, 1)": "entropy"},
        ),
        Mistake(
            "negative",
            "The entropy is minus the sum: logarithms of weights are negative.",
            {"-(P * logs)": "(P * logs)"},
        ),
        Mistake(
            "nan where a weight is zero",
            "0 log 0 counts as zero, but NumPy says nan.",
            {"np.where(P > 0, P, 1)": "P"},
        ),
        Mistake(
            "nan where one key is visible",
            "The bound is log 1 = 0 there, and 0 / 0 is nan.",
            {"np.where(largest > 0, entropy / np.where(largest > 0, largest, 1), 0)": "entropy / largest"},
        ),
        Mistake(
            "divided by the number of visible keys",
            "The largest entropy over k keys is log k.",
            {
                "largest = np.log(np.maximum(mask.sum(axis=-1), 1))": "largest = np.maximum(mask.sum(axis=-1), 1)"
            },
        ),
        Mistake(
            "keys that it does not use were left out",
            "A key that may be seen and gets no weight is a choice too: count the mask, not the positive weights.",
            {"mask.sum(axis=-1)": "(P > 0).sum(axis=-1)"},
        ),
        Mistake(
            "two bases",
            "The entropy has logarithms to base 2 and the bound natural ones. Take the same for both.",
            {"np.log(np.where": "np.log2(np.where"},
        ),
        Mistake(
            "something tiny over something tiny",
            "With a small number added inside the logarithms a row with one visible key becomes tiny over tiny, here "
            "-1. It was to be 0.",
            {
                "np.log(np.where(P > 0, P, 1))": "np.log(P + 1e-12)",
                "np.where(largest > 0, entropy / np.where(largest > 0, largest, 1), 0)": "entropy / "
                "np.log(mask.sum(axis=-1) + 1e-12)",
            },
        ),
        Mistake(
            "one minus the share",
            "This is how sure a row is. Asked for was how spread out.",
            {
                "entropy / np.where(largest > 0, largest, 1)": "1 - entropy / np.where(largest > 0, largest, 1)"
            },
        ),
    ),
)

SEEN = 8

uniform = AnswerExercise(
    id="self-attention.predict-uniform",
    title="The most undecided row",
    kind="predict",
    level=1,
    minutes=3,
    page=PAGE,
    task=f"In a causal layer the row of token number {SEEN} (counting from one) has the largest entropy that it can "
    "have. How many nats is that?",
    hints=(
        "How many keys does this row see?",
        "The entropy is largest when all weights are equal.",
        "All weights are one over the number of keys: the entropy is the logarithm of that number.",
    ),
    commentary=f"log {SEEN}. The first row has entropy 0 whatever the head does.",
    answer=lambda: math.log(SEEN),
    within=0.025,
    mistakes=(
        Mistake("the number of keys", "So many keys it sees. The entropy is the logarithm of that.", SEEN),
        Mistake("one weight", "That is the weight of each key; their entropy was asked for.", 1 / SEEN),
        Mistake(
            "bits",
            "That is in bits, with the logarithm to base 2. Nats have the natural one.",
            math.log2(SEEN),
        ),
        Mistake("it does not see itself", "A token sees itself too.", math.log(SEEN - 1)),
        Mistake("one key too many", "The next token is hidden.", math.log(SEEN + 1)),
        Mistake("the sum of the weights", "The weights sum to one; their entropy was asked for.", 1.0),
        Mistake("negative", "An entropy is minus the sum of p log p, and not negative.", -math.log(SEEN)),
    ),
)

bounds = ProofExercise(
    id="self-attention.entropy-proof",
    title="Between nothing and log n",
    kind="prove",
    level=1,
    minutes=12,
    page=PAGE,
    task="Prove that the entropy $H = -\\sum_j p_j \\log p_j$ of a row of $n$ weights lies between $0$ and $\\log "
    "n$, and say when each bound is attained. (Take $0 \\log 0 = 0$.)",
    hints=(
        "Which sign has each term of the sum?",
        "For the upper bound compare $H$ with $\\log n$: bring $\\log n = \\sum_j p_j \\log n$ under the same sum.",
        "Use $\\log x \\le x - 1$, with equality at $x = 1$ alone.",
    ),
    proof=r"""1. For $0 < p_j \le 1$ we have $\log p_j \le 0$, so each term $-p_j \log p_j$ is at least $0$; hence
   $H \ge 0$. A term is $0$ only for $p_j = 0$ or $p_j = 1$, and since the weights sum to one, $H = 0$ exactly if one
   weight is $1$.
2. $H - \log n = \sum_{j: p_j > 0} p_j (-\log p_j - \log n) = \sum_{j: p_j > 0} p_j \log \frac{1}{n p_j}$, because the
   weights sum to one.
3. With $\log x \le x - 1$ this is at most
   $\sum_{j: p_j > 0} p_j \left(\frac{1}{n p_j} - 1\right) = \frac{k}{n} - 1 \le 0$, where $k \le n$ counts the positive
   weights. Hence $H \le \log n$.
4. Equality needs $k = n$, and $\log x = x - 1$ in each term, hence $n p_j = 1$ for all $j$: the uniform row, which does
   attain it. ∎

A softmax of finite scores has only positive weights, so for $n > 1$ it never attains the lower bound.""",
    rubric=(
        "I showed that no term is negative, and when each is zero.",
        "I compared H with log n using that the weights sum to one.",
        "I used log x ≤ x - 1 (or concavity) with its case of equality.",
        "I said when each bound is attained.",
    ),
    commentary="With a mask n is the number of visible keys, which differs from row to row.",
    prerequisites=("foundations.entropy",),
)

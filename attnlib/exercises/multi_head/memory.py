"""What heads cost in memory: tables of weights, caches, shared keys, tiles (eq-grouped-query)."""

import math

import numpy as np

from attnlib.exercises.cases import drawn, softmax
from attnlib.exercises.model import AnswerExercise, CodeExercise, Mistake, ProofExercise
from attnlib.reference import grouped

PAGE = "03-multi-head/3-memory"


def cache_bytes(layers, n_kv_heads, d_head, n, bytes_each):
    """The bytes of the keys and values that a decoder keeps of n tokens."""
    return 2 * layers * n_kv_heads * d_head * n * bytes_each


cache = CodeExercise(
    id="multi-head.cache-bytes",
    title="How large is the cache?",
    kind="write",
    level=1,
    minutes=6,
    page=PAGE,
    task="A decoder keeps the keys and the values of all n tokens so far, in every layer, for n_kv_heads heads of "
    "d_head numbers, `bytes_each` bytes a number. Return the number of bytes.",
    hints=(
        "How many numbers does one token leave behind in one head of one layer?",
        "A key and a value, of d_head numbers each.",
        "Multiply: two, layers, heads, width of a head, tokens, bytes.",
    ),
    commentary="Queries are not kept: each is asked once. Heads that share keys and values shrink the cache by the "
    "same factor, which is why it is done.",
    solution=cache_bytes,
    cases=lambda rng: {
        "a small model": (2, 4, 8, 10, 4),
        "one shared head": (2, 1, 8, 10, 4),
        "a model of 12 layers, half precision": (12, 12, 64, 1024, 2),
        "one token": (3, 2, 5, 1, 4),
    },
    variants=(
        {"2 * layers * n_kv_heads * d_head * n": "layers * n * sum([n_kv_heads * d_head] * 2)"},
        {"2 * layers * n_kv_heads * d_head * n": "math.prod((2, layers, n_kv_heads, d_head, n))"},
    ),
    mistakes=(
        Mistake("keys alone", "The values are kept as well.", {"2 * layers": "layers"}),
        Mistake(
            "queries are kept too",
            "A query is used once, when its token is new. Keys and values are read again.",
            {"2 * layers": "3 * layers"},
        ),
        Mistake(
            "bits, not bytes",
            "A byte has eight bits; the bytes were asked for.",
            {"2 * layers": "16 * layers"},
        ),
        Mistake("one layer only", "Every layer keeps its own.", {"2 * layers": "2"}),
        Mistake("one head only", "Every head keeps keys and values of its own.", {"n_kv_heads * ": ""}),
        Mistake("numbers, not bytes", "This counts the numbers.", {" * bytes_each": ""}),
        Mistake(
            "mebibytes, not bytes",
            "The result was divided by a power of 1024. Bytes were asked for.",
            {" * bytes_each": " * bytes_each / 2**20"},
            {" * bytes_each": " * bytes_each / 2**30"},
            {" * bytes_each": " * bytes_each / 2**10"},
        ),
        Mistake(
            "the square of the tokens",
            "Every token leaves a key and a value once, however many come after it.",
            {"d_head * n": "d_head * n * n"},
        ),
        Mistake(
            "the table of weights",
            "The weights, n by n, are not kept. What is kept grows with n, not with its square.",
            {"d_head * n": "n * n"},
        ),
    ),
)


def shared(K, n_heads):
    """(..., h, n, d): keys of n_kv heads, each handed to h / n_kv query heads that are neighbours."""
    return np.repeat(K, n_heads // K.shape[-3], axis=-3)


def shared_by_index(K, n_heads):
    group = n_heads // K.shape[-3]
    return K[..., np.arange(n_heads) // group, :, :]


repeat = CodeExercise(
    id="multi-head.share-keys",
    title="Which keys are mine?",
    kind="write",
    level=2,
    minutes=8,
    page=PAGE,
    task="K (..., n_kv, n, d) are the keys of n_kv heads. There are n_heads query heads, a multiple of n_kv; the "
    "first n_heads / n_kv of them share the first key head, the next ones the second, and so on. "
    "Return (..., n_heads, n, d).",
    hints=(
        "With 6 query heads and 2 key heads: whose keys does query head 2 read?",
        "Each key head is repeated for its neighbours before the next one comes.",
        "Repeat along the axis of the heads, n_heads / n_kv times each.",
    ),
    commentary="Copying is for reading; fast code lets the query heads of a group read the same memory. The trained "
    "model decides the order: tiling in place of repeating runs, with every head asking a stranger's keys.",
    prerequisites=("multi-head.split",),
    solution=shared,
    reference=lambda K, n_heads: grouped.repeat_heads(K, n_heads // K.shape[-3]),
    cases=lambda rng: {
        "two key heads for four": (drawn(rng, (2, 3, 2))[0], 4),
        "two for six, a batch of three": (drawn(rng, (3, 2, 3, 4))[0], 6),
        "one for all": (drawn(rng, (1, 3, 2))[0], 4),
        "each its own": (drawn(rng, (3, 2, 2))[0], 3),
        "all sizes equal": (drawn(rng, (2, 2, 2, 2))[0], 4),
    },
    variants=(
        shared_by_index,
        {
            "np.repeat(K, n_heads // K.shape[-3], axis=-3)": (
                "np.stack([K[..., k * K.shape[-3] // n_heads, :, :] for k in range(n_heads)], axis=-3)"
            )
        },
    ),
    mistakes=(
        Mistake(
            "tiled, not repeated",
            "The key heads came round in turns. Neighbouring query heads share one.",
            {"np.repeat(K, n_heads // K.shape[-3]": "np.concatenate([K] * (n_heads // K.shape[-3])"},
        ),
        Mistake(
            "everybody reads the first key head",
            "Each group has its own key head.",
            {"np.repeat(K,": "np.repeat(K[..., :1, :, :] + 0 * K,"},
        ),
        Mistake(
            "the groups are reversed",
            "The first group shares the first key head.",
            {"np.repeat(K,": "np.repeat(K[..., ::-1, :, :],"},
        ),
        Mistake(
            "the tokens were repeated",
            "The axis of the heads is the third from the end.",
            {"axis=-3)": "axis=-2)"},
        ),
        Mistake(
            "divided by the size of the group",
            "A key is shared, not split: each query head reads it whole.",
            {"return np.repeat": "return K.shape[-3] / n_heads * np.repeat"},
        ),
    ),
)


def in_two_parts(q, K, V, cut):
    """Attention of one query, the first `cut` keys and the others apart, joined exactly."""
    parts = []
    for keys, values in ((K[:cut], V[:cut]), (K[cut:], V[cut:])):
        s = keys @ q / math.sqrt(len(q))
        top = s.max()
        e = np.exp(s - top)
        parts.append((top, e.sum(), e @ values))
    (a, total_a, O_a), (b, total_b, O_b) = parts
    top = max(a, b)
    left, right = math.exp(a - top), math.exp(b - top)
    return (left * O_a + right * O_b) / (left * total_a + right * total_b)


def whole(q, K, V, cut):
    return softmax(K @ q / math.sqrt(len(q))) @ V


def tile_cases(rng):
    far = np.array([[0.0, 1.0], [0.1, 0.0], [30.0, 1.0], [30.0, 1.1]])
    return {
        "four keys": (*drawn(rng, (2,), (4, 2), (4, 3)), 2),
        "uneven parts": (*drawn(rng, (3,), (5, 3), (5, 2)), 1),
        "scores far apart": (
            np.array([1.0, 2.0]),
            np.array([[9.0, 1.0], [8.0, 1.5], [-3.0, 0.0], [2.0, 2.0]]),
            *drawn(rng, (4, 2)),
            2,
        ),
        "scores around 900": (
            np.array([40.0, 10.0]),
            np.array([[30.0, 1.0], [30.0, 1.1], [30.1, 0.0]]),
            *drawn(rng, (3, 3)),
            2,
        ),
        "the second part far above": (np.array([40.0, 10.0]), far, *drawn(rng, (4, 3)), 2),
        "the first part far above": (np.array([40.0, 10.0]), far[::-1], *drawn(rng, (4, 3)), 2),
    }


tiles = CodeExercise(
    id="multi-head.two-tiles",
    title="Half of the keys at a time",
    kind="write",
    level=3,
    minutes=25,
    page=PAGE,
    task="Memory holds only a part of the keys at once. Compute the attention of the query q (d_k) over the first "
    "`cut` keys and over the rest apart, each with its own maximum, and join the two exactly. "
    "K is (n, d_k), V (n, d_v), 0 < cut < n.",
    hints=(
        "What must you keep of a part so that it can still be joined with another?",
        "The largest score, the sum of the exponentials relative to it, and the values summed with those.",
        "Before joining, bring both parts to the larger of the two maxima: multiply a part's sum and values by the "
        "exponential of its own maximum minus the larger.",
    ),
    commentary="Nothing is approximated. With many parts this is the tiling behind fast attention: memory grows with "
    "the size of a tile, not with n².",
    prerequisites=("foundations.log-sum-exp", "foundations.attention-loops"),
    solution=in_two_parts,
    reference=whole,
    cases=tile_cases,
    variants=(
        whole,
        {
            "left, right = math.exp(a - top), math.exp(b - top)": "left, right = np.exp(np.array([a, b]) - top)"
        },
    ),
    mistakes=(
        Mistake(
            "a plain mean of the parts",
            "Each part was normalised on its own and both got the same say. The part with the larger exponentials "
            "counts for more.",
            {
                "(left * O_a + right * O_b) / (left * total_a + right * total_b)": (
                    "(O_a / total_a + O_b / total_b) / 2"
                )
            },
        ),
        Mistake(
            "the parts were added up",
            "Each part is an average already. Two of them added have weights that sum to two.",
            {
                "(left * O_a + right * O_b) / (left * total_a + right * total_b)": (
                    "O_a / total_a + O_b / total_b"
                )
            },
        ),
        Mistake(
            "joined by the number of keys",
            "A part counts by the sum of its exponentials, not by how many keys it has.",
            {
                "return (left * O_a + right * O_b) / (left * total_a + right * total_b)": (
                    "return (cut * O_a / total_a + (len(K) - cut) * O_b / total_b) / len(K)"
                )
            },
        ),
        Mistake(
            "the sums were not rescaled",
            "The values were brought to the common maximum, the sums below were not.",
            {"(left * total_a + right * total_b)": "(total_a + total_b)"},
        ),
        Mistake(
            "the values were not rescaled",
            "The sums were brought to the common maximum, the values were not.",
            {"(left * O_a + right * O_b)": "(O_a + O_b)"},
        ),
        Mistake("√d_k is missing", "The scores were not divided by √d_k.", {" / math.sqrt(len(q))": ""}),
        Mistake(
            "the factors are the wrong way round",
            "The part with the lower maximum was made to count for more. Its factor should be the one below 1.",
            {"left, right = math": "right, left = math"},
            {"math.exp(a - top), math.exp(b - top)": "math.exp(top - a), math.exp(top - b)"},
            {"math.exp(a - top), math.exp(b - top)": "np.exp(top - a), np.exp(top - b)"},
        ),
    ),
)

CACHE_HEADS, CACHE_KV = 32, 8

ratio = AnswerExercise(
    id="multi-head.predict-sharing",
    title="What sharing saves",
    kind="predict",
    level=1,
    minutes=3,
    page=PAGE,
    task=f"{CACHE_HEADS} query heads share {CACHE_KV} heads of keys and values. Which share of the full cache is "
    "left, as a number between 0 and 1?",
    hints=(
        "Does the cache hold anything of the queries?",
        "How many heads' keys and values are kept, and how many would be?",
        "Divide the one by the other.",
    ),
    commentary="A quarter, for keys and for values alike. The scores are as many as before: sharing saves memory and "
    "its traffic, not multiplications of the attention itself.",
    prerequisites=("multi-head.cache-bytes",),
    answer=lambda: CACHE_KV / CACHE_HEADS,
    mistakes=(
        Mistake(
            "half of that",
            "Keys and values are both shared, and both were kept before.",
            CACHE_KV / CACHE_HEADS / 2,
        ),
        Mistake(
            "what is saved",
            "That is the share that is saved. What is left was asked for.",
            1 - CACHE_KV / CACHE_HEADS,
        ),
        Mistake(
            "queries are in the cache",
            "That counts a query for each key and value, 32 + 8 + 8 of 96. Queries are not kept.",
            (CACHE_HEADS + 2 * CACHE_KV) / (3 * CACHE_HEADS),
        ),
        Mistake(
            "one head", "That is multi-query attention, with one head of keys and values.", 1 / CACHE_HEADS
        ),
        Mistake("turned round", "The answer is below one.", CACHE_HEADS / CACHE_KV),
    ),
)

tiling = ProofExercise(
    id="multi-head.tiling-proof",
    title="Joining tiles is exact",
    kind="prove",
    level=2,
    minutes=15,
    page=PAGE,
    task="A tile of keys is summed up by $(m, \\ell, a)$: its largest score, the sum of $\\exp(s_j - m)$, and the "
    "sum of $\\exp(s_j - m) v_j$. Give the rule that joins two tiles, prove that it is exact, and that the order of "
    "joining does not matter.",
    hints=(
        "Which number, formed from $m$ and $\\ell$, does not depend on the choice of $m$?",
        "$e^{m} \\ell$ is the plain sum of exponentials, and $e^{m} a$ the plain weighted sum. How do plain sums join?",
        "The output is $a / \\ell$: what happens to it if both are multiplied by the same number?",
    ),
    proof=r"""For a set $T$ of keys let $L_T = \sum_{j \in T} e^{s_j}$ and $A_T = \sum_{j \in T} e^{s_j} v_j$. The
output of attention over $T$ is $A_T / L_T$. A triple $(m, \ell, a)$ stands for $T$ if $e^m \ell = L_T$ and
$e^m a = A_T$.

1. The tile's own triple stands for it: $e^m \sum e^{s_j - m} = \sum e^{s_j}$, and likewise with the values.
2. Let $(m, \ell, a)$ stand for $T$ and $(m', \ell', a')$ for $T'$, disjoint. Put $M = \max(m, m')$ and
   join to $(M, \; e^{m - M} \ell + e^{m' - M} \ell', \; e^{m - M} a + e^{m' - M} a')$.
3. Then $e^M (e^{m - M} \ell + e^{m' - M} \ell') = e^m \ell + e^{m'} \ell' = L_T + L_{T'} = L_{T \cup T'}$, and the
   same for $a$: the joined triple stands for $T \cup T'$, whatever $M$ is. The maximum only keeps the
   factors at most one.
4. The output is $a / \ell = e^M a / (e^M \ell) = A / L$, exactly the attention over all keys.
5. $L$ and $A$ of a union are sums over its keys, which have no order; so any order of joining gives a triple
   for the same set, and the same output. ∎

With floating point the sums are rounded, and their order shows in the last digits.""",
    rubric=(
        "I gave the rule with both factors relative to a common maximum.",
        "I showed that it gives the sums over the union, for the denominator and for the values.",
        "I showed that the output does not depend on which maximum is used.",
        "I argued that the order of joining does not matter, or showed that the rule is associative and commutative.",
    ),
    commentary="The maximum is bookkeeping. The proof never uses that it is the maximum, only that both tiles are "
    "brought to the same one.",
    prerequisites=("multi-head.two-tiles",),
)

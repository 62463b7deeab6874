"""What masks do to scores, how they are told apart, and how a leak is found (eq-masked-scores, eq-causality)."""

import math

import numpy as np

from attnlib.exercises.cases import drawn, softmax
from attnlib.exercises.model import AnswerExercise, CodeExercise, Mistake, ProofExercise

PAGE = "02-self-attention/3-masks"


def masked_attention(Q, K, V, real):
    """Attention over the real keys of each sequence."""
    S = Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])
    S = np.where(real[:, None, :], S, -math.inf)
    return softmax(S) @ V


def attention_cases(rng):
    Q, K, V = drawn(rng, (2, 3, 4), (2, 3, 4), (2, 3, 2))
    real = np.array([[True, True, False], [True, False, False]])
    return {
        "three tokens": (Q, K, V, real),
        "as many sequences as tokens": (
            *drawn(rng, (3, 3, 2), (3, 3, 2), (3, 3, 4)),
            np.tri(3, 3, dtype=bool),
        ),
        "five keys, two pads": (
            *drawn(rng, (2, 2, 3), (2, 5, 3), (2, 5, 3)),
            np.array([[True] * 3 + [False] * 2] * 2),
        ),
        "scores around 800": (30 * Q, 30 * K, V, real),
        "scores far below zero": (60 * abs(Q) + 1, -60 * abs(K) - 1, V, real),
    }


def by_loop(Q, K, V, real):
    return np.stack(
        [
            softmax(q @ k[seen].T / math.sqrt(q.shape[-1])) @ v[seen]
            for q, k, v, seen in zip(Q, K, V, real, strict=True)
        ]
    )


axis_repair = CodeExercise(
    id="self-attention.mask-axis-repair",
    title="A mask over the wrong axis",
    kind="repair",
    level=2,
    minutes=8,
    page=PAGE,
    task="Q is (b, m, d_k), K is (b, n, d_k), and real (b, n) is True for real tokens. Padding should never be read. "
    "This function ran for weeks on batches where the sizes agreed. Repair both bugs.",
    hints=(
        "Change the value of a padded token. Does the output of a real one move?",
        "The scores are (b, m, n). Which axis does `real` speak about, and where must its new axis go?",
        "One bug is the place of the new axis; the other is what a hidden score becomes before the exponential.",
    ),
    commentary="Broadcasting never complains when sizes agree by chance. Test masks with b, m and n all different.",
    prerequisites=("self-attention.padding-mask",),
    solution=masked_attention,
    cases=attention_cases,
    given=("the queries are masked, not the keys", "hidden scores are zero"),
    variants=(
        by_loop,
        {"np.where(real[:, None, :], S, -math.inf)": "S + np.log(real.astype(float))[:, None, :]"},
    ),
    mistakes=(
        Mistake(
            "the queries are masked, not the keys",
            "The mask hides whole rows. It is the keys of a row that have to be hidden, the last axis.",
            {"real[:, None, :]": "real[:, :, None]"},
        ),
        Mistake(
            "hidden scores are zero",
            "exp(0) is 1: a hidden key with the score 0 is read like any other.",
            {"-math.inf": "0.0"},
        ),
        Mistake(
            "a finite number in place of minus infinity",
            "A low number is not yet hidden: where the scores of the real keys are lower still, the hidden key wins.",
            {"-math.inf": "-100.0"},
            {"-math.inf": "-1000.0"},
        ),
        Mistake(
            "hidden after the softmax",
            "The hidden keys give nothing, but they still took their share: the other weights no longer sum to one.",
            {
                "S = np.where(real[:, None, :], S, -math.inf)\n": "\n",
                "return softmax(S) @ V": "return softmax(S) @ (V * real[:, :, None])",
            },
        ),
        Mistake(
            "hidden after the softmax, then divided by the sum",
            "That is right as long as the padding has left anything over. Where a hidden score is much larger than the "
            "others, the real keys have weight 0 by then, and 0 / 0 is nan.",
            {
                "S = np.where(real[:, None, :], S, -math.inf)\n    return softmax(S) @ V": (
                    "P = softmax(S) * real[:, None, :]\n    return P / P.sum(axis=-1, keepdims=True) @ V"
                )
            },
        ),
        Mistake(
            "inverted mask",
            "The padding is read and the words are hidden.",
            {"np.where(real[:, None, :], S, -math.inf)": "np.where(real[:, None, :], -math.inf, S)"},
        ),
        Mistake(
            "no axis for the queries",
            "real (b, n) met the scores as (m, n): the sequences of the batch became rows.",
            {"real[:, None, :]": "real[: Q.shape[1]]"},
        ),
        Mistake(
            "the mask is not used",
            "Padding is read.",
            {"S = np.where(real[:, None, :], S, -math.inf)\n": "\n"},
        ),
        Mistake("√d_k is missing", "The scores were not divided by √d_k.", {" / math.sqrt(Q.shape[-1])": ""}),
    ),
)


def may_look(mask, kind):
    """The course's mask, True = may look, from one of three others."""
    if kind == "additive":
        return mask > -math.inf
    if kind == "hidden":
        return ~mask
    return mask


def kinds_cases(rng):
    seen = np.array([[True, False, False], [True, True, False]])
    return {
        "additive, 0 and minus infinity": (np.where(seen, 0.0, -math.inf), "additive"),
        "additive, with a bias": (
            np.where(seen, np.array([[0.5, 1.0, 2.0], [-3.0, 0.0, 2.5]]), -math.inf),
            "additive",
        ),
        "True means hidden": (~seen, "hidden"),
        "True means may look": (seen, "may look"),
    }


def by_table(mask, kind):
    return {"additive": np.isfinite(mask), "hidden": np.logical_not(mask), "may look": np.asarray(mask)}[kind]


polarity = CodeExercise(
    id="self-attention.polarity",
    title="Three masks that say the same",
    kind="write",
    level=1,
    minutes=8,
    page=PAGE,
    task='Turn a mask into a boolean one where True means "may look". `kind` is "additive" (added to scores, minus '
    'infinity hides, any other number only biases), "hidden" (True means hidden, as in `nn.MultiheadAttention`) or '
    '"may look" (already right).',
    hints=(
        "Which numbers of an additive mask hide a key for certain?",
        "A bias of -3 makes a key unlikely, but it may still be looked at.",
        "Additive: everything above minus infinity. Hidden: turn it round. Otherwise leave it.",
    ),
    commentary="Three conventions live in one library, and a mask does not say which one it follows. Convert at the "
    "door, once, and keep one convention inside.",
    prerequisites=("self-attention.causal-mask",),
    solution=may_look,
    cases=kinds_cases,
    variants=(by_table, {"mask > -math.inf": "np.exp(mask) > 0", "~mask": "mask == False"}),
    mistakes=(
        Mistake(
            "a bias counts as hidden",
            "A number below zero, or not equal to zero, only makes a key less or more likely. Minus infinity hides.",
            {"mask > -math.inf": "mask >= 0"},
            {"mask > -math.inf": "mask == 0"},
        ),
        Mistake(
            "the additive mask is inverted",
            "Minus infinity hides, so those places are False.",
            {"mask > -math.inf": "mask == -math.inf"},
        ),
        Mistake(
            "True still means hidden", "This kind has to be turned round.", {"return ~mask": "return mask"}
        ),
        Mistake(
            "the right mask was turned",
            'True already meant "may look" there.',
            {"    return mask\n": "    return ~mask\n"},
        ),
        Mistake(
            "zero hides",
            "As a boolean every number but 0 is True, minus infinity too, and the zeros that allow a look are False.",
            {"mask > -math.inf": "mask != 0"},
        ),
        Mistake(
            "a factor, not a boolean",
            "exp turns minus infinity into 0 and a bias into a factor. Asked for is True or False.",
            {"mask > -math.inf": "np.exp(mask)"},
        ),
        Mistake(
            "hidden where the number is positive",
            "Only minus infinity hides; a positive number makes a key more likely.",
            {"mask > -math.inf": "mask <= 0"},
        ),
    ),
)


def who_reads_whom(J):
    """(n, n), True where output i depends on input j."""
    return (J != 0).any(axis=(1, 3))


def jacobian_cases(rng):
    def jacobian(reads, d_out, d_in):
        n, m = reads.shape
        return rng.normal(size=(n, d_out, m, d_in)) * reads[:, None, :, None]

    causal = np.tri(4, 4, dtype=bool)
    leak = causal.copy()
    leak[0, 2] = True
    sparse = jacobian(causal, 2, 3)
    sparse[3, :, 0, 1:] = 0
    sparse[2, 0, 1, :] = 0
    sparse[2, 1, 1, :] = -abs(sparse[2, 1, 1, :])
    sparse[3, :, 2, :] = [[-1.0, 0.0, 0.0], [0.0, 0.0, -2.0]]
    canceling = jacobian(causal[:3, :3], 2, 2)
    canceling[2, 0, 0] = [1.0, -1.0]
    canceling[2, 1, 0] = [-2.0, 2.0]
    return {
        "four tokens, causal": (jacobian(causal, 3, 2),),
        "a leak": (jacobian(leak, 2, 2),),
        "some derivatives are zero": (sparse,),
        "derivatives that cancel": (canceling,),
        "all sizes equal": (jacobian(np.tri(3, 3, dtype=bool), 3, 3),),
        "tiny derivatives": (
            np.where(np.tri(4, 4, -1)[:, None, :, None], 1, 1e-12) * jacobian(causal, 2, 2),
        ),
    }


def read_by_sums(J):
    return np.abs(J).sum(axis=3).sum(axis=1) > 0


def read_by_loops(J):
    n, m = J.shape[0], J.shape[2]
    return np.array([[bool(np.any(J[i, :, j, :])) for j in range(m)] for i in range(n)])


leak = CodeExercise(
    id="self-attention.leak-hunt",
    title="Who reads whom?",
    kind="write",
    level=2,
    minutes=12,
    page=PAGE,
    task="J[i, a, j, b] is the derivative of entry a of output i by entry b of input j, as `torch.func.jacrev` gives "
    "it. Return the table (n, n) that is True where output i depends on input j at all.",
    hints=(
        "When does output i not depend on input j? How many derivatives say so?",
        "One derivative that is not zero is enough. A sum may be zero although its terms are not.",
        "Ask each entry whether it is different from zero, then ask for any, over the two axes of entries.",
    ),
    commentary="For a causal layer the table is True on and below the diagonal and False above it: exactly, since a "
    "hidden weight is exactly zero. A single True above the diagonal is a leak, whatever its size.",
    prerequisites=("self-attention.causal-mask",),
    solution=who_reads_whom,
    cases=jacobian_cases,
    variants=(read_by_sums, read_by_loops),
    mistakes=(
        Mistake(
            "derivatives cancelled in a sum",
            "The derivatives were added up before they were compared with zero: +1 and -1 look like no dependence.",
            {"(J != 0).any(axis=(1, 3))": "(J.sum(axis=(1, 3)) != 0)"},
        ),
        Mistake(
            "every derivative must differ from zero",
            "One derivative that is not zero is enough for a dependence.",
            {".any(": ".all("},
        ),
        Mistake(
            "negative derivatives do not count",
            "A derivative below zero is a dependence too: whatever differs from zero counts.",
            {"J != 0": "J > 0"},
            {"(J != 0).any(axis=(1, 3))": "(J.max(axis=(1, 3)) != 0)"},
            {"(J != 0).any(axis=(1, 3))": "(J.sum(axis=(1, 3)) > 0)"},
        ),
        Mistake(
            "small derivatives were taken for zero",
            "A leak of 1e-12 is a leak: a masked weight is zero exactly.",
            {"J != 0": "abs(J) > 1e-8"},
        ),
        Mistake(
            "sizes, not booleans",
            "This says how large the derivatives are. Asked for is True or False: does i depend on j at all?",
            {"(J != 0).any(axis=(1, 3))": "abs(J).max(axis=(1, 3))"},
            {"(J != 0).any(axis=(1, 3))": "abs(J).sum(axis=(1, 3))"},
        ),
        Mistake(
            "inputs in the rows",
            "The table is transposed: row i belongs to output i.",
            {"return (J != 0).any(axis=(1, 3))": "return (J != 0).any(axis=(1, 3)).T"},
        ),
        Mistake(
            "independence, not dependence",
            "The table is turned round: True where output i depends on input j.",
            {"return (J != 0).any(axis=(1, 3))": "return ~(J != 0).any(axis=(1, 3))"},
        ),
    ),
)

CHOICES = ("exactly 0", "the same as every other key", "1e-9", "nan")

fill = AnswerExercise(
    id="self-attention.predict-fill",
    title="Minus a billion everywhere",
    kind="predict",
    level=2,
    minutes=4,
    page=PAGE,
    task="A query may look nowhere: all of its n scores are replaced by -1e9, and the softmax subtracts the maximum. "
    "In float32, what weight does each hidden key get?",
    hints=(
        "What is the maximum of n equal numbers, and what is left after it is subtracted?",
        "exp(0) is 1, n times.",
        "Divide one by their number.",
    ),
    commentary="All scores are equally low, so each key gets 1/n: this query reads everything. With minus "
    "infinity the row is nan instead, in float16 too, where -1e9 becomes minus infinity by itself.",
    prerequisites=("foundations.masked-softmax",),
    choices=CHOICES,
    answer=lambda: CHOICES[1],
    mistakes=(
        Mistake(
            "hidden for certain",
            "The softmax looks at differences of scores, and here all are equal.",
            CHOICES[0],
        ),
        Mistake(
            "minus infinity",
            "That is what minus infinity gives. A finite number can be subtracted from itself.",
            CHOICES[3],
        ),
        Mistake(
            "a small number",
            "No score is far below the others: the maximum is as low as they are.",
            CHOICES[2],
        ),
    ),
)

causality = ProofExercise(
    id="self-attention.causality-proof",
    title="Causal layers stay causal when stacked",
    kind="prove",
    level=2,
    minutes=12,
    page=PAGE,
    task="A layer is causal if output $i$ depends on inputs $1, \\dots, i$ alone. Prove that masked self-attention "
    "is causal, that a stack of causal layers is causal, and that one layer that is not breaks the stack in general.",
    hints=(
        "Which inputs enter row $i$ of the weights, if the masked ones are exactly zero? Do not forget the sum in "
        "the denominator.",
        "Induction over the layers: what may output $i$ of the second layer depend on?",
        "For the last part give an example: which layer lets position 1 read position 2?",
    ),
    proof=r"""1. Row $i$ of the masked scores has entries $q_i \cdot k_j / \sqrt{d_k}$ for $j \le i$ and $-\infty$ for
   $j > i$. The row's softmax has $\exp(-\infty) = 0$ in numerators and in the denominator for $j > i$, hence
   $p_{ij} = 0$ there, and for $j \le i$ it is a function of $q_i$ and $k_1, \dots, k_i$ alone.
2. $o_i = \sum_{j \le i} p_{ij} v_j$ depends on $q_i$ and on keys and values up to $i$. Each of them is a function of
   its own token, hence $o_i$ depends on $x_1, \dots, x_i$: the layer is causal.
3. Let $f$ and $g$ be causal. Output $i$ of $g \circ f$ depends on outputs $1, \dots, i$ of $f$. Output $j \le i$ of $f$
   depends on inputs $1, \dots, j$, all of which are among $1, \dots, i$. By induction any number of layers is causal.
   What acts on each token alone (projections, residual connections, feed-forward layers) is causal too.
4. Let one layer be the mean over all tokens, unmasked. After it every position depends on every input, and causal
   layers above it do not take that away. ∎""",
    rubric=(
        "I showed that hidden keys are absent from the numerator and from the denominator of the weights.",
        "I used that queries, keys and values are made from one token each.",
        "I proved the stack by composing two causal layers, for every position.",
        "I gave a layer that breaks it.",
    ),
    commentary="This is what makes training in parallel honest: all n predictions come from one pass, and each has "
    "seen only its own past.",
    prerequisites=("self-attention.causal-mask",),
)

"""Around the softmax: temperature, log-sum-exp, entropy, Jacobian (eq-temperature, eq-entropy, eq-softmax-jacobian)."""

import math

import numpy as np

from attnlib.exercises.model import AnswerExercise, CodeExercise, Mistake, ProofExercise

PAGE = "01-foundations/4-softmax-and-scale"


def softmax_with_temperature(S, T):
    """The softmax of each row of S at temperature T."""
    Z = S / T
    E = np.exp(Z - Z.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1, keepdims=True)


def temperature_reference(S, T):
    from attnlib.reference import ops

    return ops.softmax_with_temperature(S, T)


def temperature_cases(rng):
    return {
        "T = 2": (rng.normal(size=(2, 3)), 2.0),
        "T = 0.5": (rng.normal(size=(2, 3, 5)), 0.5),
        "scores of 8000": (8000 * rng.normal(size=(2, 4)), 3.0),
        "as many rows as columns": (rng.normal(size=(3, 3)), 4.0),
    }


temperature = CodeExercise(
    id="foundations.temperature",
    title="Warmer and colder",
    kind="write",
    level=1,
    minutes=6,
    page=PAGE,
    task="Write the softmax at temperature T: of each row of S / T, safe for scores of 8000. A large T makes the "
    "weights even, a small T makes them sharp.",
    hints=(
        "What should happen to the differences between scores when T is large?",
        "Divide the scores, not the weights; then it is an ordinary softmax.",
        "Divide S by T, subtract each row's maximum, exponentiate, divide by each row's sum.",
    ),
    commentary="Scaled dot-product attention is a softmax at the temperature √d_k.",
    prerequisites=("foundations.softmax",),
    solution=softmax_with_temperature,
    reference=temperature_reference,
    cases=temperature_cases,
    variants=(
        {"Z = S / T": "Z = S * (1 / T)"},
        {
            "Z = S / T\n    E = np.exp(Z - Z.max(axis=-1, keepdims=True))": (
                "E = np.exp((S - S.max(axis=-1, keepdims=True)) / T)"
            )
        },
    ),
    mistakes=(
        Mistake(
            "multiplied by T",
            "A larger T should make the weights more even; here it makes them sharper.",
            {"S / T": "S * T"},
        ),
        Mistake("T is not used", "These are the weights at temperature 1.", {"S / T": "S"}),
        Mistake(
            "the weights were divided",
            "T has to act on the scores. Divided weights no longer sum to one.",
            {
                "S / T": "S",
                "return E / E.sum(axis=-1, keepdims=True)": "return E / E.sum(axis=-1, keepdims=True) / T",
            },
        ),
        Mistake("divided by √T", "T itself divides the scores, not its root.", {"S / T": "S / T**0.5"}),
        Mistake(
            "no maximum subtracted",
            "exp of more than 709 is inf in float64, and inf / inf is nan.",
            {"Z - Z.max(axis=-1, keepdims=True)": "Z"},
        ),
        Mistake(
            "normalised over the rows",
            "Here each column sums to one; each row should.",
            {"E.sum(axis=-1, keepdims=True)": "E.sum(axis=-2, keepdims=True)"},
        ),
    ),
)


def log_sum_exp(S):
    """ln of the sum of exp over each row of S, without overflow."""
    largest = S.max(axis=-1)
    return largest + np.log(np.exp(S - largest[..., None]).sum(axis=-1))


def lse_reference(S):
    from attnlib.reference import ops

    return ops.log_sum_exp(S)


def lse_cases(rng):
    return {
        "two rows": (rng.normal(size=(2, 3)),),
        "a batch": (rng.normal(size=(2, 3, 5)),),
        "scores of 800": (800 + rng.normal(size=(2, 4)),),
        "scores of -800": (-800 + rng.normal(size=(2, 4)),),
        "as many rows as columns": (3 * rng.normal(size=(3, 3)),),
    }


logsumexp = CodeExercise(
    id="foundations.log-sum-exp",
    title="A maximum with soft edges",
    kind="write",
    level=2,
    minutes=8,
    page=PAGE,
    task="Write ln Σ exp(s) for each row of S, right for scores of 800 and of -800 too. The result has one axis less.",
    hints=(
        "Which factor can you take out of the sum of exponentials, and what does the logarithm make of it?",
        "exp(s) is exp(max) times exp(s - max).",
        "Subtract each row's maximum before exponentiating, sum, take the logarithm, and add the maximum again.",
    ),
    commentary="Its derivative is the softmax: a smooth maximum whose slope says which entry is the largest.",
    prerequisites=("foundations.softmax",),
    solution=log_sum_exp,
    reference=lse_reference,
    cases=lse_cases,
    variants=(
        lambda S: np.logaddexp.reduce(S, axis=-1),
        {"largest = S.max(axis=-1)": "largest = S.max(axis=-1) + 0.5"},
    ),
    mistakes=(
        Mistake(
            "no maximum subtracted",
            "exp(800) is inf and exp(-800) is 0, so the logarithm is inf or -inf.",
            {"largest = S.max(axis=-1)": "largest = 0 * S.max(axis=-1)"},
            lambda S: np.log(np.exp(S).sum(axis=-1)),
        ),
        Mistake(
            "the maximum was not added back",
            "It was taken out as a factor, so its logarithm has to come back.",
            {"largest + np.log": "np.log"},
        ),
        Mistake(
            "the maximum was subtracted again",
            "It comes back with a plus.",
            {"largest + np.log(": "-largest + np.log("},
        ),
        Mistake(
            "logarithm before the sum",
            "ln and Σ do not change places: this sums the scores.",
            {
                "np.log(np.exp(S - largest[..., None]).sum(axis=-1))": (
                    "np.log(np.exp(S - largest[..., None])).sum(axis=-1)"
                )
            },
        ),
        Mistake(
            "mean in place of sum",
            "These are smaller by ln n: a mean was taken, not a sum.",
            {".sum(axis=-1))": ".mean(axis=-1))"},
        ),
        Mistake("logarithm to base 2", "The natural logarithm undoes exp.", {"np.log(": "np.log2("}),
    ),
)


def entropy(P):
    """The entropy of each row of weights, in nats; a weight of zero adds nothing."""
    safe = np.where(P > 0, P, 1.0)
    return -(P * np.log(safe)).sum(axis=-1)


def entropy_reference(P):
    from attnlib.reference import ops

    return ops.entropy(P)


def weights(rng, *size):
    E = np.exp(rng.normal(size=size))
    return E / E.sum(axis=-1, keepdims=True)


def entropy_cases(rng):
    some_zero = weights(rng, 3, 4)
    some_zero[:, 1] = 0
    return {
        "two rows": (weights(rng, 2, 3),),
        "a batch": (weights(rng, 2, 3, 5),),
        "weights of zero": (some_zero / some_zero.sum(axis=-1, keepdims=True),),
        "one-hot and even": (np.array([[0.0, 1.0, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25]]),),
        "as many rows as columns": (weights(rng, 3, 3),),
    }


ENTROPY_MISTAKES = (
    Mistake(
        "log of zero",
        "0 · ln 0 is nan in floating point; in the entropy it counts as 0.",
        {"np.log(safe)": "np.log(P)"},
    ),
    Mistake(
        "sign", "Logarithms of weights are negative, so the entropy needs a minus.", {"return -(": "return ("}
    ),
    Mistake("log to base 2", "These are bits; nats were asked for.", {"np.log(": "np.log2("}),
    Mistake(
        "sum over the wrong axis",
        "Each row is a distribution: sum over the last axis.",
        {".sum(axis=-1)": ".sum(axis=-2)"},
    ),
    Mistake(
        "mean in place of sum",
        "The terms of a row are summed, not averaged.",
        {".sum(axis=-1)": ".mean(axis=-1)"},
    ),
    Mistake("not weighted", "Each logarithm counts with its weight.", {"P * np.log(safe)": "np.log(safe)"}),
)

entropy_write = CodeExercise(
    id="foundations.entropy",
    title="How spread out is a row?",
    kind="write",
    level=1,
    minutes=7,
    page=PAGE,
    task="Write the entropy -Σ p ln p of each row of P, in nats. Some weights are exactly zero; these add nothing.",
    hints=(
        "What is p ln p in the limit when p goes to zero, and what does NumPy say for p = 0?",
        "Put a harmless number in place of the zeros before taking the logarithm.",
        "With 1 in place of each zero the logarithm is 0 there; multiply with P, sum each row, change the sign.",
    ),
    commentary="0 for one-hot, ln n for even weights. A mask makes exact zeros, so log 0 is met in practice.",
    prerequisites=("foundations.softmax",),
    solution=entropy,
    reference=entropy_reference,
    cases=entropy_cases,
    variants=(
        {"safe = np.where(P > 0, P, 1.0)": "safe = P + (P == 0)"},
        {"-(P * np.log(safe)).sum(axis=-1)": "(P * np.log(1 / safe)).sum(axis=-1)"},
    ),
    mistakes=ENTROPY_MISTAKES,
)


def entropy_of_rows(P):
    """The entropy of each row of weights, in nats; a weight of zero adds nothing."""
    safe = np.where(P > 0, P, 1.0)
    return -(P * np.log(safe)).sum(axis=-1)


entropy_repair = CodeExercise(
    id="foundations.entropy-repair",
    title="An entropy that is negative, or nan",
    kind="repair",
    level=1,
    minutes=5,
    page=PAGE,
    task="This entropy of each row comes out negative, and nan where a mask has made a weight zero. Repair both.",
    hints=(
        "Which sign has the logarithm of a number below one?",
        "What is the logarithm of zero, and what is zero times that?",
        "Use the array in which the zeros were replaced, and mind the sign in front of the sum.",
    ),
    commentary="`safe` was made and then not used: a bug that no error message tells.",
    prerequisites=("foundations.entropy",),
    solution=entropy_of_rows,
    reference=entropy_reference,
    cases=entropy_cases,
    given=("log of zero", "sign"),
    variants=(
        {"safe = np.where(P > 0, P, 1.0)": "safe = P + (P == 0)"},
        {"-(P * np.log(safe)).sum(axis=-1)": "(P * np.log(1 / safe)).sum(axis=-1)"},
    ),
    mistakes=ENTROPY_MISTAKES,
)


def softmax_jacobian(p):
    """The matrix of derivatives of each weight in p by each score; p is one row of weights."""
    return np.diag(p) - np.outer(p, p)


def jacobian_reference(p):
    from attnlib.reference import ops

    return ops.softmax_jacobian(p)


jacobian = CodeExercise(
    id="foundations.softmax-jacobian",
    title="How weights answer to scores",
    kind="write",
    level=2,
    minutes=10,
    page=PAGE,
    task="p is one row of softmax weights. Write the matrix of derivatives ∂p_i / ∂s_j, row i for weight i.",
    hints=(
        "If one score rises, what happens to its own weight, and what to all the others?",
        "The derivative of p_i by its own score is p_i (1 - p_i); by another score s_j it is -p_i p_j.",
        "Put p on the diagonal and subtract all products p_i p_j, those on the diagonal too.",
    ),
    commentary="Each row sums to zero: weights can only be moved, not made.",
    prerequisites=("foundations.softmax",),
    solution=softmax_jacobian,
    reference=jacobian_reference,
    cases=lambda rng: {
        "three weights": (weights(rng, 3),),
        "five weights": (weights(rng, 5),),
        "nearly one-hot": (np.array([0.98, 0.015, 0.005]),),
    },
    variants=(
        lambda p: p[:, None] * (np.eye(len(p)) - p),
        lambda p: np.array([[p[i] * ((i == j) - p[j]) for j in range(len(p))] for i in range(len(p))]),
    ),
    mistakes=(
        Mistake(
            "only the diagonal",
            "The other weights answer too: what one gains, the others lose.",
            lambda p: np.diag(p * (1 - p)),
        ),
        Mistake("the sum term is missing", "The products p_i p_j were left out.", {" - np.outer(p, p)": ""}),
        Mistake(
            "the diagonal lost its square",
            "On the diagonal stands p_i - p_i², here p_i alone.",
            lambda p: np.diag(p) - np.outer(p, p) + np.diag(p * p),
        ),
        Mistake(
            "plus, not minus", "If one score rises the other weights fall.", {" - np.outer": " + np.outer"}
        ),
        Mistake(
            "identity in place of diag(p)",
            "On the diagonal stands the weight, not one.",
            {"np.diag(p)": "np.eye(len(p))"},
        ),
        Mistake(
            "the sign of all",
            "This is minus the Jacobian.",
            {"np.diag(p) - np.outer(p, p)": "np.outer(p, p) - np.diag(p)"},
        ),
        Mistake(
            "squares off the diagonal",
            "Entry (i, j) is -p_i p_j; here it is -p_i².",
            lambda p: np.diag(p) - (p * p)[:, None] * np.ones(len(p)),
        ),
    ),
)


def next_word(H, W):
    """The distribution over the next word for each state: logits from a linear layer, then one softmax."""
    logits = H @ W
    E = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1, keepdims=True)


SOFTMAX_LINE = "E = np.exp(logits - logits.max(axis=-1, keepdims=True))"

double_softmax = CodeExercise(
    id="foundations.double-softmax",
    title="One softmax too many",
    kind="repair",
    level=2,
    minutes=6,
    page=PAGE,
    task="A decoder's words come out nearly even, however sure it should be. H is (..., d), W is (d, words). Find out "
    "why and repair it: the result should be the softmax of H W.",
    hints=(
        "How large can the ratio of two results be, if both inputs of the last exponential lie between 0 and 1?",
        "Count how often something is exponentiated and divided by a sum.",
        "The name `logits` should hold what comes out of the linear layer, and nothing that was normalised already.",
    ),
    commentary="After a second softmax no word of V can get more than e / (e + V - 1). A printed formula with exp "
    "outside and a softmax inside does this.",
    prerequisites=("foundations.softmax",),
    solution=next_word,
    cases=lambda rng: {
        "two states": (rng.normal(size=(2, 3)), rng.normal(size=(3, 4))),
        "a batch": (rng.normal(size=(2, 3, 5)), 2 * rng.normal(size=(5, 7))),
        "large logits": (100 * rng.normal(size=(2, 4)), rng.normal(size=(4, 5))),
        "all sizes equal": (rng.normal(size=(3, 3)), rng.normal(size=(3, 3))),
    },
    given=("softmax of a softmax",),
    variants=(
        {SOFTMAX_LINE: "E = np.exp(logits - np.max(logits, axis=-1)[..., None])"},
        {"logits = H @ W": "logits = np.einsum('...d,dv->...v', H, W)"},
    ),
    mistakes=(
        Mistake(
            "softmax of a softmax",
            "The logits were made into a distribution before the last line did it again, which flattens it.",
            {
                SOFTMAX_LINE: "first = np.exp(logits - logits.max(axis=-1, keepdims=True))\n"
                "    logits = first / first.sum(axis=-1, keepdims=True)\n    " + SOFTMAX_LINE
            },
        ),
        Mistake(
            "no softmax left",
            "These are logits: they neither are positive nor sum to one.",
            {"return E / E.sum(axis=-1, keepdims=True)": "return logits"},
        ),
        Mistake(
            "not divided by the sum",
            "The exponentials still have to be divided by their sum.",
            {"return E / E.sum(axis=-1, keepdims=True)": "return E"},
        ),
        Mistake(
            "normalised over the states",
            "Here the columns sum to one; each state has its own distribution, a row.",
            {"E.sum(axis=-1, keepdims=True)": "E.sum(axis=-2, keepdims=True)"},
        ),
        Mistake(
            "logarithm of the probabilities",
            "The logarithm was taken once too often: probabilities were asked for.",
            {
                "return E / E.sum(axis=-1, keepdims=True)": "return np.log(E / E.sum(axis=-1, keepdims=True) + 1e-300)"
            },
        ),
        Mistake(
            "W is transposed",
            "Where W is square it runs, but the rows of W belong to the entries of a state.",
            {"H @ W": "H @ W.T"},
        ),
    ),
)

predict_odds = AnswerExercise(
    id="foundations.predict-odds",
    title="One score rises by ln 2",
    kind="predict",
    level=1,
    minutes=3,
    page=PAGE,
    task="Three scores are equal. Then the first one is raised by ln 2. What is its weight now?",
    hints=(
        "By what factor does the first exponential grow?",
        "The exponentials are in the ratio 2 to 1 to 1.",
        "Divide the first by the sum of all three.",
    ),
    commentary="A difference of scores is a ratio of weights: ln 2 more means twice the weight of each other key.",
    answer=lambda: math.exp(math.log(2)) / (math.exp(math.log(2)) + 2),
    within=0.004,
    mistakes=(
        Mistake("twice its old weight", "Doubling 1/3 forgets that the sum grows too.", 2 / 3),
        Mistake("unchanged", "Only the same number added to all scores changes nothing.", 1 / 3),
        Mistake("ln 2 added to the weight", "Scores are added to, weights are not.", 1 / 3 + math.log(2)),
        Mistake(
            "weights in the ratio of the scores",
            "The softmax takes the exponential of each score first.",
            (1 + math.log(2)) / (3 + math.log(2)),
        ),
    ),
)

variance_proof = ProofExercise(
    id="foundations.variance-proof",
    title="Why the variance is d_k",
    kind="prove",
    level=2,
    minutes=15,
    page=PAGE,
    task="All entries of $q$ and $k$ are independent with mean 0 and variance $\\sigma^2$. Prove that $q \\cdot k$ has "
    "mean 0 and variance $d_k \\sigma^4$, and say which of the assumptions the mean needs.",
    hints=(
        "Write the dot product as a sum and look at one term first.",
        "Square the sum: which of the products of two different terms survive the mean?",
        "A term with i ≠ j contains a factor whose mean is zero and that is independent of the rest.",
    ),
    proof=r"""1. $\mathbb{E}[q \cdot k] = \sum_i \mathbb{E}[q_i k_i] = \sum_i \mathbb{E}[q_i]\,\mathbb{E}[k_i] = 0$.
   This needs that $q_i$ and $k_i$ are independent (uncorrelated is enough) and that one of the two means is zero.
2. So the variance is $\mathbb{E}[(q \cdot k)^2] = \sum_i \sum_j \mathbb{E}[q_i q_j k_i k_j]$.
3. For $i \ne j$ all four factors are independent, and the term is
   $\mathbb{E}[q_i]\,\mathbb{E}[q_j]\,\mathbb{E}[k_i]\,\mathbb{E}[k_j] = 0$.
4. For $i = j$ it is $\mathbb{E}[q_i^2]\,\mathbb{E}[k_i^2] = \sigma^2 \sigma^2 = \sigma^4$, because the means are zero.
5. There are $d_k$ terms with $i = j$: the variance is $d_k \sigma^4$, and dividing $q \cdot k$ by $\sqrt{d_k}$ leaves
   $\sigma^4$. ∎""",
    rubric=(
        "I showed that the mean is zero and named what it needs.",
        "I wrote the square as a double sum.",
        "I showed that the terms with i ≠ j vanish, and said by which independence.",
        "I computed the terms with i = j and counted them.",
    ),
    commentary="Scaling removes the dependence on d_k, not that on σ: large weights still saturate a softmax.",
)

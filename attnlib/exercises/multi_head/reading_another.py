"""Heads that read another sequence, and the one bias that nobody can see (eq-multi-head)."""

import math

import numpy as np

from attnlib.exercises.cases import drawn, softmax
from attnlib.exercises.model import AnswerExercise, CodeExercise, Mistake

PAGE = "03-multi-head/4-heads-at-work"


def read_source(X, Y, W_Q, W_K, W_V, W_O, n_heads):
    """Multi-head cross-attention: the rows of X (m, d) ask, the rows of Y (n, d) are read."""

    def heads(Z):
        return Z.reshape(len(Z), n_heads, -1).swapaxes(0, 1)

    Q, K, V = heads(X @ W_Q), heads(Y @ W_K), heads(Y @ W_V)
    P = softmax(Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1]))
    return (P @ V).swapaxes(0, 1).reshape(len(X), -1) @ W_O


def read_by_loop(X, Y, W_Q, W_K, W_V, W_O, n_heads):
    blocks = zip(*(np.split(W, n_heads, axis=1) for W in (W_Q, W_K, W_V)), strict=True)
    heads = [softmax(X @ q @ (Y @ k).T / math.sqrt(q.shape[1])) @ (Y @ v) for q, k, v in blocks]
    return np.concatenate(heads, axis=1) @ W_O


def cases(rng):
    def case(m, n, d, h):
        return *drawn(rng, (m, d), (n, d), *[(d, d)] * 4), h

    return {
        "two targets, three sources": case(2, 3, 4, 2),
        "as many targets as sources": case(3, 3, 6, 2),
        "as many heads as tokens": case(3, 4, 6, 3),
        "one head": case(2, 4, 3, 1),
    }


cross_repair = CodeExercise(
    id="multi-head.cross-repair",
    title="A translator that reads itself",
    kind="repair",
    level=2,
    minutes=10,
    page=PAGE,
    task="X (m, d) is the translation so far, which asks; Y (n, d) is the source, which is read. The function should "
    "be multi-head cross-attention, and translates fluently whatever the source says. Repair its two bugs.",
    hints=(
        "Change the source. Which of queries, keys and values move, and which should?",
        "Give it m and n that differ: what does not fit together?",
        "One bug is whose keys are scored; the other is how many products a score of one head adds up.",
    ),
    commentary="With keys from the target and values from the source it runs whenever m equals n, and then mixes the "
    "source by what the target looks like. Tests with different lengths find it at once.",
    prerequisites=("multi-head.fused", "self-attention.cross"),
    solution=read_source,
    reference=read_by_loop,
    cases=cases,
    given=("keys from the target", "scaled by √d_model"),
    variants=(
        read_by_loop,
        {
            "Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])": "np.einsum('hmd,hnd->hmn', Q, K) * Q.shape[-1] ** -0.5"
        },
    ),
    mistakes=(
        Mistake(
            "keys from the target",
            "What is scored must be what is read: the source.",
            {"heads(Y @ W_K)": "heads(X @ W_K)"},
        ),
        Mistake("values from the target", "The target read itself.", {"heads(Y @ W_V)": "heads(X @ W_V)"}),
        Mistake(
            "queries from the source",
            "The source asked; the target should.",
            {"heads(X @ W_Q)": "heads(Y @ W_Q)"},
        ),
        Mistake(
            "scaled by √d_model",
            "A head's score adds up d / h products: its own width counts.",
            {"math.sqrt(Q.shape[-1])": "math.sqrt(X.shape[-1])"},
        ),
        Mistake(
            "merged without the transpose",
            "The heads were strung together without changing places with the tokens.",
            {"(P @ V).swapaxes(0, 1)": "(P @ V)"},
        ),
        Mistake(
            "the output projection was forgotten", "The heads were not mixed: W_O is missing.", {" @ W_O": ""}
        ),
        Mistake("√d_k is missing", "The scores were not scaled.", {" / math.sqrt(Q.shape[-1])": ""}),
    ),
)

CHOICES = (
    "exactly zero",
    "as large as that of the queries' bias",
    "1 / √d_k of the queries' bias",
    "it depends on the loss",
)

key_bias = AnswerExercise(
    id="multi-head.predict-key-bias",
    title="A parameter that never learns",
    kind="predict",
    level=2,
    minutes=4,
    page=PAGE,
    task="A layer has biases for queries, keys, values and output. In exact arithmetic, how large is the gradient of "
    "a loss by the bias of the keys?",
    hints=(
        "What does a bias of the keys add to the score of query i and key j?",
        "Does what it adds differ from key to key?",
        "What does the softmax do if all scores of a row grow by the same number?",
    ),
    commentary="The bias adds $q_i \\cdot b$ to every score of row i, and the softmax forgets what is added to a "
    "whole row. In floating point the gradient is noise around 1e-17. So leaving it out is no mistake.",
    prerequisites=("self-attention.zero-sum-proof",),
    choices=CHOICES,
    answer=lambda: CHOICES[0],
    mistakes=(
        Mistake(
            "symmetry",
            "Queries and keys are not alike here: the softmax runs over keys, not over queries.",
            CHOICES[1],
        ),
        Mistake(
            "a scale", "No factor is left of it: look at what the softmax does to a whole row.", CHOICES[2]
        ),
        Mistake(
            "the loss decides", "No loss can see it, because the weights themselves do not move.", CHOICES[3]
        ),
    ),
)

"""The scale of dot products: a prediction and a repair (eq-scaled-score)."""

import math

from attnlib.exercises.model import AnswerExercise, CodeExercise, Mistake

PAGE = "01-foundations/4-softmax-and-scale"
D_K = 64

predict_scale = AnswerExercise(
    id="foundations.predict-scale",
    title="How far a dot product spreads",
    kind="predict",
    level=1,
    minutes=3,
    page=PAGE,
    task=f"All entries of $q$ and $k$ are independent, with mean 0 and variance 1, and $d_k = {D_K}$. "
    "What is the standard deviation of their dot product?",
    hints=(
        "A dot product is a sum of d_k products. What is the variance of one product?",
        "Variances of independent terms add up.",
        "The standard deviation is the root of the variance, and the variance is d_k.",
    ),
    commentary="Each product q_i k_i has mean 0 and variance 1; the d_k of them are independent, so the variance of "
    "the sum is d_k, and its standard deviation √d_k.",
    answer=lambda: math.sqrt(D_K),
    mistakes=(
        Mistake(
            "the variance", "That is how the square of q · k behaves; a standard deviation is its root.", D_K
        ),
        Mistake(
            "the spread of one product",
            "That is the standard deviation of one product q_i k_i. The dot product adds up d_k of them.",
            1.0,
        ),
        Mistake(
            "the factor that undoes the spread",
            "That is what the scores are multiplied by, so that their spread becomes one.",
            1 / math.sqrt(D_K),
        ),
        Mistake(
            "squared once too often", "The variance is d_k, and the standard deviation is smaller.", D_K**2
        ),
    ),
)


def scaled_scores(Q, K):
    """A score for each query and key, with a spread of one whatever d_k is."""
    d_k = Q.shape[-1]
    return Q @ K.swapaxes(-1, -2) / math.sqrt(d_k)


def cases(rng):
    return {
        "two sequences": (rng.normal(size=(2, 3, 7)), rng.normal(size=(2, 5, 7))),
        "as many keys as d_k": (rng.normal(size=(3, 5)), rng.normal(size=(5, 5))),
        "all sizes equal": (rng.normal(size=(3, 3, 3)), rng.normal(size=(3, 3, 3))),
        "d_k of 64": (rng.normal(size=(2, 64)), rng.normal(size=(3, 64))),
    }


repair_scale = CodeExercise(
    id="foundations.scale-repair",
    title="Scores with two bugs",
    kind="repair",
    level=1,
    minutes=6,
    page=PAGE,
    task="The scores that this function returns should have a spread of one. It has two bugs; repair both.",
    hints=(
        "Print the shapes of Q and K, and what the function takes for d_k.",
        "Which axis of Q counts the queries, and which counts the numbers in a query?",
        "Both bugs are about d_k: from which axis it is taken, and what is done with it before the division.",
    ),
    commentary="The last axis of Q counts the numbers in one query, and that is how many products a score adds up. "
    "Their spread is the root of it.",
    prerequisites=("foundations.predict-scale",),
    solution=scaled_scores,
    cases=cases,
    given=("d_k from the wrong axis", "divided by d_k, not by its root"),
    variants=(
        {"Q @ K.swapaxes(-1, -2) / math.sqrt(d_k)": "(Q / d_k**0.5) @ K.swapaxes(-1, -2)"},
        {"Q @ K.swapaxes(-1, -2)": "(Q[..., :, None, :] * K[..., None, :, :]).sum(axis=-1)"},
    ),
    mistakes=(
        Mistake(
            "d_k from the wrong axis",
            "Q.shape[-2] counts the queries. d_k is how many numbers one query has.",
            {"Q.shape[-1]": "Q.shape[-2]"},
        ),
        Mistake(
            "divided by d_k, not by its root",
            "The spread of a dot product is the root of d_k; dividing by d_k, or twice by its root, makes the scores "
            "too small.",
            {"math.sqrt(d_k)": "d_k"},
        ),
        Mistake(
            "number of keys in place of d_k",
            "K.shape[-2] counts the keys. d_k is how many numbers one key has.",
            {"Q.shape[-1]": "K.shape[-2]"},
        ),
        Mistake(
            "not scaled",
            "The scores are plain dot products, with a spread of √d_k.",
            {" / math.sqrt(d_k)": ""},
        ),
        Mistake(
            "multiplied by √d_k",
            "The scores were made larger by √d_k; they should be made smaller.",
            {"/ math.sqrt": "* math.sqrt"},
        ),
        Mistake(
            "K is not transposed",
            "Where K happens to be square it runs, but a score must pair a query's d_k numbers with a key's.",
            {"K.swapaxes(-1, -2)": "K"},
        ),
        Mistake(
            "all axes turned around",
            "`.T` turns around all axes, the batch as well, so sequences of a batch get mixed. Swap the last two only.",
            {"K.swapaxes(-1, -2)": "K.T"},
        ),
    ),
)

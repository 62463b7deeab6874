"""Weight for nothing

write · ★★ · 9 min · 06-efficient-attention/1-who-attends-to-whom

Attention with a sink: b is a number, the score of one more key whose value is zero, and which is no token. Return the
outputs (m, d_v) for Q (m, d_k), K (n, d_k) and V (n, d_v). Scores are divided by the root of d_k, b is not. Scores of
several hundred must not overflow.

1. What would the weights be if the sink were a key like the others?
2. Take the softmax over n + 1 scores, and leave the last weight out when you sum the values.
3. Subtract the largest score, or b if it is larger, before the exponential.

The weights of a query no longer sum to one. What is missing has gone to the sink.
"""

import math

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def attention_with_sink(Q, K, V, b):
    """(m, d_v): attention in which one more key, with score b and value zero, takes weight."""
    S = Q @ K.T / math.sqrt(Q.shape[1])
    most = np.maximum(S.max(axis=1, keepdims=True), b)
    E = np.exp(S - most)
    return E @ V / (E.sum(axis=1, keepdims=True) + np.exp(b - most))


def with_one_key_more(Q, K, V, b):
    S = np.hstack([Q @ K.T / math.sqrt(Q.shape[1]), np.full((len(Q), 1), float(b))])
    E = np.exp(S - S.max(axis=1, keepdims=True))
    P = E / E.sum(axis=1, keepdims=True)
    return P @ np.vstack([V, np.zeros((1, V.shape[1]))])


def by_a_factor(Q, K, V, b):
    S = Q @ K.T / math.sqrt(Q.shape[1])
    most = S.max(axis=1, keepdims=True)
    log_sum = most + np.log(np.exp(S - most).sum(axis=1, keepdims=True))
    kept = 1 / (1 + np.exp(np.clip(b - log_sum, -700, 700)))
    return kept * (np.exp(S - log_sum) @ V)


def cases(rng):
    def one(m, n, d_k, d_v, b, scale=1.0):
        Q, K, V = drawn(rng, (m, d_k), (n, d_k), (n, d_v))
        return scale * Q, K, V, b

    def rows_apart(Q, K, V, b):
        Q[1] = 900 * math.sqrt(Q.shape[1]) * K[0] / (K[0] @ K[0])
        K[1] = 0.999 * K[0]
        return Q, K, V, b

    return {
        "two queries, three keys": one(2, 3, 4, 2, 0.5),
        "a high sink": one(3, 5, 2, 4, 3.0),
        "scores of several hundred": one(2, 4, 3, 2, 400.0, scale=500.0),
        "all sizes equal": one(3, 3, 3, 3, -1.0),
        "one query with scores to 900": rows_apart(*one(3, 5, 4, 2, 0.5)),
    }


MOST = "np.maximum(S.max(axis=1, keepdims=True), b)"
OF_SCORES = {MOST: "S.max(axis=1, keepdims=True)"}
VARIANTS = (with_one_key_more, by_a_factor)
MISTAKES = (
    Mistake("the weights still sum to one", "The sink takes a part of the weight, and that part is lost.",
        {" + np.exp(b - most)": ""}),
    Mistake("b is not a score yet", "In the denominator b stands in an exponential, like the scores.",
        {"np.exp(b - most)": "b"}),
    Mistake("the sink is not shifted", "The maximum is subtracted from the scores, so it must be subtracted from b as "
        "well.", {"np.exp(b - most)": "np.exp(b)"}, OF_SCORES | {"np.exp(b - most)": "np.exp(b)"}),
    Mistake("the sink counts as one", "Its exponential is one only if b is the largest score. Otherwise b must be "
        "shifted as the scores are.", {"np.exp(b - most)": "1"}, OF_SCORES | {"np.exp(b - most)": "1"}),
    Mistake("no maximum", "Exponentials of numbers above 709 are infinite, and a score may be that far above b. "
        "Subtract the largest of all.", {MOST: "0"}, {MOST: "b"}),
    Mistake("the sink has a value", "Its value is zero: it takes weight and adds nothing.",
        {"return E @ V /": "return (E @ V + np.exp(b - most) * V.mean(axis=0)) /"}),
    Mistake("scores are cut off", "Scores beyond the limits get equal weights.",
        *({"S - most": f"np.clip(S, -{limit}, {limit})", "b - most": "b"} for limit in (80, 100, 700))),
    Mistake("b is divided, too", "b is a score already.", {"b - most": "b / math.sqrt(Q.shape[1]) - most"}),
)  # fmt: skip

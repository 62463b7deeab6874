"""A printed gradient, repaired

repair · ★★★ · 15 min · 02-self-attention/8-slopes-and-saturation · after self-attention.bias-gradient

A formula in print gives the derivative with respect to the queries as V times the transposed weights over √d_k. A
programmer tried to save it, and this is how far it came. Repair it; its result must have the shape of Q.

1. Which array must a gradient with respect to the queries contain, since a score is a query times a key?
2. The scores lie between the queries and the weights. What does the softmax do to a gradient that passes
   it?
3. Go back in steps: output, weights, scores, queries. Two of the steps are wrong.

The printed product contains neither the keys nor the softmax, and its shape is that of a gradient only by
accident. A look at the shape first would have caught it.
"""

import math

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn
from attnlib.exercises.kit.given import softmax


def query_gradient(dO, Q, K, V):
    """The gradient of a loss with respect to Q, from the gradient dO with respect to attention's output."""
    scale = 1 / math.sqrt(Q.shape[-1])
    P = softmax(scale * Q @ K.swapaxes(-1, -2))
    dP = dO @ V.swapaxes(-1, -2)
    dS = P * (dP - (P * dP).sum(axis=-1, keepdims=True))
    return scale * dS @ K


def reference(dO, Q, K, V):
    from attnlib.reference import attention

    _, cache = attention.scaled_dot_product_attention(Q, K, V)
    return attention.scaled_dot_product_attention_backward(dO, cache)[0]


def cases(rng):
    return {
        "two queries, three keys": drawn(rng, (2, 4), (2, 5), (3, 5), (3, 4)),
        "a batch of two": drawn(rng, (2, 3, 7), (2, 3, 5), (2, 4, 5), (2, 4, 7)),
        "all sizes equal": drawn(rng, (3, 3), (3, 3), (3, 3), (3, 3)),
    }


GIVEN = ("the softmax was left out", "the values in place of the keys")
VARIANTS = (
    {"return scale * dS @ K": "return np.einsum('...mn,...nd->...md', dS, K) * scale"},
    {"(P * dP).sum(axis=-1, keepdims=True)": "np.einsum('...n,...n->...', P, dP)[..., None]"},
)  # fmt: skip
MISTAKES = (
    Mistake("the softmax was left out", "The gradient with respect to the weights is not yet the gradient with "
        "respect to the scores.",
        {"dS = P * (dP - (P * dP).sum(axis=-1, keepdims=True))": "dS = P * dP"}),
    Mistake("the values in place of the keys", "A score is a query times a key, so the way from scores back to "
        "queries leads over the keys.", {"dS @ K": "dS @ V"}),
    Mistake("no softmax at all", "These are the gradients with respect to the weights, times the keys. The "
        "softmax stands between scores and weights.",
        {"dS = P * (dP - (P * dP).sum(axis=-1, keepdims=True))": "dS = dP"}),
    Mistake("the weights in place of a gradient", "What goes back over the keys is the gradient with "
        "respect to the scores, not the weights.", {"dS @ K": "P @ K"}),
    Mistake("the plain mean, not the weighted one", "What the softmax subtracts is the mean of dP with the weights P.",
        {"(P * dP).sum(axis=-1, keepdims=True)": "dP.mean(axis=-1, keepdims=True)"}),
    Mistake("√d_k counted twice", "The scores have the factor 1 / √d_k once, and so has the backward pass.",
        {"return scale *": "return scale**2 *"}),
    Mistake("√d_k is missing", "The factor of the forward is missing in the backward pass.",
        {"return scale *": "return"}),
    Mistake("the queries in place of the keys", "That is a product of the kind that gives the gradient "
        "with respect to the keys.",
        {"dS @ K": "dS.swapaxes(-1, -2) @ Q"}),
    Mistake("V is not transposed", "It runs only where the sizes agree.", {"V.swapaxes(-1, -2)": "V"}),
)  # fmt: skip

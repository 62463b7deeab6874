"""Another layout of the rotation

write · ★★ · 12 min · 04-transformer/8-somebody-elses-weights

A published Llama rotates the coordinates 2i and 2i + 1 of each head as a pair; the program that shall run it rotates i
and i + d_k/2. The angles are the same. W_Q, W_K and W_V are (d, n_heads · d_k), made for the first program. Return the
three for the second, so that every output of attention stays the same; the pairs, and the two of each, keep their
order.

1. A score is a sum over the coordinates of a head. May they be in another order?
2. Only what is rotated must be reordered, and each head's coordinates stay inside the head.
3. Put the even columns of each head first, then its odd ones: in W_Q and in W_K.

Loaded without this, such a file has all its shapes right and writes nonsense. The values are not rotated, so
reordering them would have to be undone in W_O.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def to_halves(W_Q, W_K, W_V, n_heads):
    """The three maps for a rotation of pairs (i, i + d_k/2)."""
    d, width = W_Q.shape
    order = np.arange(width).reshape(n_heads, -1, 2).swapaxes(1, 2).ravel()
    return W_Q[:, order], W_K[:, order], W_V


def head_after_head(W_Q, W_K, W_V, n_heads):
    def moved(W):
        heads = np.split(W, n_heads, axis=1)
        return np.concatenate([half for head in heads for half in (head[:, 0::2], head[:, 1::2])], axis=1)

    return moved(W_Q), moved(W_K), W_V


def by_a_matrix(W_Q, W_K, W_V, n_heads):
    d_k = W_Q.shape[1] // n_heads
    inside = np.zeros((d_k, d_k))
    for i in range(d_k // 2):
        inside[2 * i, i] = inside[2 * i + 1, i + d_k // 2] = 1
    moves = np.kron(np.eye(n_heads), inside)
    return W_Q @ moves, W_K @ moves, 1 * W_V


def cases(rng):
    def maps(n_heads, d_k, d):
        return *drawn(rng, *[(d, n_heads * d_k)] * 3), n_heads

    return {
        "one head of six": maps(1, 6, 1),
        "two heads of four": maps(2, 4, 3),
        "two heads of six": maps(2, 6, 12),
        "three heads of eight": maps(3, 8, 5),
    }


RETURNS = ("W_Q", "W_K", "W_V")
VARIANTS = (head_after_head, by_a_matrix)
MISTAKES = (
    Mistake("the values reordered", "The values were reordered, too. They are not rotated, and W_O expects them "
        "in their old order.", {"W_K[:, order], W_V": "W_K[:, order], W_V[:, order]"}),
    Mistake("queries alone", "The keys stayed as they were, so a score multiplies coordinates that do not belong "
        "together.", {"W_K[:, order], W_V": "W_K, W_V"}),
    Mistake("keys alone", "The queries stayed as they were, so a score multiplies coordinates that do not belong "
        "together.", {"return W_Q[:, order]": "return W_Q"}),
    Mistake("the inverse order", "This order leads from halves to neighbours.",
        {"reshape(n_heads, -1, 2).swapaxes(1, 2)": "reshape(n_heads, 2, -1).swapaxes(1, 2)"}),
    Mistake("odd ones first", "The odd columns came first. The first of each pair has to be in the first half.",
        {"reshape(n_heads, -1, 2).swapaxes(1, 2)": "reshape(n_heads, -1, 2)[..., ::-1].swapaxes(1, 2)"}),
)  # fmt: skip

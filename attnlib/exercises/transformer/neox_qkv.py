"""Three maps, head by head

write · ★★ · 10 min · 04-transformer/8-somebody-elses-weights

GPT-NeoX stores the maps of queries, keys and values in one matrix, in another order than GPT-2: C is (n_heads · 3 ·
d_k, d), as `nn.Linear` stores it, and its rows are the queries of head 0, its keys, its values, then the three of head
1, and so on. Return W_Q, W_K and W_V for row vectors, X W_Q and so on: each (d, n_heads · d_k), the heads side by
side.

1. Which axis of C do the outputs lie along, and which one has to be last in the end?
2. Give the outputs three axes: the head, which of the three, the number inside the head.
3. Take one of the three, join the head with the number inside it, and transpose the result.

Cut as in GPT-2, all shapes are right here, too, and the scores are noise. Nothing in the file shows the order: read
the program that wrote it, or compare outputs.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def cut(C, n_heads):
    """W_Q, W_K, W_V, each (d, n_heads d_k), of a matrix whose rows are cut head by head."""
    d = C.shape[1]
    parts = C.reshape(n_heads, 3, -1, d)
    W_Q, W_K, W_V = (parts[:, i].reshape(-1, d).T for i in range(3))
    return W_Q, W_K, W_V


def row_by_row(C, n_heads):
    d_k = len(C) // (3 * n_heads)
    rows = [[], [], []]
    for i, row in enumerate(C):
        rows[i // d_k % 3].append(row)
    return tuple(np.array(one).T for one in rows)


def turned_first(C, n_heads):
    d = C.shape[1]
    parts = C.T.reshape(d, n_heads, 3, len(C) // (3 * n_heads))
    return parts[:, :, 0].reshape(d, -1), parts[:, :, 1].reshape(d, -1), parts[:, :, 2].reshape(d, -1)


def cases(rng):
    def part(n_heads, d_k, d):
        return *drawn(rng, (n_heads * 3 * d_k, d)), n_heads

    return {
        "two heads of one number": part(2, 1, 3),
        "two heads of three": part(2, 3, 5),
        "as wide as the heads together": part(2, 2, 4),
        "three heads of two": part(3, 2, 6),
        "one head": part(1, 3, 2),
    }


RETURNS = ("W_Q", "W_K", "W_V")
VARIANTS = (row_by_row, turned_first)
MISTAKES = (
    Mistake("cut as GPT-2 cuts", "The rows were cut into three blocks, one for all queries. Here each head has its "
        "queries, keys and values together.",
        {"reshape(n_heads, 3, -1, d)": "reshape(3, n_heads, -1, d).swapaxes(0, 1)"}),
    Mistake("not transposed", "The parts are (out, in), as they were stored. The maps to return are (in, out).",
        {"reshape(-1, d).T": "reshape(-1, d)"}),
    Mistake("keys first", "The queries returned are the keys, and the keys are the queries.",
        {"return W_Q, W_K, W_V": "return W_K, W_Q, W_V"}),
    Mistake("keys and values exchanged", "The keys returned are the values, and the values are the keys.",
        {"return W_Q, W_K, W_V": "return W_Q, W_V, W_K"}),
    Mistake("values first", "The three came out in the order values, keys, queries, or nearly.",
        {"return W_Q, W_K, W_V": "return W_V, W_K, W_Q"}),
    Mistake("the heads inside", "In each map the numbers of the heads are mixed: number 0 of all heads, then number "
        "1. The heads lie side by side.",
        {"parts[:, i].reshape(-1, d).T": "parts[:, i].swapaxes(0, 1).reshape(-1, d).T"}),
)  # fmt: skip

"""Count a block of today

write · ★★ · 10 min · 04-transformer/5-the-block-of-today

Count the parameters of one block of Qwen3's kind: attention with n_heads heads of queries and n_kv_heads heads of keys
and values, each d_k wide, and an output map back to the width d; a SwiGLU network of the hidden width d_hidden; no
biases; an RMS norm before each of the two, and a QK norm. n_heads · d_k need not be d. Return the count.

1. Which matrices are there, and how wide is each on both sides?
2. Queries and the output map have n_heads · d_k numbers on one side, keys and values n_kv_heads · d_k.
3. An RMS norm has one gain for each number that it reads. A QK norm reads the d_k numbers of one head, and all heads of
   a layer share its gain: one for queries and one for keys.

The two gains of the QK norm have 256 numbers in a block of 193 million. What has no effect on a count can have a large
one on a training.
"""

from attnlib.exercises.engine.model import Mistake


def count_block(d, n_heads, n_kv_heads, d_k, d_hidden):
    """Parameters of one block with grouped heads, SwiGLU, RMS norms and a QK norm, without biases."""
    attention = 2 * d * n_heads * d_k + 2 * d * n_kv_heads * d_k
    network = 3 * d * d_hidden
    norms = 2 * d + 2 * d_k
    return attention + network + norms


def matrix_by_matrix(d, n_heads, n_kv_heads, d_k, d_hidden):
    shapes = [(d, n_heads * d_k), (d, n_kv_heads * d_k), (d, n_kv_heads * d_k), (n_heads * d_k, d)]
    shapes += [(d, d_hidden), (d, d_hidden), (d_hidden, d), (1, d), (1, d), (1, d_k), (1, d_k)]
    return sum(rows * columns for rows, columns in shapes)


def cases(rng):
    return {
        "a small block": (12, 4, 2, 5, 7),
        "one head of keys and values": (12, 4, 1, 3, 32),
        "as many as heads of queries": (30, 3, 3, 10, 11),
        "Qwen3 8B": (4096, 32, 8, 128, 12_288),
        "Qwen3 0.6B, heads wider than the stream": (1024, 16, 8, 128, 3072),
    }


VARIANTS = (
    matrix_by_matrix,
    {"2 * d * n_heads * d_k + 2 * d * n_kv_heads * d_k": "2 * d * d_k * (n_heads + n_kv_heads)"},
)  # fmt: skip
MISTAKES = (
    Mistake("two maps in the network", "SwiGLU has three maps: two to the hidden width, and one back.",
        {"3 * d * d_hidden": "2 * d * d_hidden"}),
    Mistake("the feed-forward network is forgotten", "The SwiGLU network has matrices, too, and more numbers than "
        "attention.", {"network = 3 * d * d_hidden": "network = 0"}),
    Mistake("attention is forgotten", "Attention has four matrices: for queries, keys, values and the way out.",
        {"return attention + network": "return network"}),
    Mistake("width d for queries", "Queries and the output map are n_heads times d_k wide, which need not be d.",
        {"2 * d * n_heads * d_k": "2 * d * d"}),
    Mistake("a gain for each head", "All heads of a layer share the gain of the QK norm: d_k numbers for queries, d_k "
        "for keys.", {"2 * d_k\n": "(n_heads + n_kv_heads) * d_k\n"}),
    Mistake("no gains of the QK norm", "The QK norm has gains, too: one of d_k numbers for queries, one for keys.",
        {"2 * d + 2 * d_k\n": "2 * d\n"}),
    Mistake("norms with a shift", "An RMS norm has a gain and no shift.", {"2 * d + 2 * d_k\n": "4 * d + 4 * d_k\n"}),
    Mistake("four norms", "There is one norm before attention and one before the network: this counts one more after "
        "each.", {"2 * d + 2 * d_k\n": "4 * d + 2 * d_k\n"}),
)  # fmt: skip

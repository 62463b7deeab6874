"""Three matrices in one

write · ★★ · 8 min · 03-multi-head/2-one-matrix-multiplication

`nn.MultiheadAttention` keeps one matrix (3 d, d): queries, keys, values on top of each other, each used as
x W^T. Return W_Q, W_K and W_V, each (d, d), for use as X @ W.

1. Which rows of the packed matrix make the keys?
2. PyTorch stores a linear map as (out, in) and multiplies with its transpose. What does the book store?
3. Cut the rows into three equal parts, and transpose each.

One packed matrix makes one large product of three, which keeps a processor busier. The numbers are the
same.
"""

import numpy as np

from attnlib.exercises.kit.drawing import drawn


def unpack(in_proj_weight):
    """(W_Q, W_K, W_V), each (d, d) for use as X @ W, from the packed (3 d, d) of `nn.MultiheadAttention`."""
    W_Q, W_K, W_V = np.split(in_proj_weight, 3)
    return W_Q.T, W_K.T, W_V.T


def unpack_by_transpose(in_proj_weight):
    d = in_proj_weight.shape[1]
    packed = in_proj_weight.T
    return packed[:, :d], packed[:, d : 2 * d], packed[:, 2 * d :]


def cases(rng):
    return {
        "width 2": (np.arange(12.0).reshape(6, 2),),
        "width 3": drawn(rng, (9, 3)),
        "width 4": drawn(rng, (12, 4)),
    }


RETURNS = ("W_Q", "W_K", "W_V")
VARIANTS = """
    unpack_by_transpose
    np.split(in_proj_weight, 3) => in_proj_weight.reshape(3, -1, in_proj_weight.shape[1])
"""
MISTAKES = """
not transposed | These are (out, in), for use as x W^T. For X @ W they must be (in, out). With square
  matrices no shape gives it away.
    W_Q.T, W_K.T, W_V.T => W_Q, W_K, W_V
queries and keys are exchanged | The order is queries, keys, values.
    W_Q, W_K, W_V = => W_K, W_Q, W_V =
keys and values are exchanged | The order is queries, keys, values.
    W_Q, W_K, W_V = => W_Q, W_V, W_K =
the columns were cut | The three lie on top of each other, not side by side.
    np.split(in_proj_weight, 3) => np.split(in_proj_weight.T.reshape(in_proj_weight.shape), 3)
every third row | The rows of one matrix are neighbours.
    np.split(in_proj_weight, 3) => (in_proj_weight[i::3] for i in range(3))
"""

"""Absorb the values

write · ★★★ · 12 min · 04-transformer/5-the-block-of-today

The page absorbs the map to the values after the average. It can go further, because the output map that follows is
linear, too. W_V (d_latent, n_heads · d_v) makes the values of all heads from a latent, head by head, and
W_O (n_heads · d_v, d) maps the joined heads to the stream. Return M (n_heads, d_latent, d): one matrix for each head,
such that the sum over heads of (average of the latents) M is the layer's output.

1. Which columns of W_V belong to one head, and which rows of W_O?
2. Joining the heads and multiplying with W_O is a sum over heads, each with its own rows of W_O.
3. Split W_V along its columns and W_O along its rows into n_heads parts, and multiply the parts of each head.

M is not stored in practice: in DeepSeek-V3 it would have 128 · 512 · 7168 = 470 million numbers, 3.7 times as many as
W_V and W_O together. Two maps multiplied into one save work only where the width between them is not the smallest.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def absorb_values(W_V, W_O, n_heads):
    """One matrix (d_latent, d) for each head; (n_heads, d_latent, d)."""
    values = W_V.reshape(len(W_V), n_heads, -1).swapaxes(0, 1)
    output = W_O.reshape(n_heads, -1, W_O.shape[1])
    return values @ output


def head_by_head(W_V, W_O, n_heads):
    parts = zip(np.split(W_V, n_heads, axis=1), np.split(W_O, n_heads, axis=0), strict=True)
    return np.stack([up @ down for up, down in parts])


def as_a_sum(W_V, W_O, n_heads):
    d_v = len(W_O) // n_heads
    up = W_V.reshape(W_V.shape[0], n_heads, d_v)
    return np.einsum("lhv,hvd->hld", up, W_O.reshape(n_heads, d_v, W_O.shape[1]))


def interleaved(W_V, W_O, n_heads):
    up = W_V.reshape(len(W_V), -1, n_heads).transpose(2, 0, 1)
    return up @ W_O.reshape(n_heads, -1, W_O.shape[1])


def summed(W_V, W_O, n_heads):
    return np.broadcast_to(W_V @ W_O, (n_heads, len(W_V), W_O.shape[1])).copy()


def cases(rng):
    def drawn(d_latent, n_heads, d_v, d):
        return rng.normal(size=(d_latent, n_heads * d_v)), rng.normal(size=(n_heads * d_v, d)), n_heads

    return {
        "two heads of two numbers": drawn(3, 2, 2, 2),
        "three heads": drawn(5, 3, 2, 7),
        "one head": drawn(4, 1, 3, 5),
        "heads of one number": drawn(3, 4, 1, 5),
        "all sizes equal": drawn(4, 4, 4, 4),
    }


VARIANTS = (head_by_head, as_a_sum)
MISTAKES = (
    Mistake("columns dealt out in turn", "The columns of a head stand together in W_V: the first d_v belong to head 0.",
        interleaved),
    Mistake("one matrix for all heads", "W_V W_O adds the heads before their weights are known. Each head averages "
        "with weights of its own, so it needs a matrix of its own.", summed),
)  # fmt: skip

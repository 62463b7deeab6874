"""Which way round is the mask?

write · ★★ · 12 min · 01-foundations/9-softmax-in-finite-precision · after foundations.attention-matrices,
foundations.masked-softmax

Write masked scaled dot-product attention in PyTorch. `mask` (..., m, n) is True where a query may look; one
that may look nowhere gets zeros.

1. `masked_fill` writes where its mask is True. Is that where a query may look, or where it may not?
2. Turn the mask round, write minus infinity into the scores, and take the softmax over the last dimension.
   What does the softmax give for a row in which all scores are minus infinity?
3. Such a row is nan everywhere, and all its keys are hidden: fill the hidden weights with zeros after the
   softmax as well.

PyTorch has both conventions: in `F.scaled_dot_product_attention` True means may look, in `nn.MultiheadAttention` True
means hidden, as in `masked_fill`. This course keeps the first everywhere. On in the backward pass the softmax of the
empty row is nan once more; the first `masked_fill`, which passes no gradient to hidden scores, stops it, but
`torch.autograd.detect_anomaly` objects. `attnlib.nn` gives such a row finite scores first.
"""

import math

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.lazy import torch


def attention(Q, K, V, mask):
    """Scaled dot-product attention in torch; mask is True where a query may look."""
    S = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])
    S = S.masked_fill(~mask, -math.inf)
    P = S.softmax(dim=-1)
    P = P.masked_fill(~mask, 0.0)
    return P @ V


def reference(Q, K, V, mask):
    from attnlib.nn.attention import scaled_dot_product_attention

    wide = mask.expand(*Q.shape[:-2], *mask.shape[-2:])  # all axes, so that it can be read in one way
    return scaled_dot_product_attention(Q, K, V, wide)


def cases(rng):
    def case(arrays, mask, dtype: type = np.float64):
        tensors = (torch.from_numpy(np.asarray(array).astype(dtype)) for array in arrays)
        return (*tensors, torch.from_numpy(np.asarray(mask)))

    def drawn(*sizes):
        return [rng.normal(size=size) for size in sizes]

    mask = np.array([[True, True, False, False], [False, True, True, True], [True, False, True, True]])
    empty = np.array([[True, True, False], [False, False, False], [False, True, True]])
    low_keys = np.array([[-3e9], [-3e9 - 1], [0.5], [1.0]])
    return {
        "three queries, four keys": case(drawn((3, 2), (4, 2), (4, 5)), mask),
        "a batch of two": case(drawn((2, 3, 7), (2, 4, 7), (2, 4, 5)), np.stack([mask, mask[::-1]])),
        "a query that may look nowhere": case(drawn((3, 3), (3, 3), (3, 3)), empty),
        "visible scores of -3e9": case([[[1.0], [2.0], [0.5]], low_keys, *drawn((4, 3))], mask),
        "all sizes equal": case(drawn((3, 3, 3), (3, 3, 3), (3, 3, 3)), empty),
        "float32": case(drawn((3, 3), (3, 3), (3, 3)), empty, np.float32),
    }


def by_torch(Q, K, V, mask):
    seen = mask | ~mask.any(dim=-1, keepdim=True)
    O = torch.nn.functional.scaled_dot_product_attention(Q, K, V, attn_mask=seen)
    return O * mask.any(dim=-1, keepdim=True)


NEEDS = ("torch",)
VARIANTS = (
    by_torch,
    {"P.masked_fill(~mask, 0.0)": "torch.where(mask, P, torch.zeros_like(P))"},
    {"P.masked_fill(~mask, 0.0)": "P.nan_to_num(0.0)"},
)  # fmt: skip
MISTAKES = (
    Mistake("equal weights for a row with nothing to look at", "A query that may look nowhere got the mean of all "
        "values, which are hidden from it. A very low but finite score does this: then all keys are equally low.",
        {"-math.inf": "torch.finfo(S.dtype).min", "    P = P.masked_fill(~mask, 0.0)\n": ""}),
    Mistake("mask after the softmax", "The hidden keys still took their share of the sum, so the rest does not sum to "
        "one. Hide the scores as well.",
        {"S = S.masked_fill(~mask, -math.inf)\n    P = S.softmax(dim=-1)\n    P = P.masked_fill(~mask, 0.0)":
             "P = S.softmax(dim=-1) * mask"}),
    Mistake("hidden scores are 0, not minus infinity", "exp(0) is 1, so a hidden key still gets weight.",
        {"S.masked_fill(~mask, -math.inf)": "S * mask", "    P = P.masked_fill(~mask, 0.0)\n": ""}),
    Mistake("the mask was added as a number", "True counts as 1, so the visible scores rose by one and nothing is "
        "hidden. Only a mask of 0 and minus infinity can be added.",
        {"S.masked_fill(~mask, -math.inf)": "S + mask", "    P = P.masked_fill(~mask, 0.0)\n": ""}),
    Mistake("√d_k is missing", "The scores are not divided by √d_k, so they spread wider the longer the vectors.",
        {"/ math.sqrt(Q.shape[-1])": ""}),
    Mistake("normalised over the queries", "The weights of each key sum to one over the queries; those of each query "
        "should, over the keys.", {"dim=-1": "dim=-2"}),
    Mistake("K is not transposed", "Where K happens to be square it runs, but a score must pair a query's numbers "
        "with a key's.", {"K.transpose(-2, -1)": "K"}),
    Mistake("Q changed in place", "The numbers are right, but the caller's queries are now scaled: `/=`, and methods "
        "that end in _, write into their tensor.",
        {"S = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])":
             "Q /= math.sqrt(Q.shape[-1])\n    S = Q @ K.transpose(-2, -1)"}),
)  # fmt: skip

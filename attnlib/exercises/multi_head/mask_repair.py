"""One mask for all heads

repair · ★★ · 8 min · 03-multi-head/2-one-matrix-multiplication · after self-attention.packed

Q, K and V are (b, h, n, d_k), and mask (b, n, n) is True where a query may look. Each sequence has its own
mask, which holds for all its heads. Whenever b equals h the function runs, and is wrong. Repair both bugs.

1. Scores are (b, h, n, n). Against which axis does the first axis of the mask stand?
2. NumPy lines axes up from the right. The mask needs an axis for the heads.
3. One bug is that axis; the other is which entries keep their scores.

Broadcasting lines up from the right: (b, n, n) against (b, h, n, n) pairs sequences with heads. It fails
with an error only where the numbers differ, so test with b ≠ h.
"""

import math

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn
from attnlib.exercises.kit.given import softmax


def masked_heads(Q, K, V, mask):
    """Attention of all heads; Q, K, V (b, h, n, d_k), and mask (b, n, n) is True where a query may look."""
    S = Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])
    S = np.where(mask[:, None], S, -math.inf)
    return softmax(S) @ V


def cases(rng):
    def masks(b, n):
        mask = rng.random(size=(b, n, n)) < 0.5
        return mask | np.eye(n, dtype=bool)

    return {
        "two sequences, three heads": (*drawn(rng, *[(2, 3, 4, 2)] * 3), masks(2, 4)),
        "as many sequences as heads": (*drawn(rng, *[(3, 3, 4, 2)] * 3), masks(3, 4)),
        "all sizes equal": (*drawn(rng, *[(3, 3, 3, 3)] * 3), masks(3, 3)),
    }


def heads_by_loop(Q, K, V, mask):
    outputs = np.empty(V.shape)
    for b, h in np.ndindex(*Q.shape[:2]):
        S = Q[b, h] @ K[b, h].T / math.sqrt(Q.shape[-1])
        outputs[b, h] = softmax(np.where(mask[b], S, -math.inf)) @ V[b, h]
    return outputs


GIVEN = ("the mask of a sequence went to a head", "inverted mask")
VARIANTS = (heads_by_loop, {"mask[:, None]": "np.expand_dims(mask, 1)"})
MISTAKES = (
    Mistake("the mask of a sequence went to a head", "The axis of sequences met the axis of heads.",
        {"mask[:, None]": "mask[: Q.shape[1]]"}, {"mask[:, None]": "mask"}),
    Mistake("inverted mask", "True means: may look.",
        {"np.where(mask[:, None], S, -math.inf)": "np.where(mask[:, None], -math.inf, S)"},
        {"np.where(mask[:, None], S, -math.inf)": "np.where(~mask[:, None], S, -math.inf)"}),
    Mistake("the first sequence's mask for all", "Each sequence has its own mask.",
        {"mask[:, None]": "mask[:1, None]"}),
    Mistake("hidden after the softmax", "The hidden keys give nothing, but they still took their share: the other "
        "weights no longer sum to one.",
        {"S = np.where(mask[:, None], S, -math.inf)\n": "\n",
         "return softmax(S) @ V": "return softmax(S) * mask[:, None] @ V"}),
    Mistake("the mask is not used", "Hidden keys are read.", {"S = np.where(mask[:, None], S, -math.inf)\n": "\n"}),
)  # fmt: skip

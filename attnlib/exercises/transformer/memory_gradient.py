"""The gradient of the memory

write · ★★ · 8 min · 04-transformer/6-encoder-decoder-translation

Every decoder block computes keys and values of its own from the same memory H (n, d): K = H W_K and V = H W_V. In the
backward pass, block i has computed dK[i] and dV[i]. So dK and dV are (blocks, n, d_k), W_K and W_V (blocks, d, d_k).
Return the gradient of the memory (n, d), from which the encoder learns.

1. On how many paths does an entry of H reach the loss?
2. The paths start at the same entry. How does the gradient of this entry follow from the gradients of its paths?
3. Each block has one term for its keys, dK W_K transposed, and one for its values, dV W_V transposed. Add all terms.

The encoder has no loss of its own. It learns only from this sum. The part of the keys changes which positions get
attention, and the part of the values changes what is read there.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def memory_gradient(dK, dV, W_K, W_V):
    """What all blocks say to the memory that they have read: (n, d)."""
    dH = dK @ W_K.swapaxes(-1, -2) + dV @ W_V.swapaxes(-1, -2)
    return dH.sum(axis=0)


def block_by_block(dK, dV, W_K, W_V):
    dH = np.zeros((dK.shape[1], W_K.shape[1]))
    for i in range(len(dK)):
        dH = dH + dK[i] @ W_K[i].T + dV[i] @ W_V[i].T
    return dH


def by_einsum(dK, dV, W_K, W_V):
    return np.einsum("bnk,bdk->nd", dK, W_K) + np.einsum("bnk,bdk->nd", dV, W_V)


def cases(rng):
    def case(blocks, n, d, d_k):
        return tuple(drawn(rng, *[(blocks, n, d_k)] * 2, *[(blocks, d, d_k)] * 2))

    return {
        "two blocks, three words": case(2, 3, 4, 5),
        "one block": case(1, 3, 4, 2),
        "all sizes equal": case(3, 3, 3, 3),
        "one word": case(4, 1, 3, 3),
    }


VARIANTS = (block_by_block, by_einsum)
MISTAKES = (
    Mistake("only the last block", "Only the gradients of the last block were used. All blocks read the memory.",
        {"dH.sum(axis=0)": "dH[-1]"}),
    Mistake("only the first block", "Only the gradients of the first block were used. All blocks read the memory.",
        {"dH.sum(axis=0)": "dH[0]"}),
    Mistake("the keys are left out", "Only the gradients of the values were used. The keys come from the memory, too.",
        {"dK @ W_K.swapaxes(-1, -2) + dV": "dV"}),
    Mistake("the values are left out", "Only the gradients of the keys were used. The values come from the memory, "
        "too.",
        {"dH = dK @ W_K.swapaxes(-1, -2) + dV @ W_V.swapaxes(-1, -2)": "dH = dK @ W_K.swapaxes(-1, -2)"}),
    Mistake("W_K and W_V are swapped", "Keys were computed with W_K, values with W_V. Each gradient goes back "
        "through the same matrix.",
        {"W_K.swapaxes": "W_.swapaxes", "W_V.swapaxes": "W_K.swapaxes", "W_.swapaxes": "W_V.swapaxes"}),
    Mistake("not transposed", "The gradient goes back through a product with the transposed matrix.",
        {"W_K.swapaxes(-1, -2)": "W_K", "W_V.swapaxes(-1, -2)": "W_V"}),
    Mistake("summed before the product", "Every block has matrices of its own: multiply in each block first, then "
        "sum over the blocks.",
        lambda dK, dV, W_K, W_V: dK.sum(axis=0) @ W_K.sum(axis=0).T + dV.sum(axis=0) @ W_V.sum(axis=0).T,
        lambda dK, dV, W_K, W_V: dK.sum(axis=0) @ W_K[0].T + dV.sum(axis=0) @ W_V[0].T),
    Mistake("subtracted", "The gradients of the two paths are added.",
        {"W_K.swapaxes(-1, -2) + dV": "W_K.swapaxes(-1, -2) - dV"}),
    Mistake("all axes reversed", "`.T` reverses all three axes, that of the blocks as well.",
        {"W_K.swapaxes(-1, -2)": "W_K.T", "W_V.swapaxes(-1, -2)": "W_V.T"}),
    Mistake("two gradients", "These are two gradients. Keys and values come from the same memory, so their gradients "
        "are added.",
        lambda dK, dV, W_K, W_V: np.array([(dK @ W_K.swapaxes(-1, -2)).sum(axis=0), (dV @ W_V.swapaxes(-1,
            -2)).sum(axis=0)])),
    Mistake("the last block is left out", "One block is missing. All blocks read the memory.",
        {"dH.sum(axis=0)": "dH[:-1].sum(axis=0)"},
        lambda dK, dV, W_K, W_V: sum(dK[i] @ W_K[i].T + dV[i] @ W_V[i].T for i in range(len(dK) - 1))),
)  # fmt: skip

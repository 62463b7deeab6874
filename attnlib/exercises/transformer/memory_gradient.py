"""Read by many

write · ★★ · 8 min · 04-transformer/6-encoder-decoder-translation

Every block of a decoder makes keys and values of its own from the one memory H (n, d): K = H W_K and V = H W_V.
Backwards, block i has found dK[i] and dV[i]. So dK and dV are (blocks, n, d_k), W_K and W_V (blocks, d, d_k). Return
the gradient of the memory (n, d): what the encoder will learn from.

1. On how many ways does a number of H reach the loss?
2. Ways that go apart forwards come together backwards: how are gradients joined?
3. Each block and each of the two products gives one term, dK W_K transposed or dV W_V transposed. All are added.

The encoder has no loss of its own. All that it learns comes through this sum: through the keys it hears where it
should be found, through the values what it should have said.
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
    Mistake("only the last block", "Only the last block is heard. All of them have read the memory.",
        {"dH.sum(axis=0)": "dH[-1]"}),
    Mistake("only the first block", "Only the first block is heard. All of them have read the memory.",
        {"dH.sum(axis=0)": "dH[0]"}),
    Mistake("the keys are forgotten", "Only the values were followed back. The memory has been found by its keys, too.",
        {"dK @ W_K.swapaxes(-1, -2) + dV": "dV"}),
    Mistake("the values are forgotten", "Only the keys were followed back.",
        {"dH = dK @ W_K.swapaxes(-1, -2) + dV @ W_V.swapaxes(-1, -2)": "dH = dK @ W_K.swapaxes(-1, -2)"}),
    Mistake("the matrices have changed places", "Keys were made with W_K, values with W_V, and each goes back the way "
        "it came.", {"W_K.swapaxes": "W_.swapaxes", "W_V.swapaxes": "W_K.swapaxes", "W_.swapaxes": "W_V.swapaxes"}),
    Mistake("not transposed", "Backwards through a product the matrix is transposed.",
        {"W_K.swapaxes(-1, -2)": "W_K", "W_V.swapaxes(-1, -2)": "W_V"}),
    Mistake("summed before the product", "Every block has matrices of its own: first back through them, then the sum.",
        lambda dK, dV, W_K, W_V: dK.sum(axis=0) @ W_K.sum(axis=0).T + dV.sum(axis=0) @ W_V.sum(axis=0).T,
        lambda dK, dV, W_K, W_V: dK.sum(axis=0) @ W_K[0].T + dV.sum(axis=0) @ W_V[0].T),
    Mistake("subtracted", "The two ways are added.", {"W_K.swapaxes(-1, -2) + dV": "W_K.swapaxes(-1, -2) - dV"}),
    Mistake("all axes turned round", "`.T` turns all three axes round, that of the blocks as well.",
        {"W_K.swapaxes(-1, -2)": "W_K.T", "W_V.swapaxes(-1, -2)": "W_V.T"}),
    Mistake("keys and values apart", "Two gradients came. The memory is one, so what comes by its keys and by its "
        "values is added.",
        lambda dK, dV, W_K, W_V: np.array([(dK @ W_K.swapaxes(-1, -2)).sum(axis=0), (dV @ W_V.swapaxes(-1,
            -2)).sum(axis=0)])),
    Mistake("the last block is left out", "One block is missing: all of them have read the memory.",
        {"dH.sum(axis=0)": "dH[:-1].sum(axis=0)"},
        lambda dK, dV, W_K, W_V: sum(dK[i] @ W_K[i].T + dV[i] @ W_V[i].T for i in range(len(dK) - 1))),
)  # fmt: skip

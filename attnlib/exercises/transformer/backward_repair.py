"""A gradient that gets lost

repair · ★★ · 10 min · 04-transformer/13-the-block-backwards

This should be the backward of a pre-norm block with given weights of attention P (n, n): Z is X plus P times its
norm times M, and Y is Z plus ReLU(U W_1) W_2 with the norm U of Z; the norms have no gain. X and dY are (n, d);
asked is dX. The loss falls, and slowly: the lower blocks hardly learn, and what they learn goes to the wrong
tokens. Two lines are wrong; repair both.

1. How many ways lead from Z to the loss? And from X?
2. Forwards, row i of P says from whom token i fetches. To whom does token i report back?
3. Both sums hand a copy of the gradient on; and backwards through a product a matrix is transposed, P as well.

P has the same number of rows and columns, so a forgotten transpose changes no shape: token i is told what those say
that it has read, in place of those that have read it.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn, weights


def block_backward(dY, X, P, M, W_1, W_2):
    """dX of a pre-norm block with given weights of attention."""

    def norm(X):
        centred = X - X.mean(axis=-1, keepdims=True)
        size = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)
        return centred / size, size

    def norm_backward(dN, N, size):
        mean = dN.mean(axis=-1, keepdims=True)
        along = N * (dN * N).mean(axis=-1, keepdims=True)
        return (dN - mean - along) / size

    N, size_1 = norm(X)
    U, size_2 = norm(X + P @ N @ M)
    dA = dY @ W_2.T * (U @ W_1 > 0)
    dZ = dY + norm_backward(dA @ W_1.T, U, size_2)
    dN = P.T @ dZ @ M.T
    return dZ + norm_backward(dN, N, size_1)


def with_jacobians(dY, X, P, M, W_1, W_2):
    n, d = X.shape

    def norm_and_jacobian(x):
        c, size = x - x.mean(), np.sqrt(x.var() + 1e-5)
        y = c / size
        return y, (np.eye(d) - 1 / d - np.outer(y, y) / d) / size

    N, J_1 = zip(*map(norm_and_jacobian, X), strict=True)
    Z = X + P @ np.array(N) @ M
    dZ = []
    for z, dy in zip(Z, dY, strict=True):
        u, J = norm_and_jacobian(z)
        dZ.append(dy + J @ (W_1 @ np.where(u @ W_1 > 0, W_2 @ dy, 0)))
    return np.array([dZ[j] + J_1[j] @ sum(P[i, j] * (M @ dZ[i]) for i in range(n)) for j in range(n)])


def cases(rng):
    def case(n, d, h):
        X, dY, M, W_1, W_2 = drawn(rng, (n, d), (n, d), (d, d), (d, h), (h, d))
        return dY, 2 * X, weights(rng, n, n), M, W_1, W_2

    dY, X, P, M, W_1, W_2 = case(4, 3, 5)
    return {
        "three tokens": case(3, 4, 5),
        "the network says nothing": (dY, X, P, M, W_1, 0 * W_2),
        "attention says nothing": (dY, X, P, 0 * M, W_1, W_2),
        "all sizes equal": case(3, 3, 3),
    }


GIVEN = ("P is not transposed", "no copy past the network")
VARIANTS = (
    with_jacobians,
    {"dN - mean - along": "dN - mean - N * np.einsum('nd,nd->n', dN, N)[:, None] / N.shape[1]"},
)  # fmt: skip
MISTAKES = (
    Mistake("P is not transposed", "Backwards through P the tokens report to those that they have read: P is "
        "transposed.", {"P.T @ dZ": "P @ dZ"}),
    Mistake("no copy past the network", "Z reaches the loss on two ways. The way around the network hands on a copy.",
        {"dZ = dY + norm": "dZ = norm"}),
    Mistake("no copy past attention", "X reaches the loss on two ways. The way around attention hands on a copy.",
        {"return dZ + norm": "return norm"}),
    Mistake("the copy past attention comes from the top", "What goes around attention is what has arrived at Z, not "
        "what arrived at Y.", {"return dZ + norm": "return dY + norm"}),
    Mistake("attention hears only the top", "Attention is told what has arrived at Z, and that is more than what "
        "arrived at Y.", {"P.T @ dZ": "P.T @ dY"}),
    Mistake("the bend lets everything through", "A hidden number that was negative has been set to zero, and learns "
        "nothing.", {"dY @ W_2.T * (U @ W_1 > 0)": "dY @ W_2.T"}),
    Mistake("the bend is the wrong way round", "Those hidden numbers that were positive pass their gradient on.",
        {"W_1 > 0": "W_1 < 0"}),
    Mistake("the network has read the other norm", "The network has read the norm of Z.",
        {"U @ W_1 > 0": "N @ W_1 > 0"}),
    Mistake("M is not transposed", "Backwards through a product its matrix is transposed.", {"@ M.T": "@ M"}),
    Mistake("the norms are left out", "Both parts read through a norm, and their gradients go back through it.",
        {"norm_backward(dA @ W_1.T, U, size_2)": "dA @ W_1.T", "norm_backward(dN, N, size_1)": "dN"}),
    Mistake("the mean passes", "A norm does not notice a shift, so the mean of the gradient does not pass.",
        {"(dN - mean - along)": "(dN - along)"}),
    Mistake("the part along the vector passes", "A norm does not notice a longer vector, so the gradient along it "
        "does not pass.", {"(dN - mean - along)": "(dN - mean)"}),
    Mistake("not divided by the size", "A vector of ten times the size gets a tenth of the gradient.",
        {"- along) / size": "- along)"}),
    Mistake("the copy past the network comes too late", "The copy of dY belongs to dZ: attention must hear it, too.",
        {"dZ = dY + norm": "dZ = norm", "return dZ + norm": "return dY + dZ + norm"}),
    Mistake("the copy goes through the norm", "The way around the network goes around its norm as well.",
        {"dZ = dY + norm_backward(dA @ W_1.T,": "dZ = norm_backward(dY + dA @ W_1.T,"}),
    Mistake("the bend weighs", "The bend lets a gradient pass or not: it multiplies by one or zero, not by the hidden "
        "number.", {"(U @ W_1 > 0)": "np.maximum(U @ W_1, 0)"}),
    Mistake("the norm of X in both", "The norm in front of the network is that of Z, with a vector and a size of its "
        "own.", {"dA @ W_1.T, U, size_2": "dA @ W_1.T, N, size_1"}),
    Mistake("the sizes are exchanged", "Each norm has divided by its own size.",
        {"dA @ W_1.T, U, size_2": "dA @ W_1.T, U, size_1", "dN, N, size_1": "dN, N, size_2"}),
)  # fmt: skip

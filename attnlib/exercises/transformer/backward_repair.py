"""A gradient that gets lost

repair · ★★ · 10 min · 04-transformer/13-the-block-backwards

This should be the backward of a pre-norm block with given attention weights P (n, n): Z = X + P LN(X) M, and Y = Z +
ReLU(LN(Z) W_1) W_2, where LN is layer normalisation without gain and shift. X (n, d) is the input, dY (n, d) the
gradient of the loss with respect to Y; return dX. With this code a training is slow: the gradients of the lower blocks
are small, and arrive at the wrong tokens. Two lines are wrong; repair both.

1. Along how many paths does Z reach the loss? And X?
2. In the forward pass, row i of P holds the weights with which token i reads the others. To which tokens does the
   gradient of token i go?
3. Each sum passes its gradient on to both of its terms; and in the backward of a product a matrix is transposed, P as
   well.

P has the same number of rows and columns, so a forgotten transpose changes no shape: token i gets the gradients of the
tokens that it has read, instead of those that have read it.
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
        "the network adds zero": (dY, X, P, M, W_1, 0 * W_2),
        "attention adds zero": (dY, X, P, 0 * M, W_1, W_2),
        "all sizes equal": case(3, 3, 3),
    }


GIVEN = ("P is not transposed", "no gradient around the network")
VARIANTS = (
    with_jacobians,
    {"dN - mean - along": "dN - mean - N * np.einsum('nd,nd->n', dN, N)[:, None] / N.shape[1]"},
)  # fmt: skip
MISTAKES = (
    Mistake("not back through the weights", "The gradient went back through M and not through the weights of "
        "attention: a token's gradient must reach the tokens that it attended to.", {"P.T @ dZ @ M.T": "dZ @ M.T"}),
    Mistake("P is not transposed", "The gradient goes from each token to those that it has read: in the backward pass "
        "P is transposed.", {"P.T @ dZ": "P @ dZ"}),
    Mistake("no gradient around the network",
        "Z reaches the loss along two paths. The residual connection around the network passes the gradient on.",
        {"dZ = dY + norm": "dZ = norm"}),
    Mistake("no gradient around attention", "X reaches the loss along two paths. The residual connection around "
        "attention passes the gradient on.",
        {"return dZ + norm": "return norm"}),
    Mistake("the gradient of Y around attention", "The residual connection passes on the gradient of Z, not that of Y.",
        {"return dZ + norm": "return dY + norm"}),
    Mistake("attention gets the gradient of Y", "Attention gets the gradient of Z. It has more terms than that of Y.",
        {"P.T @ dZ": "P.T @ dY"}),
    Mistake("the derivative of the ReLU is missing",
        "A hidden number that was negative has been set to zero, so its gradient is zero.",
        {"dY @ W_2.T * (U @ W_1 > 0)": "dY @ W_2.T"}),
    Mistake("the ReLU passes the negative numbers", "Only hidden numbers that were positive pass a gradient on.",
        {"W_1 > 0": "W_1 < 0"}),
    Mistake("the network has read the other norm", "The network has read the norm of Z.",
        {"U @ W_1 > 0": "N @ W_1 > 0"}),
    Mistake("M is not transposed", "In the backward of a product its matrix is transposed.", {"@ M.T": "@ M"}),
    Mistake("the norms are left out", "Attention and the network read through a norm, and their gradients go back "
        "through it.",
        {"norm_backward(dA @ W_1.T, U, size_2)": "dA @ W_1.T", "norm_backward(dN, N, size_1)": "dN"}),
    Mistake("the mean passes", "A shift of the vector does not change its norm, so the mean of the gradient does not "
        "pass.",
        {"(dN - mean - along)": "(dN - along)"}),
    Mistake("the component along the vector passes",
        "A longer vector has the same norm, so the gradient along the vector "
        "does not pass.", {"(dN - mean - along)": "(dN - mean)"}),
    Mistake("not divided by the size", "A vector of ten times the size gets a tenth of the gradient.",
        {"- along) / size": "- along)"}),
    Mistake("the gradient around the network is added too late",
        "dY is a term of dZ: it must go through attention, too.",
        {"dZ = dY + norm": "dZ = norm", "return dZ + norm": "return dY + dZ + norm"}),
    Mistake("the residual gradient goes through the norm", "The residual connection goes around the norm of the "
        "network as well.",
        {"dZ = dY + norm_backward(dA @ W_1.T,": "dZ = norm_backward(dY + dA @ W_1.T,"}),
    Mistake("multiplied by the hidden number",
        "The derivative of a ReLU is one or zero, not the hidden number.", {"(U @ W_1 > 0)": "np.maximum(U @ W_1, 0)"}),
    Mistake("the norm of X in both", "The norm before the network is that of Z, with a vector and a size of its own.",
        {"dA @ W_1.T, U, size_2": "dA @ W_1.T, N, size_1"}),
    Mistake("the sizes are exchanged", "Each norm has divided by its own size.",
        {"dA @ W_1.T, U, size_2": "dA @ W_1.T, U, size_1", "dN, N, size_1": "dN, N, size_2"}),
)  # fmt: skip

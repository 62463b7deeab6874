"""A linear map, backwards

write · ★★ · 12 min · 01-foundations/3-queries-keys-values

Y = X W + b with X (..., d_in), W (d_in, d_out) and b (d_out,). From the gradient dY (..., d_out) of a loss
by Y, return those by X, W and b, in this order. One W serves all vectors of X, however many leading axes
there are.

1. Which shape must each gradient have? Which products of dY with X or W have that shape?
2. The gradient with respect to X is a product with W turned round. W and b served every vector: what has to be done
   over all of them?
3. Put all leading axes into one with `reshape`. Then W gets the transposed inputs times dY, b gets the sum of dY over
   all rows, and X gets dY times the transposed W.

What is used many times collects from every use: that is the sum over tokens and over the batch. A mean
would make the gradient depend on how many tokens a text has.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def linear_backward(dY, X, W):
    """The gradients with respect to X, W and the bias b of Y = X W + b, from the gradient dY."""
    rows = X.reshape(-1, X.shape[-1])
    d_rows = dY.reshape(-1, dY.shape[-1])
    dX = dY @ W.T
    dW = rows.T @ d_rows
    db = d_rows.sum(axis=0)
    return dX, dW, db


def reference(dY, X, W):
    from attnlib.reference import ops

    return ops.linear_backward(dY, ops.LinearCache(X, W))


def cases(rng):
    def case(batch, d_in, d_out, dtype: type = np.float64):
        sizes = (*batch, d_out), (*batch, d_in), (d_in, d_out)
        return tuple(rng.normal(size=size).astype(dtype) for size in sizes)

    return {
        "three tokens": case((3,), 4, 5),
        "a batch of two": case((2, 3), 5, 7),
        "all sizes equal": case((3, 3), 3, 3),
        "two leading axes": case((2, 4, 3), 2, 5),
        "float32": case((4,), 3, 2, np.float32),
    }


def summed_over_the_batch(dY, X, W):
    leading = tuple(range(X.ndim - 1))
    return dY @ W.T, np.tensordot(X, dY, axes=(leading, leading)), dY.sum(axis=leading)


RETURNS = ("dX", "dW", "db")
VARIANTS = (
    summed_over_the_batch,
    {"rows.T @ d_rows": 'np.einsum("ri,ro->io", rows, d_rows)', "dY @ W.T": 'np.einsum("...o,io->...i", dY, W)'},
    {"return dX, dW, db": "return np.float64(1) * dX, np.float64(1) * dW, np.float64(1) * db"},
)  # fmt: skip
MISTAKES = (
    Mistake("means over the vectors", "One W and one b serve all vectors, so their gradients are sums over the "
        "vectors; here they were divided by their number.",
        {"rows.T @ d_rows": "rows.T @ d_rows / len(rows)", "d_rows.sum(axis=0)": "d_rows.mean(axis=0)"}),
    Mistake("W is not transposed in dX", "Where W is square it runs, but dX gathers over the outputs, with the "
        "columns of W.", {"dY @ W.T": "dY @ W"}),
    Mistake("dW for each sequence by itself", "The same W served every sequence, so its gradients add up over the "
        "batch.", {"rows.T @ d_rows": "X.swapaxes(-1, -2) @ dY"}),
    Mistake("db for each sequence by itself", "The same b served every sequence, so its gradients add up over the "
        "batch.", {"d_rows.sum(axis=0)": "dY.sum(axis=-2)"}),
    Mistake("db over the first axis only", "b served all vectors: with more than one leading axis, the sum runs over "
        "all of them.", {"d_rows.sum(axis=0)": "dY.sum(axis=0)"}),
    Mistake("mean in place of sum in dW", "Each use of W adds its part: a sum, not a mean.",
        {"rows.T @ d_rows": "rows.T @ d_rows / X.dtype.type(len(rows))"}),
    Mistake("db summed over the outputs", "b has one entry for each output: sum over the vectors and keep the outputs.",
        {"d_rows.sum(axis=0)": "d_rows.sum(axis=1)"}),
    Mistake("dX is multiplied with X", "Y is linear in X, so its derivative with respect to X is W alone, "
        "whatever X is.",
        {"dY @ W.T": "(dY @ W.T) * X"}),
    Mistake("all axes turned around", "X was laid out anew after `.T` had turned all its axes around, so tokens and "
        "sequences got mixed.", {"rows.T @ d_rows": "X.T.reshape(X.shape[-1], -1) @ d_rows"}),
)  # fmt: skip

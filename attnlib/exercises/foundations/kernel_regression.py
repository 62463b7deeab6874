r"""An average from 1964

write · ★★ · 12 min · 01-foundations/2-the-attention-function · after foundations.attention-loops

Write kernel regression: each query gets the average of the values, weighted by $\exp(-|q - k|^2 / 2h^2)$
with the bandwidth h. Q is (..., m, d_k), K is (..., n, d_k), V is (..., n, d_v). A query far from all keys
must get an average too, not nan.

1. Which axes does the array of all differences between queries and keys have?
2. Call what stands in the exponent a score: what you need then is a softmax of these scores.
3. Insert axes so that queries and keys are subtracted in all pairs, square, sum over the coordinates,
   change the sign, divide by twice the squared bandwidth; a softmax over the keys, safe by its maximum,
   averages V.

Nadaraya and Watson averaged like this in 1964. With a dot product in place of the distance it is attention;
for keys of one length and h² = √d_k the two give the same weights.
"""

import numpy as np

from attnlib.exercises.kit import laws


def kernel_regression(Q, K, V, bandwidth):
    """For each query the average of the values V, weighted by a Gaussian of the distance to each key."""
    distance = ((Q[..., :, None, :] - K[..., None, :, :]) ** 2).sum(axis=-1)
    S = -distance / (2 * bandwidth**2)
    G = np.exp(S - S.max(axis=-1, keepdims=True))
    return G @ V / G.sum(axis=-1, keepdims=True)


def reference(Q, K, V, bandwidth):
    from attnlib.reference.attention import (
        attend,
    )  # the package's kernel_regression refuses a query far from all keys

    logs = -((Q[..., :, None, :] - K[..., None, :, :]) ** 2).sum(axis=-1) / (2 * bandwidth**2)
    return attend(logs, V)[0]


def kernel_regression_by_loops(Q, K, V, bandwidth):
    O = np.zeros((*Q.shape[:-1], V.shape[-1]), dtype=V.dtype)
    for where in np.ndindex(Q.shape[:-1]):
        lengths = np.linalg.norm(K[where[:-1]] - Q[where], axis=-1)
        closeness = np.exp((lengths.min() ** 2 - lengths**2) / 2 / bandwidth**2)
        O[where] = (closeness[:, None] * V[where[:-1]]).sum(axis=0) / closeness.sum()
    return O


def cases(rng):
    def case(*sizes, dtype: type = np.float64):
        return tuple(rng.normal(size=size).astype(dtype) for size in sizes)

    far = case((2, 2), (4, 2), (4, 3))
    far[0][1] += 90
    return {
        "two queries, three keys": (*case((2, 2), (3, 2), (3, 4)), 1.5),
        "a batch of two": (*case((2, 3, 4), (2, 5, 4), (2, 5, 2)), 2.0),
        "a narrow kernel": (*case((3, 1), (4, 1), (4, 2)), 0.5),
        "a query far from all keys": (*far, 0.8),
        "all sizes equal": (*case((3, 3), (3, 3), (3, 3)), 1.2),
        "float32": (*case((2, 3), (4, 3), (4, 2), dtype=np.float32), 1.5),
    }


LAWS = (laws.separate_batches(0, 1, 2), laws.blind_to_order({1: -2, 2: -2}))
VARIANTS = """
    kernel_regression_by_loops
    ((Q[..., :, None, :] - K[..., None, :, :]) ** 2).sum(axis=-1)
        => (Q**2).sum(axis=-1)[..., :, None] - 2 * Q @ K.swapaxes(-1, -2) + (K**2).sum(axis=-1)[..., None, :]
    return G => return np.float64(1) * G
"""
MISTAKES = """
no maximum subtracted | Far from all keys every kernel value underflows to 0, and 0 / 0 is nan. A factor
  that all keys share cancels.
    S - S.max(axis=-1, keepdims=True) => S
the distance is not squared | Here the distance itself stands in the exponent; a Gaussian has its square.
    S = -distance => S = -np.sqrt(distance)
absolute differences | The absolute differences were summed up; the Euclidean distance takes squares.
    ((Q[..., :, None, :] - K[..., None, :, :]) ** 2) => abs(Q[..., :, None, :] - K[..., None, :, :])
the bandwidth is not squared | Distance and bandwidth have the same unit, so the square of one is divided by
  the square of the other.
    bandwidth**2 => bandwidth
the factor 2 is missing | The exponent is divided by twice the squared bandwidth; without the 2 the kernel
  is too narrow.
    (2 * bandwidth**2) => bandwidth**2
multiplied by the bandwidth | A wider kernel should weigh more evenly; here it weighs more sharply.
    distance / (2 * bandwidth**2) => distance * (2 * bandwidth**2)
far keys count most | The weights grow with the distance: a minus is missing in the exponent.
    S = -distance => S = distance
not normalised | The weighted values were summed up; an average divides by the sum of the weights.
    / G.sum(axis=-1, keepdims=True) =>
divided by the number of keys | This is a plain mean of weighted values; a weighted average divides by the
  sum of the weights.
    G.sum(axis=-1, keepdims=True) => G.shape[-1]
normalised over the queries | The weights of each key sum to one over the queries; those of each query
  should, over the keys.
    G @ V / G.sum(axis=-1, keepdims=True) => (G / G.sum(axis=-2, keepdims=True)) @ V
dot product in place of the distance | These weights come from dot products; the kernel asks how far apart a
  query and a key lie.
    S = -distance => S = Q @ K.swapaxes(-1, -2)
"""

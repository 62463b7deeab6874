"""The same scores in other coordinates

write · ★★ · 12 min · 02-self-attention/1-a-sequence-attends-to-itself · after self-attention.layer

B (d_k, d_k) is any invertible matrix. Return new projections: W_Q times B for the queries, and the matrix
for the keys that leaves every score of every input exactly as it was.

1. A score is x W_Q W_K^T y^T. Which product of matrices must stay the same?
2. If the queries are multiplied by B from the right, what has to stand between the two so that B
   disappears?
3. The new W_K, transposed, must begin with the inverse of B. Transpose that once more.

Only the product of the two projections can be seen from outside. Whatever the third coordinate of a query
seems to mean, there is an equally good network in which it means something else.
"""

import numpy as np

from attnlib.exercises.kit.drawing import drawn


def other_basis(W_Q, W_K, B):
    """W_Q times B, and the W_K that leaves all scores as they were."""
    return W_Q @ B, W_K @ np.linalg.inv(B).T


def cases(rng):
    skewed = np.array([[1.0, 2.0], [0.0, 1.0]])
    rotated = np.array([[0.6, 0.8], [-0.8, 0.6]])
    return {
        "a skewed basis": (*drawn(rng, (4, 2), (4, 2)), skewed),
        "a rotation": (*drawn(rng, (5, 2), (5, 2)), rotated),
        "three coordinates, stretched": (*drawn(rng, (5, 3), (5, 3)), np.diag([2.0, 0.5, -3.0])),
        "three coordinates": (*drawn(rng, (5, 3), (5, 3)), rng.normal(size=(3, 3)) + 2 * np.eye(3)),
        "as many coordinates as inputs": (
            *drawn(rng, (3, 3), (3, 3)),
            rng.normal(size=(3, 3)) + 2 * np.eye(3),
        ),
    }


def by_solving(W_Q, W_K, B):
    return W_Q @ B, np.linalg.solve(B, W_K.T).T


RETURNS = ("W_Q", "W_K")
VARIANTS = """
    by_solving
    np.linalg.inv(B).T => np.linalg.inv(B.T)
"""
MISTAKES = """
the same basis for both | The keys were multiplied by B as well, which leaves the scores alone only if B is
  a rotation.
    np.linalg.inv(B).T => B
the inverse is not transposed | The inverse was applied to the wrong side: in a score the key's matrix
  stands transposed.
    np.linalg.inv(B).T => np.linalg.inv(B)
transposed, not inverted | The transpose undoes a rotation only. For another basis the inverse is needed.
    np.linalg.inv(B).T => B.T
the keys are unchanged | Then B remains in every score. Something in the keys must take it away again.
    @ np.linalg.inv(B).T =>
the inverse went to the queries | The queries were to be multiplied by B itself, and the keys by what undoes
  it.
    W_Q @ B, W_K @ np.linalg.inv(B).T => W_Q @ np.linalg.inv(B), W_K @ B.T
B is transposed in the queries | The queries were multiplied by the transpose of B.
    W_Q @ B, => W_Q @ B.T,
"""

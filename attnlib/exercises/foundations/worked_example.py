"""Three wrong numbers in a worked example

by hand · ★ · 8 min · 01-foundations/5-in-matrices

A document prints, for Z = [[1, 0.5], [2, 1], [0.5, 2]], W_Q = [[0.5, 0.3], [0.2, 0.4]], W_K = [[0.3, 0.1],
[0.4, 0.2]] and W_V = [[0.2, 0.5], [0.3, 0.1]]: Z W_Q = [[0.6, 0.5], [1.2, 1.0], [0.65, 1.1]], Z W_K =
[[0.5, 0.2], [1.0, 0.4], [0.95, 0.5]] and Z W_V = [[0.35, 0.55], [0.7, 1.1], [0.76, 0.45]]. One entry in
each product is wrong: give the three right numbers, in this order.

1. Each entry is a row of Z times a column of a matrix W. The second row of Z is twice the first: what
   does that say about the rows of the products?
2. The first two rows agree with each other in all three products, so look at the last row.
3. For Q it is (0.5, 2) times the second column of its matrix, for K the same row times the second column,
   for V the same row times the first column.

Everything after this step in the document (scores, weights, outputs) inherits these three slips. The second
row being twice the first is a check that costs nothing, and it finds where not to look.
"""

import numpy as np

Z = np.array([[1.0, 0.5], [2.0, 1.0], [0.5, 2.0]])


W_Q = np.array([[0.5, 0.3], [0.2, 0.4]])


W_K = np.array([[0.3, 0.1], [0.4, 0.2]])


W_V = np.array([[0.2, 0.5], [0.3, 0.1]])


def three(Q, K, V):
    """The entries in question: second of Q, second of K and first of V, all in the last row."""
    return np.array([Q[2, 1], K[2, 1], V[2, 0]])


def answer():
    return three(Z @ W_Q, Z @ W_K, Z @ W_V)


WITHIN = 0.004
MISTAKES = """
the printed numbers | You found the three wrong entries; work out what should stand there.
    = np.array([1.1, 0.5, 0.76])
rows of the matrix, not columns | The row of Z meets a column of W; here it met a row.
    = three(Z @ W_Q.T, Z @ W_K.T, Z @ W_V.T)
another row of Z | The wrong entries are all in the last row, which belongs to the last row of Z.
    = three(Z[[2, 0, 1]] @ W_Q, Z[[2, 0, 1]] @ W_K, Z[[2, 0, 1]] @ W_V)
    = three(Z[[2, 2, 0]] @ W_Q, Z[[2, 2, 0]] @ W_K, Z[[2, 2, 0]] @ W_V)
one of the two products is missing | An entry is a sum of two products, because a row of Z has two numbers.
    = 2.0 * np.array([W_Q[1, 1], W_K[1, 1], W_V[1, 0]])
    = 0.5 * np.array([W_Q[0, 1], W_K[0, 1], W_V[0, 0]])
coordinates crossed | The first number of the row belongs to the first of the column, the second to the
  second.
    = three(Z[:, ::-1] @ W_Q, Z[:, ::-1] @ W_K, Z[:, ::-1] @ W_V)
"""

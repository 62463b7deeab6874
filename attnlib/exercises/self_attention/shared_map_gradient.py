"""One map for keys and values

write · ★★ · 10 min · 02-self-attention/5-gradients-by-hand · after foundations.linear-backward

To save memory a layer makes keys and values with one matrix: Q = X W_Q (n, d), K = V = X W (n, d). From the gradients
dQ, dK and dV of a loss return its gradients with respect to X (n, d_model) and W (d_model, d).

1. How often is W read in the forward pass, and how often X?
2. If a number reaches the loss along several paths, add up what arrives on each.
3. W lies on two paths, so dK and dV are added before they reach it; X lies on three.

A layer that shares keys and values keeps half of the memory per word while it writes. Nothing new has to be derived
for it: count the paths.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def gradients(dQ, dK, dV, X, W_Q, W):
    """The gradients with respect to X and to W, which made both keys and values."""
    both = dK + dV
    return dQ @ W_Q.T + both @ W.T, X.T @ both


def cases(rng):
    return {
        "three words, width 5 to 2": drawn(rng, (3, 2), (3, 2), (3, 2), (3, 5), (5, 2), (5, 2)),
        "two words, width 4 to 3": drawn(rng, (2, 3), (2, 3), (2, 3), (2, 4), (4, 3), (4, 3)),
        "all sizes equal": drawn(rng, (3, 3), (3, 3), (3, 3), (3, 3), (3, 3), (3, 3)),
    }


def by_entries(dQ, dK, dV, X, W_Q, W):
    dX = np.einsum("nk,ak->na", dQ, W_Q) + np.einsum("nk,ak->na", dK, W) + np.einsum("nk,ak->na", dV, W)
    return dX, np.einsum("na,nk->ak", X, dK) + np.einsum("na,nk->ak", X, dV)


RETURNS = ("gradient with respect to X", "gradient with respect to W")
VARIANTS = (by_entries, {"X.T @ both": "X.T @ dK + X.T @ dV"})
MISTAKES = (
    Mistake("W only as the map of the keys", "W made the values, too: what arrives at them also reaches W.",
        {"X.T @ both": "X.T @ dK"}),
    Mistake("W only as the map of the values", "W made the keys, too: what arrives at them also reaches W.",
        {"X.T @ both": "X.T @ dV"}),
    Mistake("the path of the keys is missing", "X decides which queries attend to its words: dK goes back through W "
        "as dV does.",
        {"+ both @ W.T": "+ dV @ W.T"}),
    Mistake("the path of the values is missing", "X decides what the others see: dV goes back through W as dK does.",
        {"+ both @ W.T": "+ dK @ W.T"}),
    Mistake("the path of the queries is missing", "X also decides where its words look: dQ goes back through W_Q.",
        {"dQ @ W_Q.T +": ""}),
    Mistake("all three in one", "The queries were made by another map: dQ does not reach W.",
        {"X.T @ both": "X.T @ (both + dQ)"}),
)  # fmt: skip

"""Three maps in one matrix

write · ★★ · 10 min · 05-training/2-steps

GPT-2 stores its projections for queries, keys and values side by side, in this order, in one matrix W (d, 3d). The
optimiser Muon subtracts rate times U Vᵀ from a map, where U S Vᵀ is the singular value decomposition of the running
mean of the map's gradients. B (d, 3d) is this running mean for the whole of W. Return W after one step of Muon with
the given rate in which each of the three maps is decomposed by itself, exactly (by `np.linalg.svd`).

1. What would the singular values of the fused matrix mix?
2. Cut B into its three maps. Which axis are they cut along?
3. For each map U, s, Vh = np.linalg.svd(map); the step is U @ Vh. Then put the three side by side again.

If one of the three has far smaller gradients than the others (at the start that is often so for queries and keys), one
orthogonalisation of the fused matrix gives it a small step. With three, each map gets a step of its own, of full size.
The same choice arises for the heads inside a map, and for the experts of a mixture.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def fused_muon(W, B, rate):
    """W after a step of Muon for each of its three maps; W and B (d, 3d)."""
    steps = []
    for M in np.split(B, 3, axis=1):
        U, s, Vh = np.linalg.svd(M)
        steps.append(U @ Vh)
    return W - rate * np.concatenate(steps, axis=1)


def by_slices(W, B, rate):
    d = len(W)
    new = W.astype(float)
    for i in range(3):
        U, _, Vh = np.linalg.svd(B[:, i * d : (i + 1) * d], full_matrices=False)
        new[:, i * d : (i + 1) * d] -= rate * (U @ Vh)
    return new


def by_a_root(W, B, rate):
    parts = []
    for M in np.hsplit(B, 3):
        values, Q = np.linalg.eigh(M.T @ M)
        parts.append(M @ (Q / np.sqrt(values)) @ Q.T)
    return W - rate * np.hstack(parts)


def whole(W, B, rate):
    U, _, Vh = np.linalg.svd(B, full_matrices=False)
    return W - rate * U @ Vh


def polar(M):
    U, _, Vh = np.linalg.svd(M)
    return U @ Vh


def by_reshape(W, B, rate):
    return W - rate * polar(B.reshape(3, len(B), len(B))).reshape(B.shape)


def cases(rng):
    def parts(d, sizes=(1, 1, 1), rate=0.5):
        W, B = drawn(rng, (d, 3 * d), (d, 3 * d))
        return W, B * np.repeat(sizes, d), rate

    return {
        "two numbers wide": parts(2),
        "three numbers wide": parts(3),
        "small gradients for queries": parts(4, (0.01, 1, 5)),
        "another rate": parts(3, (1, 2, 1), 0.02),
    }


VARIANTS = (by_slices, by_a_root)
MISTAKES = (
    Mistake("the fused matrix as one", "All three maps were taken for one matrix, so a map with small gradients gets "
        "a small step.", whole),
    Mistake("the gradient itself", "That is a step along the gradient: its singular values were left as they are.",
        lambda W, B, rate: W - rate * B),
    Mistake("interleaved columns", "Every third column was taken for a map. The maps are side by side.",
        {"for M in np.split(B, 3, axis=1):": "for M in (B[:, i::3] for i in range(3)):"},
        {"for M in np.split(B, 3, axis=1):": "for M in (B[:, i::3] for i in range(3)):",
         "np.concatenate(steps, axis=1)": "np.stack(steps, axis=-1).reshape(B.shape)"}),
    Mistake("V is transposed once more", "`np.linalg.svd` returns V already transposed.", {"U @ Vh": "U @ Vh.T"}),
    Mistake("the signs of the entries", "Each entry moved by the rate. Muon makes the singular values equal, not the "
        "entries.",
        lambda W, B, rate: W - rate * np.sign(B)),
    Mistake("each map to length one", "Each map was divided by its length, and its singular values stay as uneven as "
        "they were.", {"U @ Vh": "M / np.linalg.norm(M)"}),
    Mistake("uphill", "The step goes against the gradient.", {"W - rate * np": "W + rate * np"}),
    Mistake("the rate is forgotten", "The step is multiplied by the rate.", {"- rate * np": "- np"}),
    Mistake("rows of the memory for maps", "The numbers were cut in the order in which they are stored, row by row. "
        "The maps are side by side.", lambda W, B, rate: by_reshape(W, B, rate)),
    Mistake("the largest direction to one", "Each map was divided by its largest singular value, and the others stay "
        "smaller.", {"U @ Vh": "M / s[0]"}),
    Mistake("the maps themselves", "The maps were made orthogonal, and not their steps.",
        lambda W, B, rate: np.hstack([polar(M) for M in np.hsplit(W - rate * B, 3)])),
    Mistake("scaled by the width", "The step was scaled by the size of the map. Here it is U @ Vh itself.",
        {"U @ Vh": "U @ Vh * 0.2 * np.sqrt(len(W))"}, {"U @ Vh": "U @ Vh * np.sqrt(len(W))"}),
    Mistake("QR and not the polar factor", "QR makes columns orthogonal one after another, so the first keeps its "
        "direction. Muon's matrix is the nearest one.", {"U @ Vh": "np.linalg.qr(M)[0]"}),
    Mistake("one of two turns", "One of the two rotations was used. The step is their product.",
        {"U @ Vh": "U"}, {"U @ Vh": "Vh"}),
    Mistake("divided by the singular values", "Small directions became the longest ones. Each should get the same "
        "length.", {"U @ Vh": "(U / s) @ Vh"}),
    Mistake("the first map alone", "The first map has its own step, and the others followed the gradient.",
        {"return W - rate * np.concatenate(steps, axis=1)":
             "return W - rate * np.hstack([steps[0], B[:, len(W) :]])"}),
    Mistake("maps in another order", "The three maps are not in the order in which they came.",
        {"np.concatenate(steps, axis=1)": "np.concatenate(steps[::-1], axis=1)"},
        {"return W - rate * np.concatenate(steps, axis=1)":
             "return np.hstack(np.hsplit(W - rate * np.concatenate(steps, axis=1), 3)[::-1])"}),
)  # fmt: skip

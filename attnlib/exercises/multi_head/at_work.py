"""Heads weighed, measured, removed, and passed on the way back (eq-head-gate, eq-head-importance)."""

import numpy as np

from attnlib.exercises.cases import drawn, softmax
from attnlib.exercises.model import CodeExercise, Mistake, ProofExercise

PAGE = "03-multi-head/4-heads-at-work"


def importance(dY, parts):
    """(h): for each head the derivative of the loss by a gate on its part of the output, at gate one."""
    return (dY[..., None, :, :] * parts).sum(axis=(-1, -2)).reshape(-1, parts.shape[-3]).sum(axis=0)


def importance_by_einsum(dY, parts):
    return np.einsum("bnd,bhnd->h", dY.reshape(-1, *dY.shape[-2:]), parts.reshape(-1, *parts.shape[-3:]))


gate = CodeExercise(
    id="multi-head.gate-gradient",
    title="What would a little less of this head do?",
    kind="write",
    level=2,
    minutes=12,
    page=PAGE,
    task="The output Y (..., n, d) is the sum over heads of gate_k times parts[..., k, :, :], with parts (..., h, n, "
    "d) and all gates at one. dY is the gradient of the loss by Y. Return the gradient by the h gates; a gate is "
    "shared by the whole batch.",
    hints=(
        "How does the loss change if one gate grows a little?",
        "Each entry of Y moves by the head's part there, and each such move counts by dY.",
        "Multiply dY with each head's part and sum over all axes but the one of the heads.",
    ),
    commentary="One backward pass gives this for all heads, while switching them off takes one forward pass each. It "
    "is a slope: for a head with a large part it need not say what happens when the gate goes all the way to zero.",
    prerequisites=("multi-head.sum-form",),
    solution=importance,
    cases=lambda rng: {
        "two heads, three tokens": drawn(rng, (3, 2), (2, 3, 2)),
        "a batch of two": drawn(rng, (2, 4, 5), (2, 3, 4, 5)),
        "as many heads as tokens": drawn(rng, (2, 3, 3), (2, 3, 3, 3)),
    },
    variants=(importance_by_einsum, {"dY[..., None, :, :]": "np.expand_dims(dY, -3)"}),
    mistakes=(
        Mistake(
            "absolute values were summed",
            "Signs belong to a gradient: parts that help in one place and hurt in another cancel.",
            {"(dY[..., None, :, :] * parts)": "abs(dY[..., None, :, :] * parts)"},
        ),
        Mistake(
            "the sign is lost",
            "This is how large the derivative is. Whether the head helps or hurts is in its sign.",
            {
                "return (dY": "return abs((dY",
                "parts.shape[-3]).sum(axis=0)": "parts.shape[-3]).sum(axis=0))",
            },
        ),
        Mistake(
            "a mean, not a sum",
            "The gate moves all entries at once, so their effects add up.",
            {".sum(axis=(-1, -2))": ".mean(axis=(-1, -2))"},
        ),
        Mistake(
            "the size of the part alone",
            "A large part matters only where the loss asks for it: dY is missing.",
            {"(dY[..., None, :, :] * parts)": "(parts * parts)"},
        ),
        Mistake(
            "the gradient alone",
            "dY is the same for all heads; what differs is their parts.",
            {"(dY[..., None, :, :] * parts)": "(dY[..., None, :, :] + 0 * parts)"},
        ),
        Mistake(
            "the sign is turned",
            "This is what less of the head does. The gradient says what more of it does.",
            {"return (dY": "return (-dY"},
        ),
        Mistake(
            "a gradient for each sequence",
            "The gate is shared by the batch: add its gradients over the sequences.",
            {".reshape(-1, parts.shape[-3]).sum(axis=0)": ""},
        ),
        Mistake(
            "sequences were taken for heads",
            "The reshape cut across the batch. The heads are the third axis from the end.",
            {
                ".sum(axis=(-1, -2)).reshape(-1, parts.shape[-3]).sum(axis=0)": (
                    ".reshape(parts.shape[-3], -1).sum(axis=1)"
                )
            },
        ),
        Mistake(
            "the batch was averaged",
            "The gate is shared by the batch, so the gradients of its sequences add up.",
            {".sum(axis=0)": ".mean(axis=0)"},
        ),
    ),
)


def without(keep, W_Q, W_K, W_V, W_O, n_heads):
    """The four matrices of the layer with only the heads in `keep`, a list of their numbers, in its order."""
    d_k = W_Q.shape[1] // n_heads
    own = np.concatenate([np.arange(k * d_k, (k + 1) * d_k) for k in keep])
    return W_Q[:, own], W_K[:, own], W_V[:, own], W_O[own]


def without_by_reshape(keep, W_Q, W_K, W_V, W_O, n_heads):
    d = W_Q.shape[0]
    columns = (W.reshape(d, n_heads, -1)[:, keep].reshape(d, -1) for W in (W_Q, W_K, W_V))
    return *columns, W_O.reshape(n_heads, -1, W_O.shape[1])[keep].reshape(-1, W_O.shape[1])


def pruning_cases(rng):
    def case(keep, d, h):
        return np.array(keep), *drawn(rng, (d, d), (d, d), (d, d), (d, d)), h

    return {
        "the second of two": case([1], 4, 2),
        "two of three": case([0, 2], 6, 3),
        "another order": case([2, 0], 6, 3),
        "all of them": case([0, 1], 4, 2),
    }


prune = CodeExercise(
    id="multi-head.prune-repair",
    title="A head removed, and the wrong rows with it",
    kind="repair",
    level=2,
    minutes=10,
    page=PAGE,
    task="This function makes a smaller layer that keeps only the heads in `keep`, so that its output is the sum of "
    "just their parts. Head k owns a block of d / h columns of W_Q, W_K and W_V. Two things are wrong.",
    hints=(
        "Which rows of W_O does head k meet? And which columns of W_O belong to it?",
        "Write out, for two heads of width two, which columns belong to head 1.",
        "Heads own blocks of neighbouring columns, and in the output projection blocks of rows: the columns there "
        "are the model's own.",
    ),
    commentary="The test of a pruned layer is an equation: its output must equal the full layer's with the other "
    "heads' gates at zero.",
    prerequisites=("multi-head.sum-form",),
    solution=without,
    cases=pruning_cases,
    returns=("W_Q", "W_K", "W_V", "W_O"),
    given=("columns of W_O in place of rows", "the columns are interleaved"),
    variants=(
        without_by_reshape,
        {
            "np.concatenate([np.arange(k * d_k, (k + 1) * d_k) for k in keep])": (
                "(np.asarray(keep)[:, None] * d_k + np.arange(d_k)).ravel()"
            )
        },
    ),
    mistakes=(
        Mistake(
            "columns of W_O in place of rows",
            "The heads meet W_O from the left: each owns rows of it. Its columns are the numbers of the model.",
            {"W_O[own]": "W_O[:, own]"},
        ),
        Mistake(
            "the columns are interleaved",
            "Head k got every h-th column; it owns a block of neighbours.",
            {"np.arange(k * d_k, (k + 1) * d_k)": "np.arange(k, n_heads * d_k, n_heads)"},
        ),
        Mistake(
            "the heads to keep were removed",
            "`keep` names the heads that stay.",
            {"for k in keep]": "for k in range(n_heads) if k not in keep or len(keep) == n_heads]"},
        ),
        Mistake(
            "the output projection was left whole",
            "Its rows have to match the heads that are left.",
            {"W_O[own]": "W_O"},
        ),
        Mistake(
            "the order was not kept",
            "The heads come in the order of `keep`.",
            {"for k in keep]": "for k in sorted(keep)]"},
        ),
        Mistake(
            "rows of the projections in place of columns",
            "A head reads all of X through its own columns.",
            {"W_Q[:, own], W_K[:, own], W_V[:, own]": "W_Q[own].T, W_K[own].T, W_V[own].T"},
        ),
    ),
)


def alikeness(P):
    """(h, h): for each two heads the mean overlap of their rows, sum of min(p, q) over the keys; P (h, n, n)."""
    return np.minimum(P[:, None], P[None]).sum(axis=-1).mean(axis=-1)


def alike_by_distance(P):
    h = len(P)
    result = np.empty((h, h))
    for a in range(h):
        for b in range(h):
            result[a, b] = np.mean(1 - abs(P[a] - P[b]).sum(axis=-1) / 2)
    return result


overlap = CodeExercise(
    id="multi-head.overlap",
    title="How alike are two heads?",
    kind="write",
    level=1,
    minutes=10,
    page=PAGE,
    task="P (h, n, n) are the weights of h heads. For each two heads return the mean over queries of the overlap of "
    "their rows, the sum over keys of the smaller of the two weights: 1 for equal rows, 0 for rows that share no key. "
    "The result is (h, h).",
    hints=(
        "Draw two rows as bars on top of each other: which area belongs to both?",
        "Give P two axes of heads, so that every pair meets.",
        "The minimum of the two, summed over keys, averaged over queries.",
    ),
    commentary="It is one minus the total variation distance. Heads that look alike may still do different things, "
    "since their values differ; heads that look different are certainly not doing the same.",
    solution=alikeness,
    cases=lambda rng: {
        "two heads": (softmax(2 * rng.normal(size=(2, 3, 3))),),
        "three heads of four tokens": (softmax(2 * rng.normal(size=(3, 4, 4))),),
        "equal and opposite heads": (np.stack([np.eye(3), np.eye(3), np.eye(3)[[1, 2, 0]]]),),
        "all sizes equal": (softmax(rng.normal(size=(3, 3, 3))),),
    },
    variants=(
        alike_by_distance,
        {"np.minimum(P[:, None], P[None])": "(P[:, None] / 2 + P[None] / 2 - abs(P[:, None] - P[None]) / 2)"},
    ),
    mistakes=(
        Mistake(
            "the larger in place of the smaller",
            "What both have is the smaller of the two.",
            {"np.minimum": "np.maximum"},
        ),
        Mistake(
            "a distance, not an overlap",
            "Equal heads should get 1, not 0.",
            {"return np.minimum": "return 1 - np.minimum"},
        ),
        Mistake(
            "the distance was not halved",
            "What one row has more, the other has less: the absolute differences count every difference twice.",
            {
                "np.minimum(P[:, None], P[None]).sum(axis=-1)": (
                    "(1 - abs(P[:, None] - P[None]).sum(axis=-1))"
                )
            },
        ),
        Mistake(
            "a dot product of the rows",
            "Two equal rows that are spread out have a small dot product.",
            {"np.minimum(P[:, None], P[None])": "(P[:, None] * P[None])"},
        ),
        Mistake(
            "not averaged over the queries",
            "The overlaps of the queries were added up.",
            {".mean(axis=-1)": ".sum(axis=-1)"},
        ),
        Mistake(
            "averaged over the keys too",
            "Over the keys the smaller weights are summed: equal rows have 1.",
            {".sum(axis=-1).mean(axis=-1)": ".mean(axis=-1).mean(axis=-1)"},
        ),
        Mistake(
            "rows were compared with columns",
            "One of the two tables was transposed.",
            {"P[None])": "P[None].swapaxes(-1, -2))"},
        ),
    ),
)


def merged_backward(dY, O, W_O):
    """The gradients by the heads O (h, n, d_v) and by W_O (h d_v, d), where Y is the heads side by side times W_O."""
    h, n, d_v = O.shape
    merged = O.swapaxes(0, 1).reshape(n, h * d_v)
    dW_O = merged.T @ dY
    dO = (dY @ W_O.T).reshape(n, h, d_v).swapaxes(0, 1)
    return dO, dW_O


def merged_backward_by_head(dY, O, W_O):
    h, _, d_v = O.shape
    blocks = W_O.reshape(h, d_v, -1)
    return np.einsum("nd,hed->hne", dY, blocks), np.einsum("hne,nd->hed", O, dY).reshape(h * d_v, -1)


backward = CodeExercise(
    id="multi-head.output-backward",
    title="Back through the output projection",
    kind="write",
    level=3,
    minutes=20,
    page=PAGE,
    task="Y = Concat(heads) W_O. O (h, n, d_v) are the heads, W_O is (h d_v, d), dY (n, d) the gradient by Y. Return "
    "the gradient by O, (h, n, d_v), and the one by W_O.",
    hints=(
        "Forwards: swap, reshape, multiply. In which order are these steps undone?",
        "The linear map first: what are the gradients by its input and by its matrix?",
        "The gradient by the joined heads is (n, h d_v): split it as the queries were split. For W_O you need the "
        "joined heads once more.",
    ),
    commentary="Reshape and swap have no arithmetic, so their backward is the opposite reshape and swap. Splitting "
    "the gradient is the same function that split the queries.",
    prerequisites=("multi-head.merge-repair", "foundations.linear-backward"),
    solution=merged_backward,
    cases=lambda rng: {
        "two heads, three tokens": drawn(rng, (3, 5), (2, 3, 2), (4, 5)),
        "as many heads as tokens": drawn(rng, (3, 4), (3, 3, 2), (6, 4)),
        "all sizes equal": drawn(rng, (2, 4), (2, 2, 2), (4, 4)),
        "one head": drawn(rng, (3, 2), (1, 3, 4), (4, 2)),
    },
    returns=("dO", "dW_O"),
    variants=(merged_backward_by_head, {"merged.T @ dY": "np.einsum('ne,nd->ed', merged, dY)"}),
    mistakes=(
        Mistake(
            "the gradient was split without the transpose",
            "The shape is right, but rows were cut: split the columns first, then swap tokens and heads.",
            {".reshape(n, h, d_v).swapaxes(0, 1)": ".reshape(h, n, d_v)"},
        ),
        Mistake(
            "the heads were merged without the transpose",
            "The gradient of W_O used heads that were strung together in the wrong order.",
            {"O.swapaxes(0, 1).reshape(n, h * d_v)": "O.reshape(n, h * d_v)"},
        ),
        Mistake(
            "tokens before heads",
            "The columns are split, but the heads are not yet in front: swap tokens and heads.",
            {".reshape(n, h, d_v).swapaxes(0, 1)": ".reshape(n, h, d_v)"},
        ),
        Mistake(
            "dW_O is cut into heads",
            "A gradient has the shape of its array: W_O is (h d_v, d), the heads' rows below each other.",
            {"dW_O = merged.T @ dY": "dW_O = (merged.T @ dY).reshape(h, d_v, -1)"},
        ),
        Mistake("W_O is not transposed", "Untransposed it runs only where W_O is square.", {"W_O.T": "W_O"}),
        Mistake(
            "dW_O is transposed",
            "A gradient has the shape of its array. Where W_O is square the shape does not tell.",
            {"merged.T @ dY": "dY.T @ merged"},
        ),
        Mistake(
            "the heads are interleaved",
            "Each head's gradient is a block of neighbouring columns.",
            {".reshape(n, h, d_v).swapaxes(0, 1)": ".reshape(n, d_v, h).transpose(2, 0, 1)"},
        ),
        Mistake(
            "the two are swapped",
            "First the gradient by the heads, then the one by W_O.",
            {"return dO, dW_O": "return dW_O, dO"},
        ),
        Mistake(
            "the mean over the tokens",
            "The gradient by a matrix sums over the tokens that used it.",
            {"merged.T @ dY": "merged.T @ dY / n"},
        ),
    ),
)

slope = ProofExercise(
    id="multi-head.slope-proof",
    title="A slope is not a fall",
    kind="prove",
    level=2,
    minutes=15,
    page=PAGE,
    task="Let $L(g)$ be the loss with the gate $g$ on one head. Show that for small changes of the gate the slope "
    "$L'(1)$ predicts the change of the loss, and give an example with squared error in which $L'(1) = 0$ although "
    "removing the head hurts.",
    hints=(
        "Write the first terms of $L$ around $g = 1$.",
        "For squared error $L(g)$ is a polynomial in $g$ of which degree?",
        "Where does a trained network's gate stand on that curve?",
    ),
    proof=r"""1. $Y(g) = Y_0 + g H$, where $H$ is the head's part and $Y_0$ the others'. $L$ is differentiable, so
   $L(1 - \epsilon) = L(1) - \epsilon L'(1) + O(\epsilon^2)$, with $L'(1) = \langle \partial L / \partial Y, H \rangle$.
2. Let $L(g) = \tfrac{1}{2} \lVert Y_0 + g H - T \rVert^2$ for a target $T$. Then
   $L'(g) = \langle Y_0 + g H - T, H \rangle$, and $L$ is a parabola in $g$ with curvature $\lVert H \rVert^2$.
3. Choose $T = Y_0 + H$, a network that is exactly right. Then $L(1) = 0$ and $L'(1) = 0$, but
   $L(0) = \tfrac{1}{2} \lVert H \rVert^2 > 0$ unless the head does nothing. The slope calls the head useless, and
   removing it costs as much as the head is large.
4. In general $L(0) - L(1) = -L'(1) + \tfrac{1}{2} \lVert H \rVert^2$ here: the first term is what the gradient says,
   the second is what it leaves out. A network at a minimum has a small first term for every head. ∎

This is why importance by gradient takes absolute values over single examples before it averages: slopes of single
examples need not vanish where their mean does.""",
    rubric=(
        "I expanded the loss in the gate and named the slope.",
        "I gave a concrete case in which the slope is zero and the head matters.",
        "I computed the loss without the head in it.",
        "I said why trained networks are close to this case.",
    ),
    commentary="Gradient and ablation answer two questions: what would a little less do, and what would nothing do.",
    prerequisites=("multi-head.gate-gradient",),
)

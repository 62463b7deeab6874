"""What several heads can do and one cannot (eq-multi-head-sum)."""

import numpy as np

from attnlib.exercises.cases import drawn, softmax
from attnlib.exercises.model import AnswerExercise, CodeExercise, Mistake, ProofExercise

PAGE = "03-multi-head/1-why-several-heads"


def convolution_by_heads(X, kernel):
    """A causal convolution as heads of fixed attention: head k looks k places back; kernel (k, d, d_out)."""
    n = len(X)
    Y = np.zeros((n, kernel.shape[2]))
    for offset, W in enumerate(kernel):
        P = np.eye(n, k=-offset)
        Y += P @ X @ W
    return Y


def convolution_by_slices(X, kernel):
    size, _, d_out = kernel.shape
    padded = np.concatenate([np.zeros((size - 1, X.shape[1])), X])
    Y = np.zeros((len(X), d_out))
    for i in range(len(X)):
        window = padded[i : i + size][::-1]
        Y[i] = np.einsum("kd,kdo->o", window, kernel)
    return Y


convolution = CodeExercise(
    id="multi-head.convolution",
    title="A convolution made of heads",
    kind="write",
    level=2,
    minutes=15,
    page=PAGE,
    task="kernel (k, d, d_out) has one matrix for each offset: y_i is the sum over o = 0, ..., k - 1 of x_(i - o) "
    "times kernel[o], and what lies before the first token counts as zero. Compute it with one table of weights for "
    "each offset, a head that always looks o places back. Return (n, d_out).",
    hints=(
        "Which table of weights, n by n, looks exactly one place back?",
        "It has ones on one diagonal below the main one. What is in its first row, and what does that give?",
        "For each offset: that table times X, times the matrix of the offset; add them up.",
    ),
    commentary="Each head brings one neighbour, and its part of the output projection says what to do with it. One "
    "head would have to mix all neighbours before any matrix could tell them apart. A softmax reaches such tables "
    "only in the limit of large scores, and an empty row needs the rule that it gives zeros.",
    solution=convolution_by_heads,
    cases=lambda rng: {
        "five tokens, three offsets": drawn(rng, (5, 2), (3, 2, 4)),
        "one offset": drawn(rng, (4, 3), (1, 3, 2)),
        "more offsets than tokens": drawn(rng, (3, 2), (5, 2, 2)),
        "all sizes equal": drawn(rng, (3, 3), (3, 3, 3)),
    },
    variants=(
        convolution_by_slices,
        {"P = np.eye(n, k=-offset)\n": "P = np.tri(n, n, -offset) - np.tri(n, n, -offset - 1)\n"},
    ),
    mistakes=(
        Mistake(
            "the heads look ahead",
            "The ones stand above the diagonal: each head reads the future.",
            {"k=-offset": "k=offset"},
        ),
        Mistake(
            "the sequence was closed to a ring",
            "The first tokens read the last ones. What lies before the first token counts as zero.",
            {"np.eye(n, k=-offset)": "np.roll(np.eye(n), offset, axis=0)"},
        ),
        Mistake(
            "the first token stands in",
            "What lies before the first token was taken from the first token. It counts as zero.",
            {"np.eye(n, k=-offset)": "np.eye(n)[np.maximum(np.arange(n) - offset, 0)]"},
        ),
        Mistake(
            "a window around the token",
            "The window was centred: half of the heads look ahead. Head o looks o places back.",
            {"k=-offset": "k=offset - len(kernel) // 2"},
            {"k=-offset": "k=len(kernel) // 2 - offset"},
        ),
        Mistake(
            "rows without a neighbour look everywhere",
            "Where nothing stands o places back a softmax still spreads its weight. Such a row must be zero.",
            {"P = np.eye(n, k=-offset)": "P = np.eye(n, k=-offset) + (np.arange(n) < offset)[:, None] / n"},
        ),
        Mistake(
            "a mean over the heads",
            "The parts of the heads are added, not averaged.",
            {"return Y": "return Y / len(kernel)"},
        ),
        Mistake(
            "one matrix for all offsets",
            "Each offset has its own matrix.",
            {"P @ X @ W": "P @ X @ kernel[0]"},
        ),
        Mistake(
            "the offsets are reversed",
            "kernel[0] belongs to the token itself, not to the farthest one.",
            {"enumerate(kernel)": "enumerate(kernel[::-1])"},
        ),
        Mistake(
            "off by one",
            "Offset 0 is the token itself; here the nearest is one place back.",
            {"k=-offset": "k=-offset - 1"},
        ),
        Mistake(
            "only the last offset is left",
            "The parts of the heads add up; each one overwrote the one before.",
            {"Y += P": "Y = P"},
        ),
        Mistake(
            "one head with the mean of the tables",
            "All neighbours were mixed first, and then multiplied: one head cannot treat them differently.",
            {"Y += P @ X @ W": "Y += P @ X @ kernel.mean(axis=0)"},
        ),
    ),
)


def matrix_of_the_layer(P, M):
    """The matrix that maps X.reshape(-1) to Y.reshape(-1), where Y is the sum over heads of P[k] X M[k]."""
    return sum(np.kron(P[k], M[k].T) for k in range(len(P)))


def matrix_by_probing(P, M):
    n, d = P.shape[1], M.shape[1]
    columns = []
    for j in range(n * d):
        X = np.zeros(n * d)
        X[j] = 1
        Y = np.einsum("kij,jd,kde->ie", P, X.reshape(n, d), M, optimize=True)
        columns.append(Y.reshape(-1))
    return np.stack(columns, axis=1)


kronecker = CodeExercise(
    id="multi-head.kronecker",
    title="The whole layer as one matrix",
    kind="write",
    level=3,
    minutes=20,
    page=PAGE,
    task="With its weights held fixed, a layer is linear in X: Y is the sum over heads of P[k] X M[k], where P (h, "
    "n, n) are the weights and M (h, d, d_out) is W_V times the head's part of W_O. Return the matrix (n d_out, n d) "
    "that maps X.reshape(-1) to Y.reshape(-1).",
    hints=(
        "How does entry (j, b) of X get into entry (i, a) of Y through one head?",
        "By P_ij times M_ba: a number for each pair of tokens times one for each pair of entries. Which product of "
        "matrices makes all such products?",
        "A Kronecker product with the weights first, since a row-major reshape runs through the entries fastest, and "
        "with the other matrix transposed.",
    ),
    commentary="One head is one Kronecker product. A sum of h of them has Kronecker rank up to h. Where the rank is "
    "two or more no single head can equal it: that is the exact sense in which several heads can do more.",
    prerequisites=("multi-head.sum-form",),
    solution=matrix_of_the_layer,
    cases=lambda rng: {
        "one head": (softmax(rng.normal(size=(1, 2, 2))), rng.normal(size=(1, 2, 3))),
        "two heads, three tokens": (softmax(rng.normal(size=(2, 3, 3))), rng.normal(size=(2, 2, 4))),
        "all sizes equal": (softmax(rng.normal(size=(3, 3, 3))), rng.normal(size=(3, 3, 3))),
    },
    variants=(
        matrix_by_probing,
        {"np.kron(P[k], M[k].T)": "np.einsum('ij,ba->iajb', P[k], M[k]).reshape(len(P[k]) * M.shape[2], -1)"},
    ),
    mistakes=(
        Mistake(
            "the two factors are exchanged",
            "Row by row, X.reshape(-1) runs through the entries of a token first: the "
            "weights are the first factor.",
            {"np.kron(P[k], M[k].T)": "np.kron(M[k].T, P[k])"},
        ),
        Mistake(
            "M is not transposed",
            "Entry a of the output collects from entry b of the input by M[b, a].",
            {"M[k].T": "M[k]"},
        ),
        Mistake(
            "P is transposed",
            "Output i collects from input j by P[i, j].",
            {"np.kron(P[k]": "np.kron(P[k].T"},
        ),
        Mistake("one head only", "The heads add up.", {"range(len(P))": "range(1)"}),
        Mistake(
            "a matrix for each head",
            "These are the heads' own matrices. The layer adds them up.",
            {
                "sum(np.kron(P[k], M[k].T) for k in range(len(P)))": (
                    "np.stack([np.kron(P[k], M[k].T) for k in range(len(P))])"
                )
            },
        ),
        Mistake(
            "a product of sums",
            "The tables of the heads were added first, and then the matrices: that pairs every head's weights with "
            "every other head's matrix.",
            {"sum(np.kron(P[k], M[k].T) for k in range(len(P)))": "np.kron(P.sum(axis=0), M.sum(axis=0).T)"},
        ),
        Mistake(
            "a mean over the heads",
            "The parts of the heads are added, not averaged.",
            {"return sum(": "return 1 / len(P) * sum("},
        ),
    ),
)

OFFSETS = 4

one_head = AnswerExercise(
    id="multi-head.predict-one-head",
    title="One head, four places",
    kind="predict",
    level=1,
    minutes=3,
    page=PAGE,
    task=f"A position needs what stands at {OFFSETS} other places. One head has to look at all of them at once. At "
    "best, how much weight can the place that gets the least of them have?",
    hints=(
        "What do the weights of a row sum to?",
        "If one place gets more, who gets less?",
        "Share the total of one equally.",
    ),
    commentary="A quarter each, and worse: the head returns one average, in which the four values can be told apart "
    "only if they lie in different directions.",
    answer=lambda: 1 / OFFSETS,
    mistakes=(
        Mistake("one for each", "That needs four heads: the weights of a row sum to one.", 1.0),
        Mistake(
            "the token itself takes part",
            "Weight on the token itself is wasted: none is needed there.",
            1 / (OFFSETS + 1),
        ),
        Mistake("half", "Then two places have used up everything.", 0.5),
        Mistake("nothing", "All four can get the same share.", 0.0),
        Mistake("a root", "Weights sum to one; their squares need not.", 1 / OFFSETS**2),
    ),
)

rank = ProofExercise(
    id="multi-head.rank-proof",
    title="Two heads that no single head can replace",
    kind="prove",
    level=3,
    minutes=25,
    page=PAGE,
    task="Hold the weights fixed. One head computes $X \\mapsto P X M$ for some $P$ and $M$. Show that "
    "$X \\mapsto P_1 X M_1 + P_2 X M_2$ is of this form for no choice of $P$ and $M$ if $P_1, P_2$ are linearly "
    "independent and $M_1, M_2$ are too.",
    hints=(
        "The map sends entry $(j, b)$ of $X$ to entry $(i, a)$ of the output by a number. Which?",
        "Arrange those numbers in a table with a row for each pair $(i, j)$ and a column for each pair $(b, a)$. "
        "What is its rank for one head?",
        "For two heads the table is a sum of two outer products. When has such a sum rank two?",
    ),
    proof=r"""Write $(PXM)_{ia} = \sum_{j, b} P_{ij} M_{ba} X_{jb}$.

1. A linear map from $X$ to the output is given by its numbers $T_{(ij),(ba)}$, and two maps are equal exactly if all
   these numbers are. For one head $T_{(ij),(ba)} = P_{ij} M_{ba}$. Seen as a table with rows $(ij)$ and columns $(ba)$
   it is an outer product, $\operatorname{vec}(P) \operatorname{vec}(M)^\top$, of rank at most one.
2. For two heads the table is $\operatorname{vec}(P_1) \operatorname{vec}(M_1)^\top +
   \operatorname{vec}(P_2) \operatorname{vec}(M_2)^\top = U V^\top$, where the columns of $U$ are the two vectors of
   weights, and those of $V$ the two vectors of matrices.
3. $U$ and $V$ have two linearly independent columns each, by assumption. Then $V^\top$ is onto the plane and $U$ is
   one-to-one on it, so $U V^\top$ has rank two.
4. A table of rank two is no table of rank at most one. Hence no single $P, M$ gives the same map. ∎

Nothing was said about spans: for one $X$ and one row, a single head may well give the same vector. It is the map for
all $X$ that differs.""",
    rubric=(
        "I wrote the map by its coefficients and arranged them in a table.",
        "I showed that one head gives rank at most one.",
        "I showed that two heads give rank two, using both independences.",
        "I compared maps, not single outputs.",
    ),
    commentary="A printed argument says that one head is limited because its output lies in the span of the values. "
    "So does the output of many heads. What grows with the number of heads is this rank.",
    prerequisites=("multi-head.kronecker",),
)

"""What the single coordinates of a query mean, and rows against columns (eq-self-attention)."""

import numpy as np

from attnlib.exercises.cases import drawn
from attnlib.exercises.model import CodeExercise, Mistake, ProofExercise

PAGE = "02-self-attention/1-a-sequence-attends-to-itself"


def other_basis(W_Q, W_K, B):
    """W_Q times B, and the W_K that leaves all scores as they were."""
    return W_Q @ B, W_K @ np.linalg.inv(B).T


def basis_cases(rng):
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


basis = CodeExercise(
    id="self-attention.other-basis",
    title="The same scores in other coordinates",
    kind="write",
    level=2,
    minutes=12,
    page=PAGE,
    task="B (d_k, d_k) is any invertible matrix. Return new projections: W_Q times B for the queries, and the matrix "
    "for the keys that leaves every score of every input exactly as it was.",
    hints=(
        "A score is x W_Q W_K^T y^T. Which product of matrices must stay the same?",
        "If the queries are multiplied by B from the right, what has to stand between the two so that B disappears?",
        "The new W_K, transposed, must begin with the inverse of B. Transpose that once more.",
    ),
    commentary="Only the product of the two projections can be seen from outside. Whatever the third coordinate of a "
    "query seems to mean, there is an equally good network in which it means something else.",
    prerequisites=("self-attention.layer",),
    solution=other_basis,
    cases=basis_cases,
    returns=("W_Q", "W_K"),
    variants=(by_solving, {"np.linalg.inv(B).T": "np.linalg.inv(B.T)"}),
    mistakes=(
        Mistake(
            "the same basis for both",
            "The keys were multiplied by B as well, which leaves the scores alone only if B is a rotation.",
            {"np.linalg.inv(B).T": "B"},
        ),
        Mistake(
            "the inverse is not transposed",
            "The inverse was applied to the wrong side: in a score the key's matrix stands transposed.",
            {"np.linalg.inv(B).T": "np.linalg.inv(B)"},
        ),
        Mistake(
            "transposed, not inverted",
            "The transpose undoes a rotation only. For another basis the inverse is needed.",
            {"np.linalg.inv(B).T": "B.T"},
        ),
        Mistake(
            "the keys are unchanged",
            "Then B remains in every score. Something in the keys must take it away again.",
            {" @ np.linalg.inv(B).T": ""},
        ),
        Mistake(
            "the inverse went to the queries",
            "The queries were to be multiplied by B itself, and the keys by what undoes it.",
            {"W_Q @ B, W_K @ np.linalg.inv(B).T": "W_Q @ np.linalg.inv(B), W_K @ B.T"},
        ),
        Mistake(
            "B is transposed in the queries",
            "The queries were multiplied by the transpose of B.",
            {"W_Q @ B,": "W_Q @ B.T,"},
        ),
    ),
)

coordinates = ProofExercise(
    id="self-attention.coordinates-proof",
    title="A single coordinate means nothing",
    kind="prove",
    level=2,
    minutes=15,
    page=PAGE,
    task="Prove that for any invertible $B$ the projections $W_Q B$ and $W_K B^{-\\top}$ give the same weights for "
    "every input, and that the coordinates of the queries can therefore be anything that an invertible map makes of "
    "them. Then say what is left that does have a meaning.",
    hints=(
        "Write one score as a product of four matrices, from the query's token to the key's token.",
        "What do $B$ and the transpose of $B^{-\\top}$ give when they meet in the middle?",
        "If two networks agree on all inputs, no experiment on inputs and outputs can tell them apart. What do they "
        "share?",
    ),
    proof=r"""Let $X$ hold the tokens as rows, $Q = X W_Q$, $K = X W_K$, and let $B$ be invertible.

1. The new scores are $X W_Q B \, (X W_K B^{-\top})^\top = X W_Q B B^{-1} W_K^\top X^\top = X W_Q W_K^\top X^\top$,
   which are the old ones, for every $X$. The width $d_k$ is the same, hence the scaled scores are too.
2. Equal scores have equal softmax, so the weights agree; the values were not touched, so the outputs agree.
3. The new queries are $Q B$. Given any query $q \neq 0$ and any vector $u \neq 0$ there is an invertible $B$ with
   $q B = u$: complete $q$ and $u$ to bases and map one onto the other. In that network the coordinates of the same
   token's query are those of $u$.
4. So a statement about one coordinate of a query is true in one of these networks and false in another, although
   they compute the same function. What all of them share is the product $W_Q W_K^\top$: its rank, and the score
   that it gives to each pair of tokens. ∎

A regulariser, an optimiser or a low-precision format may prefer one basis. That is a property of the training, and
has to be shown for the trained network in question.""",
    rubric=(
        "I wrote the new scores and showed that B and its inverse cancel, for every input.",
        "I went on from scores to weights to outputs.",
        "I showed that a given query can be turned into any other nonzero vector by some B.",
        "I named the product of the two projections (or the scores) as what keeps a meaning.",
    ),
    commentary='This is why a figure that names a coordinate of a query "tense" or "movement" needs an '
    "experiment, and why the scores need none.",
    prerequisites=("self-attention.other-basis",),
)


def scores_of_rows(X, W_Q, W_K):
    """Scores (n, n), row i for query i; each row of X is a token."""
    Q = X @ W_Q
    K = X @ W_K
    return Q @ K.T / np.sqrt(W_K.shape[1])


def row_cases(rng):
    return {
        "four tokens of three numbers": drawn(rng, (4, 3), (3, 2), (3, 2)),
        "two tokens": drawn(rng, (2, 5), (5, 3), (5, 3)),
        "all sizes equal": drawn(rng, (3, 3), (3, 3), (3, 3)),
        "d_k of 1": drawn(rng, (4, 4), (4, 1), (4, 1)),
    }


rows = CodeExercise(
    id="self-attention.rows-repair",
    title="Rows here, columns there",
    kind="repair",
    level=1,
    minutes=6,
    page=PAGE,
    task="A text wrote tokens as columns in one formula and as rows in the next, and this function mixed both. Each "
    "row of X (n, d_model) is a token. Repair its two faults, so that row i of the result has the scores of query i.",
    hints=(
        "Run it on 4 tokens of 3 numbers. Which product has sizes that do not fit, and what is its shape meant to be?",
        "With tokens as rows, a projection stands on the right of X.",
        "Queries are rows. To pair each query with each key, which of the two has to be turned?",
    ),
    commentary="With columns the same scores are written $W^\\top x$ and $q^\\top k$; with rows $x W$ and $q "
    "k^\\top$. Either is fine; a formula that changes in between is not.",
    prerequisites=("self-attention.layer",),
    solution=scores_of_rows,
    cases=row_cases,
    given=("the first factor is transposed", "d_k from the wrong axis"),
    variants=(
        {"Q @ K.T": "np.einsum('ic,jc->ij', Q, K)"},
        {"Q @ K.T / np.sqrt(W_K.shape[1])": "X @ (W_Q @ W_K.T) @ X.T / W_Q.shape[1] ** 0.5"},
    ),
    mistakes=(
        Mistake(
            "the first factor is transposed",
            "A product of transposed queries and keys pairs coordinates with coordinates: it has a row for each of "
            "the d_k coordinates, not for each token.",
            {"Q @ K.T": "Q.T @ K"},
        ),
        Mistake(
            "d_k from the wrong axis",
            "The matrices are (d_model, d_k): the first axis counts a token's numbers, the second a key's.",
            {"W_K.shape[1]": "W_K.shape[0]"},
        ),
        Mistake(
            "keys ask and queries answer",
            "This is the transpose: row i belongs to key i.",
            {"Q @ K.T": "K @ Q.T"},
        ),
        Mistake("not scaled", "The scores were not divided by √d_k.", {" / np.sqrt(W_K.shape[1])": ""}),
        Mistake(
            "divided by d_k, not by its root",
            "The spread of a dot product grows with the root of d_k.",
            {"np.sqrt(W_K.shape[1])": "W_K.shape[1]"},
        ),
        Mistake(
            "X was transposed before the projection",
            "With X transposed each row is a coordinate, not a token.",
            {"X @ W_Q": "X.T @ W_Q", "X @ W_K": "X.T @ W_K"},
        ),
        Mistake(
            "one projection for queries and keys",
            "Queries and keys came from the same matrix: the scores are symmetric.",
            {"X @ W_K": "X @ W_Q"},
            {"X @ W_Q": "X @ W_K"},
        ),
    ),
)

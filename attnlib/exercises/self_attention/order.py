"""What moves when the tokens move (eq-permutation): permutations, pooling, and a proof."""

import numpy as np

from attnlib.exercises.cases import drawn, softmax
from attnlib.exercises.model import CodeExercise, Mistake, ProofExercise

PAGE = "02-self-attention/2-permutation"


def put_back(Y, order):
    """Y[i] belongs to token order[i]; put each row back in its place."""
    X = np.empty_like(Y)
    X[order] = Y
    return X


def order_cases(rng):
    return {
        "three tokens, moved round": (drawn(rng, (3, 2))[0], np.array([1, 2, 0])),
        "five tokens": (drawn(rng, (5, 3))[0], np.array([3, 0, 4, 2, 1])),
        "seven tokens": (drawn(rng, (7, 2))[0], np.array([2, 5, 1, 6, 0, 3, 4])),
        "float32": (drawn(rng, (4, 2), dtype=np.float32)[0], np.array([2, 0, 3, 1])),
    }


def by_inverse(Y, order):
    return Y[np.argsort(order)]


def by_matrix(Y, order):
    P = np.eye(len(order), dtype=Y.dtype)[order]
    return P.T @ Y


back = CodeExercise(
    id="self-attention.put-back",
    title="Put the rows back",
    kind="write",
    level=1,
    minutes=6,
    page=PAGE,
    task="Someone shuffled the tokens, Y = f(X[order]), so row i of Y belongs to token order[i]. Return the rows of "
    "Y in the tokens' own order. (For an equivariant f this is f(X).)",
    hints=(
        "Take order = [1, 2, 0] and follow row 0 of Y: to which place does it belong?",
        "Applying `order` once more moves everything on, which is right only for permutations that undo themselves.",
        "Make an empty array of the same shape, and write the rows of Y into it at the places that `order` names.",
    ),
    commentary="Indexing on the left of an assignment undoes indexing on the right. The permutation matrix says it "
    "too: it is orthogonal, so its transpose is its inverse.",
    solution=put_back,
    cases=order_cases,
    variants=(by_inverse, by_matrix),
    mistakes=(
        Mistake(
            "the order was applied once more",
            "The rows moved on by another shuffle. They should move back.",
            {"X[order] = Y\n    return X": "return Y[order]"},
        ),
        Mistake(
            "the rows were left as they came",
            "The rows were returned as they came. Row i belongs to token order[i].",
            {"X[order] = Y": "X[:] = Y"},
        ),
        Mistake(
            "the order was reversed",
            "Reading a permutation backwards does not undo it; sorting it does.",
            {"X[order] = Y": "X[:] = Y[order[::-1]]"},
        ),
        Mistake(
            "the columns moved",
            "A token is a row. The order of its numbers must stay.",
            {"X[order] = Y": "X[order] = Y[:, ::-1]"},
        ),
        Mistake(
            "the caller's rows were overwritten",
            "The numbers are right, but Y itself was changed. Write into a new array.",
            {"X = np.empty_like(Y)\n    X[order] = Y\n": "X = Y\n    X[order] = Y.copy()\n"},
        ),
    ),
)


def mean_of_tokens(X, mask):
    """One vector for each sequence: the mean over its real tokens."""
    count = mask.sum(axis=-1, keepdims=True)
    return (X * mask[..., None]).sum(axis=-2) / np.maximum(count, 1)


def pool_cases(rng):
    mask = np.array([[True, True, True, False], [True, False, False, False]])
    return {
        "one sequence with two pads": (drawn(rng, (4, 3))[0], np.array([True, True, False, False])),
        "a batch of two": (drawn(rng, (2, 4, 3))[0], mask),
        "as many tokens as numbers": (drawn(rng, (2, 4, 4))[0], mask),
        "an empty sequence": (drawn(rng, (2, 3, 2))[0], np.array([[True, True, False], [False] * 3])),
        "a pad in the middle": (
            drawn(rng, (2, 4, 2))[0],
            np.array([[True, False, True, True], [False, True] * 2]),
        ),
        "no pads": (drawn(rng, (5, 2))[0], np.ones(5, dtype=bool)),
    }


def pool_by_loop(X, mask):
    means = np.zeros(X.shape[:-2] + X.shape[-1:])
    for where in np.ndindex(X.shape[:-2]):
        if mask[where].any():
            means[where] = X[where][mask[where]].mean(axis=0)
    return means


def largest_of_tokens(X, mask):
    largest = np.where(mask[..., None], X, -np.inf).max(axis=-2)
    return np.where(mask.any(axis=-1, keepdims=True), largest, 0.0)


pool = CodeExercise(
    id="self-attention.pooling",
    title="From equivariant to invariant",
    kind="write",
    level=2,
    minutes=10,
    page=PAGE,
    task="X (..., n, d) are the outputs of self-attention, mask (..., n) is True for real tokens. Return the mean "
    "over the real tokens of each sequence, (..., d); zeros for a sequence without any. The result must not change "
    "when tokens and mask are shuffled together.",
    hints=(
        "Which axis of X counts the tokens, and how many of them are real?",
        "A padded row must add nothing to the sum and nothing to the count.",
        "Multiply X with the mask, given one more axis; sum over the tokens; divide by the number of True, but by at "
        "least 1.",
    ),
    commentary="Sums and means forget the order, so an equivariant layer followed by one is invariant. The count "
    "makes the difference between a mean and a sum: two equal tokens are one vote each.",
    prerequisites=("self-attention.put-back",),
    solution=mean_of_tokens,
    cases=pool_cases,
    variants=(
        pool_by_loop,
        {"(X * mask[..., None]).sum(axis=-2)": "np.einsum('...nd,...n->...d', X, mask.astype(X.dtype))"},
    ),
    mistakes=(
        Mistake(
            "divided by all tokens",
            "The padded rows were counted. A short sequence should not become smaller because of its neighbours.",
            {"np.maximum(count, 1)": "X.shape[-2]"},
        ),
        Mistake(
            "padding took part",
            "The padded rows were added to the sum.",
            {"X * mask[..., None]": "X"},
        ),
        Mistake(
            "the first tokens were taken for the real ones",
            "The mask was counted, and that many tokens were taken from the start. The mask says which ones are real.",
            {"X * mask[..., None]": "X * (np.arange(X.shape[-2]) < count)[..., None]"},
        ),
        Mistake(
            "the padding was averaged",
            "This is the mean of the padded rows. The mask is True for the real ones.",
            {
                "count = mask.sum(axis=-1, keepdims=True)": "count = (~mask).sum(axis=-1, keepdims=True)",
                "X * mask[..., None]": "X * ~mask[..., None]",
            },
        ),
        Mistake(
            "the largest, not the mean",
            "Each number is the largest of the real tokens' numbers. That is invariant too, but it is no mean.",
            largest_of_tokens,
        ),
        Mistake(
            "a sum, not a mean",
            "The sum was not divided by the number of real tokens.",
            {" / np.maximum(count, 1)": ""},
        ),
        Mistake(
            "nan for an empty sequence",
            "A sequence without real tokens was divided by its count of zero. It should give zeros.",
            {"np.maximum(count, 1)": "count"},
        ),
        Mistake(
            "the first token only",
            "This is one token, not their mean: another order gives another result.",
            {
                "return (X * mask[..., None]).sum(axis=-2) / np.maximum(count, 1)": "return X[..., 0, :] * (count > 0)"
            },
        ),
        Mistake(
            "divided by the root of the count",
            "A mean divides by the count itself.",
            {"np.maximum(count, 1)": "np.sqrt(np.maximum(count, 1))"},
        ),
        Mistake(
            "one more token was counted",
            "The count is too large by one.",
            {"np.maximum(count, 1)": "(count + 1)"},
        ),
    ),
)

equivariance = ProofExercise(
    id="self-attention.equivariance-proof",
    title="Shuffle before or after",
    kind="prove",
    level=2,
    minutes=15,
    page=PAGE,
    task="Prove that $f(\\Pi X) = \\Pi f(X)$ for self-attention without mask and positions, where $\\Pi$ is any "
    "permutation matrix. Then find the step that fails with a causal mask.",
    hints=(
        "Follow $\\Pi$ through the steps: what becomes of queries, keys and values?",
        "$\\Pi$ permutes the rows of the scores, and something permutes their columns. Why may the softmax be taken "
        "before or after?",
        "In the last product a $\\Pi^\\top$ meets a $\\Pi$.",
    ),
    proof=r"""Let $Q = X W_Q$, $K = X W_K$, $V = X W_V$, and let $\Pi$ be a permutation matrix, so
$\Pi^\top \Pi = I$.

1. The projections act on each row alone: from $\Pi X$ come $\Pi Q$, $\Pi K$ and $\Pi V$.
2. The scores become $\Pi Q (\Pi K)^\top / \sqrt{d_k} = \Pi S \Pi^\top$: rows and columns are permuted alike.
3. The softmax exponentiates each entry and divides it by the sum of its row. Permuting the columns leaves each row's
   sum as it is; permuting the rows moves whole rows. Hence the weights become $\Pi P \Pi^\top$.
4. The output becomes $\Pi P \Pi^\top \Pi V = \Pi P V = \Pi f(X)$. ∎

With a causal mask $M$ the masked scores would have to become $\Pi (S + M) \Pi^\top$, but the mask stays where it is:
they become $\Pi S \Pi^\top + M$. Step 3 fails unless $\Pi M \Pi^\top = M$, and for the causal mask this holds for the
identity alone, because the number of keys that a row may see tells its position.""",
    rubric=(
        "I showed that queries, keys and values are permuted as X is, because the maps act on rows.",
        "I showed that rows and columns of the scores are both permuted.",
        "I argued why the softmax commutes: the sum of a row does not depend on its order.",
        "I used that the transpose of the permutation is its inverse in the last product.",
        "I said that a causal mask does not move with the tokens, and where the proof breaks.",
    ),
    commentary="It is the architecture that forgets order, not the training. Positions have to be told, or a mask "
    "has to break the symmetry.",
    prerequisites=("self-attention.put-back",),
)


def shuffled_attention(Q, K, V, order):
    """Attention over the same keys and values in another order."""
    K = K[order]
    V = V[order]
    P = softmax(Q @ K.T / np.sqrt(Q.shape[1]))
    return P @ V


def shuffle_cases(rng):
    return {
        "two queries, four keys": (*drawn(rng, (2, 3), (4, 3), (4, 2)), np.array([2, 0, 3, 1])),
        "as many queries as keys": (*drawn(rng, (4, 2), (4, 2), (4, 3)), np.array([1, 3, 0, 2])),
        "all sizes equal": (*drawn(rng, (3, 3), (3, 3), (3, 3)), np.array([1, 2, 0])),
    }


repair = CodeExercise(
    id="self-attention.shuffle-repair",
    title="A data loader that lost its order",
    kind="repair",
    level=1,
    minutes=6,
    page=PAGE,
    task="The keys of this function arrive in another order, which should change nothing. It does. Repair the "
    "function. (To take the shuffle out would do it too; leave it in.)",
    hints=(
        "Compare the weights with and without the shuffle: which of them are they, in another order?",
        "A key and its value are two halves of one entry of a dictionary.",
        "Whatever happens to the rows of K has to happen to the rows of V.",
    ),
    commentary="Attention reads a set of pairs. The order of the pairs does not matter; who belongs to whom does.",
    solution=shuffled_attention,
    cases=shuffle_cases,
    given=("the values stayed where they were",),
    variants=(
        {"K = K[order]\n    V = V[order]\n": "\n"},
        {"    return P @ V": "    return P[:, np.argsort(order)] @ V[np.argsort(order)]"},
    ),
    mistakes=(
        Mistake(
            "the values stayed where they were",
            "The keys moved, the values did not: each weight went to somebody else's value.",
            {"V = V[order]\n": "\n"},
        ),
        Mistake(
            "the keys stayed where they were",
            "The values moved, the keys did not: each weight went to somebody else's value.",
            {"K = K[order]\n": "\n"},
        ),
        Mistake(
            "the values came in reverse",
            "The values were taken in the reverse of the order of their keys.",
            {"V = V[order]": "V = V[order[::-1]]"},
        ),
        Mistake("√d_k is missing", "The scores were not divided by √d_k.", {" / np.sqrt(Q.shape[1])": ""}),
        Mistake(
            "the keys became values",
            "What is averaged are the keys. They only say where to look.",
            {"V = V[order]": "V = K"},
        ),
        Mistake(
            "normalised over the queries",
            "Here each key hands out a total weight of one. Each query should get a total of one.",
            {"softmax(Q @ K.T / np.sqrt(Q.shape[1]))": "softmax(K @ Q.T / np.sqrt(Q.shape[1])).T"},
        ),
    ),
)

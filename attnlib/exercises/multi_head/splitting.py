"""From one wide matrix to heads and back (eq-split-heads, eq-merge-heads)."""

import numpy as np

from attnlib.exercises.cases import drawn
from attnlib.exercises.model import AnswerExercise, CodeExercise, Mistake, ProofExercise
from attnlib.reference import heads

PAGE = "03-multi-head/2-one-matrix-multiplication"


def split_heads(X, n_heads):
    """(..., n, d) -> (..., h, n, d / h): head k gets the k-th block of columns."""
    *batch, n, d = X.shape
    return X.reshape(*batch, n, n_heads, d // n_heads).swapaxes(-3, -2)


def split_by_stack(X, n_heads):
    return np.stack(np.split(X, n_heads, axis=-1), axis=-3)


split = CodeExercise(
    id="multi-head.split",
    title="Split a matrix into heads",
    kind="write",
    level=1,
    minutes=8,
    page=PAGE,
    task="X (..., n, d) holds the queries of all heads side by side, the first d / h columns belong to head 0, and "
    "so on. Return (..., h, n, d / h).",
    hints=(
        "Which of the numbers of row 0 belong to head 1?",
        "First give the columns two axes, one for the head and one inside it. Where does the new axis stand?",
        "A reshape to (..., n, h, d / h) keeps each row together; then the axes of tokens and heads change places.",
    ),
    commentary="A reshape never moves a number in memory, and neither does swapping axes: splitting is free. A "
    "reshape straight to (h, n, d / h) has the right shape and cuts through the rows.",
    solution=split_heads,
    reference=heads.split_heads,
    cases=lambda rng: {
        "three tokens, two heads": (np.arange(12.0).reshape(3, 4), 2),
        "a batch of two": (drawn(rng, (2, 5, 6))[0], 3),
        "as many heads as tokens": (drawn(rng, (3, 6))[0], 3),
        "one head": (drawn(rng, (4, 3))[0], 1),
        "two heads of two, two tokens": (drawn(rng, (2, 2, 4))[0], 2),
        "float32": (drawn(rng, (5, 4), dtype=np.float32)[0], 2),
    },
    variants=(split_by_stack, {".swapaxes(-3, -2)": "[..., :, :, :].swapaxes(-2, -3)"}),
    mistakes=(
        Mistake(
            "split without the transpose",
            "The shape is right, but the rows were cut: head 0 got the first tokens whole, in pieces. The axes of "
            "tokens and heads must change places after the columns are split.",
            {"n, n_heads, d // n_heads).swapaxes(-3, -2)": "n_heads, n, d // n_heads)"},
        ),
        Mistake(
            "the heads are interleaved",
            "Head k got every h-th column. It should get a block of neighbours.",
            {
                "reshape(*batch, n, n_heads, d // n_heads).swapaxes(-3, -2)": (
                    "reshape(*batch, n, d // n_heads, n_heads).swapaxes(-1, -2).swapaxes(-3, -2)"
                )
            },
        ),
        Mistake(
            "tokens before heads",
            "The columns are split, but the heads are not yet an axis of their own in front: products would mix them.",
            {".swapaxes(-3, -2)": ""},
        ),
        Mistake(
            "tokens and columns are exchanged",
            "Inside a head, rows are tokens and columns are its d / h numbers.",
            {".swapaxes(-3, -2)": ".swapaxes(-3, -2).swapaxes(-1, -2)"},
        ),
        Mistake(
            "the last head first",
            "Head 0 gets the first columns.",
            {".swapaxes(-3, -2)": ".swapaxes(-3, -2)[..., ::-1, :, :]"},
        ),
    ),
)


def merge_heads(O):
    """(..., h, n, d_v) -> (..., n, h d_v): the heads side by side, head 0 first."""
    *batch, n_heads, n, d_v = O.shape
    return O.swapaxes(-3, -2).reshape(*batch, n, n_heads * d_v)


def merge_by_concatenation(O):
    return np.concatenate([O[..., k, :, :] for k in range(O.shape[-3])], axis=-1)


def merge_cases(rng):
    return {
        "two heads, three tokens": (np.arange(12.0).reshape(2, 3, 2),),
        "a batch of two": (drawn(rng, (2, 3, 5, 4))[0],),
        "as many heads as tokens": (drawn(rng, (3, 3, 2))[0],),
        "all sizes equal": (drawn(rng, (2, 2, 2, 2))[0],),
        "one head": (drawn(rng, (1, 4, 3))[0],),
    }


merge_repair = CodeExercise(
    id="multi-head.merge-repair",
    title="Heads merged in the wrong order",
    kind="repair",
    level=1,
    minutes=6,
    page=PAGE,
    task="O (..., h, n, d_v) are the outputs of the heads. Each token should get its h results side by side, "
    "(..., n, h d_v), head 0 first. The shape is right; the numbers are not. Repair the function.",
    hints=(
        "Give it O = np.arange(12).reshape(2, 3, 2) and look at the first row. Which two pieces belong there?",
        "A reshape reads numbers in the order of the axes. In which order do they have to stand?",
        "Before the heads can be joined to one axis, the axis of heads must stand right before the numbers of a head.",
    ),
    commentary="This is the one step in multi-head attention that must copy: after the swap the numbers of a row do "
    "not lie side by side in memory, so the reshape has to move them.",
    prerequisites=("multi-head.split",),
    solution=merge_heads,
    reference=heads.merge_heads,
    cases=merge_cases,
    given=("merged without the transpose",),
    variants=(merge_by_concatenation, {"O.swapaxes(-3, -2)": "np.moveaxis(O, -3, -2)"}),
    mistakes=(
        Mistake(
            "merged without the transpose",
            "Rows of one head were strung together: a row mixes tokens. Tokens and heads must change places first.",
            {"O.swapaxes(-3, -2).reshape": "O.reshape"},
        ),
        Mistake(
            "the heads are interleaved",
            "First come all numbers of head 0, then those of head 1. Here their first numbers came first.",
            {"O.swapaxes(-3, -2)": "np.moveaxis(O, -3, -1)"},
        ),
        Mistake(
            "the last head first",
            "Head 0 gets the first columns.",
            {"O.swapaxes": "O[..., ::-1, :, :].swapaxes"},
        ),
        Mistake(
            "a sum of the heads",
            "The heads were added up, and repeated to the right width. They belong side by side.",
            {
                "O.swapaxes(-3, -2).reshape(*batch, n, n_heads * d_v)": (
                    "np.concatenate([O.sum(axis=-3)] * n_heads, axis=-1)"
                )
            },
        ),
        Mistake(
            "tokens in reverse",
            "The tokens have changed their order.",
            {"O.swapaxes": "O[..., ::-1, :].swapaxes"},
        ),
    ),
)


def unpack(in_proj_weight):
    """(W_Q, W_K, W_V), each (d, d) for use as X @ W, from the packed (3 d, d) of `nn.MultiheadAttention`."""
    W_Q, W_K, W_V = np.split(in_proj_weight, 3)
    return W_Q.T, W_K.T, W_V.T


def unpack_by_transpose(in_proj_weight):
    d = in_proj_weight.shape[1]
    packed = in_proj_weight.T
    return packed[:, :d], packed[:, d : 2 * d], packed[:, 2 * d :]


packed = CodeExercise(
    id="multi-head.unpack",
    title="Three matrices in one",
    kind="write",
    level=2,
    minutes=8,
    page=PAGE,
    task="`nn.MultiheadAttention` keeps one matrix (3 d, d): queries, keys, values on top of each other, each used "
    "as x W^T. Return W_Q, W_K and W_V, each (d, d), for use as X @ W.",
    hints=(
        "Which rows of the packed matrix make the keys?",
        "PyTorch stores a linear map as (out, in) and multiplies with its transpose. What does the book store?",
        "Cut the rows into three equal parts, and transpose each.",
    ),
    commentary="One packed matrix makes one large product of three, which keeps a processor busier. The numbers are "
    "the same.",
    solution=unpack,
    cases=lambda rng: {
        "width 2": (np.arange(12.0).reshape(6, 2),),
        "width 3": drawn(rng, (9, 3)),
        "width 4": drawn(rng, (12, 4)),
    },
    returns=("W_Q", "W_K", "W_V"),
    variants=(
        unpack_by_transpose,
        {"np.split(in_proj_weight, 3)": "in_proj_weight.reshape(3, -1, in_proj_weight.shape[1])"},
    ),
    mistakes=(
        Mistake(
            "not transposed",
            "These are (out, in), for use as x W^T. For X @ W they must be (in, out). With square matrices no shape "
            "gives it away.",
            {"W_Q.T, W_K.T, W_V.T": "W_Q, W_K, W_V"},
        ),
        Mistake(
            "queries and keys are exchanged",
            "The order is queries, keys, values.",
            {"W_Q, W_K, W_V =": "W_K, W_Q, W_V ="},
        ),
        Mistake(
            "keys and values are exchanged",
            "The order is queries, keys, values.",
            {"W_Q, W_K, W_V =": "W_Q, W_V, W_K ="},
        ),
        Mistake(
            "the columns were cut",
            "The three lie on top of each other, not side by side.",
            {"np.split(in_proj_weight, 3)": "np.split(in_proj_weight.T.reshape(in_proj_weight.shape), 3)"},
        ),
        Mistake(
            "every third row",
            "The rows of one matrix are neighbours.",
            {"np.split(in_proj_weight, 3)": "(in_proj_weight[i::3] for i in range(3))"},
        ),
    ),
)

D_MODEL, HEADS = 512, 8

parameters = AnswerExercise(
    id="multi-head.predict-parameters",
    title="The parameters of eight heads",
    kind="predict",
    level=1,
    minutes=4,
    page=PAGE,
    task=f"d_model is {D_MODEL}, there are {HEADS} heads of d_model / h numbers each, and no biases. How many "
    "parameters does the whole layer have?",
    hints=(
        "How many columns do the query matrices of all heads have together?",
        "Side by side the matrices of the heads are one (d_model, d_model) matrix, for queries, keys and values each.",
        "Four square matrices: do not forget the one after the heads.",
    ),
    commentary="4 d², for every number of heads: more heads are thinner heads. A count of three quarters of it "
    "leaves the output projection out.",
    answer=lambda: 4 * D_MODEL**2,
    within=0.5,
    mistakes=(
        Mistake(
            "the output projection is missing",
            "After the heads there is one more square matrix.",
            3 * D_MODEL**2,
        ),
        Mistake("eight times as many", "Each head is only d_model / h wide.", HEADS * 4 * D_MODEL**2),
        Mistake("one head", "There are eight of them.", 4 * D_MODEL * D_MODEL // HEADS),
        Mistake(
            "eight heads, and one output",
            "Each head has three matrices of d_model by d_model / h.",
            D_MODEL**2 * (3 * HEADS + 1),
        ),
    ),
)

order = ProofExercise(
    id="multi-head.head-order-proof",
    title="Heads have no names",
    kind="prove",
    level=2,
    minutes=12,
    page=PAGE,
    task="Prove that exchanging two heads, together with the rows of $W^O$ that read them, changes nothing. How many "
    "settings of the parameters compute the same function by this alone? What does it say about comparing head 3 of "
    "two networks?",
    hints=(
        "Write the output of the layer as a sum over heads.",
        "In what order may a sum be added up?",
        "Count the orders of $h$ heads.",
    ),
    proof=r"""Let $O_k$ be the output of head $k$ and $W^O_k$ the block of rows of $W^O$ that it meets.

1. $\operatorname{Concat}(O_1, \dots, O_h) W^O = \sum_{k=1}^h O_k W^O_k$, by multiplying block by block.
2. $O_k$ depends on head $k$'s own three matrices alone. Exchanging heads $a$ and $b$, all three matrices and the block
   of $W^O$, exchanges two terms of the sum, which does not change it.
3. The heads can be put in $h!$ orders, so in general $h!$ settings compute the same function (fewer, if some heads are
   equal).
4. Training from another seed may end in any of them: nothing ties "head 3" of one network to "head 3" of
   another. Heads can be compared only after they are matched by what they do. ∎""",
    rubric=(
        "I wrote the layer as a sum of one term per head.",
        "I exchanged all that belongs to a head, and the rows of the output projection with it.",
        "I counted h! orders.",
        "I concluded that numbers of heads mean nothing across networks.",
    ),
    commentary="Within a head there is more freedom still: any invertible change of basis of its queries and keys.",
    prerequisites=("multi-head.split",),
)

"""Multi-head attention: a loop, one product for all, a sum over heads, and a mask for all of them (eq-multi-head)."""

import math

import numpy as np

from attnlib.exercises import properties as laws
from attnlib.exercises.cases import drawn, softmax
from attnlib.exercises.model import CodeExercise, Mistake

PAGE = "03-multi-head/2-one-matrix-multiplication"


def attention(Q, K, V):
    """Scaled dot-product attention, given to the learner."""
    return softmax(Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])) @ V


def layer_cases(rng):
    def case(n, d, h, *batch, dtype: type = np.float64):
        return *drawn(rng, (*batch, n, d), *[(d, d)] * 4, dtype=dtype), h

    return {
        "three tokens, two heads": case(3, 4, 2),
        "a batch of two": case(4, 6, 3, 2),
        "as many heads as tokens": case(3, 6, 3, 2),
        "one head": case(4, 3, 1),
        "d_model of 9, three heads": case(5, 9, 3),
        "float32": case(3, 4, 2, dtype=np.float32),
    }


def one_after_the_other(X, W_Q, W_K, W_V, W_O, n_heads):
    """Multi-head attention, head by head; head k has the k-th block of columns of W_Q, W_K and W_V."""
    d_k = W_Q.shape[1] // n_heads
    heads = []
    for k in range(n_heads):
        own = slice(k * d_k, (k + 1) * d_k)
        heads.append(attention(X @ W_Q[:, own], X @ W_K[:, own], X @ W_V[:, own]))
    return np.concatenate(heads, axis=-1) @ W_O


def loop_by_split(X, W_Q, W_K, W_V, W_O, n_heads):
    blocks = zip(*(np.split(W, n_heads, axis=1) for W in (W_Q, W_K, W_V)), strict=True)
    return np.concatenate([attention(X @ q, X @ k, X @ v) for q, k, v in blocks], axis=-1) @ W_O


loop = CodeExercise(
    id="multi-head.loop",
    title="One head after the other",
    kind="write",
    level=1,
    minutes=12,
    page=PAGE,
    task="Write multi-head self-attention as a loop over heads. X is (..., n, d); W_Q, W_K, W_V and W_O are (d, d), "
    "and head k owns the k-th block of d / h columns of the first three. `attention(Q, K, V)` is there, and scales "
    "by the root of its own width.",
    hints=(
        "Which columns of W_Q belong to head 1, if each head is d / h wide?",
        "In each round project X with the head's own columns and attend; keep the results in a list.",
        "At the end lay the results side by side along the last axis, and multiply with W_O.",
    ),
    commentary="The heads never meet before the last product: only W_O mixes them.",
    prerequisites=("self-attention.layer",),
    solution=one_after_the_other,
    cases=layer_cases,
    properties=(laws.separate_batches(0),),
    variants=(loop_by_split, {"slice(k * d_k, (k + 1) * d_k)": "np.arange(k * d_k, k * d_k + d_k)"}),
    mistakes=(
        Mistake(
            "the output projection was forgotten",
            "The heads lie side by side but were not mixed: W_O is missing.",
            {" @ W_O": ""},
        ),
        Mistake(
            "one projection for all heads",
            "All heads used the columns of head 0, so they all look at the same things.",
            {"slice(k * d_k, (k + 1) * d_k)": "slice(0, d_k)"},
        ),
        Mistake(
            "the heads are interleaved",
            "Head k got every h-th column. It owns a block of neighbours.",
            {"slice(k * d_k, (k + 1) * d_k)": "slice(k, None, n_heads)"},
        ),
        Mistake(
            "the heads are merged in the wrong order",
            "The last head came first: its columns met the rows of W_O that belong to head 0.",
            {"np.concatenate(heads": "np.concatenate(heads[::-1]"},
        ),
        Mistake(
            "the results were added up",
            "The heads were summed and met the first rows of W_O. Side by side each meets rows of its own.",
            {"np.concatenate(heads, axis=-1) @ W_O": "sum(heads) @ W_O[:d_k]"},
        ),
        Mistake(
            "rows of the matrices in place of columns",
            "Head k got a block of rows of each matrix, as `nn.Linear` would keep it. It owns a block of columns.",
            {
                "X @ W_Q[:, own]": "X @ W_Q.T[:, own]",
                "X @ W_K[:, own]": "X @ W_K.T[:, own]",
                "X @ W_V[:, own]": "X @ W_V.T[:, own]",
            },
        ),
        Mistake(
            "the heads share out the numbers of X",
            "Each head saw only a part of each token. A head reads all of X, through its part of the columns.",
            {
                "X @ W_Q[:, own]": "X[..., own] @ W_Q[own, own]",
                "X @ W_K[:, own]": "X[..., own] @ W_K[own, own]",
                "X @ W_V[:, own]": "X[..., own] @ W_V[own, own]",
            },
        ),
        Mistake(
            "the results are interleaved",
            "The first numbers of all heads came first. Side by side, head 0 comes whole, then head 1.",
            {"np.concatenate(heads, axis=-1)": "np.stack(heads, axis=-1).reshape(X.shape)"},
        ),
        Mistake(
            "the values have all columns of head 0",
            "Values have their own columns in each head, like queries and keys.",
            {"W_V[:, own]": "W_V[:, :d_k]"},
        ),
        Mistake(
            "W_O is transposed",
            "The result was multiplied with the transpose; with a square matrix the shape does not tell.",
            {" @ W_O": " @ W_O.T"},
        ),
    ),
)


def all_at_once(X, W_Q, W_K, W_V, W_O, n_heads):
    """Multi-head attention without a loop: one product for the projections of all heads."""
    *batch, n, d = X.shape

    def heads(Y):
        return Y.reshape(*batch, n, n_heads, d // n_heads).swapaxes(-3, -2)

    Q, K, V = heads(X @ W_Q), heads(X @ W_K), heads(X @ W_V)
    S = Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])
    O = softmax(S) @ V
    return O.swapaxes(-3, -2).reshape(*batch, n, d) @ W_O


def fused_by_einsum(X, W_Q, W_K, W_V, W_O, n_heads):
    d = X.shape[-1]
    Q, K, V = (np.einsum("...nd,dhe->...hne", X, W.reshape(d, n_heads, -1)) for W in (W_Q, W_K, W_V))
    return np.einsum("...hne,hed->...nd", attention(Q, K, V), W_O.reshape(n_heads, -1, d))


fused = CodeExercise(
    id="multi-head.fused",
    title="All heads at once",
    kind="write",
    level=2,
    minutes=20,
    page=PAGE,
    task="Write multi-head self-attention without a loop over heads. Head k owns the k-th block of d / h columns of "
    "W_Q, W_K and W_V. `softmax(S)` over the last axis is there. Return (..., n, d).",
    hints=(
        "One product makes the queries of all heads. How must they be arranged so that `@` works on each head alone?",
        "Split into (..., h, n, d / h), attend as always, and bring the heads back side by side.",
        "Reshape to (..., n, h, d / h), swap tokens and heads; scores, softmax, values; swap back, reshape, times W_O.",
    ),
    commentary="The same numbers as the loop. The heads became one more batch axis, and `@` never mixes those.",
    prerequisites=("multi-head.split", "multi-head.loop"),
    solution=all_at_once,
    reference=one_after_the_other,
    cases=layer_cases,
    properties=(laws.separate_batches(0),),
    variants=(
        fused_by_einsum,
        {"heads(X @ W_Q), heads(X @ W_K), heads(X @ W_V)": "(heads(X @ W) for W in (W_Q, W_K, W_V))"},
    ),
    mistakes=(
        Mistake(
            "split without the transpose",
            "The heads were cut out of the rows: the shape is right, the tokens are mixed.",
            {"(*batch, n, n_heads, d // n_heads).swapaxes(-3, -2)": "(*batch, n_heads, n, d // n_heads)"},
        ),
        Mistake(
            "merged without the transpose",
            "The heads were strung together without changing places with the tokens.",
            {"O.swapaxes(-3, -2).reshape": "O.reshape"},
        ),
        Mistake(
            "scaled by √d_model",
            "A head's score adds up d / h products: its own width counts.",
            {"math.sqrt(Q.shape[-1])": "math.sqrt(d)"},
        ),
        Mistake("√d_k is missing", "The scores were not scaled.", {" / math.sqrt(Q.shape[-1])": ""}),
        Mistake(
            "scaled by the number of heads",
            "Q.shape[-3] counts the heads. The width of a head is its last axis.",
            {"math.sqrt(Q.shape[-1])": "math.sqrt(Q.shape[-3])"},
        ),
        Mistake(
            "the output projection was forgotten", "The heads were not mixed: W_O is missing.", {" @ W_O": ""}
        ),
        Mistake(
            "W_O is transposed",
            "The result was multiplied with the transpose; with a square matrix the shape does not tell.",
            {" @ W_O": " @ W_O.T"},
        ),
        Mistake(
            "the heads are interleaved",
            "Head k got every h-th column. It owns a block of neighbours.",
            {
                "(*batch, n, n_heads, d // n_heads).swapaxes(-3, -2)": (
                    "(*batch, n, d // n_heads, n_heads).swapaxes(-1, -2).swapaxes(-3, -2)"
                )
            },
            {
                "(*batch, n, n_heads, d // n_heads).swapaxes(-3, -2)": (
                    "(*batch, n, d // n_heads, n_heads).swapaxes(-1, -2).swapaxes(-3, -2)"
                ),
                "O.swapaxes(-3, -2).reshape": "O.swapaxes(-3, -2).swapaxes(-1, -2).reshape",
            },
        ),
        Mistake(
            "no heads at all",
            "This is one head of the full width. Each head must have a softmax of its own.",
            {"n_heads, d // n_heads).swapaxes(-3, -2)": "1, d).swapaxes(-3, -2)"},
        ),
        Mistake(
            "heads attend to heads",
            "For each token the heads looked at one another. The tokens of one head should.",
            {
                "n_heads, d // n_heads).swapaxes(-3, -2)": "n_heads, d // n_heads)",
                "O.swapaxes(-3, -2).reshape": "O.reshape",
            },
        ),
        Mistake(
            "one projection for queries and keys",
            "The keys came from the matrix of the queries.",
            {"heads(X @ W_K)": "heads(X @ W_Q)"},
        ),
        Mistake(
            "values from the keys' matrix",
            "The values have a matrix of their own.",
            {"heads(X @ W_V)": "heads(X @ W_K)"},
        ),
        Mistake(
            "float32 became float64",
            "float32 went in, float64 came out: some float64 number took part, such as `np.sqrt` of an int or "
            "`np.zeros` without a dtype.",
            {"math.sqrt(": "np.sqrt("},
            {"return O.": "return np.float64(1) * O."},
        ),
    ),
)


def contributions(O, W_O):
    """(..., h, n, d): what each head adds to the output; O (..., h, n, d_v) are the heads, W_O is (h d_v, d)."""
    n_heads, d_v = O.shape[-3], O.shape[-1]
    return O @ W_O.reshape(n_heads, d_v, -1)


def contributions_by_loop(O, W_O):
    d_v = O.shape[-1]
    parts = [O[..., k, :, :] @ W_O[k * d_v : (k + 1) * d_v] for k in range(O.shape[-3])]
    return np.stack(parts, axis=-3)


total = CodeExercise(
    id="multi-head.sum-form",
    title="Who added what?",
    kind="write",
    level=2,
    minutes=12,
    page=PAGE,
    task="O (..., h, n, d_v) are the outputs of the heads, W_O (h d_v, d) the output projection. Return (..., h, n, "
    "d): what each head adds to the output of the layer, so that their sum over heads is that output.",
    hints=(
        "Which rows of W_O does head 1 meet, when the heads lie side by side?",
        "Concat(heads) W_O is a sum of one product per head.",
        "Cut the rows of W_O into h blocks of d_v rows, as one array (h, d_v, d), and multiply head by head.",
    ),
    commentary="Side by side and then mixed is the same as each mixed on its own and added up. In this form a head "
    "can be switched off, weighed or measured.",
    prerequisites=("multi-head.loop",),
    solution=contributions,
    cases=lambda rng: {
        "two heads, three tokens": drawn(rng, (2, 3, 2), (4, 5)),
        "a batch of two": drawn(rng, (2, 3, 4, 5), (15, 6)),
        "all sizes equal": drawn(rng, (3, 3, 3), (9, 9)),
        "one head": drawn(rng, (1, 3, 4), (4, 2)),
    },
    variants=(
        contributions_by_loop,
        {
            "O @ W_O.reshape(n_heads, d_v, -1)": 'np.einsum("...hne,hed->...hnd", O, W_O.reshape(n_heads, d_v, -1))'
        },
    ),
    mistakes=(
        Mistake(
            "the rows are interleaved",
            "Head k met every h-th row. Side by side, its numbers meet a block of neighbouring rows.",
            {"W_O.reshape(n_heads, d_v, -1)": "W_O.reshape(d_v, n_heads, -1).swapaxes(0, 1)"},
        ),
        Mistake(
            "every head met the rows of head 0",
            "Each head has its own block of rows.",
            {"W_O.reshape(n_heads, d_v, -1)": "W_O[:d_v]"},
        ),
        Mistake(
            "the last block for the first head",
            "Head 0 meets the first rows.",
            {"W_O.reshape(n_heads, d_v, -1)": "W_O.reshape(n_heads, d_v, -1)[::-1]"},
        ),
        Mistake(
            "divided by the number of heads",
            "The parts sum to the output; they are not a mean.",
            {
                "return O @ W_O.reshape(n_heads, d_v, -1)": "return O @ W_O.reshape(n_heads, d_v, -1) / n_heads"
            },
        ),
        Mistake(
            "all parts at once",
            "This is their sum, the output of the layer, once for every head.",
            {
                "return O @ W_O.reshape(n_heads, d_v, -1)": (
                    "return np.stack([(O @ W_O.reshape(n_heads, d_v, -1)).sum(axis=-3)] * n_heads, axis=-3)"
                )
            },
        ),
    ),
)


def masked_heads(Q, K, V, mask):
    """Attention of all heads; Q, K, V (b, h, n, d_k), and mask (b, n, n) is True where a query may look."""
    S = Q @ K.swapaxes(-1, -2) / math.sqrt(Q.shape[-1])
    S = np.where(mask[:, None], S, -math.inf)
    return softmax(S) @ V


def mask_cases(rng):
    def masks(b, n):
        mask = rng.random(size=(b, n, n)) < 0.5
        return mask | np.eye(n, dtype=bool)

    return {
        "two sequences, three heads": (*drawn(rng, *[(2, 3, 4, 2)] * 3), masks(2, 4)),
        "as many sequences as heads": (*drawn(rng, *[(3, 3, 4, 2)] * 3), masks(3, 4)),
        "all sizes equal": (*drawn(rng, *[(3, 3, 3, 3)] * 3), masks(3, 3)),
    }


def heads_by_loop(Q, K, V, mask):
    outputs = np.empty(V.shape)
    for b, h in np.ndindex(*Q.shape[:2]):
        S = Q[b, h] @ K[b, h].T / math.sqrt(Q.shape[-1])
        outputs[b, h] = softmax(np.where(mask[b], S, -math.inf)) @ V[b, h]
    return outputs


mask_repair = CodeExercise(
    id="multi-head.mask-repair",
    title="One mask for all heads",
    kind="repair",
    level=2,
    minutes=8,
    page=PAGE,
    task="Q, K and V are (b, h, n, d_k), and mask (b, n, n) is True where a query may look. Each sequence has its "
    "own mask, which holds for all its heads. Whenever b equals h the function runs, and is wrong. Repair both bugs.",
    hints=(
        "Scores are (b, h, n, n). Against which axis does the first axis of the mask stand?",
        "NumPy lines axes up from the right. The mask needs an axis for the heads.",
        "One bug is that axis; the other is which places keep their scores.",
    ),
    commentary="Broadcasting lines up from the right: (b, n, n) against (b, h, n, n) pairs sequences with heads. It "
    "fails with an error only where the numbers differ, so test with b ≠ h.",
    prerequisites=("multi-head.fused", "self-attention.both-masks"),
    solution=masked_heads,
    cases=mask_cases,
    given=("the mask of a sequence went to a head", "inverted mask"),
    variants=(heads_by_loop, {"mask[:, None]": "np.expand_dims(mask, 1)"}),
    mistakes=(
        Mistake(
            "the mask of a sequence went to a head",
            "The axis of sequences met the axis of heads.",
            {"mask[:, None]": "mask[: Q.shape[1]]"},
            {"mask[:, None]": "mask"},
        ),
        Mistake(
            "inverted mask",
            "True means: may look.",
            {"np.where(mask[:, None], S, -math.inf)": "np.where(mask[:, None], -math.inf, S)"},
            {"np.where(mask[:, None], S, -math.inf)": "np.where(~mask[:, None], S, -math.inf)"},
        ),
        Mistake(
            "queries and keys of the mask are exchanged",
            "Rows of the mask are queries, columns are keys.",
            {"mask[:, None]": "mask.swapaxes(-1, -2)[:, None]"},
        ),
        Mistake(
            "the first sequence's mask for all",
            "Each sequence has its own mask.",
            {"mask[:, None]": "mask[:1, None]"},
        ),
        Mistake("hidden scores are zero", "exp(0) is 1: hidden keys are still read.", {"-math.inf": "0.0"}),
        Mistake(
            "hidden after the softmax",
            "The hidden keys give nothing, but they still took their share: the other weights no longer sum to one.",
            {
                "S = np.where(mask[:, None], S, -math.inf)\n": "\n",
                "return softmax(S) @ V": "return softmax(S) * mask[:, None] @ V",
            },
        ),
        Mistake(
            "the mask is not used",
            "Hidden keys are read.",
            {"S = np.where(mask[:, None], S, -math.inf)\n": "\n"},
        ),
    ),
)

"""Who may look where: masks that are made, joined and translated (eq-causal-mask, eq-padding-mask)."""

import numpy as np

from attnlib.exercises.model import CodeExercise, Mistake

PAGE = "02-self-attention/3-masks"


def causal_mask(n, m):
    """(m, n), True where a query may look; the last m of n tokens ask."""
    query = np.arange(n - m, n)[:, None]
    key = np.arange(n)
    return key <= query


def causal_reference(n, m):
    from attnlib.reference import masks

    return masks.causal_mask(n, m)


causal = CodeExercise(
    id="self-attention.causal-mask",
    title="No one sees the future",
    kind="write",
    level=1,
    minutes=8,
    page=PAGE,
    task="Return a boolean mask (m, n), True where a query may look. There are n tokens, and the last m of them ask "
    "(all, if m = n; only the newest, if m = 1). Each sees itself and the tokens before it.",
    hints=(
        "Which token does row 0 belong to, when the last m of n ask?",
        "Number the queries n - m, ..., n - 1 and the keys 0, ..., n - 1. When may a query look at a key?",
        "Compare a row of key numbers with a column of query numbers: a key may be seen if it is not later.",
    ),
    commentary="The newest token sees everything, so its row is all True: a decoder that keeps its keys needs no "
    "mask for one new token. For m < n the diagonal starts at n - m, not at 0.",
    prerequisites=("foundations.masked-softmax",),
    solution=causal_mask,
    reference=causal_reference,
    cases=lambda rng: {
        "four tokens, all ask": (4, 4),
        "five tokens, the last two ask": (5, 2),
        "the newest of six": (6, 1),
        "one token": (1, 1),
    },
    variants=(
        {"return key <= query": "return np.tril(np.ones((m, n), dtype=bool), k=n - m)"},
        {"return key <= query": "return ~(key > query)"},
    ),
    mistakes=(
        Mistake(
            "off by one: the next token is seen",
            "The token after the query is visible: at training time the answer is read off.",
            {"key <= query": "key <= query + 1"},
        ),
        Mistake(
            "off by one: a token does not see itself",
            "Each token may look at itself. Without that, the first one would have nothing to look at.",
            {"key <= query": "key < query"},
        ),
        Mistake(
            "inverted mask",
            "True means: may look. Here the future is visible and the past is hidden.",
            {"key <= query": "key > query"},
            {"key <= query": "key >= query"},
        ),
        Mistake(
            "all n tokens ask",
            "There is a row for each of the n tokens. Only the last m of them ask.",
            {"np.arange(n - m, n)": "np.arange(n)"},
        ),
        Mistake(
            "the first m ask",
            "These rows belong to the first m tokens. Where there are fewer queries than keys, it is the last ones "
            "that ask.",
            {"np.arange(n - m, n)": "np.arange(m)"},
        ),
        Mistake(
            "numbers, not booleans",
            "The values are right, but they are numbers. Masks are boolean here: with numbers, `~` and `np.where` do "
            "something else.",
            {"return key <= query": "return (key <= query).astype(float)"},
            {"return key <= query": "return (key <= query).astype(int)"},
        ),
        Mistake(
            "an additive mask",
            "This mask is to be added to scores. Asked for was a boolean one, True where a query may look.",
            {"return key <= query": "return np.where(key <= query, 0.0, -np.inf)"},
        ),
    ),
)


def padding_mask(lengths, n):
    """(b, 1, n), True for the real tokens of each sequence."""
    lengths = np.asarray(lengths)
    return np.arange(n) < lengths[:, None, None]


def padding_reference(lengths, n):
    from attnlib.reference import masks

    return masks.padding_mask(lengths, n)


padding = CodeExercise(
    id="self-attention.padding-mask",
    title="Some of these are not words",
    kind="write",
    level=1,
    minutes=8,
    page=PAGE,
    task="lengths (b) says how many real tokens each sequence has; the rest, up to n, is padding. Return a boolean "
    "mask of shape (b, 1, n) that hides the padded keys from every query.",
    hints=(
        "Which of the numbers 0, ..., n - 1 belong to real tokens of a sequence of length 3?",
        "Each sequence has one row of n booleans. The axis of length 1 stands for all queries.",
        "Compare the numbers of the keys with the lengths, given two more axes.",
    ),
    commentary="The axis of length 1 says that the mask is about keys: it is the same for every query. Rows of "
    "padded queries are computed as well and thrown away; masking them would make rows with nothing to look at.",
    prerequisites=("self-attention.causal-mask",),
    solution=padding_mask,
    reference=padding_reference,
    cases=lambda rng: {
        "lengths 2 and 4": (np.array([2, 4]), 5),
        "as many sequences as tokens": (np.array([1, 3, 2]), 3),
        "one sequence": (np.array([3]), 4),
        "an empty sequence": (np.array([2, 0]), 3),
    },
    variants=(
        {
            "return np.arange(n) < lengths[:, None, None]": "return (np.arange(n)[None] < lengths[:, None])[:, None]"
        },
        {
            "return np.arange(n) < lengths[:, None, None]": (
                "return np.stack([[[j < length for j in range(n)]] for length in lengths])"
            )
        },
    ),
    mistakes=(
        Mistake(
            "padding is visible, words are hidden",
            "True means: may look. PyTorch's `key_padding_mask` is the other way round.",
            {"< lengths": ">= lengths"},
        ),
        Mistake(
            "off by one: one pad is visible",
            "A sequence of length 2 has the tokens 0 and 1.",
            {"np.arange(n) <": "np.arange(n) <="},
        ),
        Mistake(
            "off by one: the last word is hidden",
            "The last real token has the number length - 1, and it may be seen.",
            {"np.arange(n) <": "np.arange(n) + 1 <"},
        ),
        Mistake(
            "the queries are masked, not the keys",
            "The keys are the last axis. In this shape the mask would say which queries may look.",
            {
                "return np.arange(n) < lengths[:, None, None]": "return np.arange(n)[:, None] < lengths[:, None, None]"
            },
        ),
        Mistake(
            "no axis for the queries",
            "With the shape (b, n) the mask meets the scores (b, m, n) as if its first axis counted queries. Where b "
            "and m agree, that even runs.",
            {"lengths[:, None, None]": "lengths[:, None]"},
        ),
        Mistake(
            "a row for each query",
            "Every query may look at the same keys, so one row says it for all: the middle axis has length 1.",
            {
                "return np.arange(n) < lengths[:, None, None]": (
                    "return (np.arange(n) < lengths[:, None, None]) & np.ones((n, 1), dtype=bool)"
                )
            },
        ),
        Mistake(
            "an additive mask",
            "This mask is to be added to scores. Asked for was a boolean one, True for real tokens.",
            {
                "return np.arange(n) < lengths[:, None, None]": (
                    "return np.where(np.arange(n) < lengths[:, None, None], 0.0, -np.inf)"
                )
            },
        ),
        Mistake(
            "padding on the left",
            "Here the last tokens of each sequence are the real ones. The padding comes at the end.",
            {"np.arange(n) <": "np.arange(n)[::-1] <"},
        ),
        Mistake(
            "numbers, not booleans",
            "The values are right, but they are numbers. Masks are boolean here.",
            {
                "return np.arange(n) < lengths[:, None, None]": "return (np.arange(n) < lengths[:, None, None]) * 1.0"
            },
            {
                "return np.arange(n) < lengths[:, None, None]": "return (np.arange(n) < lengths[:, None, None]) * 1"
            },
        ),
    ),
)


def both(causal, real):
    """One mask (b, n, n) from two: a key must be past and real."""
    return causal & real[:, None, :]


def both_cases(rng):
    tril = np.tril(np.ones((4, 4), dtype=bool))
    real = np.array([[True, True, True, False], [True, True, False, False]])
    return {
        "two sequences of up to four": (tril, real),
        "as many sequences as tokens": (np.tril(np.ones((3, 3), dtype=bool)), np.tri(3, 3, dtype=bool)[::-1]),
        "pads in front": (
            np.tril(np.ones((3, 3), dtype=bool)),
            np.array([[False, True, True], [True, True, True]]),
        ),
        "pads in the middle": (tril, np.array([[True, False, True, True], [True, True, False, True]])),
    }


def both_for_real_queries(causal, real):
    return np.stack([np.logical_and(causal, np.outer(one, one)) for one in real])


combined = CodeExercise(
    id="self-attention.both-masks",
    title="Past and real",
    kind="write",
    level=2,
    minutes=8,
    page=PAGE,
    task="causal (n, n) is True where a key is not later than the query; real (b, n) is True for real tokens. Return "
    "one mask (b, n, n) that lets a query look only where both allow it.",
    hints=(
        "Two conditions have to hold at once. Which operator says that for booleans?",
        "Which axis of the result counts queries, which keys, and about which of them does `real` speak?",
        "Give `real` an axis for the queries, between its two, and take `and` with the causal mask.",
    ),
    commentary="Masks are joined by `and`, additive masks by `+`. With pads in front the first rows have nothing to "
    "look at: who joins masks must know what the softmax does with such a row.",
    prerequisites=("self-attention.padding-mask",),
    solution=both,
    cases=both_cases,
    variants=(
        {"causal & real[:, None, :]": "np.logical_and(real[:, None, :], causal[None])"},
        {"causal & real[:, None, :]": "np.where(real[:, None, :], causal, False)"},
    ),
    mistakes=(
        Mistake(
            "one of the two is enough",
            "Joined with `or`, a padded key in the past is visible, and so is a real word of the future.",
            {"causal & ": "causal | "},
        ),
        Mistake(
            "the queries are masked, not the keys",
            "Here a padded query may look nowhere, and real queries still read padding. The keys are the last axis.",
            {"real[:, None, :]": "real[:, :, None]"},
        ),
        Mistake(
            "padded queries are hidden too",
            "Rows of padded tokens are empty here. A mask hides keys; a softmax over an empty row has nothing to share "
            "out.",
            both_for_real_queries,
        ),
        Mistake(
            "the padding was forgotten",
            "Only the causal mask is left.",
            {"causal & real[:, None, :]": "causal & np.ones_like(real)[:, None, :]"},
        ),
        Mistake(
            "the future is visible",
            "Only the padding mask is left.",
            {"causal & real[:, None, :]": "np.ones_like(causal) & real[:, None, :]"},
        ),
        Mistake(
            "the causal mask is transposed",
            "The past is hidden and the future is visible: rows are queries, columns are keys.",
            {"causal &": "causal.T &"},
        ),
        Mistake(
            "an additive mask",
            "This mask is to be added to scores. Asked for was a boolean one, True where both allow a look.",
            {"return causal & real[:, None, :]": "return np.where(causal & real[:, None, :], 0.0, -np.inf)"},
        ),
        Mistake(
            "the mask of the padding is turned",
            "Exactly the padding is visible.",
            {"& real": "& ~real"},
        ),
    ),
)


def window_mask(n, before, after):
    """(n, n), True from `before` places earlier to `after` places later."""
    offset = np.arange(n) - np.arange(n)[:, None]
    return (offset >= -before) & (offset <= after)


def window_reference(n, before, after):
    from attnlib.reference import masks

    return masks.window_mask(n, before, after)


def window_to_both_sides(n, before, after):
    offset = np.arange(n) - np.arange(n)[:, None]
    return abs(offset) <= before


def window_by_slices(n, before, after):
    mask = np.zeros((n, n), dtype=bool)
    for i in range(n):
        mask[i, i - before : i + after + 1] = True
    return mask


window = CodeExercise(
    id="self-attention.window-mask",
    title="Only the neighbourhood",
    kind="write",
    level=1,
    minutes=8,
    page=PAGE,
    task="Return a boolean mask (n, n) in which each query sees the keys from `before` places earlier to `after` "
    "places later, itself included.",
    hints=(
        "Write the offset, key minus query, into a table. Which offsets may be seen?",
        "Make the table by subtracting a column of query numbers from a row of key numbers.",
        "Two comparisons have to hold at once: not too far back, not too far ahead.",
    ),
    commentary="`after = 0` makes it causal. With a window of w the number of True entries grows with n w, not with "
    "n²: that is what windows are for.",
    prerequisites=("self-attention.causal-mask",),
    solution=window_mask,
    reference=window_reference,
    cases=lambda rng: {
        "two back, one ahead": (6, 2, 1),
        "causal, three back": (5, 3, 0),
        "one back, three ahead": (6, 1, 3),
        "itself only": (4, 0, 0),
        "wider than the sequence": (3, 7, 5),
    },
    variants=(
        {
            "return (offset >= -before) & (offset <= after)": (
                "return np.tri(n, n, after, dtype=bool) & ~np.tri(n, n, -before - 1, dtype=bool)"
            )
        },
        {"(offset >= -before) & (offset <= after)": "~((offset < -before) | (offset > after))"},
    ),
    mistakes=(
        Mistake(
            "before and after are exchanged",
            "The window opens to the wrong side: an offset below zero is in the past.",
            {
                "offset = np.arange(n) - np.arange(n)[:, None]": "offset = np.arange(n)[:, None] - np.arange(n)"
            },
        ),
        Mistake(
            "the far end in the past is missing",
            "A key exactly `before` places back may be seen.",
            {">= -before": "> -before"},
        ),
        Mistake(
            "the far end ahead is missing",
            "A key exactly `after` places ahead may be seen.",
            {"<= after": "< after"},
        ),
        Mistake(
            "the same reach on both sides",
            "The window is as wide ahead as it is back. How far it goes ahead is `after`.",
            window_to_both_sides,
        ),
        Mistake(
            "empty rows at the start",
            "A slice that starts below zero counts from the end, so the first queries see nothing, or the wrong keys.",
            window_by_slices,
        ),
        Mistake(
            "everything up to the window is visible",
            "The window has no end in the past.",
            {"(offset >= -before) & ": ""},
        ),
        Mistake("the future is open", "The window has no end ahead.", {" & (offset <= after)": ""}),
        Mistake(
            "a query does not see itself",
            "An offset of 0 is the query's own place, which belongs to the window.",
            {"return (offset >= -before)": "return (offset != 0) & (offset >= -before)"},
        ),
        Mistake(
            "the wider reach on both sides",
            "The window reaches equally far to both sides. Back it goes by `before`, ahead by `after`.",
            {"(offset >= -before) & (offset <= after)": "abs(offset) <= max(before, after)"},
        ),
        Mistake(
            "inverted mask",
            "True means: may look. Here the window is hidden and the rest is visible.",
            {
                "return (offset >= -before) & (offset <= after)": "return ~((offset >= -before) & (offset <= after))"
            },
        ),
    ),
)

"""Keeping few keys: the best, the near, the one where a reader stops (eq-top-k, eq-local-mask, eq-monotonic-reach)."""

import numpy as np

from attnlib.exercises import properties as laws
from attnlib.exercises.model import CodeExercise, Mistake, Property

PAGE = "01-foundations/6-hard-sparse-local-monotonic"


def monotonic_step(p, before):
    """The probability of stopping at each key now, from that of the query before."""
    reach = before.copy()
    for j in range(1, p.shape[-1]):
        reach[..., j] += (1 - p[..., j - 1]) * reach[..., j - 1]
    return p * reach


def step_reference(p, before):
    """Two rows of the package's alignment: the first is made so that it gives `before`."""
    from attnlib.reference import monotonic

    left = 1 - (before.cumsum(axis=-1) - before)
    first = np.where(left > 1e-12, before / np.where(left > 1e-12, left, 1), 0).clip(0, 1)
    return monotonic.monotonic_alignment(np.stack([first, p], axis=-2))[..., 1, :].astype(p.dtype)


def step_cases(rng):
    def case(*size, dtype: type = np.float64):
        before = rng.random(size)
        before *= 0.9 / before.sum(axis=-1, keepdims=True)
        return (0.1 + 0.8 * rng.random(size)).astype(dtype), before.astype(dtype)

    sure = case(2, 4)
    sure[0][..., 1] = 1.0
    return {
        "four keys": case(4),
        "a batch of two": case(2, 5),
        "the first query": (case(2, 5)[0], np.eye(5)[[0, 0]]),
        "a stop that is certain": sure,
        "as many sequences as keys": case(4, 4),
        "float32": case(4, dtype=np.float32),
    }


def step_by_starts(p, before):
    out = np.zeros_like(p)
    for i in range(p.shape[-1]):
        arrives = before[..., i]
        for j in range(i, p.shape[-1]):
            out[..., j] += arrives * p[..., j]
            arrives = arrives * (1 - p[..., j])
    return out


def step_by_matrix(p, before):
    n = p.shape[-1]
    passed = np.zeros((*p.shape, n), dtype=p.dtype)
    for i in range(n):
        passed[..., i, i] = 1
        passed[..., i, i + 1 :] = np.cumprod(1 - p[..., i:-1], axis=-1)
    return np.einsum("...i,...ij->...j", before, passed) * p


monotonic = CodeExercise(
    id="foundations.monotonic-step",
    title="Where does the reader stop?",
    kind="write",
    level=3,
    minutes=15,
    page=PAGE,
    task="A reader stood at key j with probability `before[j]` (..., n). For the next query it goes on from there, "
    "to the right only: at each key that it comes to, the one where it stands included, it stops with probability "
    "p[j] (..., n) and goes on otherwise. Return the probability of stopping at each key.",
    hints=(
        "In which two ways can the reader come to key j for this query?",
        "It stood there already, or it came to key j - 1 and did not stop there. Work out the probability of "
        "coming to each key from left to right.",
        "Keep the probabilities of coming to each key in an array that starts as a copy of `before`; each gets the "
        "previous one times the probability of not stopping there. At the end multiply each with its p.",
    ),
    commentary="The closed form with cumulative products divides by the product of all 1 - p so far, which is zero "
    "as soon as one stop is certain. The recursion does not divide.",
    solution=monotonic_step,
    reference=step_reference,
    cases=step_cases,
    properties=(laws.separate_batches(0, 1, dimensions=2),),
    variants=(step_by_starts, step_by_matrix),
    mistakes=(
        Mistake(
            "going on with the wrong key's probability",
            "To come to a key, the reader must have gone on from the key before it; whether it stops at this one "
            "is asked afterwards.",
            {"1 - p[..., j - 1]": "1 - p[..., j]"},
        ),
        Mistake(
            "always goes on",
            "Here the reader passes each key whether it stops there or not, so it can stop more than once.",
            {"(1 - p[..., j - 1]) * reach": "reach"},
        ),
        Mistake(
            "goes on where it stopped",
            "The reader goes on where it did not stop: with probability 1 - p, not p.",
            {"(1 - p[..., j - 1])": "p[..., j - 1]"},
        ),
        Mistake(
            "never goes on",
            "This is the probability of standing there and stopping at once; the reader may also come from the left.",
            {"reach[..., j] += (1 - p[..., j - 1]) * reach[..., j - 1]": "pass"},
        ),
        Mistake(
            "goes on by one key only",
            "The reader may pass many keys: what matters is whether it came to the key before, not "
            "whether it stood there.",
            {"* reach[..., j - 1]": "* before[..., j - 1]"},
        ),
        Mistake(
            "starts at the first key again",
            "This reader always begins on the left; a monotonic one goes on from where it was.",
            {"reach = before.copy()": "reach = np.zeros_like(before)\n    reach[..., 0] = 1"},
        ),
        Mistake(
            "may not stay",
            "The reader may stop at the key where it stands; here it moves on before it asks.",
            {
                "return p * reach": "reach[..., 1:] = (reach - before)[..., 1:]\n    reach[..., 0] "
                "= 0\n    return p * reach",
            },
        ),
        Mistake(
            "the last stop is missing",
            "These are the probabilities of coming to each key; it still has to stop there.",
            {"return p * reach": "return reach"},
        ),
        Mistake(
            "made to sum to one",
            "The reader can pass the last key without stopping, so the row may sum to less than one.",
            {"return p * reach": "return p * reach / (p * reach).sum(axis=-1, keepdims=True)"},
        ),
        Mistake(
            "divided by zero after a certain stop",
            "The closed form divides by the product of 1 - p up to each key, and a certain stop makes it zero: nan.",
            lambda p, before: (
                p
                * (
                    q := np.concatenate(
                        [np.ones_like(p[..., :1]), np.cumprod(1 - p, axis=-1)[..., :-1]], axis=-1
                    )
                )
                * np.cumsum(before / q, axis=-1)
            ),
        ),
        Mistake(
            "before was changed in place",
            "The numbers are right, but the caller's array now holds something else. Work on a copy.",
            {"before.copy()": "before"},
        ),
        Mistake(
            "float32 became float64",
            "float32 went in, float64 came out: an array made on the way was float64.",
            {"before.copy()": "before.astype(np.float64)"},
        ),
    ),
)


def top_k_mask(S, k):
    """True at the k largest scores of each row; of equal scores the first ones count."""
    order = np.argsort(-S, axis=-1, kind="stable")
    mask = np.zeros(S.shape, dtype=bool)
    np.put_along_axis(mask, order[..., :k], True, axis=-1)
    return mask


def top_k_reference(S, k):
    from attnlib.reference import sparse

    return sparse.top_k_mask(S, k)


def top_k_cases(rng):
    ties = np.array([[2.0, 1.0, 2.0, 2.0, 0.0], [1.0, 1.0, 1.0, 1.0, 1.0], [3.0, 0.0, 1.0, 1.0, 1.0]])
    return {
        "two rows, k = 2": (rng.normal(size=(2, 5)), 2),
        "a batch, k = 3": (rng.normal(size=(2, 3, 7)), 3),
        "equal scores, k = 2": (ties, 2),
        "as many rows as columns, k = 1": (rng.normal(size=(4, 4)), 1),
        "all keys": (rng.normal(size=(3, 4)), 4),
    }


def top_k_by_rank(S, k):
    keys = np.arange(S.shape[-1])
    above = S[..., None, :] > S[..., :, None]
    tied_before = (S[..., None, :] == S[..., :, None]) & (keys < keys[:, None])
    return (above | tied_before).sum(axis=-1) < k


def top_k_one_by_one(S, k):
    mask = np.zeros(S.shape, dtype=bool)
    for where in np.ndindex(S.shape[:-1]):
        for j in sorted(range(S.shape[-1]), key=lambda j: (-S[where][j], j))[:k]:
            mask[(*where, j)] = True
    return mask


def exactly_k(f, S, k):
    counts = np.asarray(f(S, k)).sum(axis=-1)
    wrong = np.argwhere(counts != k)
    return (
        f"row {laws.index(wrong[0])} has {int(counts[tuple(wrong[0])])}, and k is {k}" if wrong.size else None
    )


top_k = CodeExercise(
    id="foundations.top-k-mask",
    title="The best k, and no more",
    kind="write",
    level=2,
    minutes=10,
    page=PAGE,
    task="Return a boolean mask, as large as S (..., n), that is True at the k largest scores of each row: at "
    "exactly k, also where scores are equal. Of equal scores the first ones count.",
    hints=(
        "Comparing with the k-th largest score is short. How many are kept if three scores are equal to it?",
        "Sort the positions of the scores, not the scores; a stable sort leaves equal ones in their order.",
        "Stable argsort of the negated scores; set True at the first k positions of each row, with `put_along_axis`.",
    ),
    commentary="With real numbers ties are rare, but with masked scores (all minus infinity) or rounded ones "
    "(bfloat16) they are not. A threshold then keeps more than k, and a buffer made for k overflows.",
    solution=top_k_mask,
    reference=top_k_reference,
    cases=top_k_cases,
    properties=(
        Property("each row has exactly k True", exactly_k),
        laws.separate_batches(0),
        laws.unchanged_by_a_constant(0),
    ),
    variants=(top_k_by_rank, top_k_one_by_one),
    mistakes=(
        Mistake(
            "all equal scores were kept",
            "Where several scores equal the k-th largest, a threshold keeps them all; then a row has more than k.",
            lambda S, k: np.sort(S, axis=-1)[..., [-k]] <= S,
        ),
        Mistake(
            "only scores above the k-th",
            "The k-th largest itself belongs to the k largest.",
            lambda S, k: np.sort(S, axis=-1)[..., [-k]] < S,
        ),
        Mistake(
            "of equal scores the last ones count",
            "The number is right, but of equal scores the first ones were asked for.",
            {
                'np.argsort(-S, axis=-1, kind="stable")': 'np.argsort(S, axis=-1, kind="stable")[..., ::-1]',
            },
        ),
        Mistake(
            "the smallest scores",
            "These are the k smallest; sorting goes upwards unless the scores are negated.",
            {"argsort(-S": "argsort(S"},
        ),
        Mistake(
            "positions taken for ranks",
            "`argsort` tells which key is first, second, and so on. It does not tell which rank a key has.",
            {
                "mask = np.zeros(S.shape, dtype=bool)": "mask = order < k",
                "np.put_along_axis(mask, order[..., :k], True, axis=-1)": "pass",
            },
        ),
        Mistake("one too many", "A row has k + 1 True; `:k` already has k entries.", {":k]": ": k + 1]"}),
        Mistake("one too few", "A row has k - 1 True; `:k` has k entries.", {":k]": ": k - 1]"}),
        Mistake(
            "the mask is inverted",
            "True should mark the keys that stay; here it marks the others.",
            {"return mask": "return ~mask"},
        ),
        Mistake(
            "over the queries",
            "Here each column has its k largest; each query should, a row.",
            {
                "argsort(-S, axis=-1": "argsort(-S, axis=-2",
                "order[..., :k], True, axis=-1": "order[..., :k, :], True, axis=-2",
            },
        ),
        Mistake(
            "numbers, not truth values",
            "These are the numbers 0 and 1; a mask is boolean (`dtype=bool`).",
            {"dtype=bool": "dtype=float"},
            {"dtype=bool": "dtype=int"},
        ),
    ),
)


def local_mask(m, n, window):
    """True for each query i at the keys that are at most `window` positions away from it, on either side."""
    distance = np.arange(n) - np.arange(m)[:, None]
    return np.abs(distance) <= window


def local_reference(m, n, window):
    from attnlib.reference import sparse

    return sparse.local_mask(m, n, window)


local = CodeExercise(
    id="foundations.local-mask",
    title="Only the neighbours",
    kind="write",
    level=1,
    minutes=8,
    page=PAGE,
    task="Return the boolean mask (m, n) of local attention: True where query i may look at key j, which is where "
    "they are at most `window` positions apart, on either side. A query sees up to 2 window + 1 keys.",
    hints=(
        "How far apart are query i and key j? Which of the two counts the rows?",
        "Make all differences j - i at once, from a row of key positions and a column of query positions.",
        "The absolute difference may be as large as the window, and equal to it as well.",
    ),
    commentary="With a window of fixed size the number of scores grows like n, not like n squared. What lies "
    "further away can be reached only through several layers.",
    solution=local_mask,
    reference=local_reference,
    cases=lambda rng: {
        "3 queries, 5 keys, window 1": (3, 5, 1),
        "7 queries, 7 keys, window 2": (7, 7, 2),
        "6 queries, 4 keys, window 1": (6, 4, 1),
        "a window of 0": (3, 4, 0),
        "8 queries, 12 keys, window 3": (8, 12, 3),
    },
    variants=(
        lambda m, n, window: np.array([[abs(i - j) <= window for j in range(n)] for i in range(m)]),
        lambda m, n, window: np.tri(m, n, window, dtype=bool) & ~np.tri(m, n, -window - 1, dtype=bool),
    ),
    mistakes=(
        Mistake(
            "the edge of the window is missing",
            "A key exactly `window` positions away still counts; with a window of 0 each query sees itself.",
            {"<= window": "< window"},
        ),
        Mistake(
            "one key too far on either side",
            "The outermost keys are window + 1 positions away.",
            {"<= window": "<= window + 1"},
        ),
        Mistake(
            "causal",
            "Only the query's own key and those before it are seen; a local window reaches to both sides here.",
            {
                "return np.abs(distance) <= window": "return (distance <= 0) & (distance >= -window)",
            },
        ),
        Mistake(
            "causal, without the query's own key",
            "Only earlier keys are seen: the window reaches to both sides here, and each query sees its own key.",
            {
                "return np.abs(distance) <= window": "return (distance < 0) & (distance >= -window)",
            },
        ),
        Mistake(
            "only later keys",
            "Only the query's own key and those after it are seen; the window reaches to both sides.",
            {
                "return np.abs(distance) <= window": "return (distance >= 0) & (distance <= window)",
            },
        ),
        Mistake(
            "no left edge",
            "All keys up to the right edge are seen, however far back: the distance without its sign was meant.",
            {"np.abs(distance)": "distance"},
        ),
        Mistake(
            "no right edge",
            "All keys from the left edge on are seen, however far ahead: the distance without its sign was meant.",
            {"np.abs(distance)": "-distance"},
        ),
        Mistake(
            "the window as a whole width",
            "`window` is how far it reaches on each side, not how wide it is in all.",
            {"<= window": "<= window / 2"},
        ),
        Mistake(
            "the mask is inverted",
            "True means: may look. Here the near keys are hidden.",
            {"<= window": "> window"},
        ),
        Mistake(
            "queries and keys are exchanged",
            "Rows belong to queries and columns to keys, so the shape is (m, n).",
            {"np.arange(n) - np.arange(m)[:, None]": "np.arange(m) - np.arange(n)[:, None]"},
        ),
        Mistake(
            "shifted by one",
            "The window stands around key i + 1, or i - 1; positions count from zero on both sides.",
            {"np.arange(n) - np.arange(m)[:, None]": "np.arange(n) - 1 - np.arange(m)[:, None]"},
            {"np.arange(n) - np.arange(m)[:, None]": "np.arange(n) + 1 - np.arange(m)[:, None]"},
        ),
        Mistake(
            "numbers, not truth values",
            "These are numbers; a mask is boolean.",
            {"return np.abs(distance) <= window": "return (np.abs(distance) <= window).astype(float)"},
            {"return np.abs(distance) <= window": "return (np.abs(distance) <= window).astype(int)"},
        ),
    ),
)

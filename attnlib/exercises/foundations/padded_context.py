r"""Words that are not there

fill · ★★ · 8 min · 01-foundations/1-the-bottleneck

A batch holds sentences of different lengths. The shorter ones are padded, and the states of the padding must not be
used. s (b, d) are decoder states, H (b, n, d) encoder states, lengths (b,) holds how many states of each row are real,
at least one. Fill the gaps, so that the contexts (b, d) come from the real states alone, with a softmax of the dot
products as weights.

1. What weight must a state of the padding have, and what must the others sum to?
2. A score of minus infinity becomes a weight of zero, and the sum of the others is one by itself.
3. Compare the positions 0 to n - 1 with the lengths, put minus infinity where the position is too far, subtract the
   largest score that is left, and average H with the softmax.

Setting the weights of the padding to zero after the softmax is too late: they have had their share of the sum. This is
the first mask of the course.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def padded_context(s, H, lengths):
    """The context of each sentence of a batch, from its real states alone."""
    S = (H * s[:, None]).sum(axis=-1)
    S = np.where(np.arange(H.shape[1]) < lengths[:, None], S, -np.inf)
    E = np.exp(S - S.max(axis=1, keepdims=True))
    P = E / E.sum(axis=1, keepdims=True)
    return (P[..., None] * H).sum(axis=1)


def reference(s, H, lengths):
    from attnlib.reference.attention import attend

    real = np.arange(H.shape[1]) < lengths[:, None]
    return attend(s[:, None] @ H.swapaxes(-1, -2), H, real[:, None])[0][:, 0]


def padded_context_by_loops(s, H, lengths):
    contexts = []
    for asked, states, n in zip(s, H, lengths, strict=True):
        scores = states[:n] @ asked
        weights = np.exp(scores - scores.max())
        contexts.append(weights @ states[:n] / weights.sum())
    return np.array(contexts)


def cases(rng):
    def case(b, n, d, lengths, factor=1.0):
        return factor * rng.normal(size=(b, d)), rng.normal(size=(b, n, d)), np.array(lengths)

    large = case(3, 4, 5, [4, 1, 2])
    large[0][:] = 0.0
    large[0][:, 0] = 800.0
    large[1][..., 0] = [1.0, 0.995, -1.0, 0.99]
    large[1][1:, 3, 0] = 3.0
    return {
        "two sentences of up to three words": case(2, 3, 4, [3, 2]),
        "four sentences of up to five words": case(4, 5, 3, [2, 5, 1, 4]),
        "scores of 800, the filling higher still": large,
        "as many sentences as words": case(3, 3, 3, [1, 3, 2]),
        "no filling at all": case(2, 4, 3, [4, 4]),
    }


BLANKS = (
    "np.where(np.arange(H.shape[1]) < lengths[:, None], S, -np.inf)",
    "(P[..., None] * H).sum(axis=1)",
)
VARIANTS = (
    padded_context_by_loops,
    {"(H * s[:, None]).sum(axis=-1)": 'np.einsum("bnd,bd->bn", H, s)'},
    {"(P[..., None] * H).sum(axis=1)": "(P[:, None] @ H)[:, 0]"},
)  # fmt: skip
MISTAKES = (
    Mistake("the padding is read", "The states of the padding were averaged in: the lengths had no effect.",
        {"S = np.where(np.arange(H.shape[1]) < lengths[:, None], S, -np.inf)\n    ": ""}),
    Mistake("hidden after the softmax", "The padding was given the weight zero after the weights had been made to sum "
        "to one, so those of the real words sum to less.",
        {"S = np.where(np.arange(H.shape[1]) < lengths[:, None], S, -np.inf)\n    ": "",
         "P = E / E.sum(axis=1, keepdims=True)":
             "P = np.where(np.arange(H.shape[1]) < lengths[:, None], E / E.sum(axis=1, keepdims=True), 0)"}),
    Mistake("one word too many", "The first state of the padding was read, too. Positions are counted from 0.",
        {"< lengths": "<= lengths"}),
    Mistake("one word too few", "The last real word was left out.",
        {"< lengths[:, None]": "< np.maximum(lengths[:, None] - 1, 1)"}),
    Mistake("scaled scores", "The scores were divided by the root of the width; here they are plain dot products.",
        {".sum(axis=-1)\n": ".sum(axis=-1) / np.sqrt(s.shape[-1])\n"}),
    Mistake("not normalised", "The weighted states were summed up; a mean divides by the sum of the weights.",
        {"P = E / E.sum(axis=1, keepdims=True)": "P = E"}),
)  # fmt: skip

"""The ways in which a reader of the page *Inside a GPT* can break the model, each with its lesson and its page.

What each does is in `model/` (`work.broken`, `run.broken`). None raises an error: every number is computed as before.
"""

from typing import NamedTuple


class Break(NamedTuple):
    """One way."""

    name: str  # after "with"
    lesson: str
    number: str  # of the equation, or of the page
    page: str
    label: str = ""


BLOCK = "04-transformer/2-the-block"
LOADING = ("4.8", "04-transformer/8-somebody-elses-weights")

BREAKS = {
    "root": Break(
        "no square root in the scores",
        "The scores are eight times as large, and nearly all of each softmax falls on one token.",
        "1.39",
        "01-foundations/5-scoring-functions",
        "eq-scaled-score",
    ),
    "mask": Break(
        "no mask",
        "Each position also reads the tokens after it, which it never did in training.",
        "2.15",
        "02-self-attention/3-masks",
        "eq-causal-mask",
    ),
    "last": Break(
        "no last norm",
        "The last norm fits the stream to the embedding table, and sets how large the logits are.",
        "4.5",
        BLOCK,
        "eq-layer-norm",
    ),
    "gain": Break(
        "a gain of 1 in every norm",
        "The gains are learned parameters, and the matrices after them were trained for these gains.",
        "4.5",
        BLOCK,
        "eq-layer-norm",
    ),
    "residual": Break(
        "no residual connections",
        "Each sublayer gets only what the one before it has computed, and the token itself is lost.",
        "4.6",
        BLOCK,
        "eq-pre-norm",
    ),
    "qk": Break(
        "queries and keys exchanged",
        "Both have the same shape, so no error is raised; but what a token looks for is not what it offers.",
        *LOADING,
    ),
    "kv": Break(
        "keys and values exchanged",
        "Both have the same shape, so no error is raised; but the heads now pass on what was made for comparing.",
        *LOADING,
    ),
    "late": Break(
        "positions one too late",
        "Neighbouring positions have similar vectors, so the surprise hardly shows the mistake; the logits do.",
        *LOADING,
    ),
    "eps": Break(
        "an epsilon of 0.1 in every norm",
        "In block 0 the variance is near 0.01: with an epsilon ten times as large, the norms return vectors too small.",
        "4.5",
        BLOCK,
        "eq-layer-norm",
    ),
}

"""Masks painted by hand: which query may attend to which key, and what fills the hidden scores.

The book derives it in eq-masked-scores, eq-causal-mask, eq-padding-mask and eq-window-mask (Chapter 2).
"""

import math
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import traitlets
from matplotlib.figure import Figure

from attnlib.reference.masks import causal_mask, combine_masks, window_mask
from attnlib.reference.ops import masked_softmax
from attnlib.shapes import Array, Bool, Float
from attnlib.viz.explorables.base import Explorable, script, style
from attnlib.viz.heatmap import heatmap

RULES = ("causal", "padding", "window")
FILLS = {"none": None, "infinity": -math.inf, "billion": -1e9, "zero": 0.0}
FORMATS = ("float32", "float16")


def weights_in(
    scores: Float[Array, "n n"], mask: Bool[Array, "n n"], fill: str, dtype: str
) -> Float[Array, "n n"]:
    """The weights if hidden scores are replaced by a fill, and scores and weights are stored in this dtype.

    The softmax itself is computed with more digits, as in fast kernels. A row of minus infinities becomes NaN.

    >>> S, seen = np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([[True, False], [False, False]])
    >>> weights_in(S, seen, "billion", "float16")
    array([[ 1.,  0.],
           [nan, nan]])
    """
    if FILLS[fill] is None:
        return masked_softmax(scores.astype(dtype).astype(float), mask).astype(dtype).astype(float)
    with np.errstate(over="ignore"):
        filled = np.where(mask, scores, FILLS[fill]).astype(dtype).astype(float)
    finite = np.isfinite(filled).any(axis=-1, keepdims=True)
    P = masked_softmax(np.where(finite, filled, 0.0))
    return np.where(finite, P, np.nan).astype(dtype).astype(float)


class MaskPainter(Explorable):
    """A table of weights whose entries can be shown or hidden, and four ways to fill hidden scores."""

    QUESTION = "Who may look where, and what do the others get?"
    SIZE = (458, 586)
    _esm, _css = script("mask_painter"), style("mask_painter")

    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    scores = traitlets.List(traitlets.List(traitlets.Float())).tag(sync=True)
    real = traitlets.List(traitlets.Bool()).tag(sync=True)
    mask = traitlets.List(traitlets.List(traitlets.Bool())).tag(sync=True)
    rules = traitlets.List(traitlets.Enum(RULES)).tag(sync=True)
    reach = traitlets.Int(1, min=0).tag(sync=True)
    fill = traitlets.Enum(list(FILLS), default_value="none").tag(sync=True)
    format = traitlets.Enum(FORMATS, default_value="float32").tag(sync=True)

    def __init__(
        self,
        tokens: Sequence[str],
        scores: Float[Array, "n n"],
        real: Sequence[bool] | None = None,
        rules: Sequence[str] = ("causal",),
        fill: str = "none",
    ) -> None:
        n = len(tokens)
        real = [True] * n if real is None else list(real)
        if not 2 <= n <= 5 or scores.shape != (n, n) or len(real) != n:
            raise ValueError(
                "MaskPainter: 2 to 5 tokens need a score for each pair, and each is real or padding; "
                f"got {n} tokens, scores {scores.shape} and {len(real)} marks of what is real."
            )
        super().__init__(tokens=list(tokens), scores=scores.tolist(), real=real, rules=list(rules), fill=fill)
        self.mask = self.ruled().tolist()

    def ruled(self) -> Bool[Array, "n n"]:
        """The mask of all chosen rules together."""
        n = len(self.tokens)
        made = {
            "causal": causal_mask(n),
            "padding": np.array(self.real)[None, :],
            "window": window_mask(n, self.reach, self.reach),
        }
        return combine_masks(np.ones((n, n), dtype=bool), *(made[rule] for rule in self.rules))

    def weights(self) -> Float[Array, "n n"]:
        """The weights under the current mask."""
        return weights_in(np.array(self.scores), np.array(self.mask), self.fill, self.format)

    def figure(self) -> Figure:
        fig, (left, right) = plt.subplots(1, 2, figsize=(7.0, 2.8))
        P = self.weights()
        heatmap(np.array(self.mask) * 1.0, rows=self.tokens, columns=self.tokens, ax=left, values=False)
        heatmap(np.nan_to_num(P), rows=self.tokens, columns=self.tokens, ax=right)
        for text, weight in zip(right.texts, P.ravel(), strict=True):
            text.set_text(f"{weight:.2f}")  # a NaN has no colour, but its text is shown
        left.set_xlabel("who may look where")
        right.set_xlabel(f"weights, {self.format}")
        return fig

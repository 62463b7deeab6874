"""Words in another order: weights and outputs move with them, unless positions or a mask are added.

The book derives it in eq-permutation, eq-permuted-weights and eq-permuted-output (Chapter 2). One layer without
projections and without a scale, so that every number can be checked by hand.
"""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import traitlets
from matplotlib.figure import Figure

from attnlib.reference.attention import attend
from attnlib.reference.masks import causal_mask
from attnlib.shapes import Array, Float
from attnlib.viz.explorables.base import Explorable, script, style
from attnlib.viz.heatmap import heatmap


class PermutedTokens(Explorable):
    """Words to put in another order, with two switches that make the order matter."""

    QUESTION = "When words change places, what moves along, and what changes?"
    SIZE = (420, 658)
    _esm, _css = script("permuted_tokens"), style("permuted_tokens")

    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    X = traitlets.List(traitlets.List(traitlets.Float())).tag(sync=True)
    order = traitlets.List(traitlets.Int()).tag(sync=True)
    position = traitlets.Float(0.0, min=0, max=1).tag(sync=True)
    mask = traitlets.Enum(["none", "causal"], default_value="none").tag(sync=True)

    def __init__(
        self,
        tokens: Sequence[str],
        X: Float[Array, "n 2"],
        order: Sequence[int] | None = None,
        position: float = 0.0,
        mask: str = "none",
    ) -> None:
        n = len(tokens)
        order = list(range(n)) if order is None else [int(token) for token in order]
        if not 2 <= n <= 4 or X.shape != (n, 2) or sorted(order) != list(range(n)):
            raise ValueError(
                "PermutedTokens: 2 to 4 tokens need a vector in the plane each, and an order names each once; "
                f"got {n} tokens, X {X.shape} and order {order}."
            )
        super().__init__(tokens=list(tokens), X=X.tolist(), order=order, position=position, mask=mask)

    def outputs(self, order: Sequence[int]) -> tuple[Float[Array, "n n"], Float[Array, "n 2"]]:
        """The weights and the outputs of the tokens in an order, under the current position and mask."""
        H = np.array(self.X)[list(order)] + self.position * np.arange(len(order))[:, None]
        O, cache = attend(H @ H.T, H, causal_mask(len(H)) if self.mask == "causal" else None)
        return cache.P, O

    def gaps(self) -> Float[Array, "n"]:
        """For each token, the distance of its output from the one in the original order."""
        first, now = self.outputs(range(len(self.tokens)))[1], self.outputs(self.order)[1]
        return abs(now - first[self.order]).max(axis=-1)[np.argsort(self.order)]

    def figure(self) -> Figure:
        fig, axes = plt.subplots(1, 2, figsize=(7.0, 2.6))
        for ax, order in zip(axes, (range(len(self.tokens)), self.order), strict=True):
            P, O = self.outputs(order)
            words = [self.tokens[token] for token in order]
            rows = [f"{word} ({o[0]:.2f}, {o[1]:.2f})" for word, o in zip(words, O, strict=True)]
            heatmap(P, rows=rows, columns=words, ax=ax)
        axes[0].set_xlabel("at the start: outputs and weights")
        axes[1].set_xlabel("in the new order")
        return fig

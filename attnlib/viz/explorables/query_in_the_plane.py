"""Query, keys and values in the plane: the query decides where in the convex hull of the values the output is.

The book derives it in eq-attend and proves the hull in Theorem 1.1 (Chapter 1).
"""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import traitlets
from matplotlib.figure import Figure

from attnlib.reference.attention import attend
from attnlib.shapes import Array, Float
from attnlib.viz.explorables.base import Explorable, script, style
from attnlib.viz.style import INK, PALETTE


class QueryInThePlane(Explorable):
    """A query to drag among keys; the weights and the output follow."""

    QUESTION = "Where can the output go when the query moves?"
    SIZE = (400, 560)
    _esm, _css = script("query_in_the_plane"), style("query_in_the_plane")

    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    K = traitlets.List(traitlets.List(traitlets.Float())).tag(sync=True)
    V = traitlets.List(traitlets.List(traitlets.Float())).tag(sync=True)
    q = traitlets.List(traitlets.Float()).tag(sync=True)

    def __init__(
        self, tokens: Sequence[str], K: Float[Array, "n 2"], V: Float[Array, "n 2"], q: Float[Array, "2"]
    ) -> None:
        if not 2 <= len(tokens) <= 4 or K.shape != (len(tokens), 2) or V.shape != K.shape or q.shape != (2,):
            raise ValueError(
                "QueryInThePlane: 2 to 4 tokens need a key and a value each, and all vectors lie in the plane; "
                f"got {len(tokens)} tokens, K {K.shape}, V {V.shape}, q {q.shape}."
            )
        super().__init__(tokens=list(tokens), K=K.tolist(), V=V.tolist(), q=q.tolist())

    def output(self) -> tuple[Float[Array, "n"], Float[Array, "2"]]:
        """The weights and the output of the current query."""
        O, cache = attend(np.array([self.q]) @ np.array(self.K).T, np.array(self.V))
        return cache.P[0], O[0]

    def figure(self) -> Figure:
        P, o = self.output()
        fig, (left, right) = plt.subplots(1, 2, figsize=(7.0, 3.3))
        for token, key, value, weight, colour in zip(self.tokens, self.K, self.V, P, PALETTE, strict=False):
            left.annotate("", key, (0, 0), arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 2})
            left.text(key[0] + 0.08, key[1] + 0.08, token)
            right.plot(*zip(value, o, strict=True), color=colour, lw=0.5 + 6 * weight, zorder=1)
            right.plot(*value, "o", ms=8, color=colour)
            right.text(value[0] + 0.15, value[1] + 0.15, f"{token} {weight:.2f}")
        left.annotate("", self.q, (0, 0), arrowprops={"arrowstyle": "-|>", "ls": "--", "color": INK})
        left.text(self.q[0] + 0.08, self.q[1], "query")
        left.set(xlim=(-3, 3), ylim=(-3, 3), aspect="equal", title="Keys and the query")
        right.plot(*o, "o", ms=8, color=INK, zorder=3)
        right.set(aspect="equal", title="Values and the output")
        right.margins(0.25)
        return fig

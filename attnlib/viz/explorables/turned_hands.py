"""Rotary positions: a query and a key rotated to their positions, pair by pair, and the score at every distance.

The book derives it in eq-relative (Chapter 4). There are no words: all keys are equal, and the query
is a key that was rotated back by `look` positions. Each pair of coordinates is drawn as the hand of a clock.
"""

import matplotlib.pyplot as plt
import numpy as np
import traitlets
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from attnlib.reference.positional import rotary, wavelengths
from attnlib.shapes import Array, Float
from attnlib.viz.explorables.base import Explorable, script, style
from attnlib.viz.style import PALETTE

SPAN = 24  # the farthest key that is shown, in positions before the query


class TurnedHands(Explorable):
    """A query that attends a few positions back, wherever it is; number and speed of the rotations to choose."""

    QUESTION = "Which keys does a query take for the one three positions back?"
    SIZE = (417, 763)
    _esm, _css = script("turned_hands"), style("turned_hands")

    place = traitlets.Int(40, min=SPAN, max=1000).tag(sync=True)
    before = traitlets.Int(3, min=0, max=SPAN).tag(sync=True)
    look = traitlets.Int(3, min=0, max=SPAN).tag(sync=True)
    pairs = traitlets.Int(4, min=1, max=6).tag(sync=True)
    base = traitlets.Float(10_000.0, min=3, max=100_000).tag(sync=True)

    def turned(self, positions: Float[Array, "n"], back: float = 0.0) -> Float[Array, "n d"]:
        """Equal vectors rotated by the angles of their positions, and back by those of `back`: keys, or queries."""
        alike = np.tile([1.0, 0.0], (len(positions), self.pairs))
        return rotary(rotary(alike, np.full(len(positions), -back), self.base), positions, self.base)

    def scores(self) -> Float[Array, "keys"]:
        """The query's scores with the keys 0, 1, 2 ... positions before it, as shares of the largest possible score."""
        q = self.turned(np.array([float(self.place)]), float(self.look))
        K = self.turned(self.place - np.arange(SPAN + 1.0))
        return (q @ K.T)[0] / self.pairs

    def figure(self) -> Figure:
        fig, (left, right) = plt.subplots(
            1, 2, figsize=(7.4, 2.6), width_ratios=(1, 1.6), layout="constrained"
        )
        q = self.turned(np.array([float(self.place)]), float(self.look)).reshape(-1, 2)
        k = self.turned(np.array([float(self.place - self.before)])).reshape(-1, 2)
        for i, length in enumerate(wavelengths(2 * self.pairs, self.base)):
            for hand, colour, size in ((k, PALETTE[1], 1.0), (q, PALETTE[0], 0.8)):
                left.plot([3 * i, 3 * i + size * hand[i, 1]], [0, size * hand[i, 0]], color=colour, lw=2)
            left.add_patch(Circle((3 * i, 0), 1.1, fill=False, lw=0.8))
            left.text(3 * i, -1.9, f"{length:.1f}" if length < 100 else f"{length:.0f}", ha="center")
        left.set(aspect="equal", xlim=(-1.5, 3 * self.pairs - 1.5), ylim=(-2.6, 1.5))
        left.axis("off")
        right.plot(np.arange(SPAN + 1), self.scores(), "o-", ms=4, color=PALETTE[0])
        right.invert_xaxis()
        right.set(xlabel="key, positions before the query", ylabel="score / largest", ylim=(-1.1, 1.1))
        return fig

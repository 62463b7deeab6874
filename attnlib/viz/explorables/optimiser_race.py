"""Three optimisers from the same start on the same quadratic loss: SGD, momentum and Adam, with chosen rates.

The book has the rules in eq-sgd, eq-momentum and eq-adam (Chapter 5). The loss can be made steeper. It can be rotated
together with the start, which changes nothing but the coordinates.
"""

import math

import matplotlib.pyplot as plt
import numpy as np
import traitlets
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

from attnlib.reference.optim import adam, adam_state, momentum, sgd
from attnlib.shapes import Array, Float
from attnlib.viz.explorables.base import Explorable, script, style
from attnlib.viz.style import PALETTE

START = (-8.0, 2.0)
LEVELS = (1, 3, 5, 7, 9)  # where the lines of equal loss cross the flat direction


class OptimiserRace(Explorable):
    """The paths of SGD, momentum and Adam for chosen rates and a chosen quadratic loss."""

    QUESTION = "Which rule comes nearest to the lowest point, and does it still when the valley turns?"
    SIZE = (695, 874)
    _esm, _css = script("optimiser_race"), style("optimiser_race")

    rate = traitlets.Float(0.02, min=0.001, max=0.1).tag(sync=True)
    adam_rate = traitlets.Float(0.3, min=0.01, max=1.0).tag(sync=True)
    steep = traitlets.Float(40.0, min=1, max=100).tag(sync=True)
    angle = traitlets.Int(0, min=0, max=90).tag(sync=True)
    steps = traitlets.Int(40, min=1, max=100).tag(sync=True)

    def turned(self) -> Float[Array, "2 2"]:
        c, s = math.cos(math.radians(self.angle)), math.sin(math.radians(self.angle))
        return np.array([[c, -s], [s, c]])

    def paths(self) -> dict[str, Float[Array, "steps 2"]]:
        """The points that each rule visits, the start first."""
        R = self.turned()
        curves, first = R @ np.diag([1.0, self.steep]) @ R.T, R @ np.array(START)
        rules = {
            "SGD": (lambda w, dw, m: (sgd(w, dw, self.rate), m), 0 * first),
            "momentum": (lambda w, dw, m: momentum(w, dw, m, self.rate), 0 * first),
            "Adam": (lambda w, dw, m: adam(w, dw, m, self.adam_rate), adam_state(first)),
        }
        found = {}
        for name, (rule, memory) in rules.items():
            path = [first]
            for _ in range(self.steps):
                w, memory = rule(path[-1], curves @ path[-1], memory)
                path.append(w)
            found[name] = np.array(path)
        return found

    def losses(self) -> dict[str, float]:
        """The loss at the end of each path."""
        inside = {name: path[-1] @ self.turned() for name, path in self.paths().items()}
        return {name: float((w**2) @ [1.0, self.steep] / 2) for name, w in inside.items()}

    def figure(self) -> Figure:
        fig, ax = plt.subplots(figsize=(5.0, 4.6))
        for level in LEVELS:
            size = (2 * level, 2 * level / math.sqrt(self.steep))
            ax.add_patch(Ellipse((0, 0), *size, angle=self.angle, fill=False, ec="0.6", lw=0.7))
        for (name, path), colour in zip(self.paths().items(), PALETTE, strict=False):
            ax.plot(*np.clip(path, -30, 30).T, "o-", ms=2.5, lw=1.2, color=colour, label=name)
        ax.set(xlim=(-10, 10), ylim=(-10, 10), aspect="equal", xlabel="first number", ylabel="second number")
        ax.legend(loc="lower right")
        return fig

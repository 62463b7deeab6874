"""A pattern of sparse attention, painted: which query attends to which key, what it costs, and how far layers reach.

The book derives it in eq-pattern-edges, eq-pattern-reach and eq-pattern-hops (Chapter 6).
"""

import matplotlib.pyplot as plt
import numpy as np
import traitlets
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from attnlib.reference import graph, patterns
from attnlib.shapes import Array, Bool, Int
from attnlib.viz.explorables.base import Explorable, script, style
from attnlib.viz.style import INK, PALETTE

N, BLOCK, DRAWS = 24, 4, 12
PRESETS = ("nothing", "everything", "window", "dilated", "strided", "global token", "random blocks")
ALIKE = {
    "nothing": "Each pair that you paint costs one edge. A token always attends to itself.",
    "everything": "Any two tokens meet in one layer, and the edges grow with the square of the length.",
    "window": "A window has few edges, but each layer carries information no further than the window.",
    "dilated": "With gaps a layer reaches twice as far for no more edges, but odd and even tokens never meet.",
    "strided": "Near keys, and far ones at a fixed stride: any two tokens meet within two layers.",
    "random blocks": "Beside a window, one random block of keys for every four queries: far tokens meet sooner.",
}
BOTH = {"global token": "All read token 1, and it reads all: any two tokens meet within two layers."}
PAST = {"global token": "Token 1 attends to itself only, so it has nothing to pass on. Try both directions."}


def drawn(causal: bool) -> list[str]:
    """For each draw a digit for each block of queries: another block of keys, in a causal model one before it."""
    rng, rows = np.random.default_rng(4), range(N // BLOCK)
    others = [[k for k in (range(row) if causal else rows) if k != row] or [0] for row in rows]
    return ["".join(str(rng.choice(keys)) for keys in others) for _ in range(DRAWS)]


class PatternPainter(Explorable):
    """A pattern for 24 tokens, chosen and painted, and a number of layers of it.

    painted    the pairs that differ from the preset, each as query * 24 + key, counted from 0
    pair       the chosen query and key, counted from 1 as in the picture
    """

    QUESTION = "Which pairs can be left out?"
    SIZE = (567, 640)
    _esm, _css = script("pattern_painter"), style("pattern_painter")

    preset = traitlets.Enum(PRESETS, "window").tag(sync=True)
    causal = traitlets.Bool(True).tag(sync=True)
    width = traitlets.Int(4, min=2, max=12).tag(sync=True)
    seed = traitlets.Int(0, min=0, max=DRAWS - 1).tag(sync=True)
    painted = traitlets.List(traitlets.Int(min=0, max=N * N - 1)).tag(sync=True)
    layers = traitlets.Int(2, min=1, max=N - 1).tag(sync=True)
    pair = traitlets.List(traitlets.Int(min=1, max=N), [20, 4], minlen=2, maxlen=2).tag(sync=True)
    blocks = traitlets.List([drawn(False), drawn(True)]).tag(sync=True)
    lessons = traitlets.List([ALIKE | BOTH, ALIKE | PAST]).tag(sync=True)

    def rule(self) -> patterns.Pattern:
        """The preset in both directions, as a rule for positions."""
        near = patterns.window(self.width, causal=False)
        stride = patterns.strided(self.width)
        table = np.zeros((N // BLOCK, N // BLOCK), dtype=bool)
        table[np.arange(N // BLOCK), [int(block) for block in self.blocks[self.causal][self.seed]]] = True
        return {
            "nothing": patterns.window(1),
            "everything": patterns.either(patterns.causal(), lambda query, key: key > query),
            "window": near,
            "dilated": patterns.dilated(self.width, step=2, causal=False),
            "strided": patterns.either(stride, lambda query, key: stride(key, query)),
            "global token": patterns.either(near, patterns.global_tokens((0,))),
            "random blocks": patterns.either(near, patterns.block_table(table, BLOCK)),
        }[self.preset]

    def mask(self) -> Bool[Array, "n n"]:
        """The pattern with what was painted; the diagonal stays."""
        painted = np.zeros(N * N, dtype=bool)
        painted[self.painted] = True
        mask = patterns.dense_mask(self.rule(), N) ^ painted.reshape(N, N)
        return (mask & self.allowed()) | np.eye(N, dtype=bool)

    def allowed(self) -> Bool[Array, "n n"]:
        """The pairs that the direction leaves."""
        return patterns.dense_mask(patterns.causal(), N) if self.causal else np.ones((N, N), dtype=bool)

    def edges(self) -> int:
        """What the pattern costs."""
        return int(self.mask().sum())

    def hops(self) -> Int[Array, "n n"]:
        """How many layers each output needs until it can depend on each input, -1 for never."""
        return graph.distance(self.mask())

    def reached(self) -> Bool[Array, "n n"]:
        """What each output can depend on after the chosen number of layers."""
        return graph.reach(self.mask(), self.layers)

    def never(self) -> list[tuple[int, int]]:
        """The pairs of query and key that never meet, counted from 1."""
        apart = self.allowed() & (self.hops() < 0)
        return [(N - int(i), int(j) + 1) for i, j in np.argwhere(apart[::-1])]

    def farthest(self) -> tuple[int, int, int]:
        """The query and the key, counted from 1, that need most layers, and how many."""
        hops = np.where(self.allowed(), self.hops(), -1)
        query, key = np.unravel_index(hops[::-1].argmax(), hops.shape)  # from the last query on
        return N - int(query), int(key) + 1, int(hops.max())

    def figure(self) -> Figure:
        fig, ax = plt.subplots(figsize=(4.0, 4.2), layout="constrained")
        kinds = {
            "attends": (self.mask(), PALETTE[0], 1.0),
            f"reached after {self.layers} layers": (self.reached() & ~self.mask(), PALETTE[0], 0.4),
        }
        for name, (cells, colour, alpha) in kinds.items():
            for i, j in np.argwhere(cells):
                ax.add_patch(Rectangle((j, i), 0.9, 0.9, fc=colour, alpha=alpha, lw=0))
            ax.add_patch(Rectangle((-9, -9), 0, 0, fc=colour, alpha=alpha, lw=0, label=name))
        i, j, most = self.farthest()
        ax.add_patch(Rectangle((j - 1, i - 1), 0.9, 0.9, fc="none", ec=INK, label=f"needs {most} layers"))
        ax.set(xlim=(0, N), ylim=(N, 0), xlabel="key", ylabel="query", aspect="equal")
        ax.set_xticks([0.5, N - 0.5], ["1", str(N)])
        ax.set_yticks([0.5, N - 0.5], ["1", str(N)])
        fig.legend(loc="outside upper center", ncols=2, fontsize=9)
        return fig

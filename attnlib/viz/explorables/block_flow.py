"""The block's data flow: shapes, parameters and multiply-adds of every step, for sizes that a reader chooses.

The book derives it in eq-pre-norm and eq-feed-forward (Chapter 4). Heads are 64 wide and linear maps have biases, as in
GPT-2.
"""

from typing import NamedTuple

import matplotlib.pyplot as plt
import traitlets
from matplotlib.figure import Figure

from attnlib.viz.explorables.base import Explorable, script, style
from attnlib.viz.style import PALETTE

D_HEAD = 64


class Step(NamedTuple):
    """One step of a block: its layer, its name, the shape of its result, its parameters and multiply-adds."""

    part: str
    name: str
    shape: tuple[int, ...]
    parameters: int
    multiply_adds: int


def flow(n: int, d: int, inside: int) -> list[Step]:
    """All steps of a block, for n tokens of width d and a feed-forward network `inside` times as wide.

    >>> steps = flow(n=16, d=768, inside=4)
    >>> sum(step.parameters for step in steps)
    7087872
    """
    h, wide = d // D_HEAD, inside * d
    return [
        Step("stream", "X", (n, d), 0, 0),
        Step("attention", "norm", (n, d), 2 * d, 0),
        Step("attention", "Q, K, V", (3, h, n, D_HEAD), 3 * (d * d + d), 3 * n * d * d),
        Step("attention", "weights", (h, n, n), 0, n * n * d),
        Step("attention", "averages", (h, n, D_HEAD), 0, n * n * d),
        Step("attention", "joined", (n, d), d * d + d, n * d * d),
        Step("stream", "+", (n, d), 0, 0),
        Step("feed-forward", "norm", (n, d), 2 * d, 0),
        Step("feed-forward", "out, bend", (n, wide), d * wide + wide, n * d * wide),
        Step("feed-forward", "back", (n, d), wide * d + d, n * d * wide),
        Step("stream", "+", (n, d), 0, 0),
    ]


class BlockFlow(Explorable):
    """A block from X to Y whose length, width and inner width can be changed."""

    QUESTION = "How long must a text be before attention multiplies more than the feed-forward network?"
    SIZE = (573, 744)
    _esm, _css = script("block_flow"), style("block_flow")

    n = traitlets.Int(64, min=1, max=16384).tag(sync=True)
    d_model = traitlets.Int(768, min=D_HEAD, max=4096).tag(sync=True)
    inside = traitlets.Int(4, min=1, max=8).tag(sync=True)

    @traitlets.validate("d_model")
    def _whole_heads(self, proposal: dict) -> int:
        if proposal["value"] % D_HEAD:
            raise traitlets.TraitError(
                f"BlockFlow: d_model must be a multiple of {D_HEAD}, the width of a head; got {proposal['value']}."
            )
        return proposal["value"]

    def steps(self) -> list[Step]:
        """All steps at the current sizes."""
        return flow(self.n, self.d_model, self.inside)

    def shares(self) -> tuple[float, float]:
        """The feed-forward network's share of the parameters, and of the multiply-adds."""
        steps = self.steps()
        mine = [step for step in steps if step.part == "feed-forward"]
        parameters = sum(step.parameters for step in mine) / sum(step.parameters for step in steps)
        return parameters, sum(step.multiply_adds for step in mine) / sum(
            step.multiply_adds for step in steps
        )

    def figure(self) -> Figure:
        steps = [step for step in self.steps() if step.part != "stream"]
        names = [f"{step.name}  {' × '.join(map(str, step.shape))}" for step in steps]
        colors = [PALETTE[1] if step.part == "attention" else PALETTE[3] for step in steps]
        fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.0), sharey=True)
        for ax, counted in zip(axes, ("parameters", "multiply_adds"), strict=True):
            values = [getattr(step, counted) / 1e6 for step in steps]
            ax.barh(range(len(steps)), values, color=colors)
            ax.set(xlabel=f"million {counted.replace('_', '-')}")
        axes[0].set_yticks(range(len(steps)), names)
        axes[0].invert_yaxis()
        return fig

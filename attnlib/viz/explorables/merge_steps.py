"""The tokens of a reader's own text when only the first merges of a list are known.

Chapter 4 derives it; the numbers are those of a `Tokenizer` with the same merges.
"""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import traitlets
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from attnlib.data.bpe.alphabet import spelled, unspelled
from attnlib.data.bpe.merging import Merge
from attnlib.data.bpe.tokenizer import Tokenizer
from attnlib.viz.explorables.base import Explorable, script, style
from attnlib.viz.style import INK, PALETTE

LONGEST = 60  # characters that fit the picture


def readable(token: bytes) -> str:
    """A token as a reader sees it: a space as ␣, and bytes that are no whole character by their number.

    >>> readable(b" hen"), readable(b"\\xc3")
    ('␣hen', 'c3')
    """
    try:
        return token.decode().replace(" ", "␣").replace("\n", "↵")
    except UnicodeDecodeError:
        return token.hex(" ")


class MergeSteps(Explorable):
    """The tokens of a text, with their numbers, for a chosen number of merges."""

    QUESTION = "How many merges does it take to halve the length of your text?"
    SIZE = (311, 449)
    _esm, _css = script("merge_steps"), style("merge_steps")

    pairs = traitlets.List(traitlets.Unicode()).tag(sync=True)
    text = traitlets.Unicode().tag(sync=True)
    known = traitlets.Int(0, min=0).tag(sync=True)

    def __init__(self, merges: Sequence[Merge], text: str, known: int = 0) -> None:
        pairs = [f"{spelled(left)} {spelled(right)}" for left, right in merges]
        super().__init__(pairs=pairs, text=text, known=known)

    @traitlets.validate("text")
    def _short(self, proposal: dict) -> str:
        if len(proposal["value"]) > LONGEST:
            raise traitlets.TraitError(
                f"MergeSteps: text must have at most {LONGEST} characters; got {len(proposal['value'])}."
            )
        return proposal["value"]

    @traitlets.validate("known")
    def _in_the_list(self, proposal: dict) -> int:
        if proposal["value"] > len(self.pairs):
            raise traitlets.TraitError(
                f"MergeSteps: known must be at most the number of merges, {len(self.pairs)}; got {proposal['value']}."
            )
        return proposal["value"]

    def tokenizer(self, known: int | None = None) -> Tokenizer:
        """The tokenizer with the first `known` merges, by default as many as are chosen."""
        first = self.pairs[: self.known if known is None else known]
        halves = [pair.split(" ") for pair in first]
        return Tokenizer([(unspelled(left), unspelled(right)) for left, right in halves])

    def tokens(self, known: int | None = None) -> list[bytes]:
        """The tokens of the text."""
        tokenizer = self.tokenizer(known)
        return [tokenizer.token(number) for number in tokenizer.encode(self.text)]

    def figure(self) -> Figure:
        fig, ax = plt.subplots(figsize=(7.4, 1.8), layout="constrained")
        rows = sorted({0, self.known, len(self.pairs)})
        width = 0.0
        for y, known in enumerate(rows):
            x = 0.0
            for token in self.tokens(known):
                shown = readable(token)
                wide = 0.6 + 0.62 * len(shown)
                ax.add_patch(Rectangle((x, y - 0.32), wide - 0.2, 0.64, fc="none", ec=PALETTE[0], lw=1))
                ax.text(x + (wide - 0.2) / 2, y, shown, ha="center", va="center", fontsize=8, color=INK)
                x += wide
            width = max(width, x)
        ax.set(xlim=(-0.2, width), ylim=(len(rows) - 0.5, -0.5))
        ax.set_yticks(range(len(rows)), [f"{known:,} merges" for known in rows])
        ax.set_xticks([])
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
        return fig

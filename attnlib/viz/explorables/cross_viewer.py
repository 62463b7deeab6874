"""The cross-attention of a translator for each target word, beside the true word alignment.

The book shows such weights in eq-cross-projections (Chapter 4), and measures them by eq-aer (Chapter 1).
"""

from collections.abc import Sequence

import traitlets
from matplotlib.figure import Figure

from attnlib.data.bilingual import Pair
from attnlib.metrics.alignment import alignment_error_rate, links_from_weights
from attnlib.shapes import Array, Float
from attnlib.viz.explorables.base import Explorable, script, style
from attnlib.viz.explorables.lines import draw_lines, shares


class CrossViewer(Explorable):
    """Target words on the left, source words on the right, a line for each weight of the chosen head."""

    QUESTION = "Where does it look to say the next word?"
    SIZE = (600, 640)
    _esm, _css = script("cross_viewer"), style("cross_viewer")

    sources = traitlets.List(traitlets.List(traitlets.Unicode())).tag(sync=True)
    targets = traitlets.List(traitlets.List(traitlets.Unicode())).tag(sync=True)
    sure = traitlets.List().tag(sync=True)
    possible = traitlets.List().tag(sync=True)
    hundredths = traitlets.List().tag(sync=True)
    sentence = traitlets.Int(0, min=0).tag(sync=True)
    layer = traitlets.Int(0, min=0).tag(sync=True)
    head = traitlets.Int(0, min=0).tag(sync=True)
    word = traitlets.Int(0, min=0, help="0 is all target words, 1 the first").tag(sync=True)

    def __init__(
        self,
        pairs: Sequence[Pair],
        weights: Sequence[Float[Array, "layers heads m n"]],
        layer: int = 0,
        head: int = 0,
        word: int = 0,
    ) -> None:
        shapes = [(len(pair.target), len(pair.source)) for pair in pairs]
        if not shapes or [P.shape[-2:] for P in weights] != shapes:
            raise ValueError(
                "CrossViewer: each pair needs weights (layers, heads, words of the target, words of the source); got "
                f"{len(pairs)} pairs of {shapes} words and weights {[P.shape for P in weights]}."
            )
        super().__init__(
            sources=[list(pair.source) for pair in pairs], targets=[list(pair.target) for pair in pairs],
            sure=[[list(link) for link in pair.sure] for pair in pairs],
            possible=[[list(link) for link in pair.possible] for pair in pairs],
            hundredths=[(100 * P).round().astype(int).tolist() for P in weights], layer=layer, head=head, word=word,
        )  # fmt: skip

    def chosen(self) -> Float[Array, "m n"]:
        """The weights that are shown now."""
        return shares(self.hundredths[self.sentence][self.layer][self.head])

    def error_rate(self) -> float:
        """The alignment error rate of the largest weights of this sentence."""
        sure, possible = ({(j, i) for j, i in links[self.sentence]} for links in (self.sure, self.possible))
        return alignment_error_rate(links_from_weights(self.chosen()), sure, possible)

    def figure(self) -> Figure:
        return draw_lines(
            self.targets[self.sentence],
            self.sources[self.sentence],
            self.chosen(),
            only=self.word,
            rings=[j for j, i in self.possible[self.sentence] if self.word == i + 1],
            title=f"layer {self.layer + 1}, head {self.head + 1}",
            room=0.4,
        )

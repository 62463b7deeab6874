"""The attention weights of a trained model, head by head, as an experiment stored them.

The book shows such heads in eq-mean-distance and eq-entropy (Chapters 1 to 3).
"""

from collections.abc import Sequence

import traitlets
from matplotlib.figure import Figure

from attnlib.reference.ops import entropy
from attnlib.shapes import Array, Float
from attnlib.viz.explorables.base import Explorable, script, style
from attnlib.viz.explorables.lines import draw_lines, shares


class HeadViewer(Explorable):
    """Tokens on both sides, a line for each weight; a text, a layer, a head and a token to choose."""

    QUESTION = "Which head looks where, and for whom?"
    SIZE = (564, 614)
    _esm, _css = script("head_viewer"), style("head_viewer")

    texts = traitlets.List(traitlets.List(traitlets.Unicode())).tag(sync=True)
    truths = traitlets.List(traitlets.List(traitlets.Int())).tag(sync=True)
    hundredths = traitlets.List().tag(sync=True)
    text = traitlets.Int(0, min=0).tag(sync=True)
    layer = traitlets.Int(0, min=0).tag(sync=True)
    head = traitlets.Int(0, min=0).tag(sync=True)
    token = traitlets.Int(0, min=0, help="0 is all tokens, 1 the first").tag(sync=True)

    def __init__(
        self,
        texts: Sequence[Sequence[str]],
        weights: Float[Array, "texts layers heads n n"],
        truths: Sequence[Sequence[int]] | None = None,
        layer: int = 0,
        head: int = 0,
        token: int = 0,
    ) -> None:
        n = weights.shape[-1]
        truths = [[-1] * n for _ in texts] if truths is None else truths
        if weights.ndim != 5 or weights.shape[0] != len(texts) or {len(t) for t in (*texts, *truths)} != {n}:
            raise ValueError(
                "HeadViewer: each text needs weights (layers, heads, n, n) for its n tokens, and a position or -1 "
                f"for each; got weights {weights.shape} and texts of {[len(text) for text in texts]} tokens."
            )
        super().__init__(
            texts=[list(text) for text in texts], truths=[list(truth) for truth in truths],
            hundredths=(100 * weights).round().astype(int).tolist(), layer=layer, head=head, token=token,
        )  # fmt: skip

    def chosen(self) -> Float[Array, "n n"]:
        """The weights of the chosen text, layer and head."""
        return shares(self.hundredths[self.text][self.layer][self.head])

    def mean_entropy(self) -> float:
        """The mean entropy of the chosen head's rows."""
        return float(entropy(self.chosen()).mean())

    def figure(self) -> Figure:
        words = [f"{word} {i}" for i, word in enumerate(self.texts[self.text], start=1)]
        true = self.truths[self.text][self.token - 1] if self.token else -1
        return draw_lines(
            words,
            words,
            self.chosen(),
            only=self.token,
            rings=[true] if true >= 0 else [],
            title=f"layer {self.layer + 1}, head {self.head + 1}",
        )

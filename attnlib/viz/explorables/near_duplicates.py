"""Near-duplicates: which pairs of texts are found as the threshold and the rows of a band change.

The book derives the curve in eq-bands (Chapter 5).
"""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import traitlets
from matplotlib.figure import Figure

from attnlib import rules
from attnlib.data.duplicates import found_share
from attnlib.shapes import Array, Bool, Float
from attnlib.viz.explorables.base import Explorable, script, style
from attnlib.viz.style import INK, PALETTE

ROWS, HASHES = (2, 4, 8, 16, 32), 128


class NearDuplicates(Explorable):
    """Pairs of texts, each with its similarity, its agreeing minima, and whether one is a planted copy of the other.

    compared   for each number of rows, how many pairs of the whole text have an equal band
    total      all pairs of the whole text
    """

    QUESTION = "Which near-duplicates are found, and at what price?"
    SIZE = (559, 475)
    _esm, _css = script("near_duplicates"), style("near_duplicates")

    similarity = traitlets.List(traitlets.Float()).tag(sync=True)
    planted = traitlets.List(traitlets.Bool()).tag(sync=True)
    agree = traitlets.List(traitlets.Unicode()).tag(sync=True)
    compared = traitlets.List(traitlets.Int()).tag(sync=True)
    total = traitlets.Int(1).tag(sync=True)
    rows = traitlets.Enum(ROWS, 8).tag(sync=True)
    threshold = traitlets.Float(0.8, min=0, max=1).tag(sync=True)

    def __init__(
        self,
        similarity: Sequence[float] = (),
        planted: Sequence[bool] = (),
        agree: Bool[Array, "pairs 128"] | None = None,
        compared: Mapping[int, int] | None = None,
        total: int = 1,
        **more: object,
    ) -> None:
        bits = (
            np.zeros((len(similarity), HASHES), dtype=bool)
            if agree is None
            else np.asarray(agree, dtype=bool)
        )
        rules.must(
            len(planted) == len(similarity) and bits.shape == (len(similarity), HASHES),
            "NearDuplicates",
            f"each pair needs a similarity, whether it is planted, and {HASHES} agreements; got "
            f"{len(similarity)}, {len(planted)} and {bits.shape}.",
        )
        super().__init__(
            similarity=[round(float(s), 4) for s in similarity],
            planted=[bool(one) for one in planted],
            agree=[np.packbits(row).tobytes().hex() for row in bits],
            compared=[int((compared or {}).get(rows, 0)) for rows in ROWS],
            total=int(total),
            **more,
        )

    def agreements(self) -> Bool[Array, "pairs 128"]:
        """For each pair, which of its minima are equal."""
        rows = [np.unpackbits(np.frombuffer(bytes.fromhex(one), dtype=np.uint8)) for one in self.agree]
        return np.array(rows, dtype=bool).reshape(-1, HASHES)

    def found(self) -> Bool[Array, "pairs"]:
        """The pairs with an equal band whose similarity reaches the threshold."""
        bands = self.agreements().reshape(len(self.agree), -1, self.rows)
        return bands.all(axis=-1).any(axis=-1) & (np.array(self.similarity) >= self.threshold - 1e-9)

    def counts(self) -> dict[str, int]:
        """Planted pairs that are found and missed, and other pairs that are found."""
        found, planted = self.found(), np.array(self.planted, dtype=bool)
        parts = {"found": found & planted, "missed": ~found & planted, "wrong": found & ~planted}
        return {name: int(part.sum()) for name, part in parts.items()}

    def curve(self, s: Float[Array, "n"]) -> Float[Array, "n"]:
        """The probability of an equal band."""
        return found_share(s, HASHES // self.rows, self.rows)

    def figure(self) -> Figure:
        fig, ax = plt.subplots(figsize=(7.0, 3.4))
        s, found, planted = np.array(self.similarity), self.found(), np.array(self.planted, dtype=bool)
        line = np.linspace(0, 1, 201)
        ax.plot(line, self.curve(line), color=INK, lw=1.5)
        ax.axvline(self.threshold, color=INK, lw=0.8, ls=":")
        lane = np.where(found, 1.06, -0.26) + 0.02 * (np.arange(len(s)) % 11)
        for mine, colour, mark in ((planted, PALETTE[0], "o"), (~planted, PALETTE[1], "s")):
            ax.plot(s[mine], lane[mine], mark, ms=4, color=colour, alpha=0.7)
        ax.set(
            xlim=(0, 1.02),
            ylim=(-0.32, 1.34),
            xlabel="Jaccard similarity",
            ylabel="probability of an equal band",
        )
        ax.set_yticks([0, 0.5, 1])
        return fig

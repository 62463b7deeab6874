"""A state that fills up: pairs of key and value in a sum, under the delta rule and in softmax attention.

The book derives the sum in eq-linear-state, the delta rule in eq-delta-rule (Chapter 6). The page and Python draw the
same random keys.
"""

import math
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import traitlets
from matplotlib.figure import Figure

from attnlib.reference.attention import scaled_dot_product_attention
from attnlib.reference.delta_rule import delta_rule
from attnlib.reference.linear_attention import linear_attention_recurrent
from attnlib.shapes import Array, Float
from attnlib.viz.explorables.base import Explorable, script, style
from attnlib.viz.explorables.scores_and_width import normals, uniforms
from attnlib.viz.style import INK, PALETTE

VALUES, MOST, WIDEST, SCALE, SEED = "ABCD", 40, 16, 20.0, 9


def new_pairs(n: int, seed: int = SEED) -> list[int]:
    """n different keys, each with a random value; key and value are written as key * 4 + value."""
    return [4 * t + int(len(VALUES) * u) for t, u in enumerate(uniforms(seed, 1000 + n)[1000:])]


def keys(d: int, seed: int = SEED) -> Float[Array, "n d"]:
    """Random unit vectors; a narrower key is the start of a wider one, made a unit vector again."""
    numbers = normals(seed, 2 * MOST * WIDEST)[::2].reshape(MOST, WIDEST)[:, :d]
    return numbers / np.linalg.norm(numbers, axis=-1, keepdims=True)


def reads(
    writes: Sequence[int], d: int, *, seed: int = SEED, step: float = 1.0, scale: float = SCALE
) -> dict[str, Float[Array, "n values"]]:
    """What each memory returns for the key of each write, after all of them, as a mix of the four values."""
    key, value = np.divmod(np.array(writes), len(VALUES))
    K, V = keys(d, seed)[key], np.eye(len(VALUES))[value]
    return {
        "sum": K @ linear_attention_recurrent(K, K, V)[1],
        "delta rule": K @ delta_rule(K, K, V, step=np.full(len(K), float(step)))[1],
        "softmax": scaled_dot_product_attention(scale * math.sqrt(d) * K, K, V)[0],
    }


def last(writes: Sequence[int]) -> list[int]:
    """The last write of each key, in the order of the writes.

    >>> last([0, 4, 1])  # the first key is written again, with another value
    [1, 2]
    """
    return sorted({write // len(VALUES): t for t, write in enumerate(writes)}.values())


def recalled(writes: Sequence[int], O: Float[Array, "n values"]) -> list[int]:
    """The last writes whose value is the nearest of the four to what is read; a tie is no recall."""
    right = [writes[t] % len(VALUES) for t in last(writes)]
    leads = [O[t, value] - np.delete(O[t], value).max() for t, value in zip(last(writes), right, strict=True)]
    return [t for t, lead in zip(last(writes), leads, strict=True) if lead > 1e-9]


class FillingState(Explorable):
    """Keys with one of four values, written in order; one of them is read from three memories.

    writes     what was written, each as key * 4 + value, counted from 0; a key can be written again
    read       the key that is read, counted from 1
    scale      what the scores of the softmax are multiplied by
    overwrite  whether the next value goes to the key that is read, or to a new one
    """

    QUESTION = "How many pairs can a state of fixed size give back?"
    SIZE = (681, 693)
    _esm, _css = script("filling_state"), style("filling_state")

    writes = traitlets.List(traitlets.Int(min=0, max=4 * MOST - 1), new_pairs(5), minlen=1, maxlen=MOST).tag(
        sync=True
    )
    d = traitlets.Int(8, min=2, max=WIDEST).tag(sync=True)
    read = traitlets.Int(1, min=1, max=MOST).tag(sync=True)
    step = traitlets.Float(1.0, min=0.1, max=1).tag(sync=True)
    scale = traitlets.Float(SCALE, min=1).tag(sync=True)
    seed = traitlets.Int(SEED, min=0).tag(sync=True)
    overwrite = traitlets.Bool(False).tag(sync=True)

    def reads(self) -> dict[str, Float[Array, "n values"]]:
        """What each memory returns for the key of each write, after all of them."""
        return reads(self.writes, self.d, seed=self.seed, step=self.step, scale=self.scale)

    def recalled(self) -> dict[str, int]:
        """For how many keys each memory returns the value that was written last."""
        return {kind: len(recalled(self.writes, O)) for kind, O in self.reads().items()}

    def numbers(self) -> dict[str, int]:
        """How many numbers each memory keeps."""
        state = self.d * len(VALUES)
        return {"sum": state, "delta rule": state, "softmax": len(self.writes) * (self.d + len(VALUES))}

    def figure(self) -> Figure:
        """How many keys each memory recalls as pairs are added, for the width and the random keys of now."""
        fig, ax = plt.subplots(figsize=(4.0, 3.2), layout="constrained")
        found = []
        for n in range(1, MOST + 1):
            writes = new_pairs(n, self.seed)
            O = reads(writes, self.d, seed=self.seed, step=self.step, scale=self.scale)
            found.append({kind: len(recalled(writes, one)) for kind, one in O.items()})
        for kind, colour, mark in zip(found[0], PALETTE, "osv", strict=False):
            counts = [one[kind] for one in found]
            ax.plot(range(1, MOST + 1), counts, marker=mark, ms=3, color=colour, label=kind)
        ax.axvline(self.d, color=INK, lw=0.8, ls=":")
        ax.set(xlabel="pairs written", ylabel="pairs recalled")
        fig.legend(loc="outside upper center", ncols=3, fontsize=9)
        return fig

"""A block through the years: each choice of a published model switched on, and what it costs beside GPT-2's block.

The book counts it on the page on the block of today (Chapter 4). The width is 4096 with 32 heads of 128; a gated
network has the hidden width of the first Llama, 11,008, and a latent the widths of DeepSeek-V3.
"""

import matplotlib.pyplot as plt
import traitlets
from matplotlib.figure import Figure

from attnlib.models.block_counts import BlockChoices, kept, multiplications, parameters
from attnlib.viz.explorables.base import Explorable, script, style
from attnlib.viz.style import PALETTE

GPT2 = {"norm": "LayerNorm", "network": "GELU", "bias": "yes", "memory": "32", "qk": "no"}


def choices(norm: str, network: str, bias: str, memory: str, qk: str) -> BlockChoices:
    """The block that these words describe.

    >>> choices(**GPT2) == BlockChoices()
    True
    """
    latent, gated = memory == "latent", network == "SwiGLU"
    return BlockChoices(
        n_kv_heads=32 if latent else int(memory),
        gated=gated,
        d_hidden=11_008 if gated else 16_384,
        shift=norm == "LayerNorm",
        n_norms=4 if norm == "sandwich" else 2,
        bias=bias == "yes",
        qk_norm="each head" if qk == "yes" else "none",
        d_latent=512 if latent else 0,
        d_rotated=64 if latent else 0,
    )


def costs(block: BlockChoices, n: int) -> list[int]:
    """Parameters of attention, network, norms and together; bytes kept; multiplications after n tokens."""
    learned = parameters(block)
    parts = [learned["attention"], learned["feed-forward"], learned["norms"]]
    return [*parts, sum(parts), 2 * kept(block), multiplications(block, n)]


class BlockYears(Explorable):
    """A block whose norm, memory and network can be those of several years."""

    QUESTION = "Which one change saves most of the bytes that a block keeps, and what does it cost?"
    SIZE = (483, 869)
    _esm, _css = script("block_years"), style("block_years")

    norm = traitlets.Enum(["LayerNorm", "RMS norm", "sandwich"], "LayerNorm").tag(sync=True)
    network = traitlets.Enum(["GELU", "SwiGLU"], "GELU").tag(sync=True)
    bias = traitlets.Enum(["yes", "no"], "yes").tag(sync=True)
    memory = traitlets.Enum(["32", "8", "1", "latent"], "32").tag(sync=True)
    qk = traitlets.Enum(["no", "yes"], "no").tag(sync=True)
    n = traitlets.Int(8192, min=1, max=131_072).tag(sync=True)

    def block(self) -> BlockChoices:
        """The block as it is chosen at present."""
        return choices(self.norm, self.network, self.bias, self.memory, self.qk)

    def costs(self) -> list[int]:
        """What it costs, in the order of the table."""
        return costs(self.block(), self.n)

    def figure(self) -> Figure:
        old, now = costs(choices(**GPT2), self.n), self.costs()
        names = ("parameters, millions", "bytes kept of a token", "multiply-adds, millions")
        fig, axes = plt.subplots(1, 3, figsize=(7.4, 2.6), layout="constrained")
        for ax, name, i, unit in zip(axes, names, (3, 4, 5), (1e6, 1, 1e6), strict=True):
            ax.bar(["GPT-2", "this block"], [old[i] / unit, now[i] / unit], color=[PALETTE[0], PALETTE[1]])
            ax.set_title(name, fontsize=10)
        return fig

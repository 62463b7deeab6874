"""What a transformer is made of: one config for all of them, whose parts are named (book: Chapter 4).

A family is a function that returns a config: `gpt2_small`, `llama_7b`, `transformer_base`. The names of the parts are
those of the tables in `attnlib.models.parts`, where another part is added with one row.
"""

from dataclasses import dataclass
from typing import Any

from attnlib import rules
from attnlib.models.parts import PARTS
from attnlib.nn.positional import LAYOUTS


@dataclass(frozen=True)
class ModelConfig:
    """The sizes of a model and the names of its parts; the defaults are GPT-2's choices at a size for a laptop."""

    vocab: int  # how many different tokens there are
    context: int = 256  # the longest text that it can read, in tokens
    d_model: int = 256  # width of a token's vector
    n_heads: int = 4  # heads of each attention
    n_kv_heads: int | None = None  # heads of keys and values; fewer are shared, None is n_heads
    d_k: int | None = None  # width of a head; None is d_model / n_heads
    n_layers: int = 4  # how many blocks
    d_hidden: int | None = None  # width inside the feed-forward network; None is 4 d_model
    positions: str = "learned"  # how positions are encoded, one of POSITIONS
    layout: str | None = None  # for rotary: which coordinates make a pair, one of LAYOUTS; it has to be named
    base: float = 10_000.0  # for rotary: the longest wavelength is almost 2 pi times this
    d_rotated: int | None = (
        None  # for "partly rotary" and "latent": how many coordinates of a head are rotated
    )
    norm: str = "layer"  # one of NORMS
    eps: float = 1e-5  # under the root of each norm
    qk_norm: bool = False  # queries and keys of each head pass a norm, too
    activation: str = "gelu_tanh"  # the activation function of the feed-forward network
    gated: bool = False  # the activated layer is multiplied with a second map; with swish this is SwiGLU
    bias: bool = True  # linear maps add a bias
    tied: bool = True  # the scores use the embedding's own table
    dropout: float = 0.0  # share dropped while training: of the embedding, the weights and each sublayer
    order: str = "pre"  # where norms and residual connections stand, one of ORDERS
    mixer: str = "attention"  # what carries information from position to position, one of MIXERS
    d_latent: int | None = (
        None  # for "latent": width of what is kept of each token; d_k is the width of a plain key
    )
    causal: bool = True  # each position sees itself and what came before
    window: int | None = None  # how many neighbours each position sees on a side; None is all
    score_bias: str = "none"  # what is added to the scores for each distance, one of SCORE_BIASES
    farthest: int = 128  # for "offsets" and "t5": distances from here on share one number
    feed_forward: str = "dense"  # one of FEED_FORWARDS
    cross: bool = False  # each block also attends to the memory of a source
    n_out: int | None = None  # scores at each position; None is vocab
    source_vocab: int | None = None  # of an encoder-decoder: how many source tokens there are
    n_decoder_layers: int | None = None  # of an encoder-decoder: blocks of the decoder; None is n_layers
    shared: bool = False  # of an encoder-decoder: source and target use one table

    def __post_init__(self) -> None:
        for field, table in PARTS.items():
            rules.one_of("ModelConfig", field, getattr(self, field), table)
        if self.positions in ("rotary", "partly rotary"):
            rules.one_of("ModelConfig", "layout of rotary positions", self.layout, LAYOUTS)
        latent = self.mixer == "latent"
        rules.must(
            not (latent or self.positions == "partly rotary") or bool(self.d_rotated),
            "ModelConfig",
            f"d_rotated must be given for rotated parts of a head; got {self.d_rotated}.",
        )
        rules.must(
            not latent or bool(self.d_latent),
            "ModelConfig",
            f"d_latent must be given for latent keys and values; got {self.d_latent}.",
        )
        rules.must(
            not self.shared or self.source_vocab == self.vocab,
            "ModelConfig",
            f"one table needs one vocabulary; got source_vocab={self.source_vocab} and vocab={self.vocab}.",
        )


def stored_config(fields: dict[str, Any]) -> ModelConfig:
    """The config that was stored as a table.

    Older files still load: `context` was called `longest` once, and the layout of rotary positions, where none was
    named, was "halves".

    >>> stored_config({"vocab": 5, "longest": 7}) == stored_config({"vocab": 5, "context": 7, "layout": "halves"})
    True
    """
    named = {"context" if name == "longest" else name: value for name, value in fields.items()}
    return ModelConfig(**{"layout": "halves", **named})

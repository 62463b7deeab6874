"""What a transformer is made of: one config for all of them, whose parts are named (book: Chapter 4).

A family is a function that returns a config: `gpt2_small`, `llama_7b`, `transformer_base`. The names of the parts are
those of the tables in `attnlib.models.parts`, where another part is added with one row.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle, islice
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
    # what carries information from position to position, one of MIXERS; or a pattern of several, such as
    # ("delta", "delta", "delta", "full"), that is repeated from layer to layer
    mixer: str | tuple[str, ...] = "attention"
    conv: int | None = 4  # of layers with a state: tokens that the convolution before them sees; None is none
    output_gate: bool = True  # of layers with a state: what a head returns is multiplied with a gate
    d_latent: int | None = (
        None  # for "latent": width of what is kept of each token; d_k is the width of a plain key
    )
    causal: bool = True  # each position sees itself and what came before
    # how many neighbours each position sees on a side, in layers named "window", or in all where one other word names
    # all; None is all neighbours
    window: int | None = None
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
            value = getattr(self, field)
            for word in value if isinstance(value, tuple) else (value,):
                rules.one_of("ModelConfig", field, word, table)
        if self.positions in ("rotary", "partly rotary"):
            rules.one_of("ModelConfig", "layout of rotary positions", self.layout, LAYOUTS)
        for holds, sentence in _combinations(self):
            rules.must(holds, "ModelConfig", sentence)

    @property
    def mixers(self) -> tuple[str, ...]:
        """The mixer of each layer: a pattern is repeated, and what is too long for the last time is left out.

        >>> ModelConfig(5, n_layers=5, mixer=("window", "window", "full"), window=3).mixers
        ('window', 'window', 'full', 'window', 'window')
        """
        return tuple(islice(cycle(self.pattern), self.n_layers))

    @property
    def pattern(self) -> tuple[str, ...]:
        """What is repeated: one word, or several."""
        return (self.mixer,) if isinstance(self.mixer, str) else self.mixer


def _combinations(config: ModelConfig) -> Iterator[tuple[bool, str]]:
    """Which fields may be combined: a rule, and the sentence for a config that breaks it."""
    words = set(config.pattern)
    yield bool(words), "mixer must name a mixer or more; got ()."
    yield (
        not ("latent" in words or config.positions == "partly rotary") or bool(config.d_rotated),
        f"d_rotated must be given for rotated parts of a head; got {config.d_rotated}.",
    )
    yield (
        "latent" not in words or bool(config.d_latent),
        f"d_latent must be given for latent keys and values; got {config.d_latent}.",
    )
    yield (
        config.positions != "rotary" or "latent" not in words or not words & {"attention", "full", "window"},
        f"latent layers rotate d_rotated numbers, others a whole head, so one rotation cannot serve both; got "
        f"mixer={config.mixer}. Take other positions.",
    )
    yield (
        "window" not in words or config.window is not None,
        "window must be given for layers named 'window'; got None.",
    )
    yield (
        config.window is None or "window" in words or (len(words) == 1 and "full" not in words),
        f"a window must belong to layers named 'window'; got window={config.window} and mixer={config.mixer!r}.",
    )
    yield (
        not config.shared or config.source_vocab == config.vocab,
        f"one table needs one vocabulary; got source_vocab={config.source_vocab} and vocab={config.vocab}.",
    )


def stored_config(fields: dict[str, Any]) -> ModelConfig:
    """The config that was stored as a table.

    Older files still load: `context` was called `longest` once, and the layout of rotary positions, where none was
    named, was "halves". A pattern of mixers comes back from JSON as a list.

    >>> stored_config({"vocab": 5, "longest": 7}) == stored_config({"vocab": 5, "context": 7, "layout": "halves"})
    True
    """
    named = {"context" if name == "longest" else name: value for name, value in fields.items()}
    if isinstance(named.get("mixer"), list):
        named["mixer"] = tuple(named["mixer"])
    return ModelConfig(**{"layout": "halves", **named})

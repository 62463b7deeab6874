"""A stack of attention blocks, small enough to train while you watch: for tasks whose true attention is known.

Book: permutation, patterns-and-entropy, why-several-heads (eq-simple-index, eq-normalised-index). What a layer
of attention can and cannot do shows best when little else is there: feed-forward, norm and residual are options.
"""

from torch import Tensor, nn

from attnlib.models.config import ModelConfig
from attnlib.models.parts import last_norm_of, positions_of, stack_of
from attnlib.shapes import Float, Int


def stack_config(
    vocab: int,
    n_out: int,
    *,
    d_model: int = 64,
    n_heads: int = 1,
    n_layers: int = 1,
    context: int = 64,
    causal: bool = False,
    d_hidden: int = 0,
    norm: bool = False,
    residual: bool = True,
    activation: str = "relu",
    **more: object,
) -> ModelConfig:
    """The config of blocks with attention alone, unless more is given; other fields of `ModelConfig` may be given, too.

    vocab       how many different tokens go in
    n_out       how many scores come out at each position
    d_hidden    width inside the feed-forward network after each attention; 0: there is none
    norm        a layer norm before each attention and feed-forward network, and one before the scores
    residual    each sublayer adds to its input instead of replacing it

    >>> stack_config(5, 5).feed_forward, stack_config(5, 5, d_hidden=8, residual=False).order
    ('none', 'without residual')
    """
    return ModelConfig(
        vocab, n_out=n_out, d_model=d_model, n_heads=n_heads, n_layers=n_layers, context=context, causal=causal,
        activation=activation,
        **{
            "d_hidden": d_hidden or None,
            "feed_forward": "dense" if d_hidden else "none",
            "norm": "layer" if norm else "none",
            "order": "pre" if residual else "without residual",
            **more,
        },  # type: ignore[arg-type]
    )  # fmt: skip


class Stack(nn.Module):
    """Tokens in, `n_out` scores at every position out."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocab, config.d_model)
        self.places = positions_of(config)
        self.blocks = stack_of(config)
        self.norm = last_norm_of(config)
        self.scores = nn.Linear(config.d_model, config.n_out or config.vocab)

    def forward(self, tokens: Int[Tensor, "b n"], first: int = 0) -> Float[Tensor, "b n n_out"]:
        """The first token stands at position `first`."""
        return self.scores(self.norm(self.blocks(self.places(self.embed(tokens), first))))

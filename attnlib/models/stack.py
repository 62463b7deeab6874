"""A stack of attention blocks, small enough to train while you watch: for tasks whose true attention is known.

Book: permutation, patterns-and-entropy, why-several-heads (eq-simple-index, eq-normalised-index). What a layer
of attention can and cannot do shows best when little else is there: feed-forward, norm and residual are options.
"""

from dataclasses import dataclass

import torch
from torch import nn

from attnlib.nn.multihead import MultiHeadAttention
from attnlib.nn.positional import index, normalised_index, sinusoids
from attnlib.nn.transformer import Block, FeedForward
from attnlib.shapes import Float, Int

POSITIONS = ("none", "index", "normalised", "sinusoid", "learned")
Tensor = torch.Tensor


@dataclass(frozen=True)
class StackConfig:
    """What a `Stack` is made of."""

    vocab: int  # how many different tokens go in
    n_out: int  # how many scores come out at each position
    d_model: int = 64  # width of a token's vector
    n_heads: int = 1  # heads of each layer, each d_model / n_heads wide
    n_kv_heads: int | None = None  # heads that keys and values have; fewer are shared, None is n_heads
    n_layers: int = 1  # how many blocks
    positions: str = "learned"  # what is added to a token's vector: one of POSITIONS
    longest: int = 64  # rows of the learned table: the longest sequence it can place
    causal: bool = False  # each position sees itself and what came before
    d_hidden: int = 0  # width inside the feed-forward network behind each attention; 0: there is none
    norm: bool = False  # a layer norm before each attention and feed-forward, and one before the scores
    residual: bool = True  # each sublayer adds to its input instead of replacing it

    def __post_init__(self) -> None:
        if self.positions not in POSITIONS:
            raise ValueError(
                f"StackConfig: positions must be one of {', '.join(POSITIONS)}; got {self.positions!r}."
            )


class Positions(nn.Module):
    """Adds to every token's vector where it stands. A plain index is one number, added to all coordinates."""

    def __init__(self, config: StackConfig) -> None:
        super().__init__()
        self.kind = config.positions
        if self.kind == "learned":
            self.table = nn.Embedding(config.longest, config.d_model)

    def forward(self, X: Float[Tensor, "b n d_model"]) -> Float[Tensor, "b n d_model"]:
        n, d = X.shape[-2:]
        if self.kind == "none":
            return X
        if self.kind == "index":
            return X + index(n).to(X)[:, None]
        if self.kind == "normalised":
            return X + normalised_index(n).to(X)[:, None]
        if self.kind == "sinusoid":
            return X + sinusoids(n, d).to(X)
        if n > self.table.num_embeddings:
            raise ValueError(
                f"Stack: the learned table places longest={self.table.num_embeddings} tokens; got {n}. "
                "It has no row for a place it never saw: make longest larger."
            )
        return X + self.table(torch.arange(n, device=X.device))


def block_of(config: StackConfig) -> Block:
    """One layer: attention, and a feed-forward network if there is one."""
    d = config.d_model
    return Block(
        attention=MultiHeadAttention(
            d_model=d, n_heads=config.n_heads, n_kv_heads=config.n_kv_heads, causal=config.causal
        ),
        feed_forward=FeedForward(d_model=d, d_hidden=config.d_hidden) if config.d_hidden else None,
        norm=nn.LayerNorm if config.norm else nn.Identity,
        order="pre" if config.residual else "without residual",
    )


class Stack(nn.Module):
    """Tokens in, `n_out` scores at every position out."""

    def __init__(self, config: StackConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocab, config.d_model)
        self.positions = Positions(config)
        self.blocks = nn.ModuleList(block_of(config) for _ in range(config.n_layers))
        self.norm = nn.LayerNorm(config.d_model) if config.norm else nn.Identity()
        self.scores = nn.Linear(config.d_model, config.n_out)

    def forward(self, tokens: Int[Tensor, "b n"]) -> Float[Tensor, "b n n_out"]:
        X = self.positions(self.embed(tokens))
        for block in self.blocks:
            X = block(X)
        return self.scores(self.norm(X))

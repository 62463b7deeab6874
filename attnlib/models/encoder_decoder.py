"""The transformer of 2017: an encoder reads the source once, a decoder says the target and reads what the encoder left.

Book: encoder-and-decoder (eq-memory, eq-decoder-block, eq-cross-projections). The encoder is a stack of `Block`s that
see everything, the decoder one of `DecoderBlock`s that see what came before, and the whole source.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from attnlib.nn.cache import KeyValueCache, SourceCache
from attnlib.nn.decoder_block import DecoderBlock, DecoderCache
from attnlib.nn.direct_calls import with_direct_calls
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.nn.positional import sinusoids
from attnlib.nn.transformer import Block, FeedForward, dropout_of
from attnlib.shapes import Bool, Float, Int, checked

POSITIONS = ("sinusoids", "learned")


@dataclass(frozen=True)
class EncoderDecoderConfig:
    """What an `EncoderDecoder` is made of; the defaults are the choices of 2017 at a size that trains on a laptop."""

    source_vocab: int  # how many source tokens there are, padding, beginning and end included
    target_vocab: int  # how many target tokens there are, counted in the same way
    longest: int = 64  # the longest source and the longest target that it can place, in tokens
    d_model: int = 64  # width of a token's vector, of both sides and of the memory between them
    n_heads: int = 4  # heads of each attention
    n_layers: int = 2  # how many blocks the encoder has
    n_decoder_layers: int | None = None  # how many the decoder has; None is n_layers
    d_hidden: int | None = None  # width inside the feed-forward networks; None is 4 d_model
    order: str = "pre"  # where the norms stand: "pre", or "post" as in 2017
    positions: str = "sinusoids"  # one of POSITIONS
    activation: str = "relu"  # the bend of the feed-forward networks
    tied: bool = False  # the scores use the target's table
    shared: bool = False  # source and target use one table; they need one vocabulary
    dropout: float = 0.0  # share that is dropped while training: of embeddings, weights and each sublayer

    def __post_init__(self) -> None:
        if self.positions not in POSITIONS:
            raise ValueError(
                f"EncoderDecoderConfig: positions must be one of {', '.join(POSITIONS)}; got {self.positions!r}."
            )
        if self.shared and self.source_vocab != self.target_vocab:
            raise ValueError(
                "EncoderDecoderConfig: one table needs one vocabulary; got "
                f"source_vocab={self.source_vocab} and target_vocab={self.target_vocab}."
            )


class PlacedTokens(nn.Module):
    """A vector for each token, and to it one for its place; both have numbers of about the same size."""

    waves: Tensor

    def __init__(self, vocab: int, config: EncoderDecoderConfig) -> None:
        super().__init__()
        self.longest, self.scale = config.longest, math.sqrt(config.d_model)
        self.table = nn.Embedding(vocab, config.d_model)
        self.places = None
        if config.positions == "learned":
            self.places = nn.Embedding(config.longest, config.d_model)
        else:
            self.register_buffer("waves", sinusoids(config.longest, config.d_model), persistent=False)
        self.dropout = dropout_of(config.dropout)

    def forward(self, tokens: Int[Tensor, "b n"], first: int = 0) -> Float[Tensor, "b n d_model"]:
        end = first + tokens.shape[1]
        if end > self.longest:
            raise ValueError(
                f"EncoderDecoder: every token needs a place; got {end} tokens for longest={self.longest}. "
                "Build the model with a larger `longest`."
            )
        X = self.table(tokens) * self.scale
        places = self.waves if self.places is None else self.places.weight
        return self.dropout(X + places[first:end].to(X.dtype))


def _attention(config: EncoderDecoderConfig, causal: bool = False) -> MultiHeadAttention:
    return MultiHeadAttention(
        d_model=config.d_model, n_heads=config.n_heads, causal=causal, dropout=config.dropout
    )


def _network(config: EncoderDecoderConfig) -> FeedForward:
    return FeedForward(
        d_model=config.d_model,
        d_hidden=config.d_hidden or 4 * config.d_model,
        activation=config.activation,
        dropout=config.dropout,
    )


def encoder_block(config: EncoderDecoderConfig) -> Block:
    """Every token of the source hears every other."""
    return Block(
        attention=_attention(config),
        feed_forward=_network(config),
        order=config.order,
        dropout=config.dropout,
    )


def decoder_block(config: EncoderDecoderConfig) -> DecoderBlock:
    """Every token of the target hears those before it, and reads the memory."""
    return DecoderBlock(
        attention=_attention(config, causal=True),
        cross=_attention(config),
        feed_forward=_network(config),
        order=config.order,
        dropout=config.dropout,
    )


class EncoderDecoder(nn.Module):
    """Two stacks of blocks with a memory between them: scores of the next target token after each that was said.

    Masks of a source are (b, n), True = a token, not padding. A target is padded at its end, where nobody looks back.
    """

    def __init__(self, config: EncoderDecoderConfig) -> None:
        super().__init__()
        self.config = config
        last_norm = nn.LayerNorm if config.order == "pre" else nn.Identity
        n_decoder_layers = config.n_layers if config.n_decoder_layers is None else config.n_decoder_layers
        self.embed_source = PlacedTokens(config.source_vocab, config)
        self.embed_target = self.embed_source if config.shared else PlacedTokens(config.target_vocab, config)
        self.encoder = nn.ModuleList(encoder_block(config) for _ in range(config.n_layers))
        self.norm_source = last_norm(config.d_model)
        self.decoder = nn.ModuleList(decoder_block(config) for _ in range(n_decoder_layers))
        self.norm = last_norm(config.d_model)
        self.unembed = nn.Linear(config.d_model, config.target_vocab, bias=False)
        if config.tied:
            self.unembed.weight = self.embed_target.table.weight
        initialise(self)

    @checked
    def forward(
        self, source: Int[Tensor, "b n"], source_mask: Bool[Tensor, "b n"] | None, said: Int[Tensor, "b m"]
    ) -> Float[Tensor, "b m vocab"]:
        """The scores of a known target: said begins with the token of the beginning, and each place has the next's."""
        return self.decode(self.encode(source, source_mask), source_mask, said)

    @checked
    def encode(
        self, source: Int[Tensor, "b n"], source_mask: Bool[Tensor, "b n"] | None = None
    ) -> Float[Tensor, "b n d_model"]:
        """The memory: one vector for each token of the source (eq-memory)."""
        X, mask = self.embed_source(source), for_queries(source_mask)
        for block in self.encoder:
            X = block(X, mask=mask)
        return self.norm_source(X)  # eq-memory

    @checked
    def decode(
        self,
        memory: Float[Tensor, "b n d_model"],
        source_mask: Bool[Tensor, "b n"] | None,
        said: Int[Tensor, "b m"],
        cache: list[DecoderCache] | None = None,
    ) -> Float[Tensor, "b m vocab"]:
        """The scores of what comes next, at every position. With a cache, said are the tokens after it."""
        return self.unembed(self.hidden(memory, source_mask, said, cache))

    def hidden(
        self,
        memory: Float[Tensor, "b n d_model"],
        source_mask: Bool[Tensor, "b n"] | None,
        said: Int[Tensor, "b m"],
        cache: list[DecoderCache] | None = None,
    ) -> Float[Tensor, "b m d_model"]:
        """The decoder's residual stream behind the last norm."""
        X = self.embed_target(said, 0 if cache is None else len(cache[0].said))
        mask = for_queries(source_mask)
        for i, block in enumerate(self.decoder):
            X = block(X, memory, source_mask=mask, cache=None if cache is None else cache[i])
        return self.norm(X)

    def new_cache(self, longest: int | None = None) -> list[DecoderCache]:
        """An empty memory for each block of the decoder."""
        return [DecoderCache(KeyValueCache(longest), SourceCache()) for _ in self.decoder]

    def speaker(
        self, source: Int[Tensor, "b n"], source_mask: Bool[Tensor, "b n"] | None = None
    ) -> "Speaker":
        """`next_log_probs` of the target, for `attnlib.decode`; the source is read once, and each token, too."""
        return Speaker(self, source, source_mask)


class Speaker:
    """A target in progress: the log-probabilities of its next token, which a search may ask for in another order."""

    @torch.inference_mode()
    def __init__(
        self,
        model: EncoderDecoder,
        source: Int[Tensor, "b n"],
        source_mask: Bool[Tensor, "b n"] | None = None,
    ) -> None:
        self.model, self.cache = with_direct_calls(model), model.new_cache()
        self.memory, self.source_mask = model.encode(source, source_mask), source_mask
        self.reads = torch.arange(len(source), device=source.device)  # which source each row reads

    @torch.inference_mode()
    def _scores(self, prefix: Int[Tensor, "b m"]) -> Float[Tensor, "b vocab"]:
        new = prefix[:, len(self.cache[0].said) :]
        stream = self.model.hidden(self.memory, self.source_mask, new, self.cache)
        return self.model.unembed(stream[:, -1])

    def __call__(self, prefix: Int[Tensor, "b m"]) -> Float[Tensor, "b vocab"]:
        return self._scores(prefix).log_softmax(-1)  # a tensor like any other: outside, it may be changed

    @torch.inference_mode()
    def reorder(self, order: Int[Tensor, "k"]) -> None:
        """Row i goes on from what row order[i] was. What stays where it is is not copied."""
        reads = self.reads[order]
        stays = torch.arange(len(self.reads), device=order.device)
        if len(self.cache[0].said) and not torch.equal(order, stays):
            for said, _ in self.cache:
                said.reorder(order)
        if torch.equal(reads, self.reads):
            return
        self.reads, self.memory = reads, self.memory.index_select(0, order)
        self.source_mask = None if self.source_mask is None else self.source_mask.index_select(0, order)
        for _, source in self.cache:
            if len(source):
                source.reorder(order)


def for_queries(mask: Bool[Tensor, "b n"] | None) -> Bool[Tensor, "b 1 n"] | None:
    """A mask of keys as one of scores: it holds for every query."""
    return None if mask is None else mask[:, None]


def initialise(model: EncoderDecoder) -> None:
    """Maps that keep the size of what they read; vectors of tokens and places of numbers about one."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    for part in (model.embed_source, model.embed_target):
        nn.init.normal_(part.table.weight, std=1 / part.scale)
        if part.places is not None:
            nn.init.normal_(part.places.weight, std=math.sqrt(0.5))  # as large as sines and cosines are


def n_parameters(config: EncoderDecoderConfig) -> int:
    """How many numbers the model learns, counted on a device that holds none."""
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in EncoderDecoder(config).parameters())


def transformer_base() -> EncoderDecoderConfig:
    """The base model of 2017: English and German share 37,000 pieces of words.

    >>> n_parameters(transformer_base())
    63082496
    """
    return EncoderDecoderConfig(
        37_000, 37_000, longest=512, d_model=512, n_heads=8, n_layers=6, order="post", tied=True, shared=True
    )

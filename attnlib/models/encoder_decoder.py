"""The transformer of 2017: an encoder reads the source once, a decoder reads its output and writes the target.

Book: encoder-decoder-translation (eq-memory, eq-decoder-block, eq-cross-projections). Both are stacks of `Block`s:
those of the encoder see everything, those of the decoder what came before, and by cross-attention the whole source.
"""

import math
from dataclasses import replace

import torch
from torch import Tensor, nn

from attnlib.models.config import ModelConfig
from attnlib.models.parts import block_of, last_norm_of, positions_of, stack_of
from attnlib.models.start import keep_sizes
from attnlib.nn.cache import DecoderCache, SourceCache
from attnlib.nn.direct_calls import DirectCalls
from attnlib.nn.positional import LearnedPositions
from attnlib.nn.transformer import Block, dropout_of
from attnlib.shapes import Bool, Float, Int, checked


def encoder_decoder_config(
    source_vocab: int,
    target_vocab: int,
    *,
    context: int = 64,
    d_model: int = 64,
    n_layers: int = 2,
    positions: str = "sinusoids",
    activation: str = "relu",
    tied: bool = False,
    **more: object,
) -> ModelConfig:
    """The choices of 2017 at a size that trains on a laptop; other fields of `ModelConfig` may be given.

    source_vocab, target_vocab    how many tokens there are, padding, beginning and end included
    context                       the longest source and the longest target that it can read, in tokens
    n_layers                      how many blocks the encoder has; the decoder has `n_decoder_layers`, or as many
    """
    return ModelConfig(
        vocab=target_vocab, source_vocab=source_vocab, context=context, d_model=d_model, n_layers=n_layers,
        positions=positions, activation=activation, tied=tied, **more,  # type: ignore[arg-type]
    )  # fmt: skip


def encoder_of(config: ModelConfig) -> ModelConfig:
    """The encoder's part: every token of the source sees every other."""
    return replace(config, causal=False)


def decoder_of(config: ModelConfig) -> ModelConfig:
    """The decoder's part: every token of the target sees those before it, and reads the memory."""
    n_layers = config.n_layers if config.n_decoder_layers is None else config.n_decoder_layers
    return replace(config, cross=True, n_layers=n_layers)


def encoder_block(config: ModelConfig) -> Block:
    """One block of the encoder."""
    return block_of(encoder_of(config))


def decoder_block(config: ModelConfig) -> Block:
    """One block of the decoder."""
    return block_of(decoder_of(config))


class TokenEmbedding(nn.Module):
    """A vector for each token, and to it one for its position; both have numbers of about the same size."""

    def __init__(self, vocab: int, config: ModelConfig) -> None:
        super().__init__()
        self.scale = math.sqrt(config.d_model)
        self.table = nn.Embedding(vocab, config.d_model)
        self.places = positions_of(config)
        self.dropout = dropout_of(config.dropout)

    def forward(self, tokens: Int[Tensor, "b n"], first: int = 0) -> Float[Tensor, "b n d_model"]:
        return self.dropout(self.places(self.table(tokens) * self.scale, first))


class EncoderDecoder(nn.Module):
    """Two stacks of blocks with a memory between them: scores of the next target token after each one so far.

    Masks of a source are (b, n), True = a token, not padding. A target is padded at its end, which no token before it
    sees.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        source_vocab = config.vocab if config.source_vocab is None else config.source_vocab
        self.embed_source = TokenEmbedding(source_vocab, config)
        self.embed_target = self.embed_source if config.shared else TokenEmbedding(config.vocab, config)
        self.encoder = stack_of(encoder_of(config))
        self.norm_source = last_norm_of(config)
        self.decoder = stack_of(decoder_of(config))
        self.norm = last_norm_of(config)
        self.unembed = nn.Linear(config.d_model, config.vocab, bias=False)
        if config.tied:
            self.unembed.weight = self.embed_target.table.weight
        initialise(self)

    @checked
    def forward(
        self, source: Int[Tensor, "b n"], source_mask: Bool[Tensor, "b n"] | None, target: Int[Tensor, "b m"]
    ) -> Float[Tensor, "b m vocab"]:
        """The scores of a known target, which begins with the token of the beginning: at each position the next's."""
        return self.decode(self.encode(source, source_mask), source_mask, target)

    @checked
    def encode(
        self, source: Int[Tensor, "b n"], source_mask: Bool[Tensor, "b n"] | None = None
    ) -> Float[Tensor, "b n d_model"]:
        """The memory: one vector for each token of the source (eq-memory)."""
        X = self.encoder(self.embed_source(source), mask=for_queries(source_mask))
        return self.norm_source(X)  # eq-memory

    @checked
    def decode(
        self,
        memory: Float[Tensor, "b n d_model"],
        source_mask: Bool[Tensor, "b n"] | None,
        target: Int[Tensor, "b m"],
        cache: DecoderCache | None = None,
    ) -> Float[Tensor, "b m vocab"]:
        """The scores of what comes next, at every position. With a cache, target are the tokens after it."""
        return self.unembed(self.hidden(memory, source_mask, target, cache))

    def hidden(
        self,
        memory: Float[Tensor, "b n d_model"],
        source_mask: Bool[Tensor, "b n"] | None,
        target: Int[Tensor, "b m"],
        cache: DecoderCache | None = None,
    ) -> Float[Tensor, "b m d_model"]:
        """The decoder's residual stream after the last norm."""
        kv, source = (None, None) if cache is None else cache
        X = self.embed_target(target, 0 if kv is None else kv[0].length)
        mask = for_queries(source_mask)
        return self.norm(self.decoder(X, memory=memory, source_mask=mask, kv_cache=kv, source_cache=source))

    def new_kv_cache(self, capacity: int | None = None) -> DecoderCache:
        """An empty cache of the target and of the source, for each block of the decoder."""
        target = [block.new_cache(capacity) for block in self.decoder]
        return DecoderCache(target, [SourceCache() for _ in target])

    def predictor(
        self, source: Int[Tensor, "b n"], source_mask: Bool[Tensor, "b n"] | None = None
    ) -> "Predictor":
        """`next_log_probs` of the target, for `attnlib.decode`; the source is read once, and each token, too."""
        return Predictor(self, source, source_mask)


class Predictor:
    """The log-probabilities of the next token of a target that grows, whose rows a search may reorder."""

    @torch.inference_mode()
    def __init__(
        self,
        model: EncoderDecoder,
        source: Int[Tensor, "b n"],
        source_mask: Bool[Tensor, "b n"] | None = None,
    ) -> None:
        self.calls, self.kv_cache = DirectCalls(model), model.new_kv_cache()
        self.memory, self.source_mask = model.encode(source, source_mask), source_mask
        self.reads = torch.arange(len(source), device=source.device)  # which source each row reads

    @torch.inference_mode()
    def _scores(self, prefix: Int[Tensor, "b m"]) -> Float[Tensor, "b vocab"]:
        new = prefix[:, len(self.kv_cache.target[0]) :]
        self.calls.renew(goes_on=new.shape[1] == 1 < prefix.shape[1])
        model = self.calls.of_tensors
        stream = model.hidden(self.memory, self.source_mask, new, self.kv_cache)
        return model.unembed(stream[:, -1])

    def __call__(self, prefix: Int[Tensor, "b m"]) -> Float[Tensor, "b vocab"]:
        return self._scores(prefix).log_softmax(-1)  # a tensor like any other: outside, it may be changed

    @torch.inference_mode()
    def reorder(self, order: Int[Tensor, "k"]) -> None:
        """Row i goes on from what row order[i] was. What keeps its row is not copied."""
        reads = self.reads[order]
        stays = torch.arange(len(self.reads), device=order.device)
        if len(self.kv_cache.target[0]) and not torch.equal(order, stays):
            for layer in self.kv_cache.target:
                layer.reorder(order)
        if torch.equal(reads, self.reads):
            return
        self.reads, self.memory = reads, self.memory.index_select(0, order)
        self.source_mask = None if self.source_mask is None else self.source_mask.index_select(0, order)
        for layer in self.kv_cache.source:
            if len(layer):
                layer.reorder(order)


def for_queries(mask: Bool[Tensor, "b n"] | None) -> Bool[Tensor, "b 1 n"] | None:
    """A mask of keys as one of scores: it holds for every query."""
    return None if mask is None else mask[:, None]


def initialise(model: EncoderDecoder) -> None:
    """Maps that keep the size of what they read; vectors of tokens and of positions with numbers about one."""
    keep_sizes(model)
    for embedding in (model.embed_source, model.embed_target):
        nn.init.normal_(embedding.table.weight, std=1 / embedding.scale)
        if isinstance(embedding.places, LearnedPositions):
            nn.init.normal_(embedding.places.weight, std=math.sqrt(0.5))  # as large as sines and cosines are


def n_parameters(config: ModelConfig) -> int:
    """How many numbers the model learns, counted on a device that holds none."""
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in EncoderDecoder(config).parameters())


def transformer_base() -> ModelConfig:
    """The base model of 2017: English and German share 37,000 pieces of words.

    >>> n_parameters(transformer_base())
    63082496
    """
    return encoder_decoder_config(
        37_000, 37_000, context=512, d_model=512, n_heads=8, n_layers=6, order="post", tied=True, shared=True
    )

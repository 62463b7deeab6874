"""A GPT: tokens in, scores of the next token out. One frozen config reaches from GPT-2 to the present.

Chapter 4 builds it. What differs between a GPT-2 of 2019 and a Llama of 2023 is a few fields of `GPTConfig`: where
positions enter, which norm, which bend, biases or none, keys and values shared or not.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from attnlib.nn.cache import KeyValueCache
from attnlib.nn.direct_calls import with_direct_calls
from attnlib.nn.multihead import MultiHeadAttention
from attnlib.nn.positional import Rotary
from attnlib.nn.transformer import Block, FeedForward, dropout_of
from attnlib.shapes import Float, Int, checked

POSITIONS = ("learned", "rotary", "none")
NORMS = {"layer": nn.LayerNorm, "rms": nn.RMSNorm}


@dataclass(frozen=True)
class GPTConfig:
    """What a `GPT` is made of; the defaults are GPT-2's choices at a size that trains on a laptop."""

    vocab: int  # how many different tokens there are
    longest: int = 256  # the longest text it can place, in tokens
    d_model: int = 256  # width of a token's vector
    n_heads: int = 4  # heads of each layer
    n_kv_heads: int | None = None  # heads of keys and values; fewer are shared, None is n_heads
    d_k: int | None = None  # width of a head; None is d_model / n_heads
    n_layers: int = 4  # how many blocks
    d_hidden: int | None = None  # width inside the feed-forward network; None is 4 d_model
    positions: str = "learned"  # one of POSITIONS
    layout: str = "halves"  # for rotary: which coordinates make a pair
    base: float = 10_000.0  # for rotary: the longest wavelength is almost 2 pi times this
    norm: str = "layer"  # "layer" or "rms"
    eps: float = 1e-5  # under the root of each norm
    qk_norm: bool = False  # queries and keys of each head pass a norm, too
    activation: str = "gelu_tanh"  # the bend of the feed-forward network
    gated: bool = False  # what bends is multiplied with a second map; with swish this is SwiGLU
    bias: bool = True  # linear maps add a bias
    tied: bool = True  # the scores use the embedding's own table
    dropout: float = (
        0.0  # share that is dropped while training: of the embedding, the weights and each sublayer
    )

    def __post_init__(self) -> None:
        for field, allowed in (("positions", POSITIONS), ("norm", tuple(NORMS))):
            if getattr(self, field) not in allowed:
                raise ValueError(
                    f"GPTConfig: {field} must be one of {', '.join(allowed)}; got {getattr(self, field)!r}."
                )


Cache = list[KeyValueCache]


def norm_of(config: GPTConfig) -> Callable[[int], nn.Module]:
    return partial(NORMS[config.norm], eps=config.eps)


def block_of(config: GPTConfig) -> Block:
    """One layer: attention that sees what came before, and a feed-forward network, each behind its norm."""
    attention = MultiHeadAttention(
        d_model=config.d_model,
        n_heads=config.n_heads,
        n_kv_heads=config.n_kv_heads,
        d_k=config.d_k,
        bias=config.bias,
        causal=True,
        dropout=config.dropout,
        norm=norm_of(config) if config.qk_norm else None,
    )
    feed_forward = FeedForward(
        d_model=config.d_model,
        d_hidden=config.d_hidden or 4 * config.d_model,
        activation=config.activation,
        gated=config.gated,
        bias=config.bias,
        dropout=config.dropout,
    )
    return Block(attention=attention, feed_forward=feed_forward, norm=norm_of(config), dropout=config.dropout)


class GPT(nn.Module):
    """Embedding, blocks, a last norm, and scores over the vocabulary."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocab, config.d_model)
        self.places = nn.Embedding(config.longest, config.d_model) if config.positions == "learned" else None
        self.turn = None
        if config.positions == "rotary":
            d_k = config.d_k or config.d_model // config.n_heads
            self.turn = Rotary(d_k, longest=config.longest, base=config.base, layout=config.layout)
        self.dropout = dropout_of(config.dropout)
        self.blocks = nn.ModuleList(block_of(config) for _ in range(config.n_layers))
        self.norm = norm_of(config)(config.d_model)
        self.unembed = nn.Linear(config.d_model, config.vocab, bias=False)
        if config.tied:
            self.unembed.weight = self.embed.weight
        initialise(self)

    @checked
    def forward(self, tokens: Int[Tensor, "b n"], cache: Cache | None = None) -> Float[Tensor, "b n vocab"]:
        """The scores of what comes next, at every position. With a cache, tokens are those after it."""
        return self.unembed(self.hidden(tokens, cache))

    @checked
    def next_scores(self, tokens: Int[Tensor, "b n"], cache: Cache | None = None) -> Float[Tensor, "b vocab"]:
        """The scores of what comes after the last token alone: all that generating needs."""
        return self.unembed(self.hidden(tokens, cache)[:, -1])

    @checked
    def hidden(self, tokens: Int[Tensor, "b n"], cache: Cache | None = None) -> Float[Tensor, "b n d_model"]:
        """The residual stream behind the last norm."""
        first = 0 if cache is None else cache[0].length
        end = first + tokens.shape[-1]
        if self.config.positions != "none" and end > self.config.longest:
            raise ValueError(
                f"GPT: every token needs a place; got {end} tokens for longest={self.config.longest}. "
                "Keep the last ones, or build the model with a larger `longest`."
            )
        X = self.embed(tokens)
        if self.places is not None:
            X = X + self.places.weight[first:end]
        X = self.dropout(X)
        for i, block in enumerate(self.blocks):
            X = block(X, positions=self.turn, cache=None if cache is None else cache[i])
        return self.norm(X)

    def new_cache(self, longest: int | None = None) -> Cache:
        """An empty memory for each layer; with `longest` its room is made once."""
        return [KeyValueCache(longest) for _ in self.blocks]

    def speaker(self, cache: Cache | None = None) -> "Speaker":
        """`next_log_probs` of a text, for `attnlib.decode` and `attnlib.beam`: each token is read once.

        cache    what has been read already, and where the rest goes; by default an empty one
        """
        return Speaker(self, self.new_cache() if cache is None else cache)


class Speaker:
    """A text in progress: asked for what comes after a prefix that grows, it reads what is new."""

    def __init__(self, model: GPT, cache: Cache) -> None:
        self.model, self.cache = with_direct_calls(model), cache

    def __call__(self, prefix: Int[Tensor, "b n"]) -> Float[Tensor, "b vocab"]:
        with torch.inference_mode():
            scores = self.model.next_scores(self._new(prefix), self.cache)
        return scores.log_softmax(-1)  # a tensor like any other: outside, it may be changed

    def after_each(self, prefix: Int[Tensor, "b n"]) -> Float[Tensor, "b k vocab"]:
        """What comes after each token that is new in the prefix, in one pass."""
        with torch.inference_mode():
            scores = self.model.forward(self._new(prefix), self.cache)
        return scores.log_softmax(-1)

    def _new(self, prefix: Int[Tensor, "b n"]) -> Int[Tensor, "b k"]:
        """What has not been read yet."""
        read = self.cache[0].length
        if prefix.shape[1] <= read:
            raise ValueError(
                f"Speaker: a prefix must grow; got {prefix.shape[1]} tokens after {read}. "
                "`crop` it first, or make a new speaker."
            )
        return prefix[:, read:]

    def reorder(self, order: Int[Tensor, "k"]) -> None:
        """Text i goes on from what text order[i] was, for a beam search."""
        with torch.inference_mode():
            for layer in self.cache:
                layer.reorder(order)

    def crop(self, n: int) -> None:
        """Forget all but the first n tokens, for example a draft that was refused."""
        for layer in self.cache:
            layer.crop(n)


def initialise(model: GPT, spread: float = 0.02) -> None:
    """Small random numbers, so that the first loss is log V; what adds to the stream is smaller the deeper it is.

    Each block adds to the stream twice, so that its variance would grow with the number of layers L: the maps that
    write into it are divided by the root of 2 L.
    """
    for module in model.modules():
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, std=spread)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)
    for block in model.blocks:
        assert isinstance(block, Block) and isinstance(block.feed_forward, FeedForward)
        for writes in (block.attention.W_O, block.feed_forward.W_2):
            nn.init.normal_(writes.weight, std=spread / math.sqrt(2 * len(model.blocks)))


def first_loss(config: GPTConfig) -> float:
    """What the loss of an untrained model must be: all tokens equally likely, log V nats.

    >>> round(first_loss(gpt2_small()), 2)
    10.82
    """
    return math.log(config.vocab)


def gpt2(d_model: int, n_layers: int, n_heads: int, vocab: int = 50257, longest: int = 1024) -> GPTConfig:
    return GPTConfig(vocab=vocab, longest=longest, d_model=d_model, n_heads=n_heads, n_layers=n_layers)


def gpt2_small() -> GPTConfig:
    """124 million parameters."""
    return gpt2(768, 12, 12)


def gpt2_medium() -> GPTConfig:
    """355 million parameters."""
    return gpt2(1024, 24, 16)


def gpt2_large() -> GPTConfig:
    """774 million parameters."""
    return gpt2(1280, 36, 20)


def gpt2_xl() -> GPTConfig:
    """1,558 million parameters."""
    return gpt2(1600, 48, 25)


def gpt3() -> GPTConfig:
    """175 billion parameters; its layers look far and near in turns, which changes no count."""
    return gpt2(12288, 96, 96, longest=2048)


def megatron_8b() -> GPTConfig:
    """8.3 billion parameters; its vocabulary is filled up to a multiple of 128 on each of 8 GPUs."""
    return gpt2(3072, 72, 32, vocab=51200)


def turing_nlg() -> GPTConfig:
    """17 billion parameters."""
    return gpt2(4256, 78, 28)


def llama(d_model: int, n_layers: int, n_heads: int, d_hidden: int, **more: object) -> GPTConfig:
    """The choices of 2023: rotary positions, RMS norm, SwiGLU, no biases, scores with a table of their own."""
    return GPTConfig(
        vocab=32000, longest=2048, d_model=d_model, n_layers=n_layers, n_heads=n_heads, d_hidden=d_hidden,
        positions="rotary", norm="rms", eps=1e-6, activation="swish", gated=True, bias=False, tied=False, **more,  # type: ignore[arg-type]
    )  # fmt: skip


def llama_7b() -> GPTConfig:
    """6,738 million parameters."""
    return llama(4096, 32, 32, 11008)


def n_parameters(config: GPTConfig) -> int:
    """How many numbers the model learns, counted on a device that holds none.

    >>> n_parameters(gpt2_small()), n_parameters(llama_7b())
    (124439808, 6738415616)
    """
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in GPT(config).parameters())

"""A GPT: tokens in, scores of the next token out. One frozen config reaches from GPT-2 to the present.

Chapter 4 builds it. What differs between a GPT-2 of 2019 and a Llama of 2023 is a few fields of `ModelConfig`: how
positions are encoded, which norm, which activation function, biases or none, keys and values shared or not.
"""

import math
from pathlib import Path
from typing import IO

import torch
from torch import Tensor, nn

from attnlib import decode, rules
from attnlib.models.config import ModelConfig
from attnlib.models.parts import last_norm_of, positions_of, stack_of
from attnlib.models.saved import save_model, saved_model, take_parameters
from attnlib.models.start import initialise
from attnlib.nn.direct_calls import DirectCalls
from attnlib.nn.transformer import LayerCache, dropout_of
from attnlib.shapes import Float, Int, checked


class GPT(nn.Module):
    """Embedding, blocks, a last norm, and scores over the vocabulary.

    `torch.compile` and `torch.export.export` take it, for every batch and length. `torch.jit.trace`, which PyTorch has
    deprecated, does not: attention decides by sizes, and in a trace sizes are tensors.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocab, config.d_model)
        self.places = positions_of(config)
        self.dropout = dropout_of(config.dropout)
        self.blocks = stack_of(config)
        self.norm = last_norm_of(config)
        self.unembed = nn.Linear(config.d_model, config.vocab, bias=False)
        if config.tied:
            self.unembed.weight = self.embed.weight
        initialise(self)

    @checked
    def forward(
        self, tokens: Int[Tensor, "b n"], kv_cache: list[LayerCache] | None = None
    ) -> Float[Tensor, "b n vocab"]:
        """The scores of what comes next, at every position. With a cache, tokens are those after it."""
        return self.unembed(self.hidden(tokens, kv_cache))

    @checked
    def next_scores(
        self, tokens: Int[Tensor, "b n"], kv_cache: list[LayerCache] | None = None
    ) -> Float[Tensor, "b vocab"]:
        """The scores of what comes after the last token alone: all that generating needs."""
        return self.unembed(self.hidden(tokens, kv_cache)[:, -1])

    @checked
    def hidden(
        self, tokens: Int[Tensor, "b n"], kv_cache: list[LayerCache] | None = None
    ) -> Float[Tensor, "b n d_model"]:
        """The residual stream after the last norm."""
        first = 0 if kv_cache is None else kv_cache[0].length
        X = self.dropout(self.places(self.embed(tokens), first))
        return self.norm(self.blocks(X, kv_cache=kv_cache))

    def new_kv_cache(self, capacity: int | None = None) -> list[LayerCache]:
        """An empty cache for each block, of the kind that its mixer keeps.

        A store of keys and values, which grows, unless with `capacity` its memory is taken once; in a layer with a
        window a ring of the last ones; or a state of fixed size.
        """
        return [block.new_cache(capacity) for block in self.blocks]

    def predictor(self, kv_cache: list[LayerCache] | None = None) -> "Predictor":
        """`next_log_probs` of a text, for `attnlib.decode` and `attnlib.beam`: each token is read once.

        kv_cache    what has been read already, and where the rest goes; by default an empty one
        """
        return Predictor(self, self.new_kv_cache() if kv_cache is None else kv_cache)

    def generate(
        self,
        prefix: Int[Tensor, "b n"],
        *,
        max_new_tokens: int,
        choose: decode.Choose = decode.greedy,
        stop: decode.Stop = (),
    ) -> Int[Tensor, "b k"]:
        """The tokens that follow the prefix, without dropout; `attnlib.decode.sampler` draws them instead.

        >>> model = GPT(ModelConfig(vocab=7, context=8, d_model=8, n_layers=1))
        >>> model.generate(torch.tensor([[1, 2]]), max_new_tokens=3).shape
        torch.Size([1, 3])
        """
        training = self.training
        try:
            return decode.tokens(
                self.eval().predictor(), prefix, choose, max_new_tokens=max_new_tokens, stop=stop
            )
        finally:
            self.train(training)

    def save(self, to: str | Path | IO[bytes]) -> None:
        """Write the parameters, one safetensors file, and the config beside it.

        to    a folder; or a file that is open for bytes, which gets both
        """
        save_model(self, to)

    @classmethod
    def load(cls, source: str | Path | IO[bytes]) -> "GPT":
        """The model that `save` wrote, without dropout."""
        config, parameters = saved_model(source)
        model = cls(config)
        take_parameters(model, parameters)
        return model.eval()


class Predictor:
    """The log-probabilities of what comes after a prefix that grows: of each call it reads what is new."""

    def __init__(self, model: GPT, kv_cache: list[LayerCache]) -> None:
        self.calls, self.kv_cache, self.read = DirectCalls(model), kv_cache, 0

    def __call__(self, prefix: Int[Tensor, "b n"]) -> Float[Tensor, "b vocab"]:
        new = self._new(prefix)
        with torch.inference_mode():
            if new.numel() == 1 and self.calls.of_arrays is not None:
                scores = torch.from_numpy(self.calls.of_arrays.next_scores(new.numpy(), self.kv_cache))
            else:
                scores = self.calls.of_tensors.next_scores(new, self.kv_cache)
        return scores.log_softmax(-1)  # a tensor like any other: outside, it may be changed

    def after_each(self, prefix: Int[Tensor, "b n"]) -> Float[Tensor, "b k vocab"]:
        """What comes after each token that is new in the prefix, in one pass."""
        new = self._new(prefix)
        with torch.inference_mode():
            scores = self.calls.of_tensors.forward(new, self.kv_cache)
        return scores.log_softmax(-1)

    def _new(self, prefix: Int[Tensor, "b n"]) -> Int[Tensor, "b k"]:
        """What has not been read yet; parameters that lie elsewhere now are noticed unless it is the next token."""
        read, n = self.kv_cache[0].length, prefix.shape[1]
        if n <= read:
            raise ValueError(
                f"Predictor: a prefix must grow; got {prefix.shape[1]} tokens after {read}. "
                "`crop` it first, or make a new predictor."
            )
        self.calls.renew(goes_on=read == self.read and n == read + 1)
        self.read = n
        return prefix[:, read:]

    def reorder(self, order: Int[Tensor, "k"]) -> None:
        """Text i goes on from what text order[i] was, for a beam search."""
        with torch.inference_mode():
            for layer in self.kv_cache:
                layer.reorder(order)

    def crop(self, n: int) -> None:
        """Forget all but the first n tokens, for example a draft that was refused.

        A state cannot do that, because it does not keep what each token has added to it; nor can a ring that is full.
        """
        earliest = max(layer.earliest for layer in self.kv_cache)
        then = "Continue a copy of the caches (`copy.deepcopy`), or read the text again."
        rules.must(
            n == 0 or n >= earliest,
            "Predictor.crop",
            f"a state or a full ring cannot forget its last tokens alone, so n must be 0 or at least {earliest}; "
            f"got {n=}. {then}",
        )
        for layer in self.kv_cache:
            layer.crop(n)


def first_loss(config: ModelConfig) -> float:
    """What the loss of an untrained model must be: all tokens equally likely, log V nats.

    >>> round(first_loss(gpt2_small()), 2)
    10.82
    """
    return math.log(config.vocab)


def gpt2(d_model: int, n_layers: int, n_heads: int, vocab: int = 50257, context: int = 1024) -> ModelConfig:
    return ModelConfig(vocab=vocab, context=context, d_model=d_model, n_heads=n_heads, n_layers=n_layers)


def gpt2_small() -> ModelConfig:
    """124 million parameters."""
    return gpt2(768, 12, 12)


def gpt2_medium() -> ModelConfig:
    """355 million parameters."""
    return gpt2(1024, 24, 16)


def gpt2_large() -> ModelConfig:
    """774 million parameters."""
    return gpt2(1280, 36, 20)


def gpt2_xl() -> ModelConfig:
    """1,558 million parameters."""
    return gpt2(1600, 48, 25)


def gpt3() -> ModelConfig:
    """175 billion parameters; every second layer sees near tokens only, which changes no count."""
    return gpt2(12288, 96, 96, context=2048)


def megatron_8b() -> ModelConfig:
    """8.3 billion parameters; its vocabulary is filled up to a multiple of 128 on each of 8 GPUs."""
    return gpt2(3072, 72, 32, vocab=51200)


def turing_nlg() -> ModelConfig:
    """17 billion parameters."""
    return gpt2(4256, 78, 28)


def llama(d_model: int, n_layers: int, n_heads: int, d_hidden: int, **more: object) -> ModelConfig:
    """The choices of 2023: rotary positions, RMS norm, SwiGLU, no biases, scores with a table of their own."""
    return ModelConfig(
        vocab=32000, context=2048, d_model=d_model, n_layers=n_layers, n_heads=n_heads, d_hidden=d_hidden,
        positions="rotary", layout="halves", norm="rms", eps=1e-6, activation="swish", gated=True, bias=False,
        tied=False, **more,  # type: ignore[arg-type]
    )  # fmt: skip


def llama_7b() -> ModelConfig:
    """6,738 million parameters."""
    return llama(4096, 32, 32, 11008)


def n_parameters(config: ModelConfig) -> int:
    """How many numbers the model learns, counted on a device that holds none.

    >>> n_parameters(gpt2_small()), n_parameters(llama_7b())
    (124439808, 6738415616)
    """
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in GPT(config).parameters())

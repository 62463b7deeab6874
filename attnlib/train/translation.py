"""Train a model to translate or to copy, and measure it: right tokens, right sentences, attention weights.

Book: the-bottleneck, encoder-decoder-translation. A model is a `Seq2Seq` or an `EncoderDecoder`, which are called
alike. Sentences come from `attnlib.data.bilingual`, number sequences from `attnlib.data.tasks`. A model is trained on
the GPU where there is one, and comes back to the CPU.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import nn

from attnlib import decode
from attnlib.data.bilingual import Pair, source_vocab, target_vocab
from attnlib.data.vocab import BOS, EOS, PAD, SPECIAL, Batch, batch, batches
from attnlib.models.encoder_decoder import EncoderDecoder
from attnlib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from attnlib.shapes import Array, Bool, Float, Int
from attnlib.train.device import device
from attnlib.train.fit import fit

Model = Seq2Seq | EncoderDecoder


class Tensors(NamedTuple):
    """A `Batch` as tensors."""

    source: Int[torch.Tensor, "b n"]
    source_mask: Bool[torch.Tensor, "b n"]
    target_in: Int[torch.Tensor, "b m"]
    target_out: Int[torch.Tensor, "b m"]
    target_mask: Bool[torch.Tensor, "b m"]


class Accuracy(NamedTuple):
    """The share of right tokens, given the right ones before, and the share of sentences without a wrong token."""

    token: float
    exact: float


def tensors(data: Batch, device: torch.device | str = "cpu") -> Tensors:
    """The arrays of a batch as tensors on a device."""
    return Tensors(*(torch.from_numpy(array).to(device) for array in data))


def sequence_loss(model: Model, data: Batch) -> Float[torch.Tensor, ""]:
    """Mean cross-entropy of the right next token, over the real target tokens."""
    t = tensors(data, next(model.parameters()).device)
    logits = model(t.source, t.source_mask, t.target_in)
    return nn.functional.cross_entropy(logits[t.target_mask], t.target_out[t.target_mask])


@torch.no_grad()
def predicted_tokens(model: Model, data: Batch) -> Int[Array, "b m"]:
    """The likeliest token at each position, given the right tokens before it."""
    model.eval()
    t = tensors(data, next(model.parameters()).device)
    return model(t.source, t.source_mask, t.target_in).argmax(-1).cpu().numpy()


def translate(
    model: Seq2Seq,
    source: Int[torch.Tensor, "b n"],
    source_mask: Bool[torch.Tensor, "b n"],
    *,
    max_new_tokens: int = 60,
) -> tuple[Int[torch.Tensor, "b m"], Float[torch.Tensor, "b m n"] | None]:
    """Greedy decoding until every sentence has ended; the attention weights too, if the model has any."""
    predictor = model.predictor(source, source_mask)
    said = decode.tokens(
        predictor, torch.full_like(source[:, :1], BOS), max_new_tokens=max_new_tokens, stop=[EOS], pad=PAD
    )
    return said, None if model.config.attention == "none" else torch.cat(predictor.weights, 1)


def accuracy(model: Model, data: Batch) -> Accuracy:
    """How much of `data` the model gets right.

    A sentence without a wrong token is one that `translate` returns exactly: as long as no token is wrong, both read
    the right tokens before the next one, so the scores are the same.
    """
    right = predicted_tokens(model, data) == data.target_out
    exact = (right | ~data.target_mask).all(axis=1)
    return Accuracy(float(right[data.target_mask].mean()), float(exact.mean()))


@torch.no_grad()
def weights_of(model: Seq2Seq, pairs: Sequence[Pair], *, end: bool = False) -> list[Float[Array, "m n"]]:
    """The attention weights for each pair's own translation, one row per target word; `end` includes the end marks."""
    model.eval()
    t = tensors(batch(pairs, source_vocab(), target_vocab()), next(model.parameters()).device)
    P = model.attention_weights(t.source, t.source_mask, t.target_in).double().cpu().numpy()
    return [
        p[..., : len(pair.target) + end, : len(pair.source) + end] for p, pair in zip(P, pairs, strict=True)
    ]


def train_translator(
    pairs: Sequence[Pair],
    attention: str,
    *,
    steps: int,
    seed: int = 0,
    lr: float = 5e-3,
    batch_size: int = 64,
    after_step: Callable[[Seq2Seq, int, float], None] | None = None,
    **options: Any,
) -> Seq2Seq:
    """A `Seq2Seq` trained on sentence pairs; `seed` fixes its first parameters and the order of the sentences.

    `options` go to `Seq2SeqConfig`, for example `d_hidden=32` or `bidirectional=False`.
    """
    source, target = source_vocab(), target_vocab()
    torch.manual_seed(seed)
    model = Seq2Seq(Seq2SeqConfig(len(source), len(target), attention=attention, **options))
    data = batches(pairs, source, target, batch_size, seed=seed, epochs=None)
    _fit(model, data, steps, lr, after_step)
    return model


def train_on_symbols(
    data: Iterable[Batch],
    n_symbols: int,
    attention: str,
    *,
    steps: int,
    seed: int = 0,
    lr: float = 5e-3,
    after_step: Callable[[Seq2Seq, int, float], None] | None = None,
    **options: Any,
) -> Seq2Seq:
    """A `Seq2Seq` trained on batches of symbol sequences, as `attnlib.data.vocab.symbol_batch` makes them."""
    torch.manual_seed(seed)
    n_tokens = n_symbols + len(SPECIAL)
    model = Seq2Seq(Seq2SeqConfig(n_tokens, n_tokens, attention=attention, **options))
    _fit(model, data, steps, lr, after_step)
    return model


def _fit(
    model: Seq2Seq,
    data: Iterable[Batch],
    steps: int,
    lr: float,
    after_step: Callable[[Seq2Seq, int, float], None] | None,
) -> None:
    def watch(step: int, loss: float) -> None:
        if after_step is not None:
            after_step(model, step, loss)

    model.to(device().type)
    fit(model, sequence_loss, data, steps=steps, lr=lr, after_step=watch)
    model.to("cpu")

"""The text that a model writes after a prompt, piece by piece and of any length.

A model reads as many tokens as its context has. When they are full, it goes on from the last three quarters of them: a
window that slides.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch

from attnlib import decode
from attnlib.data.bpe.tokenizer import Tokenizer
from attnlib.models.gpt import GPT
from attnlib.train.sources import load_model
from attnlib.train.texts import END


def kept(context: int) -> int:
    """How many tokens stay when the context is full.

    >>> kept(128), kept(1)
    (96, 1)
    """
    return max(1, context - max(1, context // 4))


def choice(
    seed: int,
    *,
    temperature: float = 0.8,
    top_k: int | None = None,
    top_p: float | None = None,
    min_p: float | None = None,
) -> decode.Choose:
    """How the next token is chosen; at temperature 0 it is the likeliest."""
    if temperature == 0:
        return decode.greedy
    rng = np.random.default_rng(seed)
    return decode.sampler(rng, temperature=temperature, top_k=top_k, nucleus=top_p, min_p=min_p)


def numbers(model: GPT, read: list[int], choose: decode.Choose, *, tokens: int, end: int) -> Iterator[int]:
    """The tokens after those that were read, up to the end of a document."""
    context, device = model.config.context, next(model.parameters()).device
    while tokens > 0:
        if len(read) > context:
            read = read[-kept(context) :]
        prefix = torch.tensor([read], device=device)
        fits = min(tokens, context + 1 - len(read))  # the last one is not read any more
        for token in decode.stream(model.predictor(), prefix, choose, max_new_tokens=fits, stop=[end]):
            number = int(token)
            if number == end:
                return
            read = [*read, number]
            yield number
        tokens -= fits


def continuation(
    model: GPT, by: Tokenizer, prompt: str, choose: decode.Choose, *, tokens: int, stop: Sequence[str] = ()
) -> Iterator[str]:
    """What comes after the prompt, in pieces, up to a stop text or the end of a document."""
    end = by.numbers[END]
    read = [end, *by.encode_ordinary(prompt)]
    return decode.until(by.decode_stream(numbers(model, read, choose, tokens=tokens, end=end)), stop)


def generated_text(
    source: str | Path, prompt: str, *, tokens: int, temperature: float, seed: int
) -> Iterator[str]:
    """The prompt and its continuation by the model of a folder or a file."""
    model, by = load_model(source)
    yield prompt
    yield from continuation(model, by, prompt, choice(seed, temperature=temperature), tokens=tokens)


def about_the_window(model: GPT, by: Tokenizer, prompt: str, tokens: int) -> str | None:
    """A sentence where the text is longer than the model's context, else None."""
    context, read = model.config.context, 1 + len(by.encode_ordinary(prompt))
    if read > context:
        return (
            f"generate: the prompt has {read:,} tokens, and the model reads {context:,}: "
            f"it sees the last {kept(context):,}."
        )
    if read + tokens > context + 1:
        return (
            f"generate: the model reads {context:,} tokens; beyond them it sees the last {kept(context):,} "
            f"to {context:,} of its text."
        )
    return None

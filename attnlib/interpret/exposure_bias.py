"""Exposure bias: how a translator continues after a wrong word, which it never had to do in training.

Book: beams-and-bleu. In training the decoder reads the reference translation up to each position; in use it reads its
own earlier predictions, right or wrong.
"""

from collections.abc import Sequence

import numpy as np
import torch

from attnlib import decode
from attnlib.data.bilingual import Pair, source_vocab, target_vocab
from attnlib.data.vocab import EOS, PAD, SPECIAL, batch
from attnlib.models.encoder_decoder import EncoderDecoder
from attnlib.shapes import Array, Int
from attnlib.train.translation import tensors


def reference_words(pairs: Sequence[Pair], position: int) -> Int[Array, "sentences"]:
    """The reference translation's word at this position, for each pair; the first position is 0."""
    return np.array([target_vocab().encode(pair.target)[position] for pair in pairs])


def random_words(reference: Int[Array, "sentences"], rng: np.random.Generator) -> Int[Array, "sentences"]:
    """For each word a different one, drawn from all other words with equal probability."""
    n_words = len(target_vocab()) - len(SPECIAL)
    steps = rng.integers(1, n_words, size=len(reference))
    return (reference - len(SPECIAL) + steps) % n_words + len(SPECIAL)


@torch.no_grad()
def likely_words(model: EncoderDecoder, pairs: Sequence[Pair], position: int) -> Int[Array, "sentences"]:
    """For each sentence the wrong word that the model finds likeliest at this position."""
    t = tensors(batch(pairs, source_vocab(), target_vocab()))
    scores = model(t.source, t.source_mask, t.target_in)[:, position]
    scores[:, : len(SPECIAL)] = -torch.inf
    scores[torch.arange(len(pairs)), t.target_out[:, position]] = -torch.inf
    return scores.argmax(-1).numpy()


def continue_after(
    model: EncoderDecoder, pairs: Sequence[Pair], position: int, words: Int[Array, "sentences"]
) -> list[tuple[str, ...]]:
    """How the model continues after reading the reference up to `position` and `words` there in its place."""
    t = tensors(batch(pairs, source_vocab(), target_vocab()))
    prefix = torch.cat([t.target_in[:, : position + 1], torch.from_numpy(words)[:, None]], dim=1)
    predictor = model.predictor(t.source, t.source_mask)
    continuation = decode.tokens(predictor, prefix, max_new_tokens=40, stop=[EOS], pad=PAD)
    return [target_vocab().decode(row) for row in continuation.tolist()]


def what_followed(continuation: Sequence[str], target: Sequence[str], position: int) -> str:
    """Which of a few kinds of continuation followed a wrong word at `position` of the target.

    >>> target = ("le", "chat", "noir", "dort")
    >>> texts = ("noir dort", "chat noir dort", "dort", "noir attend")
    >>> [what_followed(text.split(), target, 1) for text in texts]
    ['goes on', 'says the missing word', 'skips a word', 'one more wrong word']
    """
    continuation, rest = tuple(continuation), tuple(target[position + 1 :])
    if continuation == rest:
        return "goes on"
    if continuation == tuple(target[position:]):
        return "says the missing word"
    if continuation == rest[1:]:
        return "skips a word"
    wrong = sum(a != b for a, b in zip(continuation, rest, strict=False))
    return "one more wrong word" if len(continuation) == len(rest) and wrong == 1 else "something else"

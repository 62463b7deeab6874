"""What a translator says when it has to go on from words that it would not have said.

Book: translation. In training every prefix is right; in use it is what the model said before.
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


def right_words(pairs: Sequence[Pair], place: int) -> Int[Array, "sentences"]:
    """The word number `place` of each translation, the first being 0."""
    return np.array([target_vocab().encode(pair.target)[place] for pair in pairs])


def random_words(right: Int[Array, "sentences"], rng: np.random.Generator) -> Int[Array, "sentences"]:
    """For each word another one, all others equally likely."""
    n_words = len(target_vocab()) - len(SPECIAL)
    steps = rng.integers(1, n_words, size=len(right))
    return (right - len(SPECIAL) + steps) % n_words + len(SPECIAL)


@torch.no_grad()
def likely_words(model: EncoderDecoder, pairs: Sequence[Pair], place: int) -> Int[Array, "sentences"]:
    """For each sentence the word that the model ranks first at this place, among those that are wrong."""
    t = tensors(batch(pairs, source_vocab(), target_vocab()))
    scores = model(t.source, t.source_mask, t.target_in)[:, place]
    scores[:, : len(SPECIAL)] = -torch.inf
    scores[torch.arange(len(pairs)), t.target_out[:, place]] = -torch.inf
    return scores.argmax(-1).numpy()


def go_on(
    model: EncoderDecoder, pairs: Sequence[Pair], place: int, words: Int[Array, "sentences"]
) -> list[tuple[str, ...]]:
    """What the model says behind `place`, having read the right words before it, and `words` there."""
    t = tensors(batch(pairs, source_vocab(), target_vocab()))
    prefix = torch.cat([t.target_in[:, : place + 1], torch.from_numpy(words)[:, None]], dim=1)
    speaker = model.speaker(t.source, t.source_mask)
    said = decode.tokens(speaker, prefix, max_new_tokens=40, stop=[EOS], pad=PAD)
    return [target_vocab().decode(row) for row in said.tolist()]


def what_followed(said: Sequence[str], target: Sequence[str], place: int) -> str:
    """How the model went on behind a wrong word, in one of a few kinds.

    >>> target = ("le", "chat", "noir", "dort")
    >>> [what_followed(said.split(), target, 1) for said in ("noir dort", "chat noir dort", "dort", "noir attend")]
    ['goes on', 'says the missing word', 'skips a word', 'one more wrong word']
    """
    said, rest = tuple(said), tuple(target[place + 1 :])
    if said == rest:
        return "goes on"
    if said == tuple(target[place:]):
        return "says the missing word"
    if said == rest[1:]:
        return "skips a word"
    wrong = sum(a != b for a, b in zip(said, rest, strict=False))
    return "one more wrong word" if len(said) == len(rest) and wrong == 1 else "something else"

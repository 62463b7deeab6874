"""The same numbers as `tiktoken` and `tokenizers` from the same merges, and the same merges as `tokenizers` trains."""

import json
import random
import unicodedata
from functools import cache
from pathlib import Path

import pytest
import tokenizers

from attnlib.data.bpe.alphabet import spelled
from attnlib.data.bpe.files import load_tokenizer, save_tokenizer
from attnlib.data.bpe.pretokenize import PATTERN
from attnlib.data.bpe.tokenizer import Tokenizer, train_tokenizer
from attnlib.data.bpe.training import count_words, learn_merges

tiktoken = pytest.importorskip("tiktoken", reason="requirements.txt pins tiktoken: run `make setup`")
END = "<|endoftext|>"


@cache
def prose() -> str:
    from pydoc_data.topics import topics

    return "".join(topics.values())[:60_000]


@cache
def ours() -> Tokenizer:
    return train_tokenizer([prose(), many_scripts(1, 4000)], 400, [END])


def encoding(tokenizer: Tokenizer):
    special = {token: tokenizer.numbers[token] for token in tokenizer.special}
    ordinary = {tokenizer.token(i): i for i in range(len(tokenizer)) if i not in special.values()}
    return tiktoken.Encoding("ours", pat_str=PATTERN, mergeable_ranks=ordinary, special_tokens=special)


def byte_level(model) -> object:
    peer = tokenizers.Tokenizer(model)
    peer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    peer.decoder = tokenizers.decoders.ByteLevel()
    return peer


@cache
def characters() -> list[str]:
    """Each character of Unicode 3.2, and every 997th place of all 17 planes.

    Characters named later are letters or not by the age of a library's tables: the peers' are older than ours.
    """
    old = [chr(i) for i in range(0x110000) if unicodedata.ucd_3_2_0.category(chr(i)) not in ("Cn", "Cs")]
    empty = [chr(i) for i in range(0x40000, 0x110000, 997)]
    return old[::7] + empty


def many_scripts(seed: int, length: int) -> str:
    rng = random.Random(seed)
    common = [
        " ",
        "  ",
        "\n",
        "\t",
        "'s",
        "'ll",
        "12",
        "the",
        " der",
        "!",
        "...",
        "🙂",
        "👩\u200d💻",
        "é",
        "e\u0301",
    ]
    return "".join(rng.choice(common if rng.random() < 0.4 else characters()) for _ in range(length))


def test_the_text_has_characters_of_all_planes():
    assert {ord(character) >> 16 for character in characters()} >= {0, 1, 2, *range(4, 17)}
    assert len(set(many_scripts(2, 6000))) > 2000


@pytest.mark.parametrize("seed", [2, 3, 5])
def test_tiktoken_gives_the_same_numbers_on_text_from_all_planes(seed: int):
    text = many_scripts(seed, 3000)
    assert ours().encode_ordinary(text) == encoding(ours()).encode_ordinary(text)
    assert ours().encode(text + END + prose()[:999]) == encoding(ours()).encode(
        text + END + prose()[:999], allowed_special="all"
    )


@pytest.mark.parametrize("seed", [7, 11, 13])
def test_tokenizers_gives_the_same_numbers_from_our_files(seed: int, tmp_path: Path):
    save_tokenizer(ours(), tmp_path)
    files = str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt")
    peer = byte_level(tokenizers.models.BPE.from_file(*files))
    peer.add_special_tokens([END])
    text = many_scripts(seed, 2000) + END + prose()[seed : seed + 2000]
    assert ours().encode(text) == peer.encode(text).ids
    assert peer.decode(ours().encode(text), skip_special_tokens=False) == text


def trained_by_peer(texts: list[str], n_merges: int, special: list[str]):
    peer = byte_level(tokenizers.models.BPE())
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    size = len(special) + 256 + n_merges
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=alphabet, special_tokens=special, show_progress=False
    )
    peer.train_from_iterator(texts, trainer)
    return peer


@pytest.mark.parametrize("texts", [[prose()], [many_scripts(17, 6000), "ab" * 50]])
def test_tokenizers_learns_the_same_merges(texts: list[str]):
    theirs = json.loads(trained_by_peer(texts, 500, []).to_str())["model"]["merges"]
    assert [[spelled(half) for half in pair] for pair in learn_merges(count_words(texts), 500)] == theirs


def test_what_tokenizers_trained_and_saved_is_read(tmp_path: Path):
    """There the special tokens come first."""
    peer = trained_by_peer([prose()], 200, [END])
    peer.model.save(str(tmp_path))
    loaded = load_tokenizer(tmp_path)
    assert loaded.numbers[END] == 0 and loaded.special == (END,)
    text = prose()[500:1500] + END + many_scripts(19, 300)
    assert loaded.encode(text) == peer.encode(text).ids

"""vocab.json and merges.txt: written, read, and refused with a sentence where they are not what they should be."""

import json
import re
from pathlib import Path

import pytest

from attnlib.data.bpe.alphabet import BYTES, spelled
from attnlib.data.bpe.files import load_tokenizer, save_tokenizer
from attnlib.data.bpe.tokenizer import Tokenizer

MERGES = [(b" ", b"t"), (b"h", b"e"), (b" t", b"he"), (b"#", b"#"), (b"\xc3", b"\xa9")]
TEXT = "the he ##é the<end>\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_tokenizer(Tokenizer(MERGES, ["<end>"]), tmp_path)
    return tmp_path


def test_what_is_written_comes_back(folder: Path):
    loaded = load_tokenizer(folder)
    assert loaded.merges == tuple(MERGES) and loaded.special == ("<end>",) and len(loaded) == 256 + 5 + 1
    assert loaded.encode(TEXT) == Tokenizer(MERGES, ["<end>"]).encode(TEXT)


def test_the_files_are_written_as_published(folder: Path):
    lines = (folder / "merges.txt").read_bytes().decode().split("\n")
    assert lines == ["#version: 0.2", "Ġ t", "h e", "Ġt he", "# #", "Ã ©", ""]
    numbers = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    assert [numbers[name] for name in ("!", "Ġ", "Ġt", "Ġthe", "<end>")] == [0, 220, 256, 258, 261]


def test_files_without_a_first_line_and_with_windows_line_ends_are_read(folder: Path):
    (folder / "merges.txt").write_bytes("Ġ t\r\nh e\r\nĠt he\r\n# #\r\nÃ ©".encode())
    assert load_tokenizer(folder).merges == tuple(MERGES)


def test_numbers_in_another_order_are_kept(folder: Path):
    """As where the special tokens come first."""
    names = ["<end>", *map(spelled, BYTES), *(spelled(a + b) for a, b in MERGES)]
    (folder / "vocab.json").write_text(json.dumps({name: i for i, name in enumerate(names)}))
    loaded = load_tokenizer(folder)
    assert loaded.encode("<end> the") == [0, 259] and loaded.decode([259, 0]) == " the<end>"
    assert loaded.decode(loaded.encode(TEXT)) == TEXT


def without(name: str) -> str:
    numbers = Tokenizer(MERGES, ["<end>"]).numbers
    return json.dumps({key: value for key, value in numbers.items() if key != name})


def renumbered(name: str, number: object) -> str:
    return json.dumps({**Tokenizer(MERGES, ["<end>"]).numbers, name: number})


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        ("vocab.json", '{"!": 0,\n "a"', "vocab.json must be JSON; line 2 is not"),
        ("vocab.json", "[1]", "must be one JSON object, as"),
        ("vocab.json", b"\xff", "vocab.json must be text in UTF-8; byte 0 is not"),
        ("vocab.json", without("Ġ"), "must have a number; got none for 'Ġ'"),
        ("vocab.json", without("Ġthe"), "must have a number; got none for 'Ġthe'"),
        ("vocab.json", renumbered("Ġthe", 3), "each once; got 3 for both '$' and 'Ġthe'"),
        ("vocab.json", renumbered("Ġthe", "258"), "each once; got '258' for 'Ġthe'"),
        ("vocab.json", renumbered("<end>", 300), "must be 0 to 261, each once; got 300 for '<end>'"),
        ("merges.txt", "#version: 0.2\nĠ t\nh  e\n", "one space between; got 'h  e' in"),
        ("merges.txt", "Ġ t\n\nh e\n", "one space between; got '' in"),
        (
            "merges.txt",
            "Ġ t\n話 e\n",
            "merges.txt, line 2: unspelled: a token must be written with the 256 characters",
        ),
        ("merges.txt", "Ġt he\n", "got 'Ġt he' at rank 0, and nothing before it makes 'Ġt'"),
        ("merges.txt", "Ġ t\nĠ t\n", "each merge must come once; got 'Ġ t' again at rank 1"),
        ("merges.txt", b"\xff", "merges.txt must be text in UTF-8"),
    ],
)
def test_a_malformed_file_gets_a_sentence(folder: Path, file: str, content: str | bytes, sentence: str):
    (folder / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=re.escape(sentence)) as caught:
        load_tokenizer(folder)
    assert str(caught.value).startswith("load_tokenizer: ")


@pytest.mark.parametrize("file", ["vocab.json", "merges.txt"])
def test_a_missing_file_gets_a_sentence(folder: Path, file: str):
    (folder / file).unlink()
    with pytest.raises(ValueError, match=rf"must lie side by side; there is no .*{re.escape(file)}"):
        load_tokenizer(folder)

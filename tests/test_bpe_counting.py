"""Counting in blocks and in several processes gives what counting the whole text gives (book: Chapter 4)."""

import io
import os
import re
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlib.data.bpe import counting
from attnlib.data.bpe.counting import (
    blocks_of,
    count_blocks,
    count_words_of_files,
    first_border,
    is_border,
    train_tokenizer_of_files,
)
from attnlib.data.bpe.special import pattern_of
from attnlib.data.bpe.tokenizer import train_tokenizer
from attnlib.data.bpe.training import count_words

SPECIAL = ["<|end|>", "< of line >", "a\nb", "b\nc"]
TRICKY = (
    "Don't  stop\r\n\r\nat  'll 12½ é\u00a0ü \u3000 x\u2028y<|end|> z< of line >\tend a\nb\nc  \n\n 日本 語\n"
    "< of line > 'd 'x  <|end|><|end|>\n 🙂 ok\x85no\x1cyes \r\n"
)


def expected(texts, special=SPECIAL):
    pattern = pattern_of(special)
    return count_words(part for text in texts for part in pattern.split(text))


def cut(text, i, special):
    """The counts of both sides of a border."""
    pattern = pattern_of(special)
    return count_words(part for side in (text[:i], text[i:]) for part in pattern.split(side.decode()))


@pytest.mark.parametrize("special", [[], SPECIAL])
def test_at_every_byte_that_is_a_border_the_counts_of_both_sides_add_up(special):
    text, names = TRICKY.encode(), [one.encode() for one in special]
    borders = [i for i in range(len(text) + 1) if is_border(text, i, names)]
    assert len(borders) > 8
    for i in borders:
        assert cut(text, i, special) == expected([TRICKY], special), text[:i]


def test_a_word_a_character_or_a_special_token_is_never_cut():
    text, names = TRICKY.encode(), [one.encode() for one in SPECIAL]
    within = [
        i for match in pattern_of(SPECIAL).finditer(TRICKY) for i in range(match.start() + 1, match.end())
    ]
    starts = {len(TRICKY[:i].encode()) for i in range(len(TRICKY))}
    borders = {i for i in range(len(text)) if is_border(text, i, names)}
    assert within and not borders & {len(TRICKY[:i].encode()) for i in within}
    assert borders <= starts
    wrong = [i for i in sorted(starts - {0}) if cut(text, i, SPECIAL) != expected([TRICKY])]
    assert len(wrong) > 20 and not borders & set(wrong)  # so a border elsewhere is no border by luck


@pytest.mark.parametrize("size", [1, 2, 3, 7, 40, 1000])
@pytest.mark.parametrize("window", [1, 5, 1 << 16])
def test_blocks_of_any_size_cover_the_file_and_count_the_same(size, window, tmp_path, monkeypatch):
    monkeypatch.setattr(counting, "WINDOW", window)
    file = tmp_path / "tricky.txt"
    file.write_bytes(TRICKY.encode())
    blocks = list(blocks_of(file, SPECIAL, size))
    assert [one.start for one in blocks] == [0, *(one.end for one in blocks[:-1])]
    assert blocks[-1].end == file.stat().st_size and all(one.end > one.start for one in blocks)
    assert len(blocks) > 5 or size > 7
    assert count_blocks(blocks, SPECIAL) == expected([TRICKY])


PIECES = st.sampled_from(
    [
        *SPECIAL,
        " ",
        "  ",
        "\n",
        "\r\n",
        "\t",
        "a",
        "b",
        "c",
        "'",
        "ll",
        "é",
        "\u00a0",
        "\u3000",
        "7",
        "<",
        ".",
        "🙂",
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(PIECES, max_size=40).map("".join), st.integers(1, 30), st.sets(st.sampled_from(SPECIAL)))
def test_the_counts_of_generated_texts_are_those_of_the_whole(tmp_path_factory, text, size, special):
    file, special = tmp_path_factory.mktemp("texts") / "text.txt", sorted(special)
    file.write_bytes(text.encode())
    assert count_words_of_files([file], special, block=size) == expected([text], special)


@settings(max_examples=60, deadline=None)
@given(st.lists(PIECES, max_size=30).map("".join), st.integers(0, 60), st.integers(1, 9))
def test_the_first_border_is_found_whatever_is_read_at_a_time(text, at, window):
    data, names = text.encode(), [one.encode() for one in SPECIAL]
    right = next((i for i in range(at, len(data)) if is_border(data, i, names)), len(data))
    before, counting.WINDOW = counting.WINDOW, window
    try:
        assert first_border(io.BytesIO(data), at, len(data), names) == right
    finally:
        counting.WINDOW = before


def test_several_processes_count_what_one_counts(tmp_path):
    texts = [TRICKY * 3, "", "one word", "a b\n" * 200]
    files = [tmp_path / f"{i}.txt" for i in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_bytes(text.encode())
    found = count_words_of_files(files, SPECIAL, processes=3, block=50)
    assert found == expected(texts) and isinstance(found, Counter)
    assert count_words_of_files(files[1:2], SPECIAL, processes=3) == {}


def test_the_tokenizer_is_the_one_that_the_texts_give(tmp_path):
    texts = ["the then<|end|>the hen\n" * 30, TRICKY]
    files = [tmp_path / f"{i}.txt" for i in range(2)]
    for file, text in zip(files, texts, strict=True):
        file.write_bytes(text.encode())
    found = train_tokenizer_of_files(files, 20, ["<|end|>"], processes=2)
    assert (found.merges, found.numbers) == (
        train_tokenizer(texts, 20, ["<|end|>"]).merges,
        train_tokenizer(texts, 20, ["<|end|>"]).numbers,
    )


@pytest.mark.parametrize("processes", [1, 2])
def test_a_file_that_is_no_text_is_named_with_its_byte(processes, tmp_path):
    file = tmp_path / "picture.txt"
    file.write_bytes(b"some words\n" * 30 + b"\xff\n" + b"more words\n" * 30)
    with pytest.raises(ValueError, match=rf"UTF-8; got {re.escape(str(file))}, where byte 330 is not"):
        count_words_of_files([file], processes=processes, block=100)


def test_a_process_that_dies_is_one_sentence_and_the_others_end(tmp_path, monkeypatch):
    file, started, real = tmp_path / "text.txt", [], counting._started
    file.write_bytes(b"some words\n" * 300)

    def killed(blocks, special):
        process = real(blocks, special)
        started.append(process)
        if len(started) == 1:
            process.kill()
        return process

    monkeypatch.setattr(counting, "_started", killed)
    with pytest.raises(RuntimeError, match="a process ended with code -9 before it had counted"):
        count_words_of_files([file], processes=2, block=100)
    assert all(process.returncode is not None for process in started)


def test_a_process_loads_python_alone():
    script = "import sys, attnlib.data.bpe.counting; print({'torch', 'numpy'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=os.environ)
    assert done.stdout.strip() == "set()", done.stderr


def test_memory_does_not_grow_with_the_file(tmp_path):
    """Peak of one process on 2 MB and on 16 MB of the same words: blocks are read one at a time."""
    script = (
        "import sys, pathlib; from attnlib.data.bpe.counting import count_words_of_files as count\n"
        "count([pathlib.Path(sys.argv[1])])\n"
        "print(pathlib.Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])"
    )
    peaks = []
    for megabytes in (2, 16):
        file = tmp_path / f"{megabytes}.txt"
        file.write_bytes(b"some words of a text\n" * (megabytes * 1_000_000 // 21))
        done = subprocess.run([sys.executable, "-c", script, file], capture_output=True, text=True)
        peaks.append(1024 * int(done.stdout))
    assert peaks[1] < peaks[0] + 4_000_000

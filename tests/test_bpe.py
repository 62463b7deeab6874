"""Byte-pair encoding: any text and any bytes in, the same out; the pair of lowest rank first (book: Chapter 4)."""

import re
import subprocess
import sys
import tracemalloc
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnlib.data.bpe.alphabet import BYTES, CHARACTERS, spelled, unspelled
from attnlib.data.bpe.merging import lowest_rank, merge_steps, merge_word
from attnlib.data.bpe.pretokenize import settled_words, split_words
from attnlib.data.bpe.queued import merge_by_queue
from attnlib.data.bpe.tokenizer import Tokenizer, train_tokenizer

END, END_OF = "<|endoftext|>", "<|endoftext|>s"
# What makes the cutting into words hard: white space of several kinds, apostrophes, and pieces of special tokens.
HARD = st.lists(
    st.sampled_from(
        [" ", "\n", "\t", "\u3000", "'", "'l", "l", "re", "the", "12", "²", "!", "<|end", END, END_OF, "é"]
    ),
    max_size=30,
).map("".join)
TEXT = st.one_of(HARD, st.text())


@cache
def prose() -> str:
    """Python's own documentation, 100,000 characters."""
    from pydoc_data.topics import topics

    return "".join(topics.values())[:100_000]


@cache
def trained() -> Tokenizer:
    return train_tokenizer([prose()], 300, [END, END_OF])


def test_every_byte_has_a_character_that_prints_and_comes_back():
    assert sorted(CHARACTERS) == list(range(256)) and len(set(CHARACTERS.values())) == 256
    assert all(character.isprintable() and not character.isspace() for character in CHARACTERS.values())
    assert unspelled(spelled(bytes(range(256)))) == bytes(range(256))
    assert [BYTES.index(byte) for byte in (b"!", b"~", b" ", b"\xff")] == [0, 93, 220, 187]


@given(TEXT)
def test_words_side_by_side_are_the_text(text):
    assert "".join(split_words(text)) == text


@given(TEXT, TEXT)
def test_settled_words_stay_however_the_text_goes_on(text, more):
    settled = list(settled_words(text))
    assert list(split_words(text + more))[: len(settled)] == settled


@given(TEXT)
def test_text_comes_back(text):
    assert trained().decode(trained().encode(text)) == text
    assert trained().decode(trained().encode_ordinary(text)) == text


@given(st.one_of(st.binary(), TEXT.map(str.encode)))
def test_bytes_come_back_also_those_that_are_no_text(data):
    assert trained().decode_bytes(trained().encode(data)) == data
    assert trained().decode_bytes(trained().encode_stream([data[:3], data[3:]])) == data


def test_every_byte_alone_comes_back():
    for data in BYTES:
        assert trained().decode_bytes(trained().encode(data)) == data


@given(TEXT, st.lists(st.integers(0, 60), max_size=5))
def test_a_stream_cut_anywhere_gives_the_numbers_of_the_whole(text, cuts):
    places = [0, *sorted(cuts), len(text)]
    chunks = [text[i:j] for i, j in zip(places, places[1:], strict=False)]
    assert list(trained().encode_stream(chunks)) == trained().encode(text)
    data = text.encode()
    assert list(trained().encode_stream([data[i : i + 1] for i in range(len(data))])) == trained().encode(
        text
    )


def heard_before(tokenizer, *chunks):
    """For each number of a stream: how many chunks had been asked for when it came."""
    asked = []
    chunks = (asked.append(chunk) or chunk for chunk in chunks)
    return [len(asked) for _ in tokenizer.encode_stream(chunks)]


def test_a_stream_lets_go_of_all_but_two_words_and_what_may_begin_a_special_token():
    assert heard_before(Tokenizer([]), "a-b", ".") == [1, 2, 2, 2]
    assert heard_before(Tokenizer([], ["<e>"]), "a-bcd", "e") == [1, 2, 2, 2, 2, 2]
    assert heard_before(Tokenizer([], ["<e>"]), "a<", "e>", "b") == [2, 2, 3]


@given(st.lists(st.integers(0, 557), max_size=12))
def test_decoding_a_stream_that_splits_characters_gives_the_text_of_the_whole(numbers):
    assert "".join(trained().decode_stream(numbers)) == trained().decode(numbers)


def test_a_character_is_shown_when_it_is_whole():
    bare = Tokenizer([])
    assert list(bare.decode_stream(bare.encode("a🙂b"))) == ["a", "", "", "", "🙂", "b"]
    assert list(bare.decode_stream(bare.encode("🙂")[:2])) == ["", "", "�"]


def test_the_lowest_rank_is_joined_first_wherever_it_stands():
    """In the order of the text, or of the longest token, `ab` would be joined first and `c` be left alone."""
    ranks = {(b"b", b"c"): 0, (b"a", b"b"): 1, (b"a", b"bc"): 2, (b"ab", b"c"): 3}
    assert lowest_rank([b"a", b"b", b"c"], ranks) == (b"b", b"c")
    assert [step.pair for step in merge_steps(b"abc", ranks)] == [(b"b", b"c"), (b"a", b"bc")]
    assert merge_word(b"abab", ranks) == [b"ab", b"ab"]


def test_each_step_joins_the_pair_that_it_names_and_loses_nothing():
    ranks = {pair: rank for rank, pair in enumerate(trained().merges)}
    steps = list(merge_steps(b" statement", ranks))
    assert len(steps) >= 4 and [step.rank for step in steps] == sorted(step.rank for step in steps)
    for step in steps:
        assert ranks[step.pair] == step.rank and b"".join(step.pair) in step.parts
        assert b"".join(step.parts) == b" statement"
    assert merge_word(b" statement", ranks) == steps[-1].parts


@given(st.one_of(st.text("etainos .", max_size=60).map(str.encode), st.binary(max_size=60)))
def test_the_queue_joins_what_looking_through_the_word_joins(word):
    ranks = {pair: rank for rank, pair in enumerate(trained().merges)}
    assert merge_by_queue(word, ranks) == merge_word(word, ranks)


def test_the_space_belongs_to_the_word_after_it():
    """Whoever strips tokens, or puts a space between them, loses spaces or gains some."""
    text = "the  the\n the"
    tokenizer = Tokenizer([(b"h", b"e"), (b"t", b"he"), (b" ", b"the")])
    tokens = [tokenizer.token(number) for number in tokenizer.encode(text)]
    assert tokens == [b"the", b" ", b" the", b"\n", b" the"]
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_special_tokens_are_never_merged_or_split():
    tokenizer = trained()
    one, longer = tokenizer.numbers[END], tokenizer.numbers[END_OF]
    assert (one, longer, len(tokenizer)) == (556, 557, 558)
    the = tokenizer.encode("the")
    assert tokenizer.encode(f"the{END}the{END_OF}{END}") == [*the, one, *the, longer, one]
    assert tokenizer.encode(f"  {END} the") == [*tokenizer.encode("  "), one, *tokenizer.encode(" the")]
    ordinary = tokenizer.encode_ordinary(f"the{END}")
    assert one not in ordinary and tokenizer.decode(ordinary) == f"the{END}"


def test_special_tokens_teach_nothing():
    with_marks = train_tokenizer([END.join(prose()[i : i + 5000] for i in range(0, 20_000, 5000))], 40, [END])
    without = train_tokenizer([prose()[i : i + 5000] for i in range(0, 20_000, 5000)], 40)
    assert with_marks.merges == without.merges


def test_a_file_is_never_held_as_a_whole(tmp_path: Path):
    file = tmp_path / "prose.bin"
    file.write_bytes((prose().encode() + bytes(range(256))) * 3)
    tokenizer = Tokenizer(trained().merges)
    tracemalloc.start()
    try:
        count = sum(1 for _ in tokenizer.encode_file(file))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 8 * count > 1e6 and file.stat().st_size > 3e5  # a list of its numbers, or its text in two places
    assert peak < 5e5


def test_words_are_remembered_up_to_a_limit(monkeypatch: pytest.MonkeyPatch):
    from attnlib.data.bpe import tokenizer as module

    monkeypatch.setattr(module, "REMEMBERED", 7)
    small = Tokenizer(trained().merges)
    assert small.encode(prose()[:3000]) == trained().encode(prose()[:3000])
    assert 0 < len(small._remembered) <= 7
    few = Tokenizer(trained().merges)
    few.encode("one two three four five six seven two three")
    assert len(few._remembered) == 7


BAD = [
    (lambda: trained().encode(None), TypeError, "must be text or bytes; got NoneType"),
    (lambda: list(trained().encode_stream(b"abc")), TypeError, "must be text or bytes; got int"),
    (lambda: trained().encode("a\ud800"), ValueError, r"got half of one, '\ud800', at 1"),
    (lambda: trained().decode([3, 558]), ValueError, "0 to 557; got 558"),
    (lambda: trained().decode([-1]), ValueError, "0 to 557; got -1"),
    (lambda: Tokenizer([("a", "b")]), TypeError, "must be a pair of bytes, as (b'h', b'e'); got ('a', 'b')"),
    (
        lambda: Tokenizer([(b"a", b"b")] * 2),
        ValueError,
        "each merge must come once; got 'a b' again at rank 1",
    ),
    (
        lambda: Tokenizer([(b" a", b"b")]),
        ValueError,
        "got 'Ġa b' at rank 0, and nothing before it makes 'Ġa'",
    ),
    (lambda: Tokenizer([], [""]), ValueError, "a special token must be a text that is not empty"),
    (lambda: Tokenizer([], ["<e>", "<e>"]), ValueError, "comes once and is no ordinary token; got '<e>'"),
    (lambda: Tokenizer([(b"h", b"e")], ["he"]), ValueError, "is no ordinary token; got 'he'"),
    (lambda: unspelled("a b"), ValueError, "got ' ' in 'a b'. A space is written Ġ"),
]


@pytest.mark.bad_input
@pytest.mark.parametrize(("call", "kind", "sentence"), BAD)
def test_bad_input_gets_a_sentence(call, kind, sentence):
    with pytest.raises(kind, match=re.escape(sentence)):
        call()


def test_without_the_package_regex_a_sentence_says_what_to_install():
    code = (
        "import sys; sys.modules['regex'] = None\n"
        "from attnlib.data.bpe.tokenizer import Tokenizer\n"
        "tokenizer = Tokenizer([(b'h', b'e')])\n"
        "assert tokenizer.decode([256]) == 'he'\n"
        "tokenizer.encode('he')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ImportError: split_words: the published pattern needs the package `regex`" in done.stderr
    assert "pip install 'attnlib[pretrained]'" in done.stderr


def test_a_name_beyond_the_merges_is_decoded_although_no_text_is_encoded_to_it():
    """As GPT-2's file has <|endoftext|>, where nobody declares it special."""
    plain = Tokenizer([(b"h", b"e")])
    numbers = plain.numbers | {END: 257, "Ġthe": 258, "< end >": 259}
    tokenizer = Tokenizer([(b"h", b"e")], numbers=numbers)
    assert len(tokenizer) == 260
    assert tokenizer.decode(range(257, 260)) == f"{END} the< end >"
    assert list(tokenizer.decode_stream([257])) == [END]
    assert tokenizer.encode(f"he{END} the") == plain.encode(f"he{END} the")

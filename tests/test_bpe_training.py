"""Learning merges: the quick way equals the definition, ties go by the rule that is named (book: Chapter 4)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlib.data.bpe.tokenizer import train_tokenizer
from attnlib.data.bpe.training import (
    TIES,
    PairCounts,
    count_words,
    learn_merges,
    learn_merges_by_recounting,
)


def test_the_most_frequent_pair_comes_first_and_is_joined_before_the_next_is_counted():
    """h e: 4 times; then t he: 3 times, although t h was as frequent before."""
    words = {b"the": 2, b"then": 1, b"hen": 1}
    assert learn_merges_by_recounting(words, 3) == [(b"h", b"e"), (b"t", b"he"), (b"he", b"n")]


def test_a_tie_goes_to_the_smaller_numbers_not_to_the_smaller_bytes():
    """The space is byte 32 but has the number 220, after every letter."""
    assert learn_merges({b"b ": 1, b"ba": 1}, 1) == [(b"b", b"a")]
    assert learn_merges({b"ya": 1, b"xz": 1}, 1) == [(b"x", b"z")]


@settings(max_examples=30)  # recounting is slow
@given(
    st.dictionaries(st.text("abc ", min_size=1, max_size=9).map(str.encode), st.integers(1, 3), max_size=12)
)
@pytest.mark.parametrize("ties", TIES)
def test_counting_only_what_changed_gives_the_same_merges(ties, words):
    assert learn_merges(words, 12, ties) == learn_merges_by_recounting(words, 12, ties)


def test_a_tie_may_go_to_the_larger_bytes_instead():
    """As pairs of bytes, not joined: (BA, A) comes after (B, ZZ), although BAA comes before BZZ."""
    assert learn_merges({b"ab": 1, b"ac": 1}, 1, ties="bytes") == [(b"a", b"c")]
    assert learn_merges({b"b ": 1, b"ba": 1}, 1, ties="bytes") == [(b"b", b"a")]
    words = {b"BA": 9, b"BAA": 2, b"BZ": 2, b"ZZ": 8, b"BZZ": 2}
    for learn in (learn_merges, learn_merges_by_recounting):
        assert learn(words, 9, ties="bytes")[:3] == [(b"B", b"A"), (b"Z", b"Z"), (b"BA", b"A")]
        assert learn(words, 9, ties="numbers")[:3] == [(b"B", b"A"), (b"Z", b"Z"), (b"B", b"Z")]
    by_numbers, by_bytes = (train_tokenizer(["ab cd"], 1, ties=ties).merges for ties in TIES)
    assert by_numbers == ((b"a", b"b"),) and by_bytes == ((b"c", b"d"),)


@pytest.mark.bad_input
def test_another_rule_for_ties_is_named():
    for learn in (learn_merges, learn_merges_by_recounting):
        with pytest.raises(ValueError, match="learn_merges: ties must be one of numbers, bytes; got 'first'"):
            learn({b"ab": 1}, 1, ties="first")


@settings(max_examples=30)
@given(st.dictionaries(st.text("ab", min_size=1, max_size=9).map(str.encode), st.integers(1, 9), min_size=1))
def test_counts_stay_true_while_pairs_are_joined(words):
    pairs, number = PairCounts(words), 256
    while pair := pairs.most_frequent():
        pairs.join(pair, number)
        number += 1
        counted = {}
        for parts, times in zip(pairs.words, pairs.times, strict=True):
            for both in zip(parts, parts[1:], strict=False):
                counted[both] = counted.get(both, 0) + times
        assert {both: count for both, count in pairs.counts.items() if count} == counted


def test_it_ends_when_every_word_is_one_token():
    assert learn_merges({b"aaaa": 1}, 99) == [(b"a", b"a"), (b"aa", b"aa")]
    assert learn_merges({}, 5) == learn_merges_by_recounting({}, 5) == []


def test_words_are_counted_over_all_texts():
    assert count_words(["it's it", " it"]) == {b"it": 1, b"'s": 1, b" it": 2}

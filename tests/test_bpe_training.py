"""Learning merges: the quick way equals the definition, ties go to the smaller numbers (book: Chapter 4)."""

from hypothesis import given, settings
from hypothesis import strategies as st

from attnlib.data.bpe.training import (
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
    st.dictionaries(st.text("abc ", min_size=1, max_size=9).map(str.encode), st.integers(1, 9), max_size=12)
)
def test_counting_only_what_changed_gives_the_same_merges(words):
    assert learn_merges(words, 12) == learn_merges_by_recounting(words, 12)


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

"""Who is what, in two languages: agreement, articles, negation, and links that say which word comes from which."""

import pytest

from attnlib.data.phrases import phrase, phrases, vocabularies


@pytest.mark.parametrize(
    ("french", "english", "links"),
    [
        ("je suis étudiant", "I am a student", [0, 1, 2, 2]),
        ("elle est écrivaine", "she is a writer", [0, 1, 2, 2]),
        ("vous êtes architectes", "you are architects", [0, 1, 2]),
        ("tu n' es pas actrice", "you are not an actor", [0, 2, 3, 4, 4]),
        ("nous ne sommes pas seules", "we are not alone", [0, 2, 3, 4]),
    ],
)
def test_a_sentence_its_translation_and_where_each_word_comes_from(french, english, links):
    pair = phrase(french)
    assert " ".join(pair.target) == english
    assert sorted((i, j) for j, i in pair.sure) == list(enumerate(links))
    assert set(pair.possible) - set(pair.sure) == ({(1, 2)} if "pas" in pair.source else set())


def test_what_is_held_out_is_new_and_made_of_known_words():
    train, test = phrases()
    assert not {pair.source for pair in train} & {pair.source for pair in test}
    for side in ("source", "target"):
        known = {word for pair in train for word in getattr(pair, side)}
        assert {word for pair in test for word in getattr(pair, side)} <= known
    assert {len(pair.source) for pair in test} == {3, 5}
    assert phrases(seed=1)[1] != test


def test_a_source_has_one_translation_and_vocabularies_hold_every_word():
    pairs, (french, english) = phrases(held_out=0.0)[0], vocabularies()
    assert len({pair.source for pair in pairs}) == len(pairs) == 432
    for pair in pairs:
        assert french.decode(french.encode(pair.source)) == pair.source
        assert english.decode(english.encode(pair.target)) == pair.target


def test_an_unknown_sentence_is_named():
    with pytest.raises(
        ValueError, match="one of the 432 sentences, such as 'je suis étudiant'; got 'je dors'"
    ):
        phrase("je dors")

"""Which noun a verb agrees with (book: heads-at-work)."""

import pytest

from attnlib.data.agreement import agreements, finite_forms
from attnlib.data.bilingual import corpus, economic_area

PAIRS = corpus(400, lengths=(3, 20), seed=11)


def test_the_verbs_form_is_that_of_its_subject():
    """The grammar makes verb and subject agree, and the form of the verb was never looked at to find the subject."""
    singular, plural = finite_forms()
    for pair in PAIRS:
        for found in agreements(pair):
            assert pair.source[found.verb] in (plural if found.plural else singular)
            assert pair.kinds[found.subject] == "noun" and found.subject < found.verb


def test_a_noun_of_the_other_number_misleads_a_reader_who_takes_the_nearest():
    between = [(pair, found) for pair in PAIRS for found in agreements(pair) if found.between is not None]
    assert len(between) > 50
    for pair, found in between:
        assert found.subject < found.between < found.verb
        nearest = max(i for i in range(found.verb) if pair.kinds[i] == "noun")
        assert nearest == found.between


def test_every_clause_has_one_finite_verb():
    singular, plural = finite_forms()
    assert not singular & plural
    for pair in PAIRS:
        assert len(agreements(pair)) == pair.kinds.count("conj") + 1


def test_a_sentence_without_classes_is_refused():
    with pytest.raises(ValueError, match=r"must know its words' classes \(kinds\); got none"):
        agreements(economic_area())

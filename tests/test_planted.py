"""The planted text is what it says of itself: no two originals are alike, copies are, leaks are inside."""

import os
import subprocess
import sys

import numpy as np
import pytest

from attnlib.data import planted, quality
from attnlib.data.duplicates import jaccard, shingles, similar_pairs, words
from attnlib.data.overlap import shared_runs


@pytest.fixture(scope="module")
def documents():
    return planted.planted()


def of_kind(documents, kind):
    return [one for one in documents if one.kind == kind]


def test_no_two_originals_are_alike_but_for_a_licence(documents):
    originals = [shingles(one.text) for one in of_kind(documents, "original")]
    pairs, _ = similar_pairs(originals, planted.ALIKE)
    assert len(pairs) == 0 and len(originals) > 1000
    headed = [one.text.removeprefix(planted.LICENCE) for one in of_kind(documents, "headed")]
    assert len(similar_pairs([shingles(text) for text in headed], planted.ALIKE)[0]) == 0


def test_copies_are_edits_of_their_originals(documents):
    J = [jaccard(shingles(one.text), shingles(documents[one.of].text)) for one in of_kind(documents, "copy")]
    assert len(J) == sum(planted.COPIES) and np.mean(J) > 0.6 and min(J) > 0.1
    assert {documents[one.of].kind for one in of_kind(documents, "copy")} == {"original"}
    family = planted.families(documents)
    assert sorted(np.bincount(family)[np.bincount(family) > 1] - 1, reverse=True) == list(planted.COPIES)


def test_test_lines_leak_as_often_as_planted_and_into_no_original(documents):
    test, new, other = planted.held_out()
    assert len(test) == planted.TEST and min(len(new), len(other)) > 60
    leaked = of_kind(documents, "leaked")
    assert sorted(np.bincount([one.of for one in leaked]).tolist()) == sorted(list(planted.LEAKED) * 10)
    found = shared_runs([one.text for one in leaked], test)
    assert all(found[i, one.of] > 0 for i, one in enumerate(leaked))
    others = shared_runs([one.text for one in documents if one.kind != "leaked"], test)
    assert (others.sum(axis=1) > 0).mean() < 0.01


def test_disorder_keeps_the_words_and_tables_have_none(documents):
    text = "def f(x):\n    return x + 1\n"
    assert (
        sorted(words(planted.in_disorder(text, 1))) == sorted(words(text))
        and planted.in_disorder(text, 1) != text
    )
    assert len(of_kind(documents, "bad")) == planted.BAD


def test_trusted_functions_are_not_in_the_planted_text(documents):
    there = {one.text for one in documents}
    narrow = planted.trusted(("asyncio", "email"))
    assert len(planted.trusted()) == planted.TRUSTED and not there & {*planted.trusted(), *narrow}


def test_a_filter_learns_what_is_trusted(rng):
    good = [" ".join(rng.choice(["a b", "c d", "e f"], 30)) for _ in range(40)]
    bad = [" ".join(rng.permutation(text.split())) for text in good]
    X = quality.hashed_pairs([*good, *bad])
    trusted = np.arange(80) < 40
    score = quality.trusted_score(X, quality.fit_filter(X, trusted))
    assert ((score > 0) == trusted).mean() > 0.95
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1)


def test_the_documents_are_the_same_whatever_the_hashes_of_strings():
    """Sets have another order in each process, unless PYTHONHASHSEED is set; no choice may follow it."""
    code = (
        "from attnlib.data.planted import planted; import zlib; print(zlib.crc32(repr(planted()).encode()))"
    )

    def in_a_process(seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        return subprocess.check_output([sys.executable, "-c", code], env=environment, text=True)

    assert in_a_process("0") == in_a_process("1")

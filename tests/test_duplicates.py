"""Near-duplicates: MinHash estimates the exact Jaccard similarity, bands find what they should, clusters keep one."""

from itertools import combinations

import numpy as np
import pytest

from attnlib.data.duplicates import (
    candidates,
    clusters,
    first_of_each,
    found_share,
    jaccard,
    near_duplicates,
    shingles,
    signatures,
    similar_pairs,
)


def sets_of(rng, n=40, vocabulary=60):
    """Random sets, some of which have much in common."""
    base = [set(rng.choice(vocabulary, 20, replace=False).tolist()) for _ in range(6)]
    return [
        frozenset(f"w{one}" for one in base[i % 6] if rng.random() < 0.9)
        | {f"own {i} {k}" for k in range(i % 4)}
        for i in range(n)
    ]


def test_similar_pairs_are_those_of_a_comparison_of_all(rng):
    sets = sets_of(rng)
    for least in (0.01, 0.3, 0.7):
        pairs, J = similar_pairs(sets, least)
        by_all = {(i, j): jaccard(sets[i], sets[j]) for i, j in combinations(range(len(sets)), 2)}
        assert {(i, j) for i, j in pairs.tolist()} == {pair for pair, one in by_all.items() if one >= least}
        np.testing.assert_allclose(J, [by_all[i, j] for i, j in pairs.tolist()], rtol=1e-12)


def test_equal_minima_are_as_frequent_as_the_similarity_says(rng):
    sets = sets_of(rng)
    pairs, J = similar_pairs(sets, 0.1)
    S = signatures(sets, n_hashes=2000, seed=3)
    share = (S[pairs[:, 0]] == S[pairs[:, 1]]).mean(axis=1)
    spread = np.sqrt(J * (1 - J) / 2000) + 1e-9
    assert (np.abs(share - J) < 4 * spread + 1e-6).all()  # 4 standard deviations of a binomial share
    assert abs(((share - J) / spread)[J < 1].std() - 1) < 0.25, "the spread is the binomial one"


def test_bands_are_equal_as_often_as_the_curve_says(rng):
    shares = np.array([0.3, 0.5, 0.7, 0.85])
    for bands, rows in ((8, 2), (4, 4), (16, 3)):
        agree = rng.random((4000, len(shares), bands, rows)) < shares[:, None, None]
        seen = agree.all(axis=3).any(axis=2).mean(axis=0)
        expected = found_share(shares, bands, rows)
        assert (np.abs(seen - expected) < 4 * np.sqrt(expected * (1 - expected) / 4000) + 1e-9).all()


def test_candidates_are_the_pairs_with_an_equal_band(rng):
    S = rng.integers(0, 3, (25, 12))
    for bands, rows in ((4, 3), (6, 2), (3, 3)):
        expected = [
            [i, j]
            for i, j in combinations(range(25), 2)
            if any(
                (S[i, k * rows : (k + 1) * rows] == S[j, k * rows : (k + 1) * rows]).all()
                for k in range(bands)
            )
        ]
        assert candidates(S, bands, rows).tolist() == expected


def test_near_duplicates_are_compared_exactly_after_the_bands(rng):
    sets = sets_of(rng)
    pairs, compared = near_duplicates(sets, 0.6, bands=32, rows=2)
    exact, _ = similar_pairs(sets, 0.6)
    assert {tuple(one) for one in pairs.tolist()} <= {tuple(one) for one in exact.tolist()}
    assert len(exact) - len(pairs) <= 0.02 * len(exact) and len(pairs) <= compared


def test_clusters_are_the_connected_components(rng):
    scipy = pytest.importorskip("scipy.sparse")
    from scipy.sparse.csgraph import connected_components

    for _ in range(20):
        n, p = 30, rng.integers(0, 40)
        pairs = rng.integers(0, n, (p, 2))
        graph = scipy.coo_matrix((np.ones(p), pairs.T), shape=(n, n))
        count, label = connected_components(graph, directed=False)
        ours = clusters(n, pairs)
        assert len(set(ours.tolist())) == count == first_of_each(n, pairs).sum()
        assert len({(a, b) for a, b in zip(ours.tolist(), label.tolist(), strict=True)}) == count
        assert (ours <= np.arange(n)).all()


def test_a_short_text_is_one_shingle():
    assert shingles("a b", k=5) == {"a b"} and len(shingles("a b c d e f", k=5)) == 2


@pytest.mark.bad_input
def test_what_cannot_be_compared_is_refused():
    with pytest.raises(ValueError, match="signatures: each set must have a member"):
        signatures([frozenset(), frozenset("a")])
    with pytest.raises(
        ValueError, match="candidates: bands \\* rows must be at most the number of hashes; got 4 \\* 4"
    ):
        candidates(np.zeros((2, 12), dtype=int), 4, 4)
    with pytest.raises(ValueError, match="similar_pairs: least must be above 0"):
        similar_pairs([frozenset("a")], 0.0)

"""The bilingual corpus and the small tasks: the truth they promise is the truth (book: the-bottleneck)."""

import itertools
import re
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from attnlib.data import bilingual, tasks
from attnlib.data.bilingual import Pair, corpus, economic_area, split_of, translate
from attnlib.data.french import french
from attnlib.data.grammar import Grammar, english
from attnlib.data.lexicon import LEXICON, VOWELS
from attnlib.data.vocab import BOS, EOS, PAD, Vocab, batch, batches, pad

PAIRS = corpus(300, lengths=(3, 40), seed=7)


def said(sentence: str) -> Pair:
    """The pair whose English is `sentence`, found by listing all sentences of that length over the words it needs."""
    words = {"a" if word == "an" else word for word in sentence.split()}
    few = {
        name: tuple(entry for entry in entries if words & {*entry.english})
        for name, entries in vars(LEXICON).items()
    }
    grammar = Grammar(type(LEXICON)(**few))
    found = [
        leaves for leaves in grammar.enumerate(len(sentence.split())) if " ".join(english(leaves)) == sentence
    ]
    assert len(found) == 1, f"{sentence!r} has {len(found)} derivations"
    return translate(found[0])


# --- the grammar ---------------------------------------------------------------------------------------------------


def test_counts_agree_with_listing_all_sentences():
    tiny = Grammar(LEXICON.shortened(2))
    for length in range(2, 6):
        listed = [english(leaves) for leaves in tiny.enumerate(length)]
        assert len(listed) == len(set(listed)) == tiny.count(length)
        assert all(len(words) == length for words in listed)


def test_counts_agree_with_trying_every_string_of_words():
    """A reading of the rules that shares nothing with them: a regular expression over all strings of tiny's words."""
    tiny = Grammar(LEXICON.shortened(1))
    np_one, np_many = r"the (small )?(economic )?cat", r"the (small )?(economic )?cats"
    chain_one, chain_many = (rf"{head}( of ({np_one}|{np_many}))?" for head in (np_one, np_many))
    anyone = f"({chain_one}|{chain_many})"
    clause = (
        rf"({chain_one} (sleeps|sees {anyone}|does not (sleep|see {anyone})|was signed( in august 1992)?)"
        rf"|{chain_many} (sleep|see {anyone}|do not (sleep|see {anyone})|were signed( in august 1992)?))"
    )
    sentence = re.compile(rf"{clause}( and {clause})*")
    string = (
        "the cat cats small economic of sleeps sleep sees see does do not was were signed in august 1992 and"
    )
    words = string.split()
    for length in range(2, 5):
        strings = (" ".join(string) for string in itertools.product(words, repeat=length))
        accepted = {string for string in strings if sentence.fullmatch(string)}
        assert accepted == {" ".join(english(leaves)) for leaves in tiny.enumerate(length)}
    for length in range(5, 9):
        listed = [" ".join(english(leaves)) for leaves in tiny.enumerate(length)]
        assert all(sentence.fullmatch(string) for string in listed)
        assert len(set(listed)) == len(listed) == tiny.count(length)


def test_length_three_of_the_whole_language_counts_by_hand():
    determiners, nouns, verbs = len(LEXICON.det), len(LEXICON.noun), len(LEXICON.intransitive)
    assert (
        bilingual.count(3) == 2 * determiners * nouns * verbs == len(list(bilingual.grammar().enumerate(3)))
    )
    assert bilingual.count(2) == 0
    assert len({pair.source for pair in bilingual.enumerate_sentences(3)}) == bilingual.count(3)


def test_patterns_of_one_length_are_equally_likely():
    grammar, n = Grammar(), 6000
    rng = np.random.default_rng(3)
    seen = Counter(tuple((leaf.kind, leaf.plural) for leaf in grammar.sample(rng, 4)) for _ in range(n))
    assert len(seen) == grammar.count_patterns(4) == 6
    p = 1 / 6
    assert (
        max(abs(k / n - p) for k in seen.values()) < 4 * (p * (1 - p) / n) ** 0.5
    )  # 4 standard errors, n=6000


def test_no_word_is_in_the_lexicon_twice():
    for entries in vars(LEXICON).values():
        assert len({entry.english for entry in entries}) == len(entries)
    nouns = [form for noun in LEXICON.noun for form in noun.english]
    assert len(set(nouns)) == 64
    assert {noun.gender for noun in LEXICON.noun} == {"m", "f"}


def test_sampling_refuses_an_impossible_length():
    with pytest.raises(ValueError, match=r"no sentence has 2 words; take 3"):
        Grammar().sample(np.random.default_rng(0), 2)


# --- the French side -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("the small black cat sleeps", "le petit chat noir dort"),
        ("the small black cats sleep", "les petits chats noirs dorment"),
        ("an old agreement was signed", "un vieil accord a été signé"),
        ("some old areas were signed in may 1957", "quelques vieilles zones ont été signées en mai 1957"),
        ("this bird does not see a cat", "cet oiseau ne voit pas de chat"),
        ("my school does not love an island", "mon école n' aime pas d' île"),
        ("the friend of the king sees the books of the church", "l' ami du roi voit les livres de l' église"),
        ("the cat near the trees waits", "le chat près des arbres attend"),
        ("the dog at the bridge follows a car", "le chien au pont suit une voiture"),
        ("a european agreement was found", "un accord européen a été trouvé"),
        ("the queen sleeps because the king does not sleep", "la reine dort car le roi ne dort pas"),
    ],
)
def test_french_is_what_a_french_reader_expects(source: str, target: str):
    assert " ".join(said(source).target) == target


def test_the_grammar_says_the_documents_sentence_with_the_alignment_made_by_hand():
    by_hand = economic_area()
    by_grammar = said(" ".join(by_hand.source))
    assert by_grammar.target == by_hand.target
    assert set(by_grammar.sure) == set(by_hand.sure)
    assert "zone" not in by_hand.source  # C045: the aligned source word is "area"
    assert by_hand.source[{i: j for j, i in by_hand.sure}[by_hand.target.index("zone")]] == "area"


@pytest.mark.parametrize("pair", [*PAIRS, economic_area(), bilingual.eating_bread()])
def test_links_stay_inside_the_sentences_and_every_french_word_has_one(pair: Pair):
    n, m = len(pair.source), len(pair.target)
    assert all(0 <= j < n and 0 <= i < m for j, i in pair.possible)
    assert set(pair.sure) <= set(pair.possible)
    assert len(set(pair.possible)) == len(pair.possible)
    assert {i for _, i in pair.sure} == set(range(m))
    unlinked = [word for j, word in enumerate(pair.source) if j not in {j for j, _ in pair.sure}]
    assert set(unlinked) <= {"do", "does"}


def test_linked_words_translate_each_other_and_agree():
    nouns = {form: (noun, plural) for noun in LEXICON.noun for plural, form in enumerate(noun.english)}
    adjectives = {entry.english[0]: entry for entry in (*LEXICON.pre, *LEXICON.post)}
    checked = Counter()
    for pair in PAIRS:
        linked = {j: pair.target[i] for j, i in pair.sure}
        for j, word in enumerate(pair.source):
            if pair.kinds[j] in ("pre", "post"):
                k = next(k for k in range(j, len(pair.source)) if pair.kinds[k] == "noun")
                noun, plural = nouns[pair.source[k]]
                forms = adjectives[word].french
                expected = forms[2 * plural + (noun.gender == "f")]
                if pair.kinds[j] == "pre" and not plural and noun.gender == "m" and linked[k][0] in VOWELS:
                    expected = forms[4]
                assert linked[j] == expected
                checked["adjective"] += 1
            if pair.kinds[j] == "participle":
                clause = max((k for k in range(j) if pair.kinds[k] == "conj"), default=-1)
                k = next(k for k in range(clause + 1, j) if pair.kinds[k] == "noun")
                noun, plural = nouns[pair.source[k]]
                assert linked[j].endswith(("", "e", "s", "es")[2 * plural + (noun.gender == "f")])
                assert pair.source[j - 1] == ("were" if plural else "was")
                checked["participle"] += 1
    assert checked["adjective"] > 300 and checked["participle"] > 100


def test_some_adjectives_precede_the_french_noun_and_most_follow():
    """C147: "in French adjectives follow the noun" is not the whole story."""
    before = Counter()
    for pair in PAIRS:
        place = dict(pair.sure)
        for j, kind in enumerate(pair.kinds):
            if kind in ("pre", "post"):
                k = next(k for k in range(j, len(pair.source)) if pair.kinds[k] == "noun")
                assert (place[j] < place[k]) == (kind == "pre")
                before[kind] += 1
    assert before["post"] > before["pre"] > 0


def test_elision_and_contraction_leave_nothing_undone():
    for pair in PAIRS:
        for this, following in itertools.pairwise(pair.target):
            assert not (this in ("le", "la", "de", "ne", "ce", "ma") and following[0] in VOWELS)
            assert not (this == "de" and following in ("le", "les"))
            assert not (this == "à" and following in ("le", "les"))
            assert not (this.endswith("'") and following[0] not in VOWELS)


# --- the corpus ----------------------------------------------------------------------------------------------------


def test_corpus_is_the_same_for_the_same_seed_and_stays_in_its_lengths():
    assert corpus(50, seed=1) == corpus(50, seed=1) != corpus(50, seed=2)
    assert corpus(20, seed=1) == corpus(50, seed=1)[:20]
    assert {len(pair.source) for pair in corpus(400, lengths=(5, 9), seed=1)} == {5, 6, 7, 8, 9}


def test_corpus_of_a_seed_never_changes():
    """Stored results name a seed; this is the sentence they mean."""
    assert " ".join(corpus(1, lengths=(8, 8), seed=0)[0].source) == (
        "the company does not buy these european queens"
    )


def test_no_sentence_is_in_two_splits():
    sources = {
        split: {pair.source for pair in corpus(1500, lengths=(3, 5), split=split)}
        for split in ("train", "valid", "test")
    }
    assert all(not sources[a] & sources[b] for a, b in itertools.combinations(sources, 2))
    assert split_of(economic_area().source) == "test"


def test_splits_have_the_promised_sizes():
    shares = Counter(split_of(english(leaves)) for leaves in bilingual.grammar().enumerate(3))
    n = bilingual.count(3)
    for split, share in (("train", 0.8), ("valid", 0.1), ("test", 0.1)):
        assert (
            abs(shares[split] / n - share) < 4 * (share * (1 - share) / n) ** 0.5
        )  # 4 standard errors, n=2048


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"split": "dev"}, "split must be one of train, valid, test; got 'dev'"),
        ({"lengths": (2, 5)}, r"got \(2, 5\)"),
    ],
)
def test_corpus_explains_a_wrong_argument(wrong: dict, message: str):
    with pytest.raises(ValueError, match=message):
        corpus(1, **wrong)


# --- words as numbers ----------------------------------------------------------------------------------------------


def test_the_vocabularies_hold_every_word_of_the_corpus():
    source, target = bilingual.source_vocab(), bilingual.target_vocab()
    for pair in (*PAIRS, economic_area()):
        assert source.decode(source.encode(pair.source)) == pair.source
        assert target.decode(target.encode(pair.target)) == pair.target
    assert source.words[:3] == ("<pad>", "<bos>", "<end>")


def test_vocab_explains_an_unknown_word():
    with pytest.raises(ValueError, match=r"one of the 1 words of the vocabulary; got 'The'"):
        Vocab(["the"]).encode(["The"])


def test_a_batch_is_padded_shifted_and_masked():
    source, target = bilingual.source_vocab(), bilingual.target_vocab()
    data = batch(PAIRS[:5], source, target)
    assert (data.target_in[:, 0] == BOS).all()
    assert (data.target_in[:, 1:] == data.target_out[:, :-1]).all()
    assert ((data.source == PAD) == ~data.source_mask).all()
    assert [target.decode(row) for row in data.target_out] == [pair.target for pair in PAIRS[:5]]
    last = data.source_mask.sum(1) - 1
    assert (data.source[np.arange(5), last] == EOS).all()
    assert pad([[3]])[0].dtype == np.int64


def test_batches_show_each_pair_once_per_epoch_in_an_order_fixed_by_the_seed():
    source, target = bilingual.source_vocab(), bilingual.target_vocab()
    first = list(batches(PAIRS, source, target, 16, seed=1))
    again = list(batches(PAIRS, source, target, 16, seed=1))
    assert all((a.source == b.source).all() for a, b in zip(first, again, strict=True))
    seen = Counter(source.decode(row) for data in first for row in data.source)
    assert seen == Counter(pair.source for pair in PAIRS)
    assert len(list(batches(PAIRS, source, target, 16, epochs=2))) == 2 * len(first)


# --- the tasks -----------------------------------------------------------------------------------------------------

SEQUENCE = {
    "copy": lambda **k: tasks.copy(7, 5, 3, **k),
    "reverse": lambda **k: tasks.reverse(7, 5, 3, **k),
    "repeat_first": lambda **k: tasks.repeat_first(7, 5, 3, **k),
    "look_back": lambda **k: tasks.look_back(7, 5, 3, 2, **k),
}


@pytest.mark.parametrize("name", SEQUENCE)
def test_gold_weights_solve_the_sequence_tasks(name: str):
    task = SEQUENCE[name](seed=1)
    found = np.einsum("bmn,bn->bm", task.weights, task.source)
    assert (found == task.target)[task.mask].all()
    assert (task.weights.sum(-1) == task.mask).all()
    assert (task.source == SEQUENCE[name](seed=1).source).all()
    assert (task.source != SEQUENCE[name](seed=2).source).any()


def test_sequence_tasks_say_what_their_names_promise():
    source = SEQUENCE["copy"](seed=4).source
    assert (SEQUENCE["copy"](seed=4).target == source).all()
    assert (SEQUENCE["reverse"](seed=4).target == source[:, ::-1]).all()
    assert (SEQUENCE["repeat_first"](seed=4).target == source[:, :1]).all()
    assert (SEQUENCE["look_back"](seed=4).target[:, 2:] == source[:, :-2]).all()
    assert SEQUENCE["look_back"]().mask[0].tolist() == [False, False, True, True, True]
    assert (SEQUENCE["look_back"](seed=4).target[:, :2] == 0).all(), "what does not count is zero"


def test_gold_weights_solve_recall_and_the_marked_token():
    recall = tasks.lookup(50, 5, 11, 7, seed=2)
    assert (np.einsum("bmn,bn->b", recall.weights, recall.values) == recall.target).all()
    assert (np.einsum("bmn,bn->b", recall.weights, recall.keys) == recall.query).all()
    assert all(len(set(row)) == 5 for row in recall.keys.tolist())
    found = tasks.marked(50, 5, 7, seed=2)
    assert (np.einsum("bmn,bn->b", found.weights, found.symbols) == found.target).all()
    assert (found.marks.sum(1) == 1).all()


def test_the_latest_mark_is_the_last_one_that_was_seen():
    task = tasks.latest_mark(50, 12, 5, 0.2, seed=3)
    for source, target, weights, seen in zip(task.source, task.target, task.weights, task.mask, strict=True):
        for i in range(12):
            marked = [symbol - 5 for symbol in source[: i + 1] if symbol >= 5]
            assert seen[i] == bool(marked) == weights[i].sum()
            assert not marked or marked[-1] == target[i] == weights[i] @ source - 5
    assert task.chance == 1 / 5
    assert abs((task.source >= 5).mean() - 0.2) < 4 * (0.2 * 0.8 / 600) ** 0.5  # 4 standard errors, n=600
    with pytest.raises(ValueError, match=r"latest_mark: share must be above 0 and at most 1; got share=0"):
        tasks.latest_mark(1, 5, 3, 0)


def test_chance_is_the_accuracy_of_a_position_picked_blindly():
    n, length = 20000, 3
    rng = np.random.default_rng(5)
    blind = rng.integers(length, size=n)
    recall, found = tasks.lookup(n, length, 5, 7, seed=1), tasks.marked(n, length, 7, seed=1)
    copied = tasks.copy(n, length, 7, seed=1)
    assert recall.chance == found.chance == copied.chance
    error = 4 * (recall.chance * (1 - recall.chance) / n) ** 0.5  # 4 standard errors, n=20000
    rows = np.arange(n)
    assert abs((recall.values[rows, blind] == recall.target).mean() - recall.chance) < error
    assert abs((found.symbols[rows, blind] == found.target).mean() - recall.chance) < error
    assert abs((copied.source[rows, blind] == copied.target[:, 0]).mean() - recall.chance) < error


def test_the_number_of_inputs_agrees_with_listing_them():
    keys = list(itertools.permutations(range(3), 2))
    values = list(itertools.product(range(2), repeat=2))
    assert tasks.lookup(1, 2, 3, 2).n_inputs == len(keys) * len(values) * 2
    assert tasks.marked(1, 2, 3).n_inputs == len(list(itertools.product(range(3), range(3), range(2))))
    marks = list(itertools.product([False, True], repeat=4))
    assert tasks.latest_mark(1, 4, 3, 0.5).n_inputs == len(marks) * 3**4
    assert tasks.copy(1, 4, 3).n_inputs == len(list(itertools.product(range(3), repeat=4)))


def test_tasks_explain_a_wrong_size():
    with pytest.raises(
        ValueError, match=r"look_back: offset must be at least 0 and below length; got offset=5"
    ):
        tasks.look_back(1, 5, 3, 5)
    with pytest.raises(
        ValueError, match=r"lookup: 4 different keys must come from n_keys >= 4; got n_keys=3"
    ):
        tasks.lookup(1, 4, 3, 2)


def test_data_and_metrics_never_load_torch():
    code = (
        "import sys, attnlib.data, attnlib.data.bilingual, attnlib.data.tasks, attnlib.data.results, "
        "attnlib.metrics.alignment; assert not {'torch', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_said_carries_one_entry_per_french_word():
    leaves = bilingual.grammar().sample(np.random.default_rng(1), 12)
    assert [word.word for word in french(leaves)] == list(translate(leaves).target)

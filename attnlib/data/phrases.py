"""Short French sentences with their English translations and word alignment: "je suis étudiant", "I am a student".

Book: encoder-decoder-translation, its investigation. The French sentences, of three or five words, are the source. Some
English words need another position of the source: the article "a", which French leaves out, depends on the noun.
"""

from itertools import product

import numpy as np

from attnlib.data.bilingual import Pair
from attnlib.data.vocab import Vocab
from attnlib.shapes import Number, checked

PRONOUNS = {  # French and English pronoun, forms of être and to be, and the columns of forms that agree
    "je": ("I", "suis", "am", (0, 1)),
    "tu": ("you", "es", "are", (0, 1)),
    "il": ("he", "est", "is", (0,)),
    "elle": ("she", "est", "is", (1,)),
    "nous": ("we", "sommes", "are", (2, 3)),
    "vous": ("you", "êtes", "are", (2, 3)),
    "ils": ("they", "sont", "are", (2,)),
    "elles": ("they", "sont", "are", (3,)),
}
NOUNS = """
    étudiant étudiante étudiants étudiantes | student
    avocat avocate avocats avocates | lawyer
    acteur actrice acteurs actrices | actor
    infirmier infirmière infirmiers infirmières | nurse
    boulanger boulangère boulangers boulangères | baker
    artiste artiste artistes artistes | artist
    écrivain écrivaine écrivains écrivaines | writer
    ingénieur ingénieure ingénieurs ingénieures | engineer
    chanteur chanteuse chanteurs chanteuses | singer
    danseur danseuse danseurs danseuses | dancer
    architecte architecte architectes architectes | architect
    médecin médecin médecins médecins | doctor
"""
ADJECTIVES = """
    fatigué fatiguée fatigués fatiguées | tired
    content contente contents contentes | happy
    prêt prête prêts prêtes | ready
    malade malade malades malades | ill
    jeune jeune jeunes jeunes | young
    grand grande grands grandes | tall
    riche riche riches riches | rich
    seul seule seuls seules | alone
"""


def _table(text: str) -> list[tuple[list[str], str]]:
    rows = [line.split(" | ") for line in text.strip().splitlines()]
    return [(forms.split(), english) for forms, english in rows]


def _pair(pronoun: str, forms: list[str], english: str, column: int, noun: bool, negated: bool) -> Pair:
    they, être, be, _ = PRONOUNS[pronoun]
    ne = "n'" if être[0] in "eê" else "ne"
    source = [pronoun, ne, être, "pas", forms[column]] if negated else [pronoun, être, forms[column]]
    verb, last = (2, 4) if negated else (1, 2)
    said = [(they, 0), (be, verb)] + [("not", 3)] * negated
    if noun and column < 2:
        said.append(("an" if english[0] in "aeiou" else "a", last))
    said.append((english + "s" * (noun and column > 1), last))
    sure = tuple(sorted((j, i) for i, (_, j) in enumerate(said)))
    possible = tuple(sorted({*sure, (1, 2)})) if negated else sure  # "not" is "ne ... pas"
    return Pair(tuple(source), tuple(word for word, _ in said), sure, possible)


@checked
def phrases(held_out: Number[float, "0..1"] = 0.25, seed: int = 0) -> tuple[list[Pair], list[Pair]]:
    """Pairs for training, and held-out pairs; every word occurs in some training pair.

    >>> train, test = phrases()
    >>> len(train), len(test)
    (324, 108)
    """
    predicates = [(*row, True) for row in _table(NOUNS)] + [(*row, False) for row in _table(ADJECTIVES)]
    pairs = {}
    for pronoun, (forms, english, noun), negated in product(PRONOUNS, predicates, (False, True)):
        for column in PRONOUNS[pronoun][3]:
            pair = _pair(pronoun, forms, english, column, noun, negated)
            pairs[pair.source] = pair
    order = np.random.default_rng(seed).permutation(len(pairs))
    shuffled = [list(pairs.values())[i] for i in order]
    n = round(held_out * len(pairs))
    return shuffled[n:], shuffled[:n]


def phrase(source: str) -> Pair:
    """The pair with this French sentence.

    >>> print(*phrase("je ne suis pas étudiante").target)
    I am not a student
    """
    known = {" ".join(pair.source): pair for pair in phrases(held_out=0.0)[0]}
    if source not in known:
        raise ValueError(
            f"phrase: source must be one of the {len(known)} sentences, such as 'je suis étudiant'; got {source!r}."
        )
    return known[source]


def vocabularies() -> tuple[Vocab, Vocab]:
    """The French words and the English ones."""
    pairs = phrases(held_out=0.0)[0]
    return (
        Vocab(word for pair in pairs for word in pair.source),
        Vocab(word for pair in pairs for word in pair.target),
    )

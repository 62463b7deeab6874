"""The French sentence of an English derivation, with the gold alignment.

Book: the-bottleneck. Agreement in gender and number, adjectives that follow or precede their noun, "ne ... pas" around
the verb, "a été" for "was", elision (l', d', n') and contraction (du, des, au, aux).
"""

from typing import NamedTuple

from attnlib.data.grammar import Leaf
from attnlib.data.lexicon import VOWELS

ELIDED = {"le": "l'", "la": "l'", "de": "d'", "ne": "n'", "ce": "cet", "ma": "mon"}
CONTRACTED = {("de", "le"): "du", ("de", "les"): "des", ("à", "le"): "au", ("à", "les"): "aux"}


class FrenchWord(NamedTuple):
    """One French word and the positions of the English words it translates; `maybe` has links that are not sure."""

    word: str
    sure: tuple[int, ...]
    maybe: tuple[int, ...] = ()


def agree(forms: tuple[str, ...], gender: str, plural: bool) -> str:
    """The form for this gender and number, of (masculine, feminine, masculine plural, feminine plural)."""
    return forms[2 * plural + (gender == "f")]


def french(leaves: tuple[Leaf, ...]) -> list[FrenchWord]:
    """The French words in French order, each with the positions of the English words it translates."""
    words: list[FrenchWord] = []
    subject: Leaf | None = None
    negated = False
    i = 0
    while i < len(leaves):
        leaf = leaves[i]
        width = 1
        if leaf.kind == "det":
            width = next(k for k, other in enumerate(leaves[i:]) if other.kind == "noun") + 1
            words += _noun_phrase(leaves[i : i + width], i, negated)
            subject = subject or leaves[i + width - 1]
            negated = False
        elif leaf.kind == "do":  # does not sleep -> ne dort pas
            width, negated = 3, True
            words += _negation(leaves[i + 2], i)
        elif leaf.kind == "verb":
            words.append(FrenchWord(leaf.word.french[leaf.plural], (i,)))
        elif leaf.kind == "be":
            words += [FrenchWord(leaf.word.french[leaf.plural], (i,)), FrenchWord("été", (i,))]
        elif leaf.kind == "participle" and subject is not None:
            words.append(FrenchWord(agree(leaf.word.french, subject.word.gender, subject.plural), (i,)))
        else:
            words += [FrenchWord(word, (i,)) for word in leaf.word.french]
            if leaf.kind == "conj":
                subject, negated = None, False
        i += width
    return _contract(_elide(words))


def _noun_phrase(leaves: tuple[Leaf, ...], start: int, negated: bool) -> list[FrenchWord]:
    """Determiner, adjectives that precede, noun, then the adjectives that follow, the nearest to the noun first."""
    det, noun = leaves[0], leaves[-1]
    gender, plural = noun.word.gender, noun.plural
    before, after = [], []
    for i, leaf in enumerate(leaves[1:-1], start + 1):
        form = agree(leaf.word.french, gender, plural)
        if leaf.kind == "post":
            after.append(FrenchWord(form, (i,)))
        elif gender == "m" and not plural and noun.word.french[0][0] in VOWELS:
            before.append(FrenchWord(leaf.word.french[4], (i,)))  # un vieil accord
        else:
            before.append(FrenchWord(form, (i,)))
    article = det.word.french[2 if plural else int(gender == "f")]
    if negated and article in ("un", "une"):
        article = "de"  # pas de chat: after a negation the indefinite article of the object becomes "de"
    form_of_noun = FrenchWord(noun.word.french[plural], (start + len(leaves) - 1,))
    return [FrenchWord(article, (start,)), *before, form_of_noun, *reversed(after)]


def _negation(verb: Leaf, start: int) -> list[FrenchWord]:
    """ "not" becomes two words around the verb; "does" has no word of its own and a possible link to the verb."""
    finite = FrenchWord(verb.word.french[verb.plural], (start + 2,), (start,))
    return [FrenchWord("ne", (start + 1,)), finite, FrenchWord("pas", (start + 1,))]


def _elide(words: list[FrenchWord]) -> list[FrenchWord]:
    elided = list(words)
    for i in reversed(range(len(words) - 1)):
        if elided[i].word in ELIDED and elided[i + 1].word[0] in VOWELS:
            elided[i] = elided[i]._replace(word=ELIDED[elided[i].word])
    return elided


def _contract(words: list[FrenchWord]) -> list[FrenchWord]:
    contracted: list[FrenchWord] = []
    for this in words:
        last = contracted[-1] if contracted else None
        if last and (last.word, this.word) in CONTRACTED:
            contracted[-1] = FrenchWord(CONTRACTED[last.word, this.word], last.sure + this.sure)
        else:
            contracted.append(this)
    return contracted

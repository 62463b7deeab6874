"""The words of the bilingual corpus: English, French, and the forms that agreement needs.

Book: the-bottleneck. Every form is written out in the tables below, so agreement is looked up, never guessed.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

VOWELS = frozenset("aeiouâàéèêîôû")


class Word(NamedTuple):
    """One entry: its English forms (singular, plural), its French forms, and for a noun its gender."""

    english: tuple[str, str]
    french: tuple[str, ...]
    gender: str = ""


@dataclass(frozen=True)
class Lexicon:
    """Which words a grammar may use, by class. `pre` adjectives precede the French noun, `post` ones follow it."""

    det: tuple[Word, ...]
    noun: tuple[Word, ...]
    pre: tuple[Word, ...]
    post: tuple[Word, ...]
    prep: tuple[Word, ...]
    intransitive: tuple[Word, ...]
    transitive: tuple[Word, ...]
    participle: tuple[Word, ...]
    month: tuple[Word, ...]
    year: tuple[Word, ...]
    conj: tuple[Word, ...]

    def shortened(self, size: int) -> "Lexicon":
        """The first `size` words of each class: a language small enough to list completely."""
        return replace(self, **{name: words[:size] for name, words in vars(self).items()})


# Words that are part of a grammatical construction, not of a class of words.
DO = Word(("does", "do"), ())
NOT = Word(("not", "not"), ("ne", "pas"))
BE = Word(("was", "were"), ("a", "ont"))
IN = Word(("in", "in"), ("en",))


def _rows(table: str) -> list[list[str]]:
    return [line.split() for line in table.strip().splitlines()]


def _determiners(table: str) -> tuple[Word, ...]:
    """French forms: masculine, feminine, plural."""
    return tuple(Word((row[0], row[1]), tuple(row[2:])) for row in _rows(table))


def _nouns(gender: str, table: str) -> tuple[Word, ...]:
    """French forms: singular, plural."""
    return tuple(Word((row[0], row[1]), (row[2], row[3]), gender) for row in _rows(table))


def _adjectives(table: str) -> tuple[Word, ...]:
    """French forms: masculine, feminine, masculine plural, feminine plural, masculine before a vowel."""
    return tuple(
        Word((row[0], row[0]), (*row[1:5], row[-1] if len(row) > 5 else row[1])) for row in _rows(table)
    )


def _participles(table: str) -> tuple[Word, ...]:
    """French forms: masculine, feminine, masculine plural, feminine plural."""
    return tuple(Word((en, en), (fr, fr + "e", fr + "s", fr + "es")) for en, fr in _rows(table))


def _verbs(table: str) -> tuple[Word, ...]:
    """French forms: third person singular, third person plural."""
    return tuple(Word((row[0], row[1]), (row[2], row[3])) for row in _rows(table))


def _fixed(table: str) -> tuple[Word, ...]:
    """Words that never change; the French side may have two words."""
    return tuple(Word((row[0], row[0]), tuple(row[1:])) for row in _rows(table))


_MASCULINE = _nouns(
    "m",
    """
    cat cats chat chats
    agreement agreements accord accords
    book books livre livres
    tree trees arbre arbres
    dog dogs chien chiens
    garden gardens jardin jardins
    bird birds oiseau oiseaux
    king kings roi rois
    bridge bridges pont ponts
    friend friends ami amis
    child children enfant enfants
    newspaper newspapers journal journaux
    project projects projet projets
    village villages village villages
    train trains train trains
    government governments gouvernement gouvernements
    """,
)
_FEMININE = _nouns(
    "f",
    """
    area areas zone zones
    school schools école écoles
    house houses maison maisons
    letter letters lettre lettres
    city cities ville villes
    car cars voiture voitures
    woman women femme femmes
    island islands île îles
    street streets rue rues
    church churches église églises
    company companies entreprise entreprises
    queen queens reine reines
    law laws loi lois
    flower flowers fleur fleurs
    picture pictures image images
    region regions région régions
    """,
)

LEXICON = Lexicon(
    det=_determiners("""
        the the le la les
        a some un une quelques
        this these ce cette ces
        my my mon ma mes
    """),
    noun=tuple(noun for couple in zip(_MASCULINE, _FEMININE, strict=True) for noun in couple),
    pre=_adjectives("""
        small petit petite petits petites
        old vieux vieille vieux vieilles vieil
        big grand grande grands grandes
        new nouveau nouvelle nouveaux nouvelles nouvel
        beautiful beau belle beaux belles bel
        good bon bonne bons bonnes
        young jeune jeune jeunes jeunes
    """),
    post=_adjectives("""
        economic économique économique économiques économiques
        european européen européenne européens européennes
        black noir noire noirs noires
        white blanc blanche blancs blanches
        red rouge rouge rouges rouges
        green vert verte verts vertes
        french français française français françaises
        american américain américaine américains américaines
        political politique politique politiques politiques
        foreign étranger étrangère étrangers étrangères
        secret secret secrète secrets secrètes
        public public publique publics publiques
        famous célèbre célèbre célèbres célèbres
        modern moderne moderne modernes modernes
    """),
    prep=_fixed("""
        of de
        on sur
        near près de
        at à
        in dans
        with avec
        behind derrière
        under sous
        against contre
    """),
    intransitive=_verbs("""
        sleeps sleep dort dorment
        arrives arrive arrive arrivent
        works work travaille travaillent
        falls fall tombe tombent
        waits wait attend attendent
        changes change change changent
        disappears disappear disparaît disparaissent
        exists exist existe existent
    """),
    transitive=_verbs("""
        sees see voit voient
        loves love aime aiment
        follows follow suit suivent
        finds find trouve trouvent
        describes describe décrit décrivent
        watches watch regarde regardent
        protects protect protège protègent
        buys buy achète achètent
    """),
    participle=_participles("""
        signed signé
        seen vu
        found trouvé
        forgotten oublié
        accepted accepté
        published publié
        lost perdu
        built construit
        hidden caché
        sold vendu
    """),
    month=_fixed("""
        august août
        january janvier
        february février
        march mars
        april avril
        may mai
        june juin
        july juillet
        september septembre
        october octobre
        november novembre
        december décembre
    """),
    year=_fixed("""
        1992 1992
        1957 1957
        1968 1968
        1977 1977
        1984 1984
        1989 1989
        1998 1998
        2001 2001
        2004 2004
        2015 2015
    """),
    conj=_fixed("""
        and et
        but mais
        because car
    """),
)

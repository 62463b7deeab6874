"""Dates, distances in time, quantities and names in two languages: as Babel writes them, and split without a leak."""

import datetime
import math
import sys
from pathlib import Path

import pytest
from babel import Locale
from babel.dates import TIMEDELTA_UNITS, format_date, format_timedelta
from babel.lists import format_list
from babel.units import format_unit
from hypothesis import given
from hypothesis import strategies as st

from attnlib.data.locales import date, from_now, locale_texts, locale_vocabularies, names, patterns, quantity

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

from locale_patterns import everything  # noqa: E402  # pyright: ignore[reportMissingImports]

LANGUAGES = st.sampled_from(["en", "fr"])
SECONDS = dict(TIMEDELTA_UNITS)


@given(LANGUAGES, st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1)))
def test_a_date_is_written_as_babel_writes_it(language, day):
    assert date(language, day) == format_date(day, "full", locale=language)


@given(LANGUAGES, st.sampled_from([*SECONDS]), st.integers(-40, 40).filter(bool))
def test_a_distance_in_time_is_written_as_babel_writes_it(language, period, amount):
    distance = datetime.timedelta(seconds=amount * SECONDS[period])
    by_babel = format_timedelta(
        distance, granularity=period, threshold=math.inf, add_direction=True, locale=language
    )
    assert from_now(language, period, amount) == by_babel


@given(LANGUAGES, st.sampled_from([*patterns()["en"]["units"]]), st.integers(0, 200))
def test_a_quantity_is_written_as_babel_writes_it(language, unit, halves):
    assert quantity(language, unit, halves / 2) == format_unit(
        halves / 2, unit, length="long", locale=language
    )


@given(LANGUAGES, st.lists(st.sampled_from([*patterns()["en"]["names"]]), min_size=2, max_size=5))
def test_a_list_of_names_is_written_as_babel_writes_it(language, codes):
    by_babel = format_list([Locale(language).territories[code] for code in codes], locale=language)
    assert names(language, codes) == by_babel


def test_the_stored_patterns_are_those_of_the_pinned_babel():
    assert everything() == patterns()


@pytest.mark.parametrize("seed", [0, 1])
def test_held_out_texts_are_new_and_made_of_known_words(seed):
    train, test = locale_texts(2000, seed=seed)
    assert len(set(train + test)) == len(train) + len(test) and len(test) > 100
    english, french = locale_vocabularies(train)
    for text in test:
        assert english.decode(english.encode(text.source)) == text.source
        assert french.decode(french.encode(text.target)) == text.target


def test_all_four_kinds_of_texts_are_drawn():
    targets = [set(text.target) for text in locale_texts()[0]]
    assert all(
        any(word in target for target in targets) for word in ("août", "dans", "kilomètre", "Allemagne")
    )

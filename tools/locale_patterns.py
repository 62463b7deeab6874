"""Write `attnlib/data/locales.json`: the patterns of dates, units and lists that Babel has for English and French.

`python tools/locale_patterns.py`. Babel takes them from the CLDR of the Unicode Consortium (Unicode License v3).
"""

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

from babel.localedata import load

FILE = Path(__file__).resolve().parent.parent / "attnlib" / "data" / "locales.json"
PERIODS = "second minute hour day week month year mon tue wed thu fri sat sun"
UNITS = (
    "length-kilometer length-meter length-centimeter length-mile area-square-meter mass-kilogram mass-gram"
    " volume-liter speed-kilometer-per-hour duration-hour duration-minute duration-day duration-week"
    " temperature-celsius"
)
NAMES = (
    "AT BE BR CA CH CL CN DE DK EG ES FI FR GB GR HU IE IN IT"
    " JP KE KR MA MX NL NO NZ PE PL PT RO SE TN TR UA US VN ZA"
)


def patterns(language: str) -> dict[str, Any]:
    """What Babel knows of one language, as far as `attnlib.data.locales` uses it."""
    known = load(language)
    months, days = (known[part]["format"]["wide"] for part in ("months", "days"))
    numbers = known["number_symbols"]["latn"]
    return {
        "date": known["date_formats"]["full"].format,
        "weekdays": [days[i] for i in range(7)],
        "months": [months[i] for i in range(1, 13)],
        "decimal": numbers["decimal"],
        "periods": {name: known["date_fields"][name] for name in PERIODS.split()},
        "units": {
            name: {form: known["unit_patterns"][name]["long"][form] for form in ("one", "other")}
            for name in UNITS.split()
        },
        "list": dict(known["list_patterns"]["standard"]),
        "names": {code: known["territories"][code] for code in NAMES.split()},
    }


def everything() -> dict[str, Any]:
    source = f"Unicode CLDR, as in Babel {version('babel')}; Unicode License v3, https://www.unicode.org/license.txt"
    return {"source": source, "en": patterns("en"), "fr": patterns("fr")}


if __name__ == "__main__":
    FILE.write_text(json.dumps(everything(), indent=1, ensure_ascii=False, sort_keys=True) + "\n", "utf8")
    print("Written:", FILE)

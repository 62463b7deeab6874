"""Which verdicts changed when the claims were read again, and why: `python tools/verdicts.py`.

Readers who saw a document's sentence and our rendering, but not our verdict, gave one of their own
(docs/verdicts-read-again.yml). A row has the verdict on which all its readers agree, or `decided` says there why not.
"""

import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book"))

from _ext.ledger import load, shown  # noqa: E402  # pyright: ignore[reportMissingImports]

READINGS = ROOT / "docs" / "verdicts-read-again.yml"
WORDS = {
    "TRUE, incomplete": "INCOMPLETE",
    "SLIP": "INCOMPLETE",
}  # the readers' words, where the ledger has others


def readings() -> list[dict[str, Any]]:
    """The rows that were read again: the verdict before, each reader's, and what was decided."""
    return yaml.safe_load(READINGS.read_text("utf8"))


def readers(reading: Mapping[str, Any]) -> list[str]:
    """The verdicts of the one or two readers, in the ledger's words.

    >>> readers({"first": {"verdict": "TRUE, incomplete"}, "second": {"verdict": "SLIP"}})
    ['INCOMPLETE', 'INCOMPLETE']
    """
    found: list[str] = [reading[one]["verdict"] for one in ("first", "second") if one in reading]
    return [WORDS.get(verdict) or verdict for verdict in found]


def unexplained(reading: Mapping[str, Any], verdict: str) -> str:
    """What is missing where the ledger has a verdict that not all readers gave.

    >>> unexplained({"row": "C001", "first": {"verdict": "TRUE"}}, "FALSE")
    'C001: the ledger says FALSE, the readers TRUE; follow them, or say why with `decided`.'
    """
    said = readers(reading)
    if set(said) == {verdict} or reading.get("decided"):
        return ""
    told = " and ".join(said)
    return f"{reading['row']}: the ledger says {verdict}, the readers {told}; follow them, or say why with `decided`."


def why(reading: Mapping[str, Any]) -> str:
    """The reason for a verdict: what was decided, or what the first reader would add or said."""
    first = reading["first"]
    return reading.get("decided") or first.get("add") or first["why"]


def main() -> int:
    rows = load(ROOT / "book")
    changed = [one for one in readings() if one["ledger"] != rows[one["row"]].verdict]
    for one in changed:
        before, now = shown(one["ledger"]), shown(rows[one["row"]].verdict)
        print(f"{one['row']}  {before} -> {now}\n      {why(one)}")
    pairs = Counter((one["ledger"], rows[one["row"]].verdict) for one in changed)
    print(f"\n{len(changed)} of {len(readings())} verdicts that were read again have changed:")
    for (before, now), count in pairs.most_common():
        print(f"{count:4}  {shown(before)} -> {shown(now)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Run parts of the Makefile one after the other, and say at the end how each went and how long it took.

    python tools/parts.py lint unit        what `make lint` and `make unit` do; `make test` names all of its parts

All parts run, also after one that failed, so that a run shows everything there is to mend.
"""

import os
import subprocess
import sys
import time
from typing import NamedTuple


class Part(NamedTuple):
    """How one part went."""

    name: str
    passed: bool
    seconds: float


def run(name: str) -> Part:
    started = time.perf_counter()
    done = subprocess.run([os.environ.get("MAKE", "make"), "--no-print-directory", name])
    return Part(name, done.returncode == 0, time.perf_counter() - started)


def table(parts: list[Part]) -> str:
    """
    >>> print(table([Part("lint", True, 3.0), Part("unit", False, 75.9)]))
      lint        0 min  3 s
      unit        1 min 16 s  FAILED
      together    1 min 19 s
    """
    rows = [*parts, Part("together", True, sum(part.seconds for part in parts))]
    lines = []
    for part in rows:
        minutes, seconds = divmod(round(part.seconds), 60)
        lines.append(f"  {part.name:10}{minutes:3} min {seconds:2} s{'' if part.passed else '  FAILED'}")
    return "\n".join(lines)


def main(names: list[str]) -> int:
    parts = [run(name) for name in names]
    failed = [part.name for part in parts if not part.passed]
    said = (
        "everything passed." if not failed else f"{', '.join(failed)} failed; what and why is printed above."
    )
    print(f"\n== the parts and their times\n{table(parts)}\nmake test: {said}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

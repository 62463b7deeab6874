"""Run parts of the Makefile one after the other, and say at the end how each went and how long it took.

    python tools/parts.py lint unit        what `make lint` and `make unit` do; `make test` names all of its parts
    python tools/parts.py types+doctests   both at once, each on one core; what the second prints comes behind the first

All parts run, also after one that failed, so that a run shows everything there is to mend.
"""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple


class Part(NamedTuple):
    """How one part went."""

    name: str
    passed: bool
    seconds: float
    said: bytes = b""  # what is still to be printed


def run(names: str) -> list[Part]:
    """A part; or several at once, of which the first prints as it goes and the others when all have ended."""
    with ThreadPoolExecutor() as together:
        running = [together.submit(run_one, name, i > 0) for i, name in enumerate(names.split("+"))]
    parts = [one.result() for one in running]
    sys.stdout.buffer.write(b"".join(part.said for part in parts))
    sys.stdout.flush()
    return parts


def run_one(name: str, later: bool) -> Part:
    started = time.perf_counter()
    done = subprocess.run(
        [os.environ.get("MAKE", "make"), "--no-print-directory", name],
        stdout=subprocess.PIPE if later else None,
        stderr=subprocess.STDOUT if later else None,
    )
    return Part(name, done.returncode == 0, time.perf_counter() - started, done.stdout or b"")


def table(parts: list[Part], seconds: float) -> str:
    """
    >>> print(table([Part("lint", True, 3.0), Part("unit", False, 75.9)], 78.9))
      lint        0 min  3 s
      unit        1 min 16 s  FAILED
      together    1 min 19 s
    """
    lines = []
    for part in [*parts, Part("together", True, seconds)]:
        minutes, seconds = divmod(round(part.seconds), 60)
        lines.append(f"  {part.name:10}{minutes:3} min {seconds:2} s{'' if part.passed else '  FAILED'}")
    return "\n".join(lines)


def main(names: list[str]) -> int:
    started = time.perf_counter()
    parts = [part for several in names for part in run(several)]
    failed = [part.name for part in parts if not part.passed]
    said = (
        "everything passed." if not failed else f"{', '.join(failed)} failed; what and why is printed above."
    )
    print(f"\n== the parts and their times\n{table(parts, time.perf_counter() - started)}\nmake test: {said}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

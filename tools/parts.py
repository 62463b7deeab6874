"""Run parts of the Makefile one by one, and print at the end how each ended and how long it took.

    python tools/parts.py lint unit        what `make lint` and `make unit` do; `make test` names all of its parts
    python tools/parts.py types+doctests   both at once, each on one core; output in this order

All parts run, also after one that failed, so that one run shows everything that has to be fixed. A failed test is tried
once more alone at the end. If it then passes, other tests disturbed it; that counts as a failure, too, and is reported.
"""

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import recorder
import user_folders

ROOT = Path(__file__).resolve().parent.parent
COUNTED = Path(__file__).with_name("counted.py")
MOST_ALONE = 20  # with more failures than these, disturbance is not the reason
NOTEBOOK = ["--nbval", "--nbval-current-env", "--nbval-sanitize-with=tests/nbval_sanitize.cfg"]


class Part(NamedTuple):
    """How one part went."""

    name: str
    passed: bool
    seconds: float
    processor: float  # seconds of all its processes together
    said: bytes = b""  # output that is not yet printed


def run(names: str) -> list[Part]:
    """Run a part; or several at once: the first prints immediately, the others when all have ended."""
    with ThreadPoolExecutor() as together:
        running = [together.submit(run_one, name, i > 0) for i, name in enumerate(names.split("+"))]
    parts = [one.result() for one in running]
    sys.stdout.buffer.write(b"".join(part.said for part in parts))
    sys.stdout.flush()
    return parts


def run_one(name: str, later: bool) -> Part:
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        used = Path(folder) / "seconds"
        make = [os.environ.get("MAKE", "make"), "--no-print-directory", name]
        done = subprocess.run(
            [sys.executable, str(COUNTED), str(used), *make],
            stdout=subprocess.PIPE if later else None,
            stderr=subprocess.STDOUT if later else None,
        )
        processor = float(used.read_text()) if used.exists() else 0.0
    return Part(name, done.returncode == 0, time.perf_counter() - started, processor, done.stdout or b"")


def table(parts: list[Part], seconds: float) -> str:
    """
    >>> print(table([Part("lint", True, 3.0, 4.0), Part("unit", False, 75.9, 130.2)], 78.9))
                  on the clock    of processors
      lint        0 min  3 s      0 min  4 s
      unit        1 min 16 s      2 min 10 s  FAILED
      together    1 min 19 s      2 min 14 s
    """
    lines = [f"  {'':12}on the clock    of processors"]
    together = Part("together", True, seconds, sum(part.processor for part in parts))
    for part in [*parts, together]:
        times = f"{part.name:10}{clock(part.seconds)}    {clock(part.processor)}"
        lines.append(f"  {times}{'' if part.passed else '  FAILED'}")
    return "\n".join(lines)


def clock(seconds: float) -> str:
    return "{:3} min {:2} s".format(*divmod(round(seconds), 60))


def alone(failed: list[str]) -> list[str]:
    """The failed tests that pass when they run alone; of a notebook all cells are run."""
    files = list(dict.fromkeys(name.partition("::")[0] if ".ipynb" in name else name for name in failed))
    passed = []
    for name in files[:MOST_ALONE]:
        options = NOTEBOOK if name.endswith(".ipynb") else []
        again = subprocess.run(
            [sys.executable, "-m", "pytest", *options, name], cwd=ROOT, capture_output=True
        )
        passed += [name] if again.returncode == 0 else []
    return passed


def main(names: list[str], record: Path = recorder.RECORD) -> int:
    started, clock_started = time.perf_counter(), time.time()
    record.parent.mkdir(exist_ok=True)
    record.unlink(missing_ok=True)
    os.environ[recorder.VARIABLE] = str(record)
    parts = [part for several in names for part in run(several)]
    del os.environ[recorder.VARIABLE]
    tests = recorder.read(record)
    print(f"\n== the parts and their times\n{table(parts, time.perf_counter() - started)}")
    if tests:
        print(f"== the slowest of {len(tests)} tests", *recorder.slowest(tests), sep="\n")
    if disturbed := alone([test.name for test in tests if not test.passed]):
        print(
            "== failed, and passed when tried alone: something beside them disturbed them",
            *disturbed,
            sep="\n",
        )
    failed = [part.name for part in parts if not part.passed]
    # Elsewhere a user's other programs write there, too.
    if os.environ.get("CI") == "true" and (files := user_folders.touched(clock_started, Path.home())):
        print("== files of the user that this run has written", *files, sep="\n")
        failed.append("leaving the user's folders alone")
    said = (
        "everything passed." if not failed else f"{', '.join(failed)} failed; what and why is printed above."
    )
    print(f"make test: {said}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

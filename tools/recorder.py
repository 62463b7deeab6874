"""A pytest plugin that records the result and time of each test, for the table at the end of `make test`.

The file named by the environment variable TEST_RECORD gets one line a test: its name, its seconds on the clock and of
all processors, and whether it passed. The time of a test includes its setup and teardown; worker processes send
theirs to the main one, which writes the file. `make test` leaves its record in _build/tests.jsonl.

    python tools/recorder.py       from that record the test files by their processor time
"""

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from counted import Meter

VARIABLE = "TEST_RECORD"
RECORD = Path(__file__).resolve().parent.parent / "_build" / "tests.jsonl"


class Went(NamedTuple):
    """The result of one test."""

    name: str
    seconds: float
    processor: float  # seconds of all its processes together
    passed: bool

    @property
    def file(self) -> str:
        return self.name.partition("::")[0]


class Metered:
    """Adds to the last report of each test the processor time since the test before."""

    def __init__(self) -> None:
        self.meter = Meter()
        self.before = self.meter.read()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: Any) -> Any:
        report = yield
        if call.when == "teardown":
            now = self.meter.read()
            report.processor, self.before = (
                max(now - self.before, 0.0),
                now,
            )  # a browser that has ended is no longer counted
        return report


class Recorder:
    """Adds up the phases of each test; the file is written when the tests have ended."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.seconds: dict[str, float] = defaultdict(float)
        self.processor: dict[str, float] = defaultdict(float)
        self.failed: set[str] = set()

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds[report.nodeid] += report.duration
        self.processor[report.nodeid] += getattr(report, "processor", 0.0)
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        with self.path.open("a") as file:
            for name, seconds in self.seconds.items():
                went = Went(name, round(seconds, 2), round(self.processor[name], 2), name not in self.failed)
                file.write(json.dumps(went) + "\n")


def register(config: Any) -> None:
    """Record this session if TEST_RECORD is set; its worker processes measure, but do not write."""
    if path := os.environ.get(VARIABLE):
        config.pluginmanager.register(Metered())
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(Recorder(Path(path)))


def read(path: Path) -> list[Went]:
    """All tests of a record; none if there is no record."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [Went(*json.loads(line)) for line in lines]


def slowest(went: list[Went], count: int = 10) -> list[str]:
    """
    >>> tests = [Went("a", 1.0, 2.0, True), Went("b", 12.5, 0.5, True), Went("c", 0.1, 0.1, True)]
    >>> print("\\n".join(slowest(tests, count=2)))
      on the clock  of processors
            12.5 s          0.5 s  b
             1.0 s          2.0 s  a
    """
    ordered = sorted(went, key=lambda test: -test.seconds)
    return [HEAD, *(line(test.seconds, test.processor, test.name) for test in ordered[:count])]


def by_file(went: list[Went]) -> list[str]:
    """
    >>> tests = [Went("a.py::x", 1.0, 2.0, True), Went("b.py::x", 3.0, 2.5, True), Went("a.py::y", 1.0, 2.0, True)]
    >>> print("\\n".join(by_file(tests)))
      on the clock  of processors
             2.0 s          4.0 s  a.py
             3.0 s          2.5 s  b.py
    """
    files: dict[str, list[Went]] = defaultdict(list)
    for test in went:
        files[test.file].append(test)
    sums = [(sum(t.processor for t in of), sum(t.seconds for t in of), file) for file, of in files.items()]
    return [
        HEAD,
        *(line(seconds, processor, file) for processor, seconds, file in sorted(sums, reverse=True)),
    ]


HEAD = "  on the clock  of processors"


def line(seconds: float, processor: float, name: str) -> str:
    return f"  {seconds:10.1f} s  {processor:11.1f} s  {name}"


if __name__ == "__main__":
    print(*by_file(read(RECORD)), sep="\n")

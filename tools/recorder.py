"""A pytest plugin that writes down how each test went, for the table at the end of `make test`.

The file named by the environment variable TEST_RECORD gets one line a test: its name, its seconds, and whether it
passed. A test is its preparation, its call and what it takes down; workers send theirs to the one that writes.
"""

import json
import os
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

VARIABLE = "TEST_RECORD"


class Went(NamedTuple):
    """How one test went."""

    name: str
    seconds: float
    passed: bool


class Recorder:
    """Adds up the phases of each test; the file is written when the tests have ended."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.seconds: dict[str, float] = defaultdict(float)
        self.failed: set[str] = set()

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.seconds[report.nodeid] += report.duration
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        with self.path.open("a") as file:
            for name, seconds in self.seconds.items():
                file.write(json.dumps(Went(name, round(seconds, 2), name not in self.failed)) + "\n")


def register(config: Any) -> None:
    """Record this session, if anybody asked for it; the workers of a session do not write."""
    if (path := os.environ.get(VARIABLE)) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(Path(path)))


def read(path: Path) -> list[Went]:
    """All tests of a record; none if there is no record."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [Went(*json.loads(line)) for line in lines]


def slowest(went: list[Went], count: int = 10) -> list[str]:
    """
    >>> slowest([Went("a", 1.0, True), Went("b", 12.5, True), Went("c", 0.1, True)], count=2)
    ['   12.5 s  b', '    1.0 s  a']
    """
    ordered = sorted(went, key=lambda test: -test.seconds)
    return [f"{test.seconds:7.1f} s  {test.name}" for test in ordered[:count]]

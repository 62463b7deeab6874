"""What tests record to be shown is printed at the end of a run, of the tests and of the notebooks."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "tools"))

import changes  # noqa: E402
import recorder  # noqa: E402
import user_folders  # noqa: E402


def pytest_addoption(parser):
    changes.pytest_addoption(parser)


def pytest_configure(config):
    """Keep out of the user's folders; write down how tests go, leave out what has not changed, where `make` asks."""
    user_folders.keep_out(config)
    recorder.register(config)
    changes.register(config)


def pytest_terminal_summary(terminalreporter):
    """Print what tests recorded to be shown, `record_property("shown", line)`, as one table."""
    passed = terminalreporter.getreports("passed")
    lines = sorted({str(line) for test in passed for key, line in test.user_properties if key == "shown"})
    for line in lines:
        terminalreporter.write_line(line)

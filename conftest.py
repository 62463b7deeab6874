"""What tests record to be shown is printed at the end of a run, of the tests and of the notebooks."""


def pytest_terminal_summary(terminalreporter):
    """Print what tests recorded to be shown, `record_property("shown", line)`, as one table."""
    passed = terminalreporter.getreports("passed")
    lines = sorted({str(line) for test in passed for key, line in test.user_properties if key == "shown"})
    for line in lines:
        terminalreporter.write_line(line)

"""Why an answer did not pass, in a few words for a table; the whole sentences are below it and in the exports."""

import re

from attnlib.exercises.classroom.grading import Mark, Report

LATE = re.compile(r"(?:after|within) ([\d.]+) seconds")
LEFT = re.compile(r"ended Python itself|was killed")
ERROR = re.compile(r"\b(\w+(?:Error|Exception|Interrupt)|SystemExit)\b")
FLAGS = {  # how a flag begins, and what the table says
    "asks for the solution": "read the solution",
    "reads the file of the exercise": "read the solution",
    "imports attnlib.exercises.engine": "reached for the engine",
    "imports attnlib.exercises": "read the solution",
    "answers": "answered with a function of attnlib",
    "replaces": "replaced what grades",
    "overrides": "replaced what grades",
    "starts another program": "started another program",
    "sends what makes no sense": "sent no answer",
}


def in_short(sentence: str) -> str:
    """What stopped something, in a few words; empty if nothing did.

    >>> in_short("It was still running after 10 seconds."), in_short("it ended Python itself, with code 0")
    ('stopped after 10 s', 'left the process')
    """
    if late := LATE.search(sentence):
        return f"stopped after {late[1]} s"
    if LEFT.search(sentence):
        return "left the process"
    error = ERROR.search(sentence)
    return error[1] if error else ""


def of_mark(mark: Mark) -> str:
    """Known mistakes, or what stopped the answer."""
    if mark.named:
        return " and ".join(mark.named)
    return in_short(mark.message) if mark.status in ("stopped", "error") else ""


def of_file(report: Report) -> list[str]:
    """What kept the file from running, and what a person should look at."""
    flags = [
        next((short for begin, short in FLAGS.items() if flag.startswith(begin)), flag)
        for flag in report.flags
    ]
    return list(dict.fromkeys(filter(None, [*map(in_short, report.troubles), *flags])))


def of_report(report: Report) -> str:
    """The cell of the table."""
    marks = [f"{mark.exercise.id}: {why}" for mark in report.marks if (why := of_mark(mark))]
    return "; ".join([*of_file(report), *marks])

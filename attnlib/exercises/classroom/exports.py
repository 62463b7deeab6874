"""The same reports for programs: JSON, CSV for a spreadsheet, and the JUnit XML that CI systems show."""

import csv
import io
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree as ET

from attnlib.exercises.classroom import reasons
from attnlib.exercises.classroom.grading import Mark, Report
from attnlib.exercises.classroom.likeness import alike
from attnlib.exercises.classroom.tables import common


def as_data(reports: Sequence[Report]) -> dict[str, Any]:
    """What `json.dumps` takes: each learner, and the mistakes of the class by exercise."""
    marks = [mark for report in reports for mark in report.marks]
    ids = dict.fromkeys(mark.exercise.id for mark in marks)
    mistakes = {id: dict(common([mark for mark in marks if mark.exercise.id == id])) for id in ids}
    return {
        "version": 1,
        "learners": [learner(report) for report in reports],
        "common_mistakes": {id: names for id, names in mistakes.items() if names},
        "alike": alike(reports),
    }


def learner(report: Report) -> dict[str, Any]:
    possible = sum(mark.exercise.level for mark in report.marks)
    levels = {
        level: sum(mark.points for mark in report.marks if mark.exercise.level == level)
        for level in (1, 2, 3)
    }
    return {
        "learner": report.submission.learner,
        "file": str(report.submission.path),
        "readable": not report.submission.unreadable,
        "points": report.points,
        "possible": possible,
        "points_by_level": {str(level): points for level, points in levels.items()},
        "troubles": report.troubles,
        "flags": report.flags,
        "exercises": [exercise(mark) for mark in report.marks],
    }


def exercise(mark: Mark) -> dict[str, Any]:
    return {
        "id": mark.exercise.id,
        "level": mark.exercise.level,
        "status": mark.status,
        "points": mark.points,
        "attempts": mark.attempts,
        "mistakes": list(mark.named),
        "own_marks": mark.is_own,
        "message": mark.message,
    }


COLUMNS = ("learner", "file", "exercise", "stars", "status", "points", "tries", "mistakes and reasons")


def as_csv(reports: Sequence[Report]) -> str:
    """A row for each exercise of each learner; one without an exercise for a file in which nothing was found."""
    out = io.StringIO()
    table = csv.writer(out)
    table.writerow(COLUMNS)
    for report in reports:
        who = (report.submission.learner, str(report.submission.path))
        of_file = reasons.of_file(report)
        for mark in report.marks:
            why = "; ".join(filter(None, [*of_file, reasons.of_mark(mark)]))
            one = mark.exercise
            table.writerow((*who, one.id, one.level, mark.status, mark.points, mark.attempts, why))
        if not report.marks:
            table.writerow((*who, "", "", "nothing graded", 0, 0, "; ".join(of_file)))
    return out.getvalue()


def as_junit(reports: Sequence[Report]) -> str:
    """One suite for each learner, one case for each exercise, and one for the file itself."""
    top = ET.Element("testsuites", name="attnlib.exercises")
    for report in reports:
        suite = ET.SubElement(top, "testsuite", name=report.submission.learner)
        file = case(suite, report, "the file")
        if report.troubles:
            below(file, "error", "\n".join(report.troubles))
        if report.flags:
            below(file, "failure", "\n".join(f"The file {flag}." for flag in report.flags))
        for mark in report.marks:
            one = case(suite, report, mark.exercise.id)
            if mark.status == "not attempted":
                below(one, "skipped", mark.message)
            elif not mark.passed:
                below(one, "error" if mark.status in ("error", "stopped") else "failure", mark.message)
        for attribute, tag in (
            ("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")
        ):  # fmt: skip
            suite.set(attribute, str(len(list(suite.iter(tag)))))
    ET.indent(top)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(top, encoding="unicode") + "\n"


def case(suite: ET.Element, report: Report, name: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", classname=report.submission.learner, name=name)


def below(parent: ET.Element, tag: str, message: str) -> None:
    """An element with a message; characters that XML cannot hold are left out."""
    plain = "".join(c for c in message if c in "\n\t" or (c.isprintable() and c.isascii()) or ord(c) > 159)
    plain = plain.encode("utf-8", "ignore").decode()
    ET.SubElement(parent, tag, message=plain.split("\n")[0]).text = plain

"""`attnlib grade`: the files of a class, a table, and an exit code that means something."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from attnlib.exercises.classroom import exports, tables
from attnlib.exercises.classroom.grading import Report, reported
from attnlib.exercises.classroom.process import Limits
from attnlib.exercises.classroom.submission import files_in, submissions
from attnlib.exercises.engine.model import Exercise
from attnlib.exercises.engine.registry import exercises, find

DESCRIPTION = """Grade .py and .ipynb files, each in a process of its own. An answer is what a file hands to
check("ID", ...) or puts below @exercise("ID"); without that, the function that carries the name the task asks for.

exit code  0  all files were read and graded
           1  somebody has less than --at-least
           2  a file could not be read (or the command line could not)
           3  a file should be looked at: it reached for the engine or the solutions
of several, the first of 2, 3, 1 counts"""


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The command and its options."""
    grading = commands.add_parser(
        "grade",
        help="grade the files of a class",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    grading.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a file, or a folder of them")
    grading.add_argument(
        "--assign",
        action="append",
        default=[],
        metavar="WHAT",
        help="an exercise, a chapter or a page whose exercises everybody should do (repeat it, or put commas)",
    )
    grading.add_argument(
        "--at-least", type=int, metavar="POINTS", help="exit with 1 if somebody has fewer points"
    )
    grading.add_argument("--json", type=Path, metavar="FILE", help="write all results there as JSON")
    grading.add_argument("--junit", type=Path, metavar="FILE", help="write all results there as JUnit XML")
    grading.add_argument(
        "--csv", type=Path, metavar="FILE", help="write a row for each exercise there as CSV"
    )
    grading.add_argument("--seconds", type=float, default=10.0, help="for each exercise (default 10)")
    grading.add_argument("--file-seconds", type=float, default=60.0, help="for running a file (default 60)")
    grading.add_argument("--memory", type=int, default=2048, metavar="MB", help="on Linux (default 2048)")


def assigned(names: Sequence[str]) -> list[Exercise]:
    """The exercises that are meant: by id, by chapter, or by page."""
    known = exercises()
    found: dict[str, Exercise] = {}
    for what in [part.strip() for text in names for part in text.split(",") if part.strip()]:
        group = {id: one for id, one in known.items() if what in (one.chapter, one.page)}
        found |= group or {what: find(what, "grade")}
    return list(found.values())


def grade(chosen: argparse.Namespace) -> int:
    """Grade all files, print and write what was found."""
    wanted = assigned(chosen.assign)
    limits = Limits(chosen.seconds, chosen.file_seconds, chosen.memory << 20)
    reports = [reported(one, wanted, limits) for one in submissions(files_in(chosen.files))]
    print(tables.text(reports))
    if chosen.json:
        data = json.dumps(exports.as_data(reports), indent=1, ensure_ascii=False)
        chosen.json.write_text(data + "\n", encoding="utf-8")
    if chosen.csv:
        chosen.csv.write_text(exports.as_csv(reports), encoding="utf-8", newline="")
    if chosen.junit:
        chosen.junit.write_text(exports.as_junit(reports), encoding="utf-8")
    return exit_code(reports, chosen.at_least)


def exit_code(reports: Sequence[Report], at_least: int | None) -> int:
    """What the description says."""
    if any(report.submission.unreadable for report in reports):
        return 2
    if any(report.flags for report in reports):
        return 3
    return int(at_least is not None and any(report.points < at_least for report in reports))

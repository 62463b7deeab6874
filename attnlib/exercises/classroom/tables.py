"""What is printed: a line for each learner, what went wrong, and what the class has in common."""

from collections import Counter
from collections.abc import Iterator, Sequence

from attnlib.exercises.classroom import reasons
from attnlib.exercises.classroom.grading import Mark, Report
from attnlib.exercises.classroom.likeness import alike

LEVELS = (1, 2, 3)
HEAD = ("learner", "passed", "points", "★", "★★", "★★★", "tries", "mistakes and reasons")


def table(reports: Sequence[Report]) -> str:
    """One row for each learner; a `!` says that the lines below tell more."""
    rows = [HEAD, *(row(report) for report in reports)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(line.rstrip() for line in lines)


def row(report: Report) -> tuple[str, ...]:
    marks = report.marks
    more = " !" if report.troubles or report.flags else ""
    possible = sum(mark.exercise.level for mark in marks)
    return (
        report.submission.learner + more,
        of(sum(mark.passed for mark in marks), len(marks)),
        of(report.points, possible),
        *(by_level(marks, level) for level in LEVELS),
        str(sum(mark.attempts for mark in marks)),
        reasons.of_report(report),
    )


def by_level(marks: Sequence[Mark], level: int) -> str:
    """The points of one level and how many there are to have."""
    ours = [mark for mark in marks if mark.exercise.level == level]
    return of(sum(mark.points for mark in ours), level * len(ours)) if ours else ""


def of(part: int, whole: int) -> str:
    return f"{part}/{whole}"


def remarks(reports: Sequence[Report]) -> Iterator[str]:
    """What went wrong in a file, what to look at, and what only a person can judge."""
    for report in reports:
        who = report.submission.learner
        yield from (f"{who}: {trouble}" for trouble in report.troubles)
        yield from (f"{who}: LOOK: the file {flag}." for flag in report.flags)
        read = [mark.exercise.id for mark in report.marks if mark.is_own and mark.passed]
        if read:
            yield f"{who}: marked by the learner, for you to read: {', '.join(read)}."
    for names in alike(reports):
        yield f"The same but for names: {' | '.join(names)}."


def class_report(reports: Sequence[Report]) -> Iterator[str]:
    """How many passed each exercise, and which mistakes several made, the most common first."""
    marks = [mark for report in reports for mark in report.marks]
    ids = list(dict.fromkeys(mark.exercise.id for mark in marks))
    width = max((len(id) for id in ids), default=0)
    for id in ids:
        ours = [mark for mark in marks if mark.exercise.id == id]
        tried = [mark for mark in ours if mark.status != "not attempted"]
        yield f"{id:<{width}}  {sum(mark.passed for mark in ours)} of {len(reports)} passed, {len(tried)} tried"
        for name, count in common(ours):
            yield f"{'':<{width}}  {count} x {name}"


def common(marks: Sequence[Mark]) -> list[tuple[str, int]]:
    """The named mistakes with the number of learners who made them."""
    count = Counter(name for mark in marks for name in dict.fromkeys(mark.named))
    return sorted(count.items(), key=lambda pair: (-pair[1], pair[0]))


def text(reports: Sequence[Report]) -> str:
    """All that is printed."""
    parts = [table(reports), "\n".join(remarks(reports))]
    if len(reports) > 1:
        parts.append("\n".join(["The class", *class_report(reports)]))
    return "\n\n".join(filter(None, parts))

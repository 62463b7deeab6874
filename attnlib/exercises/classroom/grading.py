"""One submission, from its file to what is reported of it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from attnlib.exercises.classroom.answers import Received, graded
from attnlib.exercises.classroom.process import NO_END, NONSENSE, Gone, Limits, Player
from attnlib.exercises.classroom.submission import Submission
from attnlib.exercises.classroom.suspicion import suspicions
from attnlib.exercises.classroom.wire import Nonsense, read_with_care, text
from attnlib.exercises.engine.model import AnswerExercise, CodeExercise, Exercise, ProofExercise
from attnlib.exercises.engine.registry import exercises
from attnlib.exercises.engine.results import result


@dataclass(frozen=True)
class Mark:
    """What became of one exercise in one submission."""

    exercise: Exercise
    status: str  # that of `Result`
    message: str
    named: tuple[str, ...]
    attempts: int  # as far as the file says: how often it calls `check`

    @property
    def passed(self) -> bool:
        return self.status == "passed"

    @property
    def points(self) -> int:
        return self.exercise.level if self.passed else 0

    @property
    def is_own(self) -> bool:
        """Whether the learner marked it: a proof, or a question without a single answer."""
        open_ = isinstance(self.exercise, AnswerExercise) and self.exercise.answer is None
        return open_ or isinstance(self.exercise, ProofExercise)


@dataclass
class Report:
    """What is reported of one submission."""

    submission: Submission
    marks: list[Mark] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)  # what kept the file from running to its end
    flags: list[str] = field(default_factory=list)  # what a person should look at

    @property
    def points(self) -> int:
        return sum(mark.points for mark in self.marks)


def names_of(assigned: Sequence[Exercise]) -> dict[str, str]:
    """The names of functions that stand for one exercise alone."""
    code = [one for one in assigned if isinstance(one, CodeExercise)]
    count = Counter(one.name for one in code)
    return {one.name: one.id for one in code if count[one.name] == 1}


def reported(submission: Submission, assigned: Sequence[Exercise], limits: Limits) -> Report:
    """Run and grade one file; with nothing assigned, whatever it answers."""
    report = Report(submission, flags=suspicions(submission))
    if submission.unreadable:
        report.troubles.append(f"{submission.path} could not be read: {submission.unreadable}.")
        return report
    wanted = list(assigned) or list(exercises().values())
    player = Player(submission, names_of(wanted), limits)
    try:
        found = answers_of(player, report)
        report.marks = [marked(player, one, found.get(one.id), report) for one in wanted]
        unknown = [id for id in found if id not in exercises()]
        report.troubles += [f"{id[:80]} is not the id of an exercise." for id in unknown]
    finally:
        player.ended()
    if not assigned:
        report.marks = [mark for mark in report.marks if mark.exercise.id in found]
    report.flags = list(dict.fromkeys([*report.flags, *player.flags]))
    return report


def answers_of(player: Player, report: Report) -> dict[str, Received]:
    """What the file answers; what keeps it from running is noted."""
    try:
        received = player.played()
        if received.get("lost"):
            raise Gone(NO_END, late=True)
        with read_with_care():
            report.troubles += [text(one) for one in received["troubles"]][:20]
            player.flags += [text(one) for one in received["flags"]][:20]
            return {text(one["id"]): Received.read(one) for one in received["answers"]}
    except Gone as gone:
        limit = f" within {player.limits.file_seconds:g} seconds" if gone.late else ""
        report.troubles.append(f"Nothing in the file can be graded: while it ran, {gone}{limit}.")
    except Nonsense as nonsense:
        report.flags.append(NONSENSE)
        report.troubles.append(f"Nothing in the file can be graded: {nonsense}.")
    return {}


def marked(player: Player, exercise: Exercise, received: Received | None, report: Report) -> Mark:
    """Grade one answer; nothing that it does keeps the others from being graded."""
    if received is None:
        found = result(exercise.id, "not attempted", "There is no answer in the file.")
        return Mark(exercise, found.status, found.message, (), 0)
    if received.home.split(".")[0] == "attnlib":
        report.flags.append(f"answers {exercise.id} with a function of {received.home}")
    try:
        found = graded(exercise, player, received)
    except Nonsense as nonsense:
        report.flags.append(NONSENSE)
        found = result(exercise.id, "error", f"What came back makes no sense: {nonsense}.")
    except Exception as error:  # a fault of ours must not cost the others their grades
        found = result(exercise.id, "error", f"It could not be graded ({type(error).__name__}: {error}).")
        report.troubles.append(f"{exercise.id} could not be graded; this is a fault of attnlib.")
    return Mark(
        exercise,
        found.status,
        found.message,
        found.named,
        max(received.attempts, int(found.status != "not attempted")),
    )

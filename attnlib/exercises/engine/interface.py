"""What a learner calls: check, exercise, hint, solution, progress and their kin."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attnlib.exercises.engine import grading, store, tries
from attnlib.exercises.engine.answers import grade_answer, grade_proof
from attnlib.exercises.engine.evidence import tried_in_this_process
from attnlib.exercises.engine.model import AnswerExercise, CodeExercise, Exercise, Mistake, ProofExercise
from attnlib.exercises.engine.registry import CHAPTERS, chapter, exercises, find
from attnlib.exercises.engine.results import Code, Note, Part, Result, WrongAnswer, result
from attnlib.exercises.engine.running import TIME_LIMIT
from attnlib.exercises.engine.showing import listeners, show, shown_if_dropped


@shown_if_dropped
def check(id: str, answer: Any = ..., *, strict: bool = False, seconds: float = TIME_LIMIT) -> Result:
    """Check your answer: a function, a number, a choice, or the marks of a proof. `strict=True` raises if it fails.

    >>> check("foundations.softmax", ...)
    ○ foundations.softmax · not attempted yet
    Write `softmax` in place of the `...`, run that cell, then this one. `hint("foundations.softmax")` helps.
    """
    found = graded(find(id, "check"), answer, seconds)
    if found.status != "not attempted":
        if not (tries.current and tries.current[0].is_one(answer, found)):
            store.attempted(id, found.passed)
        if told := store.notices():
            found = Result((*found.parts, *told), found.colour, *fields_of(found))
    for listener in listeners:
        listener(found)
    if strict and not found.passed:
        raise WrongAnswer(found.message)
    return found


def fields_of(found: Result) -> tuple[Any, ...]:
    return found.id, found.status, found.named, found.figure, found.case


def graded(exercise: Exercise, answer: Any, seconds: float = TIME_LIMIT, **where: Any) -> Result:
    """Check an answer without noting it; `where` a function runs is for `grading.grade`."""
    missing = [package for package in exercise.needs if importlib.util.find_spec(package) is None]
    if missing:
        needed = f"This exercise needs {' and '.join(missing)}: `pip install {' '.join(missing)}`."
        return result(exercise.id, "not attempted", needed)
    for package in exercise.needs:  # loaded before the clock starts
        importlib.import_module(package)
    if isinstance(exercise, CodeExercise):
        return grading.grade(exercise, answer, seconds, **where)
    if isinstance(exercise, AnswerExercise):
        return grade_answer(exercise, answer)
    assert isinstance(exercise, ProofExercise)
    return grade_proof(exercise, answer)


def graded_in_this_process(exercise: Exercise, answer: Any) -> Result:
    """The same for an answer that is known to end and to do no harm: it runs in this process.

    A child costs 40 ms of processor time where PyTorch is loaded, ten times what most answers take.
    """
    return graded(exercise, answer, tried=tried_in_this_process)


def exercise(id: str, **options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Check the function that follows, each time it is defined: `@exercise("foundations.softmax")`."""
    find(id, "exercise")

    def checked(function: Callable[..., Any]) -> Callable[..., Any]:
        found = check(id, function, **options)
        if not listeners:
            show(found)
        return function

    return checked


@shown_if_dropped
def hint(id: str, n: int | None = None) -> Note:
    """The next hint, or hint number n; the last one is almost the answer."""
    one = find(id, "hint")
    count = len(one.hints)
    number = n if n is not None else min(store.load().get(id, store.EMPTY)["hints"] + 1, count)
    if not 1 <= number <= count:
        raise ValueError(f"hint: {id} has hints 1 to {count}; got n={n}.")
    store.update(id, hints=number)
    more, last = f'`hint("{id}")` gives the next.', f'That was the last; `solution("{id}")` is left.'
    return Note(
        (f"Hint {number} of {count} · **{id}**", one.hints[number - 1], more if number < count else last)
    )


@shown_if_dropped
def solution(id: str, confirm: bool = False) -> Note:
    """One way to solve it, and why; warns first if you have not tried."""
    one = find(id, "solution")
    if not (confirm or store.load().get(id, store.EMPTY)["attempts"]):
        ask = f'You have not tried **{id}** yet. `hint("{id}")` helps; `solution("{id}", confirm=True)` shows it.'
        return Note((ask,))
    store.update(id, solution=True)
    shown: Part = (
        Code(f"{one.preamble}\n\n{one.model_answer}") if isinstance(one, CodeExercise) else one.model_answer
    )
    known: tuple[Mistake, ...] = getattr(one, "mistakes", ())
    parts: list[Part] = [f"One solution of **{id}**:", shown, *filter(None, [one.commentary])]
    if known:
        parts.append(
            "Mistakes that `check` knows by name: " + " · ".join(mistake.name for mistake in known) + "."
        )
    return Note(tuple(parts))


@shown_if_dropped
def progress() -> Note:
    """What you have done, chapter by chapter."""
    known = store.load()
    parts: list[Part] = []
    for name, title in CHAPTERS.items():
        ids = list(chapter(name))
        done = [id for id in ids if known.get(id, store.EMPTY)["passed"]]
        parts.append(f"**{title}**: {len(done)} of {len(ids)} passed")
        lines = [line_of(find(id, "progress"), known[id]) for id in ids if id in known]
        parts += [Code("\n".join(lines))] if lines else []
    code = "`progress_code()` prints a code that carries this to another machine."
    if path := store.place():
        code += f" The pages of the book load it from {path}."
    return Note((*parts, code, *store.notices()))


def line_of(one: Exercise, record: dict[str, Any]) -> str:
    tries = f"{record['attempts']} {'try' if record['attempts'] == 1 else 'tries'}"
    hints = f", {record['hints']} hint{'s' * (record['hints'] != 1)}" if record["hints"] else ""
    seen = ", solution seen" if record["solution"] else ""
    return f"{'✓' if record['passed'] else '·'} {one.id}  {tries}{hints}{seen}"


@shown_if_dropped
def todo(n: int = 3) -> Note:
    """What to do next: exercises not passed yet whose prerequisites you have passed, in the order of the book."""
    known = store.load()
    passed = {id for id, record in known.items() if record["passed"]}
    open_ = [one for id, one in exercises().items() if id not in passed]
    ready = [one for one in open_ if passed.issuperset(one.prerequisites)]
    if not open_:
        return Note(("All exercises are passed. Well done.",))
    lines = [f"{one.stars:<3} {one.minutes:>3} min  {one.id}  {one.title}" for one in ready[:n]]
    return Note((f"Next, of {len(open_)} that are open:", Code("\n".join(lines))))


@shown_if_dropped
def reset(id: str | None = None, confirm: bool = False) -> Note:
    """Forget your progress in one exercise, or in all with `reset(confirm=True)`."""
    if id is not None:
        store.forget(find(id, "reset").id)
        return Note((f"**{id}** is as if never tried.",))
    if not confirm:
        return Note(
            (
                "This forgets all your progress: `reset(confirm=True)` does it, `reset(id)` forgets one exercise.",
            )
        )
    store.forget(None)
    return Note(("All progress is forgotten.",))


@shown_if_dropped
def progress_code() -> Note:
    """A short code for what you have passed and tried; `load_progress(code)` reads it on another machine."""
    tried = {
        id: record["passed"] for id, record in store.load().items() if record["attempts"] or record["passed"]
    }
    return Note(("On the other machine: `load_progress(...)` with this code.", Code(store.encoded(tried))))


@shown_if_dropped
def load_progress(code: str | Path) -> Note:
    """Add to the progress on this machine what a code says, or a file that the book saved; nothing is lost."""
    if str(code).endswith(".json"):
        records = store.copied(Path(code))
        found = {id: record["passed"] for id, record in records.items() if id in exercises()}
        store.merge({id: records[id] for id in found})
        unknown = len(records) - len(found)
    else:
        found, unknown = store.decoded(str(code), list(exercises()))
        store.merge({id: {**store.EMPTY, "attempts": 1, "passed": passed} for id, passed in found.items()})
    text = f"{len(found)} exercises added, {sum(found.values())} of them passed."
    return Note((text, *([f"{unknown} are not known to this version of attnlib."] if unknown else [])))


@shown_if_dropped
def progress_on_drive() -> Note:
    """On Colab: keep progress on your Google Drive, so that it is there next time."""
    try:
        from google.colab import drive  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise RuntimeError(
            "progress_on_drive: this works on Colab only; elsewhere progress is kept on this machine without it."
        ) from None
    drive.mount("/content/drive")
    path = Path("/content/drive/MyDrive/attnlib/progress.json")
    store.choose(path)
    return Note((f"Progress is kept in {path} from now on.",))

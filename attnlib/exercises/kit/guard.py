"""What every exercise must keep: `violations(exercise)` is empty, or says which rules are broken.

    python -m attnlib.exercises.kit.guard foundations.softmax
    python -m attnlib.exercises.kit.guard --table foundations.softmax    which wrong answers are noticed, and by what

The tests run this over all exercises; an author runs it while writing one.
"""

import ast
import itertools
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from attnlib.edit_table import table
from attnlib.exercises.engine import derived_cases
from attnlib.exercises.engine.cases import cases_of
from attnlib.exercises.engine.generator import edited_code
from attnlib.exercises.engine.generator.rules import RULES
from attnlib.exercises.engine.generator.words import is_specific
from attnlib.exercises.engine.interface import graded_in_this_process as graded
from attnlib.exercises.engine.model import (
    KINDS,
    AnswerExercise,
    CodeExercise,
    Exercise,
    Mistake,
    ProofExercise,
)
from attnlib.exercises.engine.naming import naming_of
from attnlib.exercises.engine.outcomes import Outcome, observe, same
from attnlib.exercises.engine.registry import exercises, find
from attnlib.exercises.engine.results import Result
from attnlib.exercises.engine.source_edits import compiled, edited

SLOWEST = 1.0  # seconds for one check
FEWEST_MISTAKES, FEWEST_VARIANTS, FEWEST_CASES, HINTS = 5, 2, 4, 3
SHORTEST_SECRET = 7  # characters; shorter pieces of a solution may appear in a hint


def violations(exercise: Exercise) -> list[str]:
    """All rules that this exercise breaks, one sentence each."""
    with np.errstate(all="ignore"):
        found = list(of_any(exercise))
        if isinstance(exercise, CodeExercise):
            found += of_code(exercise)
        elif isinstance(exercise, AnswerExercise):
            found += of_answer(exercise)
        elif isinstance(exercise, ProofExercise):
            found += of_proof(exercise)
    return [f"{exercise.id}: {text}" for text in found]


def of_any(exercise: Exercise) -> Iterator[str]:
    """Rules of all kinds: the data make sense, three hints, and none of them gives the solution away."""
    if not re.fullmatch(r"[a-z][a-z-]*\.[a-z0-9-]+", exercise.id):
        yield f"an id is chapter.name in small letters; got {exercise.id!r}"
    if exercise.kind not in KINDS:
        yield f"the kind must be one of {', '.join(KINDS)}; got {exercise.kind!r}"
    if exercise.level not in (1, 2, 3) or not 1 <= exercise.minutes <= 60:
        yield f"the level is 1 to 3 and minutes are 1 to 60; got {exercise.level} and {exercise.minutes}"
    if not exercise.task or not exercise.commentary:
        yield "the task and the commentary must not be empty"
    if len(exercise.hints) != HINTS or not all(exercise.hints):
        yield f"there must be {HINTS} hints; got {len(exercise.hints)}"
    for name, text in texts_of(exercise):
        if secret := given_away(exercise, text):
            yield f"{name} gives the solution away: {secret!r}"
    blank = graded(exercise, ...)
    if blank.status != "not attempted":
        yield f"no answer must count as not attempted; got {blank.status!r}"


def texts_of(exercise: Exercise) -> Iterator[tuple[str, str]]:
    """All texts that a learner may read before the solution."""
    yield from ((f"hint {i}", hint) for i, hint in enumerate(exercise.hints, 1))
    yield "the task", exercise.task
    yield from ((f"mistake {one.name!r}", one.sentence) for one in getattr(exercise, "mistakes", ()))


def given_away(exercise: Exercise, text: str) -> str | None:
    """The piece of the solution that stands in the text, None if there is none."""
    if isinstance(exercise, AnswerExercise):
        return answer_in(exercise, text)
    squeezed = "".join(text.split())
    return next((secret for secret in secrets_of(exercise) if "".join(secret.split()) in squeezed), None)


def secrets_of(exercise: Exercise) -> Iterator[str]:
    """The statements of a solution, and what they assign or return; the sentences of a proof."""
    if isinstance(exercise, CodeExercise):
        for node in ast.walk(ast.parse(exercise.model_answer)):
            if isinstance(node, ast.Return | ast.Assign | ast.AugAssign) and node.value is not None:
                secret = ast.unparse(node.value)
                if len("".join(secret.split())) >= SHORTEST_SECRET:
                    yield secret
    elif isinstance(exercise, ProofExercise):
        yield from (part.strip() for part in re.split(r"[.\n]", exercise.proof) if len(part.strip()) > 30)


def answer_in(exercise: AnswerExercise, text: str) -> str | None:
    """The answer itself, as a number or a choice, in the text; a number of the task is allowed."""
    if isinstance(exercise.value, str):
        others = [choice for choice in exercise.choices if choice != exercise.value]
        named = exercise.value.lower() in text.lower() and not any(
            other.lower() in text.lower() for other in others
        )
        return exercise.value if named else None
    if exercise.value is None or text == exercise.task:
        return None
    said = [float(found) for found in re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]*\d)", text)]
    wanted = np.ravel(np.asarray(exercise.value, dtype=float))
    if all(any(abs(number - one) <= exercise.within for number in said) for one in wanted):
        return str(exercise.value)
    return None


def of_code(exercise: CodeExercise) -> Iterator[str]:
    """Rules of code exercises."""
    yield from of_source(exercise)
    passes = graded(exercise, exercise.solution)
    if not passes.passed:
        yield f"the solution must pass; got: {passes.message}"
        return
    yield from of_reference(exercise)
    yield from of_stub(exercise)
    yield from of_repetition(exercise)
    if (count := named_wrong_answers(exercise, FEWEST_MISTAKES)) < FEWEST_MISTAKES:
        yield f"at least {FEWEST_MISTAKES} wrong answers must have a name, written or generated; got {count}"
    if len(exercise.variants) < FEWEST_VARIANTS:
        yield f"there must be at least {FEWEST_VARIANTS} variants; got {len(exercise.variants)}"
    yield from of_cases(exercise)
    for i, variant in enumerate(exercise.variants, 1):
        function = exercise.with_mistakes(variant)
        got = None if function is None else graded(exercise, function)
        if got is None or not got.passed:
            yield f"variant {i} must pass; got: {got.message if got else 'an edit that does not apply'}"
    yield from of_mistakes(exercise)
    yield from of_several(exercise)
    seconds = timed(exercise)
    if seconds > SLOWEST:
        yield f"a check must take under {SLOWEST:g} s; took {seconds:.2f} s"


def of_source(exercise: CodeExercise) -> Iterator[str]:
    """Every edit applies, no two mistakes share a name, and `given` and `blanks` belong to their kinds."""
    for mistake in exercise.mistakes:
        for form in mistake.forms:
            if not callable(form):
                try:
                    edited(exercise.model_answer, form)
                except ValueError as error:
                    yield f"mistake {mistake.name!r}: {error}"
    names = [mistake.name for mistake in exercise.mistakes]
    if len(set(names)) < len(names):
        yield f"each mistake needs its own name; got {names}"
    if bool(exercise.given) != (exercise.kind == "repair") or not set(exercise.given) <= set(names):
        yield f"`given` names the mistakes of a repair, and only there; got {exercise.given}"
    if bool(exercise.blanks) != (exercise.kind == "fill"):
        yield f"`blanks` belongs to kind fill, and only there; got {exercise.blanks}"


def of_cases(exercise: CodeExercise) -> Iterator[str]:
    """Enough cases, and a trap (engine/derived_cases.py) among them wherever an array of free numbers comes in."""
    cases = cases_of(exercise).labelled
    if len(cases) < FEWEST_CASES:
        yield f"there must be at least {FEWEST_CASES} cases, those made by rule included; got {len(cases)}"
    trapped = any(label.startswith(derived_cases.PREFIX) for label in cases)
    if not trapped and any(derived_cases.free(one) for arguments in cases.values() for one in arguments):
        yield "the right answers part on every trap: they must agree where the task leaves no doubt"


def named_wrong_answers(exercise: CodeExercise, enough: int) -> int:
    """How many wrong answers have a name of their own, written or generated; counted until there are enough."""
    names, cases = {mistake.name for mistake in exercise.mistakes}, cases_of(exercise)
    made = edited_code.generated(exercise, RULES)
    while len(names) < enough and (one := next(made, None)):
        outcomes = [observe(one.function, arguments, traced=False) for arguments in cases.arguments]
        if is_specific(one.name) and cases.tell(outcomes, finite=True):
            names.add(one.name)
    return len(names)


def of_reference(exercise: CodeExercise) -> Iterator[str]:
    """The solution computes what the package computes."""
    if exercise.reference is None:
        return
    cases = cases_of(exercise)
    for (label, arguments), want, tolerance in zip(
        cases.labelled.items(), cases.expected, cases.tolerances, strict=True
    ):
        got = observe(exercise.reference, arguments)
        if not same(got, want, *tolerance):
            why = f": {got.error!r}" if got.error else ""
            yield f"the solution must agree with the reference; it does not on the case {label!r}{why}"


def of_stub(exercise: CodeExercise) -> Iterator[str]:
    """The stub is not attempted, whether checked as it is or written anew by the learner."""
    got = graded(exercise, compiled(exercise.stub, exercise.solution, f"{exercise.id}: stub"))
    if got.status != "not attempted":
        yield f"the stub must count as not attempted; got {got.status!r}"
    for law in exercise.properties:
        for label, arguments in cases_of(exercise).labelled.items():
            if seen := law.test(exercise.solution, *arguments):
                yield f"the solution must obey the law {law.name!r}; on the case {label!r}, {seen}"


def of_repetition(exercise: CodeExercise) -> Iterator[str]:
    """Checking twice changes nothing: the same words, the random state as before, the cases as before."""
    wrong = next(
        (f for m in exercise.mistakes if (f := exercise.with_mistakes(m.forms[0]))), exercise.solution
    )
    before = random_state()
    messages = {graded(exercise, wrong).message for _ in range(2)}
    if len(messages) > 1:
        yield "checking twice must give the same words"
    if before != random_state():
        yield "a check must leave the global random state as it was"
    fresh = exercise.cases(np.random.default_rng(exercise.seed))
    again = [observe(exercise.solution, arguments) for arguments in fresh.values()]
    cases = cases_of(exercise)
    rows = zip(again, cases.expected, cases.tolerances, strict=False)  # derived cases come after
    if not all(same(one, other, *tolerance) for one, other, tolerance in rows):
        yield "the cases must be drawn from the generator that is passed in, and from nothing else"


def random_state() -> str:
    """NumPy's global random state; that of `random` moves when annotations are checked at run time."""
    return repr(np.random.get_state(legacy=False))


def of_mistakes(exercise: CodeExercise) -> Iterator[str]:
    """Every form of every mistake fails, and is named."""
    for mistake, i, function in singles(exercise):
        got = graded(exercise, function)
        which = f"mistake {mistake.name!r}, form {i}"
        if got.status == "not attempted" and exercise.given == (mistake.name,):
            continue  # the code to repair is this mistake
        if got.passed:
            yield f"{which}, must fail: no case shows it"
        elif got.named != (mistake.name,):
            yield f"{which}, must be named; got {got.named or 'no name'}{rivals(exercise, mistake, function)}"


def singles(exercise: CodeExercise) -> Iterator[tuple[Mistake, int, Callable[..., Any]]]:
    for mistake in exercise.mistakes:
        for i, form in enumerate(mistake.forms, 1):
            if function := built(exercise, form):
                yield mistake, i, function


def built(exercise: CodeExercise, *forms: Any) -> Callable[..., Any] | None:
    try:
        return exercise.with_mistakes(*forms)
    except SyntaxError:
        return None


def rivals(exercise: CodeExercise, mistake: Mistake, function: Callable[..., Any]) -> str:
    """Which other explanations fit this mistake: what an author needs to know to add a case that tells them apart."""
    cases = cases_of(exercise)
    outcomes = [observe(function, arguments) for arguments in cases.arguments]
    known = [one for one in naming_of(exercise).written.listed if cases.tell(one.outcomes)]
    fits = [one for one in known if cases.agree(one.outcomes, outcomes)]
    names = {" + ".join(sorted(one.names)) for one in fits} - {mistake.name}
    if names:
        return f"; the same results come from: {'; '.join(sorted(names))}. Add a case that tells them apart"
    return (
        "; it shows no telling numbers. Add a case on which it runs and gives several wrong numbers"
        if not fits
        else ""
    )


def of_several(exercise: CodeExercise) -> Iterator[str]:
    """Two or three mistakes at once never get the name of a mistake that is not among them."""
    for mistakes, function in several(exercise, 2) + several(exercise, 3):
        outcomes = explicable(exercise, function)
        if outcomes is None:
            continue
        answer = cases_of(exercise).compared(outcomes)
        named = {mistake.name for mistake in naming_of(exercise).explain_by_written(answer).mistakes}
        wrongly = named - {mistake.name for mistake in mistakes}
        if wrongly:
            yield f"{' + '.join(mistake.name for mistake in mistakes)} must not be named {wrongly}"


def explicable(exercise: CodeExercise, function: Callable[..., Any]) -> list[Outcome] | None:
    """What a function does on each case; None as soon as no known mistake, nor two, do all that: it gets no name."""
    outcomes: list[Outcome] = []
    written = naming_of(exercise).written
    left = set(written.listed)
    for i, arguments in enumerate(cases_of(exercise).arguments):
        outcomes.append(observe(function, arguments))
        if outcomes[i].kind != "error":
            left &= {*written.nearby(i, outcomes[i])}
        if not left:
            return None
    return outcomes


def several(exercise: CodeExercise, count: int) -> list[tuple[tuple[Mistake, ...], Callable[..., Any]]]:
    """Functions with so many mistakes at once, as far as their edits go together; first forms only."""
    found = []
    for mistakes in itertools.combinations(exercise.mistakes, count):
        function = built(exercise, *(mistake.forms[0] for mistake in mistakes))
        if function is not None:
            found.append((mistakes, function))
    return found


def timed(exercise: CodeExercise) -> float:
    """Seconds of the processor for one check of the solution."""
    start = time.process_time()
    graded(exercise, exercise.solution)
    return time.process_time() - start


def of_answer(exercise: AnswerExercise) -> Iterator[str]:
    """Rules of predictions and the like: the answer passes unseen, each mistake fails and is named."""
    if exercise.value is None:
        if not graded(exercise, "what I found").passed:
            yield "an open exercise must take any answer"
        return
    if not graded(exercise, exercise.value).passed:
        yield f"the answer must pass; got {graded(exercise, exercise.value).message}"
    if exercise.choices and exercise.value not in exercise.choices:
        yield f"the answer must be one of the choices; got {exercise.value!r}"
    for mistake in exercise.mistakes:
        for form in mistake.forms:
            got = graded(exercise, form)
            if got.passed or got.named != (mistake.name,):
                yield f"mistake {mistake.name!r} must fail and be named; got {got.status}, {got.named}"
            if shows(exercise, got):
                yield f"the message for {mistake.name!r} shows the answer"


def shows(exercise: AnswerExercise, got: Result) -> bool:
    return answer_in(exercise, got.message) is not None


def of_proof(exercise: ProofExercise) -> Iterator[str]:
    """Rules of proofs: a rubric, a folded model proof, honest marks."""
    count = len(exercise.rubric)
    if count < 2 or not exercise.proof:
        yield f"a proof needs a model proof and a rubric of at least two lines; got {count}"
    if not graded(exercise, [True] * count).passed or graded(exercise, [False] * count).passed:
        yield "all marks True must pass, all marks False must not"


def show_table(chosen: list[Exercise]) -> None:
    """What noticed each wrong answer, and what that cost."""
    from attnlib.exercises.kit.edit_rows import rows_of

    rows = []
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        for exercise in chosen:
            if isinstance(exercise, CodeExercise):
                rows += rows_of(exercise, singles(exercise))
    table("guard", rows, Path())


def main() -> int:
    ids = [word for word in sys.argv[1:] if word != "--table"]
    try:
        chosen = [find(id, "guard") for id in ids] or list(exercises().values())
    except ValueError as error:  # an unknown id, or a file that is written otherwise than the kit says
        print(error)
        return 2
    if "--table" in sys.argv:
        show_table(chosen)
        return 0
    found = [text for exercise in chosen for text in violations(exercise)]
    print("\n".join(found) or f"Looked at {len(chosen)}: all rules are kept.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

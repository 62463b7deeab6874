"""One answer of a submission: the engine checks it as always, but for the calls, which the player makes."""

import ast
import functools
import inspect
import linecache
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

from attnlib.exercises.classroom import wire
from attnlib.exercises.classroom.process import NO_END, Gone, Player
from attnlib.exercises.classroom.submission import Cell
from attnlib.exercises.engine import interface
from attnlib.exercises.engine.cases import cases_of
from attnlib.exercises.engine.evidence import Evidence, broken_laws
from attnlib.exercises.engine.model import CodeExercise, Exercise
from attnlib.exercises.engine.outcomes import Outcome, adapted, same
from attnlib.exercises.engine.results import Result
from attnlib.exercises.engine.running import Ran


@dataclass(frozen=True)
class Received:
    """What a player says of one answer: a value, or a function by where it is written and how it is called."""

    attempts: int
    value: Any = None
    name: str = ""
    home: str = ""  # the module that defines the function
    place: tuple[str, int] | None = None  # cell and line
    signature: inspect.Signature | None = None
    is_function: bool = False

    @classmethod
    def read(cls, sent: Any) -> "Received":
        """From what was sent, which may be anything."""
        attempts = int(sent["attempts"])
        if "function" not in sent:
            return cls(attempts, wire.decoded(sent["value"]))
        one = sent["function"]
        place = (wire.text(one["place"][0]), int(one["place"][1])) if one["place"] else None
        called = signature(one["parameters"]) if one["parameters"] is not None else None
        return cls(attempts, None, wire.text(one["name"]), wire.text(one["home"]), place, called, True)


def graded(exercise: Exercise, player: Player, received: Received) -> Result:
    """Check an answer; a function is called in the player alone."""
    if not received.is_function:
        return interface.graded(exercise, received.value, player.limits.seconds)
    function = standing_in(received, player.submission.cells)
    tried = functools.partial(tried_there, player)
    return interface.graded(exercise, function, player.limits.seconds, tried=tried)


def tried_there(
    player: Player, exercise: CodeExercise, function: Any, seconds: float, memory: int | None
) -> tuple[Evidence, Ran]:
    """What the function did in the player: on every case, once more on the first, and for every law."""
    evidence, cases, wanted = Evidence(), cases_of(exercise).arguments, cases_of(exercise).expected
    try:
        said = player.asked(exercise.id, [*cases, cases[0]])
    except Gone as gone:
        return evidence, Ran(stopped=gone.late, died=not gone.late)
    with wire.read_with_care():
        outcomes = [wire.decoded_outcome(one) for one in said["outcomes"]]
        evidence.prints = [wire.text(one) for one in said["printed"][: len(cases)]]
        where, last, stopped = wire.text(said["where"]), wire.text(said["last"]), bool(said["stopped"])
    outcomes = [adapted(got, want) for got, want in zip(outcomes, [*wanted, wanted[0]], strict=False)]
    evidence.outcomes, again = outcomes[: len(cases)], outcomes[len(cases) :]
    if stopped or not again:
        return evidence, Ran(stopped=True, where=where, printed=last)
    evidence.repeats = same(outcomes[0], again[0], *cases_of(exercise).tolerances[0])
    try:
        seen = functools.partial(observed_there, player, exercise.id)
        evidence.broken = broken_laws(exercise, function, evidence.outcomes, seen)
    except Gone as gone:
        return evidence, Ran(stopped=gone.late, died=not gone.late)
    return evidence, Ran()


def observed_there(player: Player, id: str, function: Any, arguments: Sequence[Any]) -> Outcome:
    """What one call does, seen in the player."""
    outcomes = player.asked(id, [tuple(arguments)]).get("outcomes")
    if not outcomes:
        raise Gone(NO_END, late=True)
    return wire.decoded_outcome(outcomes[0])


def standing_in(received: Received, cells: Sequence[Cell]) -> Callable[..., Any]:
    """A function that is never called: it has the code and the signature of the one in the player."""
    code = written(cells, *received.place) if received.place else None
    function: Any = FunctionType(code, {}, received.name) if code else functools.partial(unseen)
    function.__name__ = received.name
    if received.signature is not None:
        function.__signature__ = received.signature
    return function


def unseen(*arguments: Any, **options: Any) -> Any:
    """Stands for a function whose lines are not in the file."""
    raise NotImplementedError


def signature(listed: Sequence[Any]) -> inspect.Signature:
    """The signature that a player described; a default is shown as `...`."""
    empty = inspect.Parameter.empty
    kinds = list(inspect._ParameterKind)
    return inspect.Signature(
        [
            inspect.Parameter(wire.text(name), kinds[int(kind)], default=... if has_default else empty)
            for name, kind, has_default in listed
        ]
    )


def written(cells: Sequence[Cell], label: str, line: int) -> CodeType | None:
    """The code of the function that begins in this line of this cell: compiled, never run."""
    source = next((cell.source for cell in cells if cell.label == label), None)
    if source is None:
        return None
    linecache.cache[label] = (len(source), None, source.splitlines(True), label)
    try:
        tree = ast.parse(source)
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        node = next(
            (n for n in nodes if min([n.lineno, *(d.lineno for d in n.decorator_list)]) == line), None
        )
        if node is None:
            return None
        node.decorator_list, node.args.defaults, node.args.kw_defaults = (
            [],
            [],
            [None] * len(node.args.kwonlyargs),
        )
        module = compile(ast.Module([node], []), label, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    code = next(one for one in module.co_consts if isinstance(one, CodeType))
    return None if code.co_freevars else code

"""The process that a submission runs in: it plays the file, then the functions that are requested.

It is started by `process.Player`, reads the file and the arguments from its standard input, and answers on its standard
output, of which the submission sees neither.
"""

import inspect
import linecache
import sys
from types import ModuleType
from typing import Any

from attnlib.exercises.classroom import recorder, watching, wire
from attnlib.exercises.classroom.channel import Channel, limit
from attnlib.exercises.engine.errors import last_line
from attnlib.exercises.engine.outcomes import observe
from attnlib.exercises.engine.running import Halt, Prints, is_learners, run


def main() -> None:
    channel = Channel()
    channel.tell({"ready": True})
    first = channel.heard()
    limit(first["memory"])
    noted = recorder.Recorder()
    names = recorder.installed(noted)
    watching.watch(lambda seen: channel.tell({"flag": seen}), {label for label, _ in first["cells"]})
    stage = Stage(first, noted, names)
    channel.tell(stage.played())
    while True:
        request = channel.heard()
        channel.tell(stage.called(**request))


class Stage:
    """A submission that was run, and the answers that it left."""

    def __init__(self, task: dict[str, Any], noted: recorder.Recorder, names: dict[str, Any]) -> None:
        self.task, self.noted, self.names = task, noted, names
        self.module = ModuleType("__main__")
        self.module.__file__ = task["path"]
        self.troubles: list[str] = []
        self.flags: list[str] = []
        self.functions: dict[str, Any] = {}

    def played(self) -> dict[str, Any]:
        """Run the file; say what went wrong, what should be looked at, and which answers there are."""
        sys.modules["__main__"] = self.module
        vars(self.module).update(display=self.noted.quiet, get_ipython=lambda: None)
        seconds = self.task["seconds"]
        ran = run(lambda prints: self.cells(), seconds)
        if ran.stopped:
            place = f", at {ran.where}" if ran.where else ""
            self.troubles.append(f"The file was still running after {seconds:g} seconds{place}.")
        self.flags += [f"asks for the solution of {id}" for id in dict.fromkeys(self.noted.solutions)]
        report = {"troubles": self.troubles, "flags": self.flags, "lost": ran.stopped and not ran.ended}
        return report | {"answers": self.answers()}

    def cells(self) -> None:
        """Cell by cell, with the next one after an error; a script is one cell."""
        try:
            for label, source in self.task["cells"]:
                linecache.cache[label] = (len(source), None, source.splitlines(True), label)
                try:
                    exec(compile(source, label, "exec", dont_inherit=True), vars(self.module))
                except Halt:
                    raise
                except BaseException as error:
                    self.troubles.append(f"{label} {self.sentence(error)}")
        finally:
            self.flags += watching.overridden()
            self.flags += [f"replaces attnlib.exercises.{name}" for name in recorder.replaced(self.names)]

    def sentence(self, error: BaseException) -> str:
        """What ended a cell, and where."""
        if isinstance(error, SyntaxError):
            return f"is no Python: {error.msg}, line {error.lineno}."
        lines = [number for frame, number in walked(error) if is_learners(frame)]
        place = f" in line {lines[0]}" if lines else ""
        if isinstance(error, SystemExit):
            return f"ends Python itself{place}; what stands below that was not run."
        if isinstance(error, ModuleNotFoundError):
            return f"needs the module {error.name}{place}, which is not installed here."
        if isinstance(error, MemoryError):
            return f"asked for more memory{place} than it may have ({self.task['memory'] >> 20} MB)."
        return f"stopped{place} with {last_line(error)}"

    def answers(self) -> list[dict[str, Any]]:
        """Those that were checked, and the functions that carry the name of exactly one exercise."""
        found = []
        for id, answer in self.noted.answers.items():
            found.append({"id": id, "attempts": answer.attempts, **self.described(id, answer.value)})
        own = {label for label, _ in self.task["cells"]}  # a function that was imported is no answer
        for name, id in self.task["names"].items():
            function = vars(self.module).get(name)
            code = getattr(function, "__code__", None)
            if id not in self.noted.answers and code and code.co_filename in own:
                found.append({"id": id, "attempts": 0, **self.described(id, function)})
        return found

    def described(self, id: str, value: Any) -> dict[str, Any]:
        """A function by where it is written and how it is called; anything else as it is."""
        if not callable(value):
            return {"value": wire.encoded(value)}
        self.functions[id] = value
        code = getattr(inspect.unwrap(value), "__code__", None)
        place = [code.co_filename, code.co_firstlineno] if code else None
        name = str(getattr(value, "__name__", "it"))
        home = str(getattr(value, "__module__", ""))
        return {"function": {"name": name, "home": home, "place": place, "parameters": parameters(value)}}

    def called(self, id: str, calls: list[Any], seconds: float) -> dict[str, Any]:
        """What a function did with each of these arguments, as far as it came."""
        outcomes: list[dict[str, Any]] = []
        printed: list[str] = []

        def job(prints: Prints) -> None:
            for arguments in calls:
                outcomes.append(wire.encoded_outcome(observe(self.functions[id], arguments)))
                printed.append(prints.taken())

        ran = run(job, seconds)
        report = {"stopped": ran.stopped, "where": ran.where, "last": ran.printed}
        return report | {"outcomes": outcomes, "printed": printed, "lost": ran.stopped and not ran.ended}


def walked(error: BaseException) -> list[Any]:
    """The frames of an error, outermost first."""
    frames, step = [], error.__traceback__
    while step is not None:
        frames.append((step.tb_frame, step.tb_lineno))
        step = step.tb_next
    return frames


def parameters(function: Any) -> list[Any] | None:
    """Name, kind, and whether it has a default, of each parameter; None where that is not known."""
    try:
        listed = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    return [[one.name, int(one.kind), one.default is not inspect.Parameter.empty] for one in listed]


if __name__ == "__main__":
    main()

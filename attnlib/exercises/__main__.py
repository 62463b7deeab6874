"""Exercises from the command line, for those who work in an editor.

attnlib exercises list                     all exercises, with what you have done
attnlib exercises list --chapter training --kind write --todo
attnlib exercises show ID > answer.py      the task and the code to start from
attnlib exercises check answer.py --watch  check the file, again after each save
attnlib exercises hint ID                  the next hint
attnlib exercises solution ID              one way to solve it
attnlib exercises progress                 what you have done; `code` and `load` carry it to another machine
attnlib grade FILE...                      the files of a class, each in a process of its own

`python -m attnlib.exercises` is the same command.
"""

import argparse
import contextlib
import io
import json
import os
import runpy
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from attnlib.exercises.classroom import command
from attnlib.exercises.engine import interface, store, tries
from attnlib.exercises.engine.errors import trimmed
from attnlib.exercises.engine.exporting import start_of
from attnlib.exercises.engine.registry import CHAPTERS, exercises, find
from attnlib.exercises.engine.results import Note, Result
from attnlib.exercises.wording import as_commands


def list_all(chapter: str | None = None, kind: str | None = None, todo: bool = False) -> int:
    """One line for each exercise: of a chapter, of a kind, or those that are not passed yet."""
    known = store.load()
    for id, one in exercises().items():
        record = known.get(id, store.EMPTY)
        if (chapter and one.chapter != chapter) or (kind and one.kind != kind) or (todo and record["passed"]):
            continue
        state = "✓" if record["passed"] else "·" if record["attempts"] else " "
        print(f"{state} {one.stars:<3} {one.minutes:>3} min  {one.kind:<8} {id:<36} {one.title}")
    return 0


def show(id: str) -> int:
    """The task and a file to start from, as Python text."""
    print(start_of(find(id, "show")), end="")
    return 0


def say(note: Note) -> None:
    """Print it in the words of the command line."""
    print(as_commands(note.message), flush=True)


def check_file(path: Path, seen: Path | None = None) -> int:
    """Run the file and print what its exercises answer; 0 if all passed, 1 if not, 2 if there is nothing to check.

    seen    a file with what the check before has seen, which is no new try; it is written anew
    """
    results: list[Result] = []

    def told(found: Result) -> None:
        results.append(found)
        say(found)
        print(flush=True)

    if not path.is_file():
        print(f"check: FILE must be a Python file with your answers; {path} does not exist.")
        return 2
    repeats = tries.Repeats(json.loads(seen.read_text()) if seen else [])
    interface.listeners.append(told)
    tries.current[:] = [repeats] if seen else []
    sys.path.insert(0, str(path.resolve().parent))
    try:
        runpy.run_path(str(path), run_name="__main__")
    except SyntaxError as error:
        print("".join(traceback.format_exception_only(error)).strip())
        return 2
    except Exception as error:
        print(f"{path} stopped with an error:\n{trimmed(error)}")
        return 2
    finally:
        interface.listeners.remove(told)
        tries.current.clear()
        if seen:
            seen.write_text(json.dumps(repeats.now))
        sys.path.pop(0)
    if not results:
        print(f'{path}: no exercise found. Put @exercise("foundations.softmax") above your function.')
        return 2
    print(f"{sum(found.passed for found in results)} of {len(results)} passed")
    return 0 if all(found.passed for found in results) else 1


def watch(path: Path, pause: float = 0.3) -> int:
    """Check the file now and after each save, each time in a fresh Python, until stopped with Ctrl-C."""
    last = None
    with contextlib.suppress(KeyboardInterrupt), tempfile.TemporaryDirectory() as folder:
        seen = Path(folder) / "seen.json"
        seen.write_text("[]")
        command = [sys.executable, "-m", "attnlib.exercises", "check", str(path), "--seen", str(seen)]
        while True:
            now = path.stat().st_mtime_ns if path.exists() else None
            if now != last:
                last = now
                print(f"--- {path} ---", flush=True)
                subprocess.run(command, check=False)
                print("Waiting for the next save; Ctrl-C ends.", flush=True)
            time.sleep(pause)
    return 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="attnlib exercises",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("list", help="all exercises, or some")
    kinds = sorted({one.kind for one in exercises().values()})
    listing.add_argument("--chapter", choices=CHAPTERS, help="those of a chapter")
    listing.add_argument("--kind", choices=kinds, help="those of a kind")
    listing.add_argument("--todo", action="store_true", help="those that you have not passed yet")
    commands.add_parser("progress", help="what you have done")
    commands.add_parser("todo", help="what to do next")
    for name, text in (("show", "the task and the code to start from"), ("hint", "the next hint")):
        commands.add_parser(name, help=text).add_argument("id")
    solving = commands.add_parser("solution", help="one way to solve it, and why")
    solving.add_argument("id")
    solving.add_argument("--yes", action="store_true", help="although you have not tried")
    commands.add_parser("code", help="what you have done as a short code, for another machine")
    commands.add_parser("load", help="add what a code or a saved file says").add_argument("code")
    checking = commands.add_parser("check", help="check the answers in a file")
    checking.add_argument("file", type=Path)
    checking.add_argument("--watch", action="store_true", help="check again after each save")
    checking.add_argument("--seen", type=Path, help=argparse.SUPPRESS)
    command.add_to(commands)
    chosen = parser.parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    try:
        return dispatch(chosen)
    except ValueError as error:  # an unknown id
        print(error, file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def dispatch(chosen: argparse.Namespace) -> int:
    if chosen.command == "list":
        return list_all(chosen.chapter, chosen.kind, chosen.todo)
    if chosen.command == "show":
        return show(chosen.id)
    if chosen.command == "grade":
        return command.grade(chosen)
    if chosen.command == "check":
        return watch(chosen.file) if chosen.watch else check_file(chosen.file, chosen.seen)
    answers: dict[str, Callable[[], Note]] = {
        "progress": interface.progress,
        "todo": interface.todo,
        "code": interface.progress_code,
        "hint": lambda: interface.hint(chosen.id),
        "solution": lambda: interface.solution(chosen.id, confirm=chosen.yes),
        "load": lambda: interface.load_progress(chosen.code),
    }
    note = answers[chosen.command]()
    say(note)
    return 0


if __name__ == "__main__":
    sys.exit(main())

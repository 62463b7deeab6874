"""Exercises from the command line, for those who work in an editor.

python -m attnlib.exercises list                     all exercises, with what you have done
python -m attnlib.exercises show ID > answer.py      the task and the code to start from
python -m attnlib.exercises check answer.py --watch  check the file, again after each save
python -m attnlib.exercises hint ID                  the next hint
python -m attnlib.exercises progress
python -m attnlib.exercises grade FILE...            the files of a class, each in a process of its own
"""

import argparse
import contextlib
import io
import os
import runpy
import subprocess
import sys
import time
import traceback
from pathlib import Path

from attnlib.exercises.classroom import command
from attnlib.exercises.engine import interface, store
from attnlib.exercises.engine.errors import trimmed
from attnlib.exercises.engine.exporting import start_of
from attnlib.exercises.engine.registry import exercises, find
from attnlib.exercises.engine.results import Result


def list_all() -> int:
    """One line for each exercise."""
    known = store.load()
    for id, one in exercises().items():
        record = known.get(id, store.EMPTY)
        state = "✓" if record["passed"] else "·" if record["attempts"] else " "
        print(f"{state} {one.stars:<3} {one.minutes:>3} min  {one.kind:<8} {id:<36} {one.title}")
    return 0


def show(id: str) -> int:
    """The task and a file to start from, as Python text."""
    print(start_of(find(id, "show")), end="")
    return 0


def check_file(path: Path) -> int:
    """Run the file and print what its exercises answer; 0 if all passed, 1 if not, 2 if there is nothing to check."""
    results: list[Result] = []

    def told(found: Result) -> None:
        results.append(found)
        print(found, end="\n\n", flush=True)

    if not path.is_file():
        print(f"check: FILE must be a Python file with your answers; {path} does not exist.")
        return 2
    interface.listeners.append(told)
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
        sys.path.pop(0)
    if not results:
        print(f'{path}: no exercise found. Put @exercise("foundations.softmax") above your function.')
        return 2
    print(f"{sum(found.passed for found in results)} of {len(results)} passed")
    return 0 if all(found.passed for found in results) else 1


def watch(path: Path, pause: float = 0.3) -> int:
    """Check the file now and after each save, each time in a fresh Python, until stopped with Ctrl-C."""
    last = None
    command = [sys.executable, "-m", "attnlib.exercises", "check", str(path)]
    with contextlib.suppress(KeyboardInterrupt):
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
        prog="python -m attnlib.exercises",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="all exercises")
    commands.add_parser("progress", help="what you have done")
    commands.add_parser("todo", help="what to do next")
    for name, text in (("show", "the task and the code to start from"), ("hint", "the next hint")):
        commands.add_parser(name, help=text).add_argument("id")
    checking = commands.add_parser("check", help="check the answers in a file")
    checking.add_argument("file", type=Path)
    checking.add_argument("--watch", action="store_true", help="check again after each save")
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
        return list_all()
    if chosen.command == "show":
        return show(chosen.id)
    if chosen.command == "grade":
        return command.grade(chosen)
    if chosen.command == "check":
        return watch(chosen.file) if chosen.watch else check_file(chosen.file)
    print(
        {"progress": interface.progress, "todo": interface.todo}.get(
            chosen.command, lambda: interface.hint(chosen.id)
        )()
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

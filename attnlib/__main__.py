"""`attnlib`, or `python -m attnlib`: all commands of the package.

    attnlib train my.txt             a language model on your own text
    attnlib generate my-model "def"  what it writes
    attnlib exercises list           the exercises: list, show, check, hint, solution, progress, todo
    attnlib grade handed-in/         the files of a class

`attnlib train --help`, and so for each, has the options; `attnlib --version` says which edition this is.
"""

import sys
from importlib import import_module
from importlib.metadata import version

COMMANDS = {
    "train": "attnlib.train.__main__",
    "generate": "attnlib.generate.__main__",
    "exercises": "attnlib.exercises.__main__",
    "grade": "attnlib.exercises.__main__",
}


def main(arguments: list[str] | None = None) -> int:
    command, *rest = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if command in ("-h", "--help"):
        print((__doc__ or "").strip())
        return 0
    if command == "--version":
        print(f"attnlib {version('attnlib')}")
        return 0
    if command not in COMMANDS:
        print(f"attnlib: the command must be one of {', '.join(COMMANDS)}; got {command}.", file=sys.stderr)
        return 2
    rest = ["grade", *rest] if command == "grade" else rest
    return int(import_module(COMMANDS[command]).main(rest))


if __name__ == "__main__":
    sys.exit(main())

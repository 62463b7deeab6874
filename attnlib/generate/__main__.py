"""`python -m attnlib.generate`: the command `attnlib generate`, whose options are in `attnlib.generate.command`."""

import sys

from attnlib.extras import run


def main(arguments: list[str] | None = None) -> int:
    return run("train", "attnlib.generate.command", arguments)


if __name__ == "__main__":
    sys.exit(main())

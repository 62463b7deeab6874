"""`python -m attnlib.train`: the command `attnlib train`, whose options are in `attnlib.train.command`."""

import sys

from attnlib.extras import run


def main(arguments: list[str] | None = None) -> int:
    return run("train", "attnlib.train.command", arguments)


if __name__ == "__main__":
    sys.exit(main())

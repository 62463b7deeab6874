"""Build the book into _build/html: warnings are errors, and the last line is the path to open."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INDEX = ROOT / "_build" / "html" / "index.html"


def main() -> int:
    command = [Path(sys.executable).with_name("jupyter-book"), "build", "-W", "--keep-going", "-q", "."]
    built = subprocess.run(command, cwd=ROOT)
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

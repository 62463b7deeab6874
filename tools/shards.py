"""Everything that `make test` checks, in shards for machines of continuous integration: one for each chapter.

    python tools/shards.py             the jobs, as GitHub's matrix: a system, a version of Python, a shard
    python tools/shards.py --run NAME  run one shard: `make shard SHARD=code`

`code` has lint, types, doctests, unit tests and the notebooks outside of chapters; each chapter has one shard for its
notebooks and one for its pages in a browser; `pages-rest` has all other pages, `machines` Colab's packages and older
processors. Code and notebooks run with each version of Python and on macOS. Pages are the same everywhere, so they are
looked at once. Chapters are found by their folders, so a new one has its shards.
"""

import json
import os
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
LINUX, MACOS = "ubuntu-24.04", "macos-14"
FIRST = PYTHONS[0]  # what runs once runs with this version


class Job(NamedTuple):
    """One machine of the matrix, and what it runs."""

    system: str
    python: str
    shard: str


class Shard(NamedTuple):
    """What a shard runs: parts of the Makefile, and the variables that say how much of them."""

    parts: tuple[str, ...]
    variables: dict[str, str]


def chapters(root: Path = ROOT) -> list[str]:
    return sorted(folder.name for folder in (root / "book").glob("[0-9][0-9]-*") if folder.is_dir())


def shards(names: list[str]) -> dict[str, Shard]:
    """
    >>> made = shards(["01-foundations", "02-self-attention"])
    >>> list(made)[:3]
    ['code', 'notebooks-01-foundations', 'notebooks-02-self-attention']
    >>> made["pages-rest"]
    Shard(parts=('pages',), variables={'ONLY': 'not (01-foundations or 02-self-attention)'})
    """
    outside = {"NOTEBOOKS": "book/*.ipynb"}
    return {
        "code": Shard(("lint", "types+doctests", "unit", "notebooks"), outside),
        **{f"notebooks-{name}": Shard(("notebooks",), {"NOTEBOOKS": f"book/{name}"}) for name in names},
        **{f"pages-{name}": Shard(("pages",), {"ONLY": name}) for name in names},
        "pages-rest": Shard(("pages",), {"ONLY": f"not ({' or '.join(names)})"}),
        "machines": Shard(("arithmetic", "sample"), {}),
    }


def everywhere(shard: str) -> bool:
    """Whether a shard may come out otherwise with another Python or on another system."""
    return not shard.startswith(("pages", "machines"))


def jobs(names: list[str]) -> list[Job]:
    made = list(shards(names))
    linux = [Job(LINUX, python, name) for python in PYTHONS for name in made if everywhere(name)]
    macos = [Job(MACOS, FIRST, name) for name in made if everywhere(name)]
    return [*linux, *macos, *(Job(LINUX, FIRST, name) for name in made if not everywhere(name))]


def matrix(names: list[str]) -> str:
    return json.dumps({"include": [job._asdict() for job in jobs(names)]})


def run(name: str) -> int:
    known = shards(chapters())
    if name not in known:
        print(f"shards: SHARD must be one of {', '.join(known)}; got {name!r}. Try: make shard SHARD=code")
        return 2
    import parts

    os.environ.update(known[name].variables)
    return parts.main(list(known[name].parts))


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--run"]:
        return run(" ".join(arguments[1:]))
    made = matrix(chapters())
    print(made)
    if output := os.environ.get("GITHUB_OUTPUT"):  # where a step of GitHub leaves what later jobs read
        with Path(output).open("a") as file:
            file.write(f"matrix={made}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

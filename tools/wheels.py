"""Which wheels the package index has for the pins, and how much setting up fetches.

    python tools/wheels.py requirements-book.txt     what is not yet installed here, and its size

It uses pip's index, and needs only Python and pip, so that it can run before anything is installed.
"""

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.parse import unquote, urljoin
from urllib.request import Request, urlopen

try:
    from packaging import tags
    from packaging.markers import Marker
    from packaging.utils import canonicalize_name, parse_wheel_filename
except ImportError:  # a new environment has only pip, which carries the same
    from pip._vendor.packaging import tags
    from pip._vendor.packaging.markers import Marker
    from pip._vendor.packaging.utils import canonicalize_name, parse_wheel_filename

KINDS = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"
LINK = re.compile(r'<a[^>]*?href="([^"]+)"')


class Pin(NamedTuple):
    """One line of a requirements file."""

    name: str
    version: str
    marker: str

    def wanted(self, environment: dict[str, str] | None = None) -> bool:
        return not self.marker or Marker(self.marker).evaluate(environment)


class Wheel(NamedTuple):
    """A file that the index offers."""

    address: str
    size: int | None  # in bytes, where the index says it


def pins(file: Path) -> Iterator[Pin]:
    """The pins of a requirements file and of those that it includes."""
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("-r "):
            yield from pins(file.parent / line[3:].strip())
        elif line and line[0] != "#":
            pin, _, marker = line.partition(";")
            name, version = pin.strip().split("==")
            yield Pin(canonicalize_name(name), version, marker.strip())


def missing(wanted: Iterable[Pin]) -> list[Pin]:
    """Those that are not installed here at their version; a local build such as 2.13.0+cpu counts."""

    def installed(pin: Pin) -> bool:
        try:
            return importlib.metadata.version(pin.name).split("+")[0] == pin.version
        except importlib.metadata.PackageNotFoundError:
            return False

    return [pin for pin in wanted if pin.wanted() and not installed(pin)]


def index() -> str:
    """The address of pip's index."""
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True
    )
    configured = asked.stdout.strip() if asked.returncode == 0 else ""
    return (os.environ.get("PIP_INDEX_URL") or configured or "https://pypi.org/simple").rstrip("/") + "/"


def fetch(address: str, method: str = "GET", patience: float = 30, tries: int = 3) -> Any:
    """The open response; tried again after a network failure, but not after an HTTP error."""
    request = Request(address, headers={"Accept": KINDS, "User-Agent": "attnlib-setup"}, method=method)
    while True:
        try:
            return urlopen(request, timeout=patience)
        except OSError as error:
            tries -= 1
            if isinstance(error, HTTPError) or not tries:
                raise
            time.sleep(1)


def offered(name: str, at: str, patience: float = 30) -> dict[str, Wheel]:
    """The wheels of a package, by file name: from a page in JSON, which has sizes, or in HTML, which has none."""
    with fetch(urljoin(at, f"{name}/"), patience=patience, tries=3 if patience > 10 else 1) as answer:
        text = answer.read().decode()
        if "json" in answer.headers.get("Content-Type", ""):
            files = ((file["filename"], file["url"], file.get("size")) for file in json.loads(text)["files"])
        else:
            links = (unescape(link).partition("#")[0] for link in LINK.findall(text))
            files = ((unquote(link.rpartition("/")[2]), link, None) for link in links)
        return {
            file: Wheel(urljoin(answer.url, link), size)
            for file, link, size in files
            if file.endswith(".whl")
        }


def best(wheels: dict[str, Wheel], version: str, order: list[tags.Tag]) -> Wheel | None:
    """The wheel of this version that suits a machine best: the one whose tag comes first in its order."""
    rank = {tag: place for place, tag in enumerate(order)}
    found = []
    for file, wheel in wheels.items():
        if f"-{version}-" in file or f"-{version}+" in file:
            fits = [rank[tag] for tag in parse_wheel_filename(file)[3] if tag in rank]
            found += [(min(fits), file, wheel)] if fits else []
    return min(found)[2] if found else None


def here() -> list[tags.Tag]:
    return list(tags.sys_tags())


def machine(python: tuple[int, int], platforms: list[str]) -> list[tags.Tag]:
    """The tags of a machine that is not this one."""
    interpreter = f"cp{python[0]}{python[1]}"
    return [
        *tags.cpython_tags(python, platforms=platforms),
        *tags.compatible_tags(python, interpreter, platforms),
    ]


def all_offered(names: Iterable[str], at: str) -> dict[str, dict[str, Wheel]]:
    names = list(names)
    with ThreadPoolExecutor(16) as pool:
        return dict(zip(names, pool.map(lambda name: offered(name, at), names), strict=True))


def size(wheel: Wheel) -> int:
    """How large a file is; from the server if the index does not give it."""
    if wheel.size is not None:
        return wheel.size
    with fetch(wheel.address, "HEAD") as answer:
        return int(answer.headers["Content-Length"])


def sizes(wanted: list[Pin]) -> dict[str, int]:
    """The bytes to fetch for each package; those of unknown size are left out."""

    def ask(pin: Pin) -> tuple[str, int]:
        try:
            wheel = best(offered(pin.name, at), pin.version, order)
            return pin.name, size(wheel) if wheel else 0
        except (OSError, ValueError, KeyError, TypeError):
            return pin.name, 0

    at, order = index(), here()
    with ThreadPoolExecutor(16) as pool:
        return {name: bytes_ for name, bytes_ in pool.map(ask, wanted) if bytes_}


if __name__ == "__main__":
    needed = missing(pins(Path(sys.argv[1])))
    known = sizes(needed)
    for pin in needed:
        print(f"{known.get(pin.name, 0) / 1e6:8.1f} MB  {pin.name} {pin.version}")
    print(f"{sum(known.values()) / 1e6:8.1f} MB  in all")

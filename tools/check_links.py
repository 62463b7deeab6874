"""Ask every outside address that the project's texts name whether it still answers; the dead ones are listed.

Links within the book need no network: the build and the tests check them.
"""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import requests
from set_address import wanted

ROOT = Path(__file__).resolve().parent.parent
ADDRESS = re.compile(r"https?://[^\s\"'<>\\`{}|^]+")
NOT_MEANT = re.compile(
    r"https?://(localhost|127\.|[\w.-]*\.?example\b|example\.|www\.w3\.org/|colab\.research\.google\.com$|www\.sitemaps\.org)"
)
ALIVE = {401, 403, 405, 406, 429}  # there is somebody, who does not talk to programs
TEXTS = (".md", ".ipynb", ".yml", ".toml", ".cff", ".py", "LICENSE", "LICENSE-TEXT")
SECONDS = 20


def named_in(text: str) -> set[str]:
    """The addresses in a text, without the punctuation that follows them.

    >>> sorted(named_in("See [it](https://a.org/x_(y)), <https://b.org/>. And `http://localhost:8000`."))
    ['https://a.org/x_(y)', 'https://b.org/']
    """
    found = set()
    for address in ADDRESS.findall(text):
        address = address.rstrip(".,;:!?*")
        while address.endswith((")", "]")) and address.count("(") + address.count("[") < len(
            re.findall(r"[)\]]", address)
        ):
            address = address[:-1].rstrip(".,;:")
        if not NOT_MEANT.match(address):
            found.add(address)
    return found


def outside(root: Path) -> dict[str, list[str]]:
    """Each outside address and the files that name it; our own site and repository are not outside."""
    ours = wanted(root)
    source = f"https://github.com/{ours['repository']}"
    own = (ours["site"], source, "https://colab.research.google.com/github/", "https://mybinder.org/v2/gh/")
    listed = subprocess.run(["git", "ls-files"], cwd=root, check=True, capture_output=True, text=True).stdout
    places: dict[str, list[str]] = {}
    for name in listed.split("\n"):
        if name.endswith(TEXTS) and not name.startswith((".github", "tests", "tools")):
            for address in named_in((root / name).read_text(encoding="utf-8")):
                if not address.startswith(own):
                    places.setdefault(address.split("#")[0], []).append(name)
    return places


def fault(address: str) -> str:
    """Why an address does not answer, or nothing."""
    try:
        with requests.get(
            address, timeout=SECONDS, stream=True, headers={"User-Agent": "Mozilla/5.0 (link check)"}
        ) as answer:
            alive = answer.ok or answer.status_code in ALIVE
            return "" if alive else f"answers {answer.status_code}"
    except requests.RequestException as error:
        return type(error).__name__


def main() -> int:
    places = outside(ROOT)
    with ThreadPoolExecutor(8) as pool:
        faults = dict(zip(places, pool.map(fault, places), strict=True))
    dead = {address: why for address, why in faults.items() if why}
    for address, why in dead.items():
        print(f"{address}: {why}; named in {', '.join(sorted(set(places[address])))}")
    print(f"make links: {len(places)} outside addresses, {len(dead)} of them dead.")
    return 1 if dead else 0


if __name__ == "__main__":
    sys.exit(main())

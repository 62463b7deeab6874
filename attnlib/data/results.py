"""Stored experiments: what a long run measured, with everything needed to run it again.

A result is one JSON file in `attnlib/data/results/`; its entry "provenance" names seeds, command, versions, device,
duration and date. The scripts under `experiments/` write the files, notebooks read them.
"""

import json
import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"
LARGEST = 300_000  # bytes: a result is read, reviewed and shipped with the package


def load_result(name: str, folder: Path = FOLDER) -> dict[str, Any]:
    """The stored result `name`, a dictionary whose entry "provenance" says where it comes from."""
    file = folder / f"{name}.json"
    if not file.is_file():
        names = ", ".join(sorted(path.stem for path in folder.glob("*.json"))) or "none"
        raise ValueError(f"load_result: no result is called {name!r}; there are: {names}.")
    return json.loads(file.read_text(encoding="utf-8"))


def save_result(
    name: str,
    data: Mapping[str, Any],
    *,
    seeds: Sequence[int],
    command: str,
    seconds: float,
    device: str = "cpu",
    folder: Path = FOLDER,
) -> Path:
    """Write `data` with its provenance and return the file's path. `seconds` is how long the experiment took."""
    if "provenance" in data:
        raise ValueError(
            'save_result: data must not have an entry "provenance"; it is added when saving. Rename it.'
        )
    text = json.dumps({"provenance": provenance(seeds, command, seconds, device), **data}, ensure_ascii=False)
    if len(text.encode()) > LARGEST:
        raise ValueError(
            f"save_result: a result must have at most {LARGEST} bytes; {name!r} has {len(text.encode())}. "
            "Round the numbers or store fewer."
        )
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.json"
    file.write_text(text + "\n", encoding="utf-8")
    return file


def provenance(seeds: Sequence[int], command: str, seconds: float, device: str) -> dict[str, Any]:
    """Who made a result: seeds, command, versions, device, duration in seconds, date."""
    versions = {"python": platform.python_version()}
    for package in ("numpy", "torch", "attnlib"):
        if package in sys.modules:
            versions[package] = metadata.version(package)
    return {
        "seeds": list(seeds),
        "command": command,
        "versions": versions,
        "device": device,
        "seconds": round(seconds, 1),
        "date": datetime.now(UTC).date().isoformat(),
    }

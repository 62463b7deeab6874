"""Results of experiments, stored with everything that is needed to run them again.

A result is one JSON file in `attnlib/data/results/`; its entry "provenance" names seeds, command, versions, device,
duration and date. The scripts under `experiments/` and `benchmarks/` write the files, notebooks read them; two are
the speeds of the book's pages, which `tools/page_speed.py` and `tools/lighthouse.py` measure.
"""

import json
import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from attnlib.shapes import Array

FOLDER = Path(__file__).parent / "results"
LARGEST = 300_000  # bytes: a result is reviewed by people and shipped with the package


def load_result(name: str, folder: str | Path = FOLDER) -> dict[str, Any]:
    """The stored result `name`, a dictionary whose entry "provenance" says where it comes from."""
    folder = Path(folder)
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
    folder: str | Path = FOLDER,
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
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    file, half = folder / f"{name}.json", folder / f"{name}.part"
    half.write_text(text + "\n", encoding="utf-8")
    half.replace(file)  # atomic: if the process is stopped, the old result is still complete
    return file


def measured(result: Mapping[str, Any], group: str, arm: str, times: int, key: str = "accuracy") -> Array:
    """The measurements of one arm, trained for 1, 4 or 16 `times` the steps: one entry for each compared seed.

    >>> trial = {"group": "two", "arm": "1 head", "times": 4, "lr": 0.1}
    >>> result = {"settings": {"seeds": [0, 1]}, "trials": [{**trial, "seed": s, "accuracy": s / 2} for s in (1, 0, 9)]}
    >>> measured(result, "two", "1 head", times=4)
    array([0. , 0.5])
    """
    wanted = (group, arm, times)
    found = {
        one["seed"]: one[key]
        for one in result["trials"]
        if (one["group"], one["arm"], one["times"]) == wanted and one["seed"] in result["settings"]["seeds"]
    }
    return np.array([found[seed] for seed in sorted(found)])


def budgets(result: Mapping[str, Any], group: str, arm: str) -> list[int]:
    """The multiples of the steps for which results of all seeds of this arm are stored."""
    seeds, figure = len(result["settings"]["seeds"]), result["settings"]["figure"]
    return [times for times in (1, 4, 16) if len(measured(result, group, arm, times, figure)) == seeds]


def provenance(seeds: Sequence[int], command: str, seconds: float, device: str) -> dict[str, Any]:
    """How a result was made: seeds, command, versions, device, duration in seconds, date."""
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

"""A figure from a training is compared with its stored value within the tolerance that its cell states.

A training amplifies the last bit of a sum, and processors differ in it. In a cell tagged `tolerance-0.05` each number
may differ by 0.05 from the stored one. The words between the numbers, how many numbers there are, and the outputs of
all other cells are compared to the letter. Read by `pytest --nbval`.
"""

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import warm_kernels  # noqa: E402

TAG = re.compile(r"tolerance-(\d+(?:\.\d+)?)")
NUMBER = re.compile(
    r" *(?<![\w.])[-−+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?"
)
SHOWN = (
    "shown"  # what tests record under this name is printed at the end of a run
)


def tolerance_of(tags: list[str]) -> float:
    """
    >>> tolerance_of(["C084", "tolerance-0.05"]), tolerance_of(["C084"])
    (0.05, 0.0)
    """
    return max(
        (float(stated[1]) for tag in tags if (stated := TAG.fullmatch(tag))),
        default=0.0,
    )


def value(number: str) -> float:
    return float(number.strip().replace(",", "").replace("−", "-"))


def near(new: str, stored: str, tolerance: float) -> str:
    """`new` with the stored numbers in place of its own where these are as near as the tolerance allows.

    >>> near("loss 0.05 of 16", "loss 0.03 of 16", 0.02), near("loss 0.06 of 16", "loss 0.03 of 16", 0.02)
    ('loss 0.03 of 16', 'loss 0.06 of 16')
    >>> near("a gain of 0.05", "a loss of 0.03", 0.02)
    'a gain of 0.05'
    """
    if NUMBER.split(new) != NUMBER.split(stored):
        return new
    numbers = iter(NUMBER.findall(stored))

    def choose(found: re.Match[str]) -> str:
        kept = next(numbers)
        return (
            kept
            if abs(value(found[0]) - value(kept)) <= tolerance * (1 + 1e-9)
            else found[0]
        )

    return NUMBER.sub(choose, new)


def brought_near(
    outputs: list[Any], stored: list[Any], tolerance: float
) -> list[str]:
    """Put stored numbers into new outputs where the tolerance allows it; the lines that this changed."""
    moved = []
    for new, old in zip(outputs, stored, strict=False):
        for place, kept in (
            (new, old),
            (new.get("data", {}), old.get("data", {})),
        ):
            for key in (
                {"text", "text/plain", "text/html"} & place.keys()
            ) & kept.keys():
                text = near(place[key], kept[key], tolerance)
                pairs = zip(
                    place[key].splitlines(), text.splitlines(), strict=False
                )
                moved += [
                    f"{a.strip()}  for  {b.strip()}" for a, b in pairs if a != b
                ]
                place[key] = text
    return moved


def pytest_configure(config: Any) -> None:
    """Notebooks under test run in forks of one process (tools/warm_kernels.py)."""
    if config.getoption("nbval", False) or config.getoption("nbval_lax", False):
        warm = warm_kernels.use()
        config.add_cleanup(warm.close)


def pytest_collection_modifyitems(items: list[Any]) -> None:
    for item in items:
        tolerance = (
            tolerance_of(item.cell.metadata.get("tags", []))
            if hasattr(item, "cell")
            else 0.0
        )
        if tolerance:
            item.compare_outputs = comparison(item, tolerance)


def comparison(item: Any, tolerance: float):
    """nbval's strict comparison of one cell, after its numbers have been brought near."""
    strict = item.compare_outputs

    def compare(test: list[Any], ref: list[Any], skip_compare=None) -> bool:
        moved = brought_near(test, ref, tolerance)
        name = f"{item.path.stem}, cell {item.cell_num}"
        item.user_properties += [
            (SHOWN, f"{name} (tolerance {tolerance:g}): {line}")
            for line in moved
        ]
        return strict(test, ref, skip_compare)

    return compare

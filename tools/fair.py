"""Was each arm of the stored comparisons trained at a fair rate? `python tools/fair.py [RESULT ...]` prints a table.

A line is an arm at one budget: the rates that were tried for it there, on seeds that are not reported, and the one with
which it was trained. It is open at an end when the best rate that was tried is the smallest or the largest, so that a
rate beyond it might be better still; not when the arm has reached the best possible figure, or does not use the rate at
all. Where a rate was chosen at the first budget for all, the line of a longer one says so.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from attnlib.data.results import FOLDER, load_result

AT_BEST = 0.005  # so near to the best possible figure, another rate changes nothing
BEST = {
    "accuracy": 1.0,
    "right": 1.0,
    "right_hard": 1.0,
    "exact": 1.0,
    "known": 1.0,
    "inside": 1.0,
}  # of figures that have one


class Choice(NamedTuple):
    """The rate of one arm at one budget."""

    result: str
    group: str
    arm: str
    times: int
    tried: tuple[float, ...]  # none: taken over from the first budget
    used: float
    end: str  # "lowest" or "highest" where the best is an end of what was tried, else ""


def choices(name: str, stored: dict[str, Any]) -> Iterator[Choice]:
    """Every arm and budget of a stored experiment that chose among rates."""
    settings, trials = stored["settings"], stored["trials"]
    if len(set(settings["rates"])) == 1:  # the arms bring their rates
        return
    figure = settings.get("chosen_by") or settings["figure"]
    for group, arms in stored["arms"].items():
        for arm in arms:
            mine = [one for one in trials if (one["group"], one["arm"]) == (group, arm)]
            for times in sorted({one["times"] for one in mine if one["seed"] in settings["seeds"]}):
                there = [one for one in mine if one["times"] == times]
                used = {one["lr"] for one in there if one["seed"] in settings["seeds"]}
                if len(used) != 1:
                    raise ValueError(
                        f"{name}, {group}, {arm}, {times}x: reported at the rates {sorted(used)}; one is needed."
                    )
                yield Choice(name, group, arm, times, *chosen(there, settings, figure, used.pop()))


def chosen(
    trials: list[dict[str, Any]], settings: dict[str, Any], figure: str, used: float
) -> tuple[Any, float, str]:
    """What was tried at this budget, the rate that was used, and the end that it stands at."""
    score: dict[float, list[Any]] = {}
    for one in trials:
        if one["seed"] in settings["rate_seeds"]:
            score.setdefault(one["lr"], []).append(one[figure])
    tried = tuple(sorted(score))
    means = {rate: mean(seen) for rate, seen in score.items() if None not in seen}
    if not tried or used not in means or means[used] >= BEST.get(figure, float("inf")) - AT_BEST:
        return tried, used, ""
    if len(set(means.values())) == 1:  # every rate gave the same: the arm brings its own
        return tried, used, ""
    return tried, used, {tried[0]: "lowest", tried[-1]: "highest"}.get(used, "")


def stored_choices(names: list[str] | None = None) -> Iterator[Choice]:
    """The choices of all stored experiments, or of those that are named."""
    for file in sorted(Path(FOLDER).glob("*.json")):
        stored = load_result(file.stem)
        if (
            "arms" in stored
            and "rate_seeds" in stored.get("settings", {})
            and (not names or file.stem in names)
        ):
            yield from choices(file.stem, stored)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="stored results; all, if none is named")
    print("result, group, arm | budget | tried | used | end")
    for one in stored_choices(parser.parse_args().names):
        tried = " ".join(f"{rate:g}" for rate in one.tried) or "as at 1x"
        print(f"{one.result}, {one.group}, {one.arm} | {one.times}x | {tried} | {one.used:g} | {one.end}")


if __name__ == "__main__":
    main()

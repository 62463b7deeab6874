"""Interleaved measurements of time: each candidate runs once in each round, so that all have the same noise."""

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

Work = Callable[[], Any]


def in_turns(
    candidates: Mapping[str, Work], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, list[float]]:
    """Seconds of each candidate in each round, after two rounds of warmup.

    The order rotates from round to round, so that no candidate always runs after the same one.
    """
    names, seconds = list(candidates), {name: [] for name in candidates}
    for round_ in range(-2, rounds):
        start = round_ % len(names)
        for name in names[start:] + names[:start]:
            started = clock()
            candidates[name]()
            if round_ >= 0:
                seconds[name].append(clock() - started)
    return seconds


def summary(seconds: Mapping[str, list[float]]) -> dict[str, dict[str, float]]:
    """The median and the least time of each candidate, in milliseconds."""
    return {
        name: {"median_ms": digits(1e3 * statistics.median(times)), "least_ms": digits(1e3 * min(times))}
        for name, times in seconds.items()
    }


def ratio(seconds: Mapping[str, list[float]], one: str, other: str) -> dict[str, float]:
    """How many times as long `one` takes: the median over rounds, its quartiles, and the ratio of the least times."""
    by_round = [a / b for a, b in zip(seconds[one], seconds[other], strict=True)]
    low, middle, high = statistics.quantiles(by_round, n=4)
    least = min(seconds[one]) / min(seconds[other])
    return {"median": digits(middle), "low": digits(low), "high": digits(high), "of_least": digits(least)}


def digits(number: float) -> float:
    """Rounded to three digits, because more would be noise."""
    return float(f"{number:.3g}")

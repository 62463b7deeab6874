"""What the two experiments of the-bottleneck share: measured by length, averaged over seeds, asked for in one way."""

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

from attnlib.metrics.curves import first_below


def summary(lengths: Sequence[int], trials: list[dict[str, Any]]) -> dict[str, Any]:
    """The mean over the seeds, and where it falls below 90 %."""
    mean = {
        key: np.round(np.mean([one[key] for one in trials], axis=0), 4).tolist() for key in ("token", "exact")
    }
    return {
        "mean": mean,
        "below_90_at": {key: first_below(lengths, values) for key, values in mean.items()},
        "trials": trials,
    }


def arguments(description: str | None) -> argparse.Namespace:
    """--quick and --workers, from the command line."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a few steps, one seed; stores nothing")
    parser.add_argument("--workers", type=int, default=2, help="how many processes, one thread each")
    return parser.parse_args()

"""The mean and the standard deviation of a measurement over several seeds.

Book: permutation. With one seed alone it is not known how much of a result is chance.
"""

from typing import Any

import numpy as np


def mean_and_sd(trials: Any) -> dict[str, Any]:
    """The mean and the standard deviation over the seeds (the first axis), and each seed's numbers, to 4 digits.

    >>> mean_and_sd([[0.5, 1.0], [0.7, 1.0]])
    {'mean': [0.6, 1.0], 'sd': [0.1414, 0.0], 'trials': [[0.5, 1.0], [0.7, 1.0]]}
    """
    values = np.asarray(trials, dtype=float)
    if len(values) < 2:
        raise ValueError(
            f"mean_and_sd: there must be two trials or more for a standard deviation; got {len(values)}."
        )
    mean, sd = values.mean(axis=0), values.std(axis=0, ddof=1)
    return {name: x.round(4).tolist() for name, x in {"mean": mean, "sd": sd, "trials": values}.items()}

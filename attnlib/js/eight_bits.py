"""A model's parameters as 8-bit integers, each row of a matrix with a scale of its own (book: Inside a GPT).

A row's scale is its largest magnitude divided by 127, so every number moves by at most half a scale. Vectors (biases,
gains of norms) are few and stay as they are. `course_model(bits=8)` loads the same integers in PyTorch.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attnlib.shapes import Array, Float, Int, checked

LARGEST = 127  # of the integers; -128 is not used, so that the scale of both signs is the same


class Rows(NamedTuple):
    """A matrix: row i is `integers[i] * scales[i]`."""

    integers: Int[Array, "n d"]
    scales: Float[Array, "n"]


@checked
def quantise_rows(W: Float[Array, "n d"]) -> Rows:
    """The nearest integers from -127 to 127, with a scale for each row.

    >>> quantise_rows(np.array([[1.0, -2.0, 0.5]], np.float32)).integers.tolist()
    [[64, -127, 32]]
    """
    largest = abs(W).max(axis=1)
    scales = (np.where(largest > 0, largest, 1) / LARGEST).astype(np.float32)
    return Rows(np.rint(W / scales[:, None]).astype(np.int8), scales)


def restored(rows: Rows) -> Array:
    """The matrix that the integers stand for, in float32.

    >>> restored(Rows(np.array([[2, -1]], np.int8), np.array([0.5], np.float32))).tolist()
    [[1.0, -0.5]]
    """
    return rows.integers.astype(np.float32) * rows.scales[:, None]


def quantised(parameters: Mapping[str, Array]) -> dict[str, Rows | Array]:
    """All parameters of a model by name: matrices as `Rows`, vectors in float32."""
    return {name: quantise_rows(W) if W.ndim == 2 else W for name, W in parameters.items()}


def read_safetensors(file: str | Path) -> dict[str, Array]:
    """The arrays of a file in bfloat16, as float32.

    NumPy has no bfloat16, but its bits are the upper half of a float32. The file is a length, that many bytes of JSON,
    and the numbers.
    """
    data = Path(file).read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    described = json.loads(data[8:start])
    described.pop("__metadata__", None)
    found = {}
    for name, one in described.items():
        if one["dtype"] != "BF16":
            raise ValueError(f"read_safetensors: {file} must hold bfloat16; got {one['dtype']} for {name}.")
        begin, end = one["data_offsets"]
        upper = np.frombuffer(data[start + begin : start + end], "<u2").astype(np.uint32)
        found[name] = (upper << 16).view(np.float32).reshape(one["shape"])
    return found

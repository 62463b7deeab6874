"""The rules of `attnlib.reference._check` for the twin: the same sentences, and tensors where that one wants arrays."""

from functools import partial

import torch
from torch import Tensor

from attnlib.reference import _check
from attnlib.reference._check import (
    TENSOR,
    finite,
    positive,
    probabilities,
    real,
    same_count,
    same_width,
    scores,
    some_finite_score,
)

__all__ = [
    "TENSOR",
    "batched",
    "boolean_mask",
    "finite",
    "floats",
    "linear_map",
    "matrices",
    "positive",
    "probabilities",
    "real",
    "same_count",
    "same_dtype",
    "same_shape",
    "same_width",
    "scores",
    "some_finite_score",
    "weight",
]

floats = partial(_check.floats, kind=TENSOR)
batched = partial(_check.batched, kind=TENSOR)
matrices = partial(_check.matrices, kind=TENSOR)
boolean_mask = partial(_check.boolean_mask, kind=TENSOR)
weight = partial(_check.weight, kind=TENSOR)
linear_map = partial(_check.linear_map, kind=TENSOR)
same_shape = partial(_check.same_shape, kind=TENSOR)


def same_dtype(who: str, **tensors: Tensor) -> None:
    """The inputs have the dtype of the weights, except under autocast, which converts both."""
    if not torch.is_autocast_enabled(next(iter(tensors.values())).device.type):
        _check.same_dtype(who, **tensors)

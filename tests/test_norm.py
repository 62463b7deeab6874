"""Norms of a layer: what they leave alone, their slopes, and their twins."""

import numpy as np
import pytest

from attnlib.nn import norm as nn_norm
from attnlib.reference import norm
from attnlib.testing import assert_close, check_gradients, check_twin

B, N, D = 2, 3, 7
CASES = [
    (norm.layer_norm, norm.layer_norm_backward, nn_norm.layer_norm, 3),
    (norm.rms_norm, norm.rms_norm_backward, nn_norm.rms_norm, 2),
    (norm.batch_norm, norm.batch_norm_backward, nn_norm.batch_norm, 3),
]
IDS = ["layer_norm", "rms_norm", "batch_norm"]


@pytest.fixture
def arrays(rng):
    return [rng.normal(size=shape) for shape in ((B, N, D), (D,), (D,))]


@pytest.mark.parametrize(("forward", "backward", "twin", "count"), CASES, ids=IDS)
def test_the_slope_is_that_of_central_differences(forward, backward, twin, count, arrays, rng):
    check_gradients(forward, backward, arrays[:count], rng)


@pytest.mark.parametrize(("forward", "backward", "twin", "count"), CASES, ids=IDS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_output_and_gradients_equal_the_twin(forward, backward, twin, count, dtype, arrays, rng):
    check_twin(forward, backward, twin, [array.astype(dtype) for array in arrays[:count]], rng)


def test_a_norm_forgets_the_size_of_a_vector_and_layer_norm_its_mean_too(arrays):
    X, gain, shift = arrays
    assert_close(
        norm.layer_norm(100 * X + 5, gain, shift, 1e-20)[0],
        norm.layer_norm(X, gain, shift, 1e-20)[0],
        "float64",
    )
    assert_close(norm.rms_norm(100 * X, gain, 1e-20)[0], norm.rms_norm(X, gain, 1e-20)[0], "float64")
    assert abs(norm.rms_norm(X + 5, gain)[0] - norm.rms_norm(X, gain)[0]).max() > 0.1


def test_a_batch_norm_hears_the_neighbours_and_a_layer_norm_does_not(arrays):
    X, gain, shift = arrays
    other = X.copy()
    other[1] += 3
    heard = {
        one: abs(one(X, gain, shift)[0] - one(other, gain, shift)[0])[0].max()
        for one in (norm.layer_norm, norm.batch_norm)
    }
    assert heard[norm.layer_norm] == 0 and heard[norm.batch_norm] > 0.1

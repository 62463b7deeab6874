"""Kernel regression and attention are one function."""

import numpy as np
import pytest
import torch

from attnlib.nn import kernel as nn_kernel
from attnlib.reference import kernel
from attnlib.reference.attention import scaled_dot_product_attention
from attnlib.testing import assert_close

B, N, M, D_K, D_V = 2, 3, 5, 7, 11


@pytest.fixture
def arrays(rng):
    return [rng.normal(size=shape) for shape in [(B, M, D_K), (B, N, D_K), (B, N, D_V)]]


def test_regression_with_the_exponential_kernel_is_attention(arrays):
    O, _ = scaled_dot_product_attention(*arrays)
    assert_close(kernel.kernel_regression(*arrays, kernel.exponential_kernel), O, "float64")


def test_kernels_equal_their_twins_and_their_formula(arrays):
    Q, K, V = arrays
    G = kernel.gaussian_kernel(Q, K, 1.5)
    assert np.isclose(G[1, 4, 2], np.exp(-((Q[1, 4] - K[1, 2]) ** 2).sum() / (2 * 1.5**2)), rtol=1e-12)
    as_tensors = [torch.tensor(array) for array in arrays]
    assert_close(G, nn_kernel.gaussian_kernel(*as_tensors[:2], 1.5).numpy(), "float64")
    twin = nn_kernel.kernel_regression(*as_tensors, nn_kernel.exponential_kernel).numpy()
    assert_close(kernel.kernel_regression(*arrays, kernel.exponential_kernel), twin, "float64")


@pytest.mark.bad_input
def test_a_kernel_too_narrow_and_a_bandwidth_of_zero_are_refused(arrays):
    Q, K, V = arrays
    for module, make in ((kernel, np.asarray), (nn_kernel, torch.tensor)):
        with pytest.raises(ValueError, match="bandwidth must be positive and finite; got bandwidth=0"):
            module.gaussian_kernel(make(Q), make(K), 0.0)
        with pytest.raises(ValueError, match="each query needs a key with a kernel value above zero"):
            module.kernel_regression(
                make(Q), make(K + 1e3), make(V), lambda q, k, m=module: m.gaussian_kernel(q, k, 0.1)
            )

"""Kernel regression and attention are one function."""

import numpy as np
import pytest
import torch

from attnlib.nn import kernel as nn_kernel
from attnlib.reference import kernel
from attnlib.reference.attention import scaled_dot_product_attention, scaled_dot_product_attention_backward
from attnlib.testing import assert_close, check_gradients, check_twin

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


KERNELS = {
    "exponential": (
        kernel.exponential_kernel,
        kernel.exponential_kernel_backward,
        nn_kernel.exponential_kernel,
        (),
    ),
    "gaussian": (kernel.gaussian_kernel, kernel.gaussian_kernel_backward, nn_kernel.gaussian_kernel, (1.5,)),
}


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernels_backward_is_the_slope(name, arrays, rng):
    function, function_backward, twin, more = KERNELS[name]

    def forward(Q, K):
        G = function(Q, K, *more)
        return G, (G, Q, K)

    def backward(dG, cache):
        return function_backward(dG, *cache, *more)

    check_gradients(forward, backward, arrays[:2], rng)
    check_twin(forward, backward, lambda Q, K: twin(Q, K, *more), arrays[:2], rng)


def test_through_the_exponential_kernel_the_slopes_are_those_of_attention(arrays, rng):
    Q, K, V = arrays
    O, cache = scaled_dot_product_attention(Q, K, V)
    dO = rng.normal(size=O.shape)
    G = kernel.exponential_kernel(Q, K)
    dG, dV = kernel.kernel_regression_backward(dO, G, V)
    dQ, dK = kernel.exponential_kernel_backward(dG, G, Q, K)
    by_attention = scaled_dot_product_attention_backward(dO, cache)
    for gradient, expected in zip((dQ, dK, dV), by_attention, strict=True):
        assert_close(gradient, expected, "float64")
    check_gradients(
        lambda G, V: (kernel.kernel_regression(Q, K, V, lambda q, k: G), (G, V)),
        lambda dO, cache: kernel.kernel_regression_backward(dO, *cache),
        [G, V],
        rng,
    )


def test_a_tied_exponential_kernel_has_no_negative_eigenvalue_and_an_untied_one_is_not_symmetric(rng):
    X, W_Q, W_K = rng.normal(size=(D_V, D_K)), rng.normal(size=(D_K, M)), rng.normal(size=(D_K, M))
    tied = kernel.exponential_kernel(X / 2, X / 2)
    assert np.linalg.eigvalsh(tied).min() > -1e-9 * np.abs(tied).max()
    untied = kernel.exponential_kernel(X @ W_Q / 9, X @ W_K / 9)
    assert np.abs(untied - untied.T).max() > 1e-3


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_kernels_keep_the_dtype(dtype, arrays):
    Q, K, V = (array.astype(dtype) for array in arrays)
    assert kernel.gaussian_kernel(Q, K, 1.5).dtype == dtype
    assert kernel.kernel_regression(Q, K, V, kernel.exponential_kernel).dtype == dtype


@pytest.mark.usefixtures("checked_values")
@pytest.mark.bad_input
@pytest.mark.parametrize(
    ("module", "make"), [(kernel, np.asarray), (nn_kernel, torch.tensor)], ids=["reference", "nn"]
)
def test_a_kernel_that_overflows_is_refused_and_not_averaged(module, make):
    big, V = np.full((2, 1), 30.0), np.ones((2, 1))
    with (
        np.errstate(over="ignore"),
        pytest.raises(ValueError, match="kernel_regression: G must be finite; got 4 NaN or"),
    ):
        module.kernel_regression(make(big), make(big), make(V), module.exponential_kernel)


@pytest.mark.usefixtures("checked_values")
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

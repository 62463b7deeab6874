"""A causal convolution whose kernel is as long as the text, by Fourier transforms: n log n products in place of n^2.

The book derives it in eq-ssm-kernel (Chapter 6). The twin, where autograd does the backward, is
`attnlib.nn.long_convolution`.
"""

import numpy as np

from attnlib.shapes import Array, Float, checked


def _convolved(X: Array, K: Array) -> Array:
    """The causal convolution, along the axis of the tokens: a product of Fourier transforms of twice the length."""
    n = X.shape[-2]
    spectrum = np.fft.rfft(X, 2 * n, axis=-2) * np.fft.rfft(K, 2 * n, axis=-2)
    return np.fft.irfft(spectrum, 2 * n, axis=-2)[..., :n, :].astype(X.dtype, copy=False)


@checked
def causal_convolution(X: Float[Array, "*b n d"], K: Float[Array, "n d"]) -> Float[Array, "*b n d"]:
    """Each channel convolved with its kernel, Y_t = sum of K_s X_(t-s), by Fourier transforms (eq-ssm-kernel).

    The transforms treat a signal as if it repeated. As many zeros as there are tokens keep what runs over the end away
    from the beginning.

    >>> X, K = np.array([[1.0], [0.0], [4.0]]), np.array([[1.0], [0.5], [0.25]])
    >>> causal_convolution(X, K)[:, 0].round(12)
    array([1.  , 0.5 , 4.25])
    """
    return _convolved(X, K)


@checked
def causal_convolution_backward(
    dY: Float[Array, "*b n d"], X: Float[Array, "*b n d"], K: Float[Array, "n d"]
) -> tuple[Float[Array, "*b n d"], Float[Array, "n d"]]:
    """dX and dK: convolutions of the reversed gradient, because output t + s gets K_s times input t."""
    turned = dY[..., ::-1, :]
    dX = _convolved(turned, K)[..., ::-1, :]
    dK = _convolved(turned, X)[..., ::-1, :]
    return dX, dK.reshape(-1, *K.shape).sum(axis=0)

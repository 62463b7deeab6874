"""The twin of `attnlib.reference.long_convolution`: a causal convolution whose kernel is as long as the text.

The book derives it in eq-ssm-kernel (Chapter 6).
"""

import torch
from torch import Tensor

from attnlib.shapes import Float, checked


@checked
def causal_convolution(X: Float[Tensor, "*b n d"], K: Float[Tensor, "n d"]) -> Float[Tensor, "*b n d"]:
    """Each channel convolved with its kernel, Y_t = sum of K_s X_(t-s), by Fourier transforms (eq-ssm-kernel).

    As many zeros as there are tokens keep what runs over the end away from the beginning.
    """
    n = X.shape[-2]
    if 0 in X.shape:  # an empty batch, which has no transform
        return X
    spectrum = torch.fft.rfft(X, 2 * n, dim=-2) * torch.fft.rfft(K, 2 * n, dim=-2)
    return torch.fft.irfft(spectrum, 2 * n, dim=-2)[..., :n, :]

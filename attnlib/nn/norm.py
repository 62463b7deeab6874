"""The twin of `attnlib.reference.norm`: normalisation in PyTorch.

`torch.nn.LayerNorm` and `torch.nn.RMSNorm` are modules with the learned parameters.
The book derives them in eq-layer-norm (Chapter 4).
"""

import torch.nn.functional as F
from torch import Tensor

from attnlib.shapes import Float, Number, checked


@checked
def layer_norm(
    X: Float[Tensor, "*b d"],
    gain: Float[Tensor, "d"],
    shift: Float[Tensor, "d"],
    eps: Number[float, "0<.."] = 1e-5,
) -> Float[Tensor, "*b d"]:
    """Each vector minus its mean, divided by its standard deviation, then times gain plus shift."""
    return F.layer_norm(X, X.shape[-1:], gain, shift, eps)


@checked
def rms_norm(
    X: Float[Tensor, "*b d"], gain: Float[Tensor, "d"], eps: Number[float, "0<.."] = 1e-5
) -> Float[Tensor, "*b d"]:
    """Each vector divided by the root of its mean square, then times gain; the mean is not subtracted."""
    return F.rms_norm(X, X.shape[-1:], gain, eps)


@checked
def batch_norm(
    X: Float[Tensor, "*b d"],
    gain: Float[Tensor, "d"],
    shift: Float[Tensor, "d"],
    eps: Number[float, "0<.."] = 1e-5,
) -> Float[Tensor, "*b d"]:
    """Each coordinate normalised by mean and standard deviation over all vectors of the batch, for comparison."""
    rows = F.batch_norm(X.flatten(0, -2), None, None, gain, shift, training=True, eps=eps)
    return rows.view_as(X)
